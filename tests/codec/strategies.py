"""What the codec's tests draw: hostile strings, any command, and histories that the engine accepted."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from mage.engine import (
    Accept,
    Active,
    ApplyVerdict,
    Command,
    Compress,
    Digest,
    Failed,
    Fold,
    Grow,
    Instruct,
    Passed,
    Rejected,
    Retext,
    Revise,
    Start,
    State,
    StepId,
    Unverified,
    Verdict,
    apply,
    fold_request,
    judge_request,
    replay,
    view,
)
from mage.engine.text import as_text

HOSTILE: Final = (
    "",
    "\x00",
    "\ud800",
    "x\udfffy",
    "\ud83d\ud83d",
    "\U0001f6cb",
    "\u2028\u2029\u0085",
    "\r\n",
    '\\"',
    "\\ud800",
    "\ufeff",
    "\x7f",
    "书桌",
)

texts: Final = st.one_of(
    st.sampled_from(HOSTILE), st.text(st.characters(codec=None), max_size=6).map(as_text)
)
_filled: Final = texts.map(lambda text: f"desk {text}")
_kinds: Final = st.sampled_from(("subgoal", "fallback"))
_faults: Final = st.sampled_from(("execution", "summary"))
_ids: Final = st.integers(0, 10**15 - 1).map(StepId)
_verdicts: Final = st.one_of(
    st.just(Passed()),
    st.builds(Failed, _filled, _faults),
    st.builds(Failed, _filled, _faults, st.none() | _ids),
)
_digests: Final = st.text("0123456789abcdef", min_size=64, max_size=64).map(Digest)

commands: Final[st.SearchStrategy[Command]] = st.one_of(
    st.builds(Start, texts),
    st.builds(Instruct, texts, st.booleans()),
    st.builds(Grow, texts, texts),
    st.builds(Compress, texts, _kinds),
    st.builds(Retext, texts),
    st.builds(ApplyVerdict, _verdicts, _digests),
    st.just(Accept()),
    st.builds(Revise, _ids, texts),
    st.builds(Fold, _ids, _ids, texts, _digests),
)
"""Any command that the format can hold, whether or not an engine would take it."""

_few: Final = st.sampled_from(("a", "b", "\ud800"))
"""Few texts, so that histories merge."""
_grow: Final = st.builds(Grow, _few, st.just("seen") | texts)
_compress: Final = st.builds(Compress, _filled, _kinds)
_instruct: Final = st.builds(Instruct, _few, st.booleans())
_retext: Final = st.builds(Retext, _filled)
_answer: Final = st.builds(ApplyVerdict, _verdicts, st.just(Digest("of the pending summary")))
_accept: Final = st.just(Accept())
_revise: Final = st.builds(Revise, st.integers(0, 6).map(StepId), _few | st.just(""))

_fold: Final = st.builds(
    Fold, st.integers(0, 3).map(StepId), st.integers(2, 9).map(StepId), _filled, st.just("")
)

_MOVES: Final[dict[type[State], st.SearchStrategy[Command]]] = {
    Active: st.one_of(_grow, _grow, _grow, _compress, _compress, _instruct, _revise, _fold),
    Unverified: st.one_of(_answer, _answer, _answer, _accept, _grow, _instruct, _retext, _revise),
    Rejected: st.one_of(_revise, _retext, _accept),
}
"""What is legal in each phase; what is likely stands more than once."""


@st.composite
def histories(draw: st.DrawFn, most: int = 50) -> tuple[tuple[Command, ...], State]:
    """Draw a journal that the engine accepts, and the state it leads to, after at most so many moves."""
    journal: list[Command] = [Start(draw(texts))]
    state = replay(journal).unwrap()
    for _ in range(draw(st.integers(0, most))):
        command = _aimed(draw(_MOVES[type(state)]), state)
        after = apply(state, command).value_or(None)
        if after is not None:
            journal.append(command)
            state = after
    return tuple(journal), state


def _aimed(move: Command, state: State) -> Command:
    """Give a verdict the digest that it answers, a revise a boundary and a fold lines that are there."""
    if isinstance(move, ApplyVerdict) and isinstance(state, Unverified):
        return ApplyVerdict(_founded(move.verdict, judge_request(state).boundaries), state.digest)
    if isinstance(move, Fold) and isinstance(state, Active):
        lines = view(state).compressed
        first, last = lines[: int(move.first) + 1][-1:], lines[: int(move.last) + 1][-1:]
        if first and last:
            request = fold_request(state, first[0].label, last[0].boundary, move.text).value_or(None)
            digest = "" if request is None else request.digest
            return Fold(first[0].label, last[0].boundary, move.text, digest)
    if isinstance(move, Revise):
        path = state.tree.summary_path()
        return Revise(state.tree.summary(path[move.boundary % len(path)]).boundary, move.lesson)
    return move


def _founded(verdict: Verdict, boundaries: tuple[StepId, ...]) -> Verdict:
    """Return a verdict that names a boundary that it may name, where it names one."""
    if not isinstance(verdict, Failed) or verdict.boundary is None:
        return verdict
    if verdict.fault == "summary":
        return Failed(verdict.feedback, verdict.fault)
    return Failed(verdict.feedback, verdict.fault, boundaries[verdict.boundary % len(boundaries)])


states: Final = histories().map(lambda history: history[1])

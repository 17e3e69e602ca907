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
    apply,
    replay,
)
from mage.engine.text import as_text

__all__ = ["HOSTILE", "commands", "histories", "states", "texts"]

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
_verdicts: Final = st.one_of(
    st.just(Passed()), st.builds(Failed, _filled, st.sampled_from(("execution", "summary")))
)
_digests: Final = st.text("0123456789abcdef", min_size=64, max_size=64).map(Digest)

commands: Final[st.SearchStrategy[Command]] = st.one_of(
    st.builds(Start, texts),
    st.builds(Instruct, texts, st.booleans()),
    st.builds(Grow, texts, texts),
    st.builds(Compress, texts, _kinds),
    st.builds(Retext, texts, st.none() | _kinds),
    st.builds(ApplyVerdict, _verdicts, _digests),
    st.just(Accept()),
    st.builds(Revise, st.integers(0, 10**15 - 1).map(StepId), texts),
)
"""Any command that the format can hold, whether or not an engine would take it."""

_few: Final = st.sampled_from(("a", "b", "\ud800"))
"""Few texts, so that histories merge."""
_grow: Final = st.builds(Grow, _few, st.just("seen") | texts)
_compress: Final = st.builds(Compress, _filled, _kinds)
_instruct: Final = st.builds(Instruct, _few, st.booleans())
_retext: Final = st.builds(Retext, _filled, st.none() | _kinds)
_answer: Final = st.builds(ApplyVerdict, _verdicts, st.just(Digest("of the pending summary")))
_accept: Final = st.just(Accept())
_revise: Final = st.builds(Revise, st.integers(0, 6).map(StepId), _few | st.just(""))

_MOVES: Final[dict[type[State], st.SearchStrategy[Command]]] = {
    Active: st.one_of(_grow, _grow, _grow, _compress, _compress, _instruct, _revise),
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
    """Give a verdict the digest that it answers, and a revise a boundary that is there."""
    if isinstance(move, ApplyVerdict) and isinstance(state, Unverified):
        return ApplyVerdict(move.verdict, state.digest)
    if isinstance(move, Revise):
        path = state.tree.summary_path()
        return Revise(state.tree.summary(path[move.boundary % len(path)]).boundary, move.lesson)
    return move


states: Final = histories().map(lambda history: history[1])

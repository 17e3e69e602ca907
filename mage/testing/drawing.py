"""A command that fits a state: the strategies below whole histories.

Most commands cost one small draw: which of a few usual ones, listed by phase. That keeps long sequences cheap
to draw and quick to shrink. The unusual ones draw on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

from hypothesis import strategies as st

from mage.engine import (
    Accept,
    Active,
    ApplyVerdict,
    Compress,
    Failed,
    Grow,
    Instruct,
    Kind,
    Passed,
    Rejected,
    Retext,
    Revise,
    State,
    StepId,
    Unverified,
    Verdict,
)
from mage.engine.journal import Operation
from mage.testing.values import contents, kinds, old_digests, texts, verdicts

__all__ = ["OPERATIONS", "Drawing", "OperationName", "commands", "draw_command", "legal_boundaries"]

Drawn = TypeVar("Drawn")

OperationName: TypeAlias = Literal[
    "grow", "instruct", "compress", "retext", "apply_verdict", "accept", "revise"
]
OPERATIONS: Final[tuple[OperationName, ...]] = (
    "grow",
    "instruct",
    "compress",
    "retext",
    "apply_verdict",
    "accept",
    "revise",
)
"""What a command may be, for `draw_command`."""


class Drawing(Protocol):
    """What draws from a strategy: a composite's `draw`, or that of `st.data()`."""

    def __call__(self, strategy: st.SearchStrategy[Drawn], /) -> Drawn:
        """Return a drawn value."""
        ...


_RETEXT_KINDS: Final[st.SearchStrategy[Kind | None]] = st.sampled_from((None, None, "subgoal", "fallback"))
_ONE_IN_TWO: Final = st.booleans()
_ONE_IN_EIGHT: Final = st.integers(0, 7).map(lambda pick: pick == 7)
_LESSONS: Final = st.one_of(st.just(""), texts)
_PLACES: Final = st.integers(0, 45)
_UPWARDS: Final = st.sampled_from((0, 1, 1, 1, 2, 2, 3, 5, 12))
"""How many boundaries up a revise goes, mostly few: a long history should also become a deep one."""


def legal_boundaries(state: State) -> list[StepId]:
    """Return what revise takes in this state, in path order (D7), worked out from what the tree shows.

    Cost: O(summary path).
    """
    boundaries = [state.tree.summary(summary).boundary for summary in state.tree.summary_path()]
    return boundaries[:-1] if isinstance(state, Rejected) else boundaries


def _grow(draw: Drawing, state: State) -> Operation:
    return Grow(*draw(contents))


def _grow_again(draw: Drawing, state: State) -> Operation:
    """Walk into a step that was taken from here before, if there is one."""
    known = state.tree.step_children(state.tree.step_head)
    if not known:
        return Grow("a", "o")
    place = draw(_PLACES) if len(known) > 1 else 0
    child = state.tree.step(known[place % len(known)])
    return Grow(child.action, child.observation)


def _grow_on(draw: Drawing, state: State) -> Operation:
    """Take a step that was never taken, so that trees get large."""
    return Grow(f"a{state.tree.next_step}", "o")


def _instruct(draw: Drawing, state: State) -> Operation:
    return Instruct(draw(texts), draw(_ONE_IN_TWO))


def _compress(draw: Drawing, state: State) -> Operation:
    return Compress(draw(texts), draw(kinds))


def _retext(draw: Drawing, state: State) -> Operation:
    return Retext(draw(texts), draw(_RETEXT_KINDS))


def _answered(state: State, verdict: Verdict) -> Operation:
    digest = state.digest if isinstance(state, Unverified) else "0" * 64
    return ApplyVerdict(verdict, digest)


def _passed(draw: Drawing, state: State) -> Operation:
    return _answered(state, Passed())


def _failed(draw: Drawing, state: State) -> Operation:
    return _answered(state, Failed("f"))


def _blank_feedback(draw: Drawing, state: State) -> Operation:
    return _answered(state, Failed(" \n"))


def _failed_without_feedback(draw: Drawing, state: State) -> Operation:
    return _answered(state, Failed(" "))


def _answered_late(draw: Drawing, state: State) -> Operation:
    return ApplyVerdict(draw(verdicts), draw(old_digests))


def _apply_verdict(draw: Drawing, state: State) -> Operation:
    if not isinstance(state, Unverified) or draw(_ONE_IN_EIGHT):
        return _answered_late(draw, state)
    return ApplyVerdict(draw(verdicts), state.digest)


def _accept(draw: Drawing, state: State) -> Operation:
    return Accept()


def _go_back(draw: Drawing, state: State) -> Operation:
    legal = legal_boundaries(state)
    return Revise(legal[-1 - draw(_UPWARDS) % len(legal)], draw(_LESSONS))


def _stay(draw: Drawing, state: State) -> Operation:
    """Go back to the boundary of the head itself, which is not legal where it has failed."""
    return Revise(state.tree.boundary, draw(_LESSONS))


def _go_anywhere(draw: Drawing, state: State) -> Operation:
    """Go back to any step, mostly one where no summary of the path ends; a failed head's own is one of them."""
    return Revise(draw(_PLACES) % (state.tree.next_step + 1), draw(_LESSONS))


def _revise(draw: Drawing, state: State) -> Operation:
    return (_go_anywhere if draw(_ONE_IN_EIGHT) else _go_back)(draw, state)


def _anything(draw: Drawing, state: State) -> Operation:
    return _DRAWN[draw(_ANY_OPERATION)](draw, state)


_Draw: TypeAlias = Callable[[Drawing, State], Operation]
_Move: TypeAlias = Operation | _Draw
"""A command, or what draws one."""

_DRAWN: Final[dict[OperationName, _Draw]] = {
    "grow": _grow,
    "instruct": _instruct,
    "compress": _compress,
    "retext": _retext,
    "apply_verdict": _apply_verdict,
    "accept": _accept,
    "revise": _revise,
}
_ANY_OPERATION: Final[st.SearchStrategy[OperationName]] = st.sampled_from(OPERATIONS)

_GROW: Final[tuple[_Move, ...]] = (
    Grow("a", "o"),
    Grow("b", "o"),
    Grow("a", "p"),
    *[_grow_on] * 3,
    *[_grow_again] * 3,
    _grow,
)
_COMPRESS: Final[tuple[_Move, ...]] = (
    Compress("m"),
    Compress("n"),
    Compress("m", "fallback"),
    Compress("n", "fallback"),
    _compress,
)
_INSTRUCT: Final[tuple[_Move, ...]] = (Instruct("m"), Instruct("n", standing=True), _instruct)
_JUDGE: Final[tuple[_Move, ...]] = (_passed, _passed, _failed, _failed, _apply_verdict)
_RETEXT: Final[tuple[_Move, ...]] = (Retext("m"), Retext("n"), Retext("m", "subgoal"), _retext)


def _table(*moves: _Move) -> st.SearchStrategy[_Move]:
    """Return a strategy for one of these; the first is what it shrinks to, anything else comes last."""
    return st.sampled_from((*moves, *[_anything] * (len(moves) // 15 + 1)))


_REFUSED: Final[dict[type[State], tuple[_Move, ...]]] = {
    Active: (Instruct(" "), Compress("\n"), _go_anywhere),
    Unverified: (Instruct(" "), Retext("\t"), _failed_without_feedback, _answered_late, _go_anywhere),
    Rejected: (Retext("\t"), _go_anywhere),
}
"""What is legal in the phase and refused all the same, or mostly."""
_NEXT_WITH_NOTHING_OPEN: Final = _table(
    *_GROW * 2, _compress, Compress("m"), *_INSTRUCT, _go_back, _go_back, *_REFUSED[Active]
)
_NEXT: Final[dict[type[State], st.SearchStrategy[_Move]]] = {
    Active: _table(*_GROW * 2, *_COMPRESS * 3, *_INSTRUCT * 2, _go_back, *_REFUSED[Active]),
    Unverified: _table(
        *_JUDGE * 3, Accept(), Accept(), *_GROW, *_RETEXT, *_INSTRUCT, _go_back, *_REFUSED[Unverified]
    ),
    Rejected: _table(*[_go_back] * 3, *_RETEXT * 2, Accept(), Accept(), *_REFUSED[Rejected]),
}


def draw_command(draw: Drawing, state: State, operation: OperationName | None = None) -> Operation:
    """Draw the next command in this state: of this operation, or mostly one that fits its phase.

    Even a fitting one may be refused, for what it names or because it is blank. `mage.codec` can write it.

    Args:
        draw: what draws from a strategy.
        state: the state that the command is for.
        operation: the operation, legal in this phase or not; None for any.
    """
    if operation is not None:
        return _DRAWN[operation](draw, state)
    closed = isinstance(state, Active) and state.tree.step_head == state.tree.boundary
    move = draw(_NEXT_WITH_NOTHING_OPEN if closed else _NEXT[type(state)])
    return move(draw, state) if callable(move) else move


@st.composite
def commands(draw: st.DrawFn, state: State) -> Operation:
    """Return a strategy for the next command in this state."""
    return draw_command(draw, state)

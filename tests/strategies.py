"""What property tests draw from: hostile texts, verdicts, commands that fit a state, and whole histories.

Few contents and texts are drawn often, so that steps merge, summaries are met again and lessons pile up; the
rest of what a string can be is drawn now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, TypeVar, final

import attrs
from hypothesis import strategies as st

from mage import (
    Accept,
    Active,
    ApplyVerdict,
    Command,
    Compress,
    Digest,
    Failed,
    Grow,
    Instruct,
    Kind,
    Passed,
    Rejected,
    Retext,
    Revise,
    Start,
    State,
    StepId,
    Unverified,
    Verdict,
    start,
)
from mage.engine.journal import Operation
from specs.driver import Edge, carry_out

__all__ = [
    "COMMANDS",
    "HOSTILE",
    "Drawing",
    "History",
    "commands",
    "contents",
    "draw_command",
    "histories",
    "kinds",
    "legal_boundaries",
    "runs",
    "texts",
    "verdicts",
]

Drawn = TypeVar("Drawn")


class Drawing(Protocol):
    """What draws from a strategy: a composite's `draw`, or that of `st.data()`."""

    def __call__(self, strategy: st.SearchStrategy[Drawn], /) -> Drawn:
        """Return a drawn value."""
        ...


HOSTILE: Final = (
    "",
    " ",
    "\n\t\r\x0b\x0c",
    "\x1c\x1d\x1e\x1f\x85\xa0\u2028\u3000",  # blank for str.strip, though not all of it looks so
    "\u200b\ufeff",  # invisible, yet not blank
    "\x00",
    "a\x00b\x7f\x9f",
    "\ud800",
    "\udfff\ud800",  # lone, and in the wrong order
    "\ud83d\ude00",  # a pair, which is joined on entry (D15)
    "\U0001f600",  # and the character that the pair stands for
    "\ud83d\ud83d\ude00\ude00",
    "e\u0301",
    "\u00e9",  # the same to the eye, and another string
    '"\\/\b\f\n\r\t\\u0041',
    "[Step 0] Product 2 purchased",
    "</observation>",
    "null",
    "x" * 3000,
)
"""Strings that have broken someone's code before."""


_USUAL_TEXTS: Final = st.sampled_from(("m", "n"))
_ANY_TEXTS: Final = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(), max_size=12))

texts: Final[st.SearchStrategy[str]] = st.integers(0, 4).flatmap(
    lambda pick: _ANY_TEXTS if pick == 4 else _USUAL_TEXTS
)
"""Any string: one of two usual ones mostly, so that things are met again, hostile ones, and whatever else."""

_USUAL_CONTENTS: Final = st.sampled_from((("a", "o"), ("b", "o"), ("a", "p")))
_ANY_CONTENTS: Final = st.tuples(texts, texts)

contents: Final[st.SearchStrategy[tuple[str, str]]] = st.integers(0, 4).flatmap(
    lambda pick: _ANY_CONTENTS if pick == 4 else _USUAL_CONTENTS
)
"""The content of a step: one of three usual ones mostly, so that steps merge."""

runs: Final[st.SearchStrategy[tuple[Grow, ...]]] = st.sampled_from((2, 3, 30, 31, 32, 33, 40)).map(
    lambda length: tuple(Grow(f"a{number}", "o") for number in range(length))
)
"""Many steps in a row, often about as many as the tree packs together."""

verdicts: Final[st.SearchStrategy[Verdict]] = st.one_of(
    st.just(Passed()), st.builds(Failed, texts, st.sampled_from(("execution", "summary")))
)
"""What a judge answers, its feedback blank now and then."""

kinds: Final[st.SearchStrategy[Kind]] = st.sampled_from(("subgoal", "fallback"))
_RETEXT_KINDS: Final[st.SearchStrategy[Kind | None]] = st.sampled_from((None, None, "subgoal", "fallback"))
_ONE_IN_TWO: Final = st.booleans()
_ONE_IN_EIGHT: Final = st.integers(0, 7).map(lambda pick: pick == 7)
_LESSONS: Final = st.one_of(st.just(""), texts)
_PLACES: Final = st.integers(-3, 45)
_OLD_DIGESTS: Final = st.sampled_from((Digest(""), Digest("0" * 64)))

COMMANDS: Final = ("grow", "instruct", "compress", "retext", "verdict", "accept", "revise")
"""What a command may be, for `draw_command`."""


def _mostly(fitting: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.integers(0, 15).flatmap(lambda pick: st.sampled_from(COMMANDS if pick == 15 else fitting))


_NEXT_WITH_NOTHING_OPEN: Final = _mostly(
    (*["grow"] * 5, "compress", "compress", "instruct", "revise", "revise")
)
_NEXT: Final = {
    Active: _mostly((*["grow"] * 5, *["compress"] * 5, *["instruct"] * 2, "revise")),
    Unverified: _mostly((*["verdict"] * 5, "accept", "grow", "grow", "retext", "instruct", "revise")),
    Rejected: _mostly((*["revise"] * 2, *["retext"] * 2, "accept")),
}


def legal_boundaries(state: State) -> list[StepId]:
    """Return what revise takes in this state (D7), worked out from the public surface of the tree."""
    boundaries = [state.tree.summary(summary).boundary for summary in state.tree.summary_path()]
    return boundaries[:-1] if isinstance(state, Rejected) else boundaries


def _grow(draw: Drawing, state: State) -> Operation:
    known, again = state.tree.step_children(state.tree.step_head), draw(_ONE_IN_TWO)
    if known and again:
        child = state.tree.step(known[draw(_PLACES) % len(known)])
        return Grow(child.action, child.observation)
    return Grow(*draw(contents))


def _instruct(draw: Drawing, state: State) -> Operation:
    return Instruct(draw(texts), draw(st.booleans()))


def _compress(draw: Drawing, state: State) -> Operation:
    return Compress(draw(texts), draw(kinds))


def _retext(draw: Drawing, state: State) -> Operation:
    return Retext(draw(texts), draw(_RETEXT_KINDS))


def _verdict(draw: Drawing, state: State) -> Operation:
    awaited = isinstance(state, Unverified) and not draw(_ONE_IN_EIGHT)
    digest = state.digest if isinstance(state, Unverified) and awaited else draw(_OLD_DIGESTS)
    return ApplyVerdict(draw(verdicts), digest)


def _accept(draw: Drawing, state: State) -> Operation:
    return Accept()


def _revise(draw: Drawing, state: State) -> Operation:
    place, legal = draw(_PLACES), legal_boundaries(state)
    boundary = legal[place % len(legal)]
    if draw(_ONE_IN_EIGHT):
        boundary = state.tree.boundary if place % 2 else StepId(place)  # a failed head's own is not legal
    return Revise(boundary, draw(_LESSONS))


_Draw: TypeAlias = Callable[[Drawing, State], Operation]
_DRAWN: Final[dict[str, _Draw]] = {
    "grow": _grow,
    "instruct": _instruct,
    "compress": _compress,
    "retext": _retext,
    "verdict": _verdict,
    "accept": _accept,
    "revise": _revise,
}


def draw_command(draw: Drawing, state: State, kind: str | None = None) -> Operation:
    """Draw the next command in this state: of this kind, or mostly one that fits its phase.

    Even a fitting one may be refused, for what it names or because it is blank.
    """
    if kind is None:
        closed = isinstance(state, Active) and state.tree.step_head == state.tree.boundary
        kind = draw(_NEXT_WITH_NOTHING_OPEN if closed else _NEXT[type(state)])
    return _DRAWN[kind](draw, state)


@st.composite
def commands(draw: st.DrawFn, state: State) -> Operation:
    """Return a strategy for the next command in this state."""
    return draw_command(draw, state)


@final
@attrs.frozen
class History:
    """What happened to one agent: a task, and every command that was tried, in order.

    Attributes:
        start: the state at the start.
        edges: what each command led to, refused ones included.
    """

    start: Active
    edges: tuple[Edge, ...]

    @property
    def states(self) -> tuple[State, ...]:
        """Every state it went through, the start first; a refused command adds none."""
        return (self.start, *(edge.after for edge in self.edges if edge.refusal is None))

    @property
    def journal(self) -> tuple[Command, ...]:
        """The start and the commands that were not refused: what a journal would hold."""
        accepted = (edge.command for edge in self.edges if edge.refusal is None)
        return (Start(self.start.tree.task), *accepted)


_SIZES: Final = st.integers(0, 50)
_ONE_IN_SIXTY: Final = st.integers(0, 59).map(lambda pick: pick == 59)


@st.composite
def histories(draw: st.DrawFn, sizes: st.SearchStrategy[int] = _SIZES) -> History:
    """Draw a history of so many commands; now and then one of them is a run of many steps."""
    first = start(draw(texts))
    state: State = first
    edges: list[Edge] = []
    for _ in range(draw(sizes)):
        many = draw(_ONE_IN_SIXTY) and not isinstance(state, Rejected)
        for command in draw(runs) if many else (draw_command(draw, state),):
            edges.append(carry_out(state, command))
            state = edges[-1].after
    return History(first, tuple(edges))

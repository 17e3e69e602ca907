"""Strategies for whole histories: what was tried and where it led, journals, states, and long sequences."""

from __future__ import annotations

from typing import Final, final

import attrs
from hypothesis import strategies as st

from mage.engine import (
    Accept,
    Active,
    ApplyVerdict,
    Command,
    Compress,
    Failed,
    Grow,
    Rejected,
    Revise,
    Start,
    State,
    Unverified,
    start,
)
from mage.engine.journal import Operation
from mage.testing.drawing import draw_command
from mage.testing.edges import Edge, carry_out
from mage.testing.values import runs, texts

__all__ = ["LENGTHS", "MOST", "History", "histories", "journals", "sequences", "states"]


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


def journals(sizes: st.SearchStrategy[int] = _SIZES) -> st.SearchStrategy[tuple[Command, ...]]:
    """Return a strategy for journals: a `Start` and commands that were accepted, of so many that were tried."""
    return histories(sizes).map(lambda history: history.journal)


@st.composite
def states(draw: st.DrawFn, sizes: st.SearchStrategy[int] = _SIZES) -> State:
    """Draw a state that is reached in so many commands, or in up to three more: often one not yet trusted."""
    state = draw(histories(sizes)).states[-1]
    for command in draw(_ENDINGS):
        digest = state.digest if isinstance(state, Unverified) else ""
        state = carry_out(state, ApplyVerdict(Failed("f"), digest) if command is None else command).after
    return state


_ENDINGS: Final[st.SearchStrategy[tuple[Operation | None, ...]]] = st.sampled_from(
    ((), (), (Grow("a", "o"), Compress("m")), (Grow("a", "o"), Compress("m"), None))
)
"""What is tried after a history, so that each phase is met; None is a failed verdict."""

LENGTHS: Final[st.SearchStrategy[int]] = st.sampled_from((0, 4, 12, 30, 101, 101, 101))
"""How many commands of a sequence are accepted at least, the start not counted: over a hundred in two of five."""

MOST: Final = 200
"""How many commands of a sequence are accepted at most, the start not counted."""

_PATIENCE: Final = 8
"""Refusals in a row after which a command is tried that nothing refuses."""
_MISPLACED: Final[st.SearchStrategy[tuple[Command, ...]]] = st.sampled_from(
    (*[()] * 12, (Grow("a", "o"), Start("again")), (Accept(), Start("again")), (Revise(0), Start("again")))
)
"""What is tried before the start, and a start that is tried at the end: no phase takes it."""


@final
@attrs.define
class _Walk:
    """Where a sequence stands while it is drawn, and how many more commands it must have accepted."""

    state: State
    wanted: int


@st.composite
def _onwards(draw: st.DrawFn, walk: _Walk) -> tuple[Operation, ...]:
    """Draw the next command, and as long as it is refused and more must be accepted, another one."""
    tried: list[Operation] = []
    while True:
        tried.append(draw_command(draw, walk.state) if len(tried) < _PATIENCE else _always_taken(walk.state))
        edge = carry_out(walk.state, tried[-1])
        walk.state = edge.after
        walk.wanted -= edge.refusal is None
        if edge.refusal is None or walk.wanted <= 0:
            return tuple(tried)


@st.composite
def sequences(draw: st.DrawFn, lengths: st.SearchStrategy[int] = LENGTHS) -> tuple[Command, ...]:
    """Draw a start and commands, refused ones among them, of which at least so many are accepted.

    Meant for comparing two implementations: long, cheap to draw (a few small draws a command), and shrunk to
    few commands, where `lengths` shrinks to 0.

    Args:
        draw: what Hypothesis draws with.
        lengths: how many commands are to be accepted at least after the start, up to `MOST`. A sequence is
            mostly longer: on average twice as long or by 5, whichever is more, and never beyond `MOST`.
    """
    wanted, misplaced, task = draw(lengths), draw(_MISPLACED), draw(texts)
    # The elements are drawn one after the other, each in the state that the one before has led to. A list
    # shrinks far better than a number of commands: any part of it can go.
    walk = _Walk(start(task), wanted)
    parts = draw(st.lists(_onwards(walk), min_size=wanted, max_size=MOST))
    return (*misplaced[:1], Start(task), *[command for part in parts for command in part], *misplaced[1:])


def _always_taken(state: State) -> Operation:
    return Accept() if isinstance(state, Rejected) else Grow("a", "o")

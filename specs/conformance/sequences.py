"""Long sequences of commands, refused ones among them, to compare two implementations over."""

from __future__ import annotations

from typing import Final, final

import attrs
from hypothesis import strategies as st

from mage.engine import Accept, Command, Grow, Rejected, Revise, Start, State, start
from mage.engine.journal import Operation
from mage.testing.strategies import carry_out, draw_command, texts

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

"""The last lines of a prompt: what has happened, where Revise may go, and where the agent stands now.

    Notice: ...                          what has happened since the last turn
    You may revise to ...                where there is something to undo
    Open: 3 steps; room: 900 tokens.     how much is open, and how much more may be
    Compress ...                         only where it is due
    Now: ...                             the current instruction once more, far from where it was given
    Your turn.

A line that does not apply is left out: each is paid for with every call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mage.chat.lengths import cut
from mage.effects import Decide
from mage.engine import StepId
from mage.render.blocks import Block

_REPEATED: Final = 400
"""Characters of the current instruction that are repeated of a long one, its two ends; all of it stands further up."""
_NUDGES: Final = {
    "instruction": "Compress first: a new instruction has come while steps are open.",
    "room": "The room is nearly used: compress if a subgoal is finished, such as when what you looked for is found; else "
    "an interim account replaces the steps.",
}


def now_of(request: Decide) -> Iterator[Block]:
    """Yield the blocks of this turn only."""
    for notice in request.notices:
        yield Block("Notice: ", f"{notice.text}\n{notice.said}" if notice.said else notice.text)
    if request.boundaries:
        yield _where_to(request)
    yield _open(request)
    if request.nudge:
        yield Block(_NUDGES[request.nudge])
    if request.current:
        yield _repeated(request.current)
    yield Block("Your turn.")


def _open(request: Decide) -> Block:
    if request.opened:
        words = f"Open: {request.opened} step{'s' * (request.opened > 1)}"
    elif request.may_compress:  # an interim account, or a text that has failed
        words = "Open: no new step"
    else:
        words = "Nothing is open: there is nothing to compress"
    return Block(f"{words}." if request.room is None else f"{words}; room: {max(0, request.room)} tokens.")


def _repeated(instruction: str) -> Block:
    is_short = (
        len(instruction) <= _REPEATED + _REPEATED // 4
    )  # what is gained is more than the words that say so
    return Block("Now: ", instruction if is_short else cut(instruction, _REPEATED))


def _where_to(request: Decide) -> Block:
    """Say where Revise may go, without a list of labels that the prompt shows anyway."""
    allowed = set(request.boundaries)
    labels = {line.label for line in request.shown.compressed}
    more = f"; and to {request.more} more inside these: look into one to see them" if request.more else ""
    for shown, words in (
        (labels | {request.shown.boundary}, "any [Step N] that is shown"),
        # the last has failed, or nothing is open
        (labels if len(labels) > 1 else set[StepId](), "any [Step N] that has a summary"),
    ):
        if shown and shown <= allowed:
            others = [boundary for boundary in request.boundaries if boundary not in shown]
            also = f", and to {labels_of(others)}" if others else ""
            return Block(f"You may revise to {words}{also}{more}.")
    return Block(f"You may revise to: {labels_of(request.boundaries)}{more}")


def labels_of(boundaries: Iterable[StepId]) -> str:
    """Return boundaries as a prompt names them."""
    return ", ".join([f"[Step {boundary}]" for boundary in boundaries])

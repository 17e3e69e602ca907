"""Writes the golden files of the present format version: `python -m tests.golden.make`.

They hold one small story, told by every command, verdict and kind. A file that stands is never written
again: a change of the format gets a new version, a new name here, and the old files stay readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from mage.codec import encode_journal, encode_tree
from mage.engine import (
    Accept,
    Active,
    ApplyVerdict,
    Command,
    Compress,
    Failed,
    Fold,
    Grow,
    Instruct,
    Passed,
    Retext,
    Revise,
    Start,
    State,
    StepId,
    Unverified,
    Verdict,
    apply,
    fold_request,
    replay,
)

JOURNAL: Final = Path(__file__).with_name("journal-v1.jsonl")
TREE: Final = Path(__file__).with_name("tree-v1.json")

_Move: TypeAlias = Command | Verdict
"""A bare verdict stands for the answer to whatever summary is pending, a fold for one of the lines as they stand."""

_DESK: Final[tuple[_Move, ...]] = (
    Start("Furnish the study 书房: a desk, a chair and a lamp, 400 € at most."),
    Instruct("Everything goes to the second floor.", standing=True),
    Instruct("Begin with the desk."),
    Grow("search[desk]", "1. oak desk, 210 €\n2. pine desk, 120 €"),
    Grow("measure[door]", "130 cm"),
    Compress("Two desks are for sale; the door is 130 cm wide.", "fallback"),
    Passed(),
    Grow("buy[oak desk]", "order 17: 140 cm wide, not to be taken apart"),
    Compress("Bought the oak desk for 210 €."),
    Failed("At 140 cm the oak desk does not go through the door.", "execution"),
    Revise(StepId(2), "Compare every width with the door before buying."),
    Grow("buy[pine desk]", "order 18: 118 cm wide"),
    Compress("Bought a desk."),
    Failed("Say which desk, and for how much.", "summary"),
    Retext("Bought the pine desk, 118 cm wide, for 120 €."),
    Passed(),
)
_CHAIR: Final[tuple[_Move, ...]] = (
    Instruct("The chair has to be adjustable."),
    Grow("search[chair]", "stool, 35 €; swivel chair, 90 €"),
    Grow("buy[stool]", "order 19"),
    Compress("Bought a stool for 35 €."),
    Failed("A stool is not adjustable.", "execution", StepId(4)),
    Accept(),
    Revise(StepId(4), "Look for a lever under the seat."),
    Grow("search[chair]", "stool, 35 €; swivel chair, 90 €"),
    Grow("buy[swivel chair]", ""),
    Compress("Bought the swivel chair; no receipt was shown.", "fallback"),
    Accept(),
    Compress("Bought the swivel chair for 90 €."),
    Accept(),
)
_BOTH: Final = "The study has a pine desk, 118 cm wide, and a swivel chair; 210 € are spent."
_LAMP: Final[tuple[_Move, ...]] = (
    Fold(StepId(0), StepId(7), _BOTH, ""),
    Grow("search[lamp \U0001f4a1]", 'a quote ", a backslash \\, a NUL \x00, a tab \t, a DEL \x7f'),
    Grow("open[1]\r\n", "half a pair \ud83d, the other half \udca1, lines \u2028 \u2029 \x85, a mark \ufeff"),
    Compress("Found a lamp for 25 €.", "fallback"),
    Retext("Found the brass lamp for 25 €."),
    Passed(),
    Grow("ask[bulb]", "E27"),
    Compress("Found the brass lamp for 25 €; it takes an E27 bulb."),
    Grow("buy[brass lamp]", '{"op":"accept"}\n'),
    Instruct("Keep the receipts."),
)


def story() -> tuple[Command, ...]:
    """Return the story as the engine takes it, each verdict with the digest that it answers."""
    return tuple(_aimed((*_DESK, *_CHAIR, *_LAMP)))


def _aimed(moves: Iterable[_Move]) -> Iterator[Command]:
    state: State | None = None
    for move in moves:
        command: Command
        if isinstance(move, Passed | Failed):
            if not isinstance(state, Unverified):
                raise TypeError(f"nothing is pending for {move}")
            command = ApplyVerdict(move, state.digest)
        elif isinstance(move, Fold) and isinstance(state, Active):
            command = Fold(
                move.first,
                move.last,
                move.text,
                fold_request(state, move.first, move.last, move.text).unwrap().digest,
            )
        else:
            command = move
        yield command
        state = apply(state, command).unwrap()


def ending() -> State:
    """Return the state that the story leads to: a pending summary, and a step after it."""
    return replay(story()).unwrap()


def main() -> None:
    """Write both files, unless they stand."""
    with JOURNAL.open("xb") as journal:
        journal.writelines(encode_journal(story()))
    with TREE.open("xb") as tree:
        tree.write(encode_tree(ending()))


if __name__ == "__main__":
    main()

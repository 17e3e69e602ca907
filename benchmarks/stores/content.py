"""What is kept: steps of so many bytes, and a long journal of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from benchmarks.work import SEGMENT, TASK, Contents
from mage import Passed
from mage.engine import ApplyVerdict, Command, Compress, Grow, Start, State, Unverified, apply
from mage.stores import NOTHING, JournalStore, Record, draft, random_salt, seal

SIZE: Final = 480
"""Bytes of a step: an action of a sixth of that, and what came back."""
_WORDS: Final = ["order", "item", "aisle", "price", "desk", "chair", "linen", "oak", "shelf", "blue", "gate"]
_AT_ONCE: Final = 5_000


def steps(count: int, size: int = SIZE) -> Contents:
    """Return so many steps, no two alike, each of `size` bytes of plain words and numbers."""
    return [
        (_text(f"search[{number}] ", size // 6), _text(f"found {number}: ", size - size // 6))
        for number in range(count)
    ]


def _text(begin: str, size: int) -> str:
    start = sum(map(ord, begin))
    words: list[str] = []
    length = len(begin)
    while length < size:
        words.append(_WORDS[(start + len(words) * len(words)) % len(_WORDS)])
        length += len(words[-1]) + 1
    return (begin + " ".join(words) + "." * size)[:size]


def payload(kept: Contents) -> int:
    """Return the bytes of the texts."""
    return sum(len(action.encode()) + len(observation.encode()) for action, observation in kept)


def create_long(store: JournalStore, name: str, commands: int, size: int) -> None:
    """Create a journal of so many commands: a start, steps, and a summary that passes after each twenty."""
    records = _records(commands, size)
    head = store.create(name, islice(records, _AT_ONCE))
    while run := list(islice(records, _AT_ONCE)):
        head = store.append(name, head, run)


def _records(commands: int, size: int) -> Iterator[Record]:
    state: State | None = None
    head = NOTHING
    made = iter(steps(commands, size))
    for version in range(1, commands + 1):
        command = _next(state, made)
        record = seal(head, draft(state, command, {"at": version}), random_salt)
        state, head = apply(state, command).unwrap(), record.head
        yield record


def _next(state: State | None, made: Iterator[tuple[str, str]]) -> Command:
    if state is None:
        return Start(TASK)
    if isinstance(state, Unverified):
        return ApplyVerdict(Passed(), state.digest)
    if len(state.tree.segment()) == SEGMENT:
        return Compress(f"what {SEGMENT} steps up to step {state.tree.step_head} achieved")
    return Grow(*next(made))

"""The means of the promises of a store: how it is opened, records to put into it, and checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from inspect import isfunction, signature
from itertools import count
from types import ModuleType
from typing import ParamSpec, TypeAlias, TypeVar, final

import attrs

from mage.engine import Command, Grow, Start, State, apply
from mage.stores import (
    NOTHING,
    DamagedRecord,
    Head,
    JournalStore,
    MemoryStore,
    Note,
    Record,
    command_of,
    draft,
    fold,
    open_store,
    seal,
    verify,
)
from mage.testing.strategies import state_script

P = ParamSpec("P")
Raised = TypeVar("Raised", bound=Exception)


@final
@attrs.frozen
class Kit:
    """How a store is opened, and its abilities. Each promise gets an empty store.

    Attributes:
        open: opens the store; where `durable`, a second call opens the same one again.
        durable: whether records are there when the store is opened again, also while it is open.
        processes: whether `open` can be pickled, and opens the same store in another process.
    """

    open: Callable[[], JournalStore]
    durable: bool = True
    processes: bool = False


@final
@attrs.frozen
class Url:
    """Opens a store by its URL, here or in another process."""

    url: str

    def __call__(self) -> JournalStore:
        """Open it."""
        return open_store(self.url)


Promise: TypeAlias = Callable[[Kit], None]
"""A function that raises AssertionError where a store does not keep the promise in its docstring."""


def promises_in(module: ModuleType) -> tuple[Promise, ...]:
    """Return the promises of a module: every public function of it that takes a `Kit` and nothing else."""
    return tuple(
        [
            each
            for name, each in vars(module).items()
            if isfunction(each) and each.__module__ == module.__name__ and not name.startswith("_")
            if list(signature(each).parameters) == ["kit"]
        ]
    )


def kit_for(url: str) -> Kit:
    """Return the kit of a store that `open_store` opens; each opening of `memory:` is a store of its own."""
    if url == "memory:":
        return Kit(MemoryStore, durable=False)
    return Kit(Url(url), processes=True)


def salts() -> Callable[[], str]:
    """Return a source of salts that is the same every time, so that every run does the same."""
    numbers = count()
    return lambda: f"{next(numbers):016x}"


def recorded(
    commands: Iterable[Command], before: Head = NOTHING, state: State | None = None
) -> tuple[Record, ...]:
    """Return the records of commands behind a head; the engine refuses none of them."""
    records: list[Record] = []
    new_salt = salts()
    for command in commands:
        record = seal(before, draft(state, command, {"at": 1_700_000_000_000_000 + before.version}), new_salt)
        state = apply(state, command).unwrap()
        records.append(record)
        before = record.head
    return tuple(records)


def chain(length: int, label: str = "") -> tuple[Record, ...]:
    """Return a start and steps, `length` records in all."""
    steps = (Grow(f"{label} act {number}", f"seen {number}\n" * 3) for number in range(2, length + 1))
    return recorded([Start(f"task {label}"), *steps])


def following(head: Head, *texts: str) -> tuple[Record, ...]:
    """Return records that follow a head, a step for each text; the texts are new below the step head."""
    records: list[Record] = []
    new_salt = salts()
    for text in texts:
        records.append(seal(head, draft(None, Grow(text, f"seen of {text}"), {}), new_salt))
        head = records[-1].head
    return tuple(records)


def state_of(store: JournalStore, name: str) -> State:
    """Return the state that a journal leads to, every record verified."""
    return fold(verify(NOTHING, store.read(name), store.head(name)))


def expect(kept: bool, promise: str) -> None:
    """Raise AssertionError with the promise, unless it is kept; also under `python -O`."""
    if not kept:
        raise AssertionError(promise)


def expect_equal(found: object, wanted: object, what: str) -> None:
    """Raise AssertionError unless the value found is the value wanted.

    Where a value is or holds a whole journal, the error has a note: Python that makes the journal's state.
    """
    if found == wanted:
        return
    error = AssertionError(f"{what}: found {_short(found)}, wanted {_short(wanted)}")
    journals = {"found": next(_journals_in(found), None), "wanted": next(_journals_in(wanted), None)}
    if whole := {name: journal for name, journal in journals.items() if journal is not None}:
        error.add_note(state_script(**whole))
    raise error


def _journals_in(value: object) -> Iterator[list[Command]]:
    """Yield the commands of each sound journal that a value is or holds."""
    if isinstance(value, tuple | list):
        if value and all(isinstance(each, Record) for each in value):
            with suppress(DamagedRecord):
                yield _commands_of(value)
        else:
            for each in value:
                yield from _journals_in(each)


def _commands_of(records: Iterable[Record]) -> list[Command]:
    commands: list[Command] = []
    state: State | None = None
    for record in records:
        command = command_of(state, record)
        if not isinstance(command, Note):
            commands.append(command)
        state = fold([record], state)
    return commands


def expect_raised(
    kind: type[Raised], what: str, work: Callable[P, object], *args: P.args, **kwargs: P.kwargs
) -> Raised:
    """Return the exception of `work`, which must be of this class."""
    try:
        answer = work(*args, **kwargs)
    except kind as error:
        expect(bool(str(error)), f"{what}: {kind.__name__} says nothing")
        return error
    raise AssertionError(f"{what}: expected {kind.__name__}, but it returned {_short(answer)}")


def _short(value: object) -> str:
    if isinstance(value, tuple | list) and value and all(isinstance(each, Record) for each in value):
        return f"{len(value)} records"
    shown = (
        f"{len(value)} of {value[:2]!r}..." if isinstance(value, Sequence) and len(value) > 4 else repr(value)
    )
    return shown if len(shown) < 400 else shown[:400] + "..."

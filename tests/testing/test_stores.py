"""A store that breaks a promise fails the kit, and the failure is printed as Python that shows it again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast, final

import pytest

from mage.engine import Command, Grow, Start, State
from mage.stores import NOTHING, Head, JournalStore, MemoryStore, Record
from mage.testing import state_after
from mage.testing.stores import PROMISES, Kit, chain, recorded
from mage.testing.stores.kit import expect_equal


@final
class LosesTheLast:
    """A store that does not show the last record of a journal of more than two."""

    def __init__(self) -> None:
        self._store = MemoryStore()

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def __enter__(self) -> LosesTheLast:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        records = list(self._store.read(name, after, upto))
        yield from records[:-1] if len(records) > 2 else records


def notes_of(error: BaseException) -> list[dict[str, object]]:
    """Run each note of an error; return what each defines."""
    defined: list[dict[str, object]] = []
    for note in getattr(error, "__notes__", []):
        names: dict[str, object] = {}
        exec(note, names)
        defined.append(names)
    return defined


def test_a_broken_promise_is_printed_as_the_commands_of_both_sides() -> None:
    """A store that loses a record fails, and its notes, pasted, make the state found and the state wanted."""
    (promise,) = [each for each in PROMISES if each.__name__ == "what_was_created_is_read_back"]
    with pytest.raises(AssertionError) as broken:
        promise(Kit(lambda: cast("JournalStore", LosesTheLast()), durable=False))
    (note,) = notes_of(broken.value)
    found, wanted = cast("State", note["found"]), cast("State", note["wanted"])
    assert found.tree.next_step + 1 == wanted.tree.next_step
    assert "4 records, wanted 5 records" in str(broken.value)


def test_notes_make_the_states_of_whole_journals_only() -> None:
    """Journals are found in tuples too; what begins in the middle, or is no journal, has no note."""
    records = chain(3)
    head = Head(3, "0" * 64)
    with pytest.raises(AssertionError, match="all of it") as broken:
        expect_equal((head, records), (head, records[1:]), "all of it")
    (note,) = notes_of(broken.value)
    commands: list[Command] = [
        Start("task "),
        *(Grow(f" act {number}", f"seen {number}\n" * 3) for number in (2, 3)),
    ]
    assert note["found"] == state_after(commands)
    with pytest.raises(AssertionError) as plain:
        expect_equal(head, NOTHING, "the head")
    assert not notes_of(plain.value)
    expect_equal(recorded([Start("t")]), recorded([Start("t")]), "the same")

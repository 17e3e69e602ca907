"""A journal whose row is damaged hides none of the others."""

from __future__ import annotations

import pickle
import shutil
from itertools import product
from pathlib import Path

import pytest

from mage.stores import DamagedJournals, JournalInfo, StoreError, open_store
from tests.stores.corrupted import sql, write

COLUMNS = ("name", "parent", "forked_at", "head", "digest", "created", "changed", "payload", "grows")
VALUES = ("-1", "0", "4611686018427387904", "1.5", "'x'", "x'00'", "x'ff'")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a sound store's file: "main", its fork "try", and a fork of that, "try again"."""
    path = tmp_path_factory.mktemp("sound") / "work.db"
    with open_store(f"sqlite:///{path}") as store:
        write(store)
    return path


def damaged(sound: Path, place: Path, name: str, *changes: str) -> str:
    """Return the URL of a copy in which the row of a journal was changed so."""
    path = place / "work.db"
    shutil.copy(sound, path)
    sql(*[f"UPDATE mage_journals SET {change} WHERE name = '{name}'" for change in changes])(path)
    return f"sqlite:///{path}"


def told(url: str) -> tuple[tuple[JournalInfo, ...], tuple[str, ...]]:
    """Return what is told of the journals of a store, and of the damaged ones."""
    with open_store(url) as store:
        try:
            return store.journals(), ()
        except DamagedJournals as error:
            return error.sound, error.damaged


@pytest.mark.parametrize(("column", "value"), [*product(COLUMNS, VALUES)])
def test_the_others_are_told_as_before(sound: Path, tmp_path: Path, column: str, value: str) -> None:
    """Whatever a column of a row holds, the others are told as before, and that one is told or named."""
    before, _ = told(f"sqlite:///{sound}")
    found, bad = told(damaged(sound, tmp_path, "try again", f"{column} = {value}"))
    others = [info for info in before if info.name != "try again"]
    assert [info for info in found if info in others] == others
    assert len(found) + len(bad) == len(before)
    if column != "name":
        assert all(each.startswith("the journal 'try again': ") for each in bad)


@pytest.mark.parametrize("value", ["x'00'", "'x'", "0"])
def test_a_row_without_a_head_is_named(sound: Path, tmp_path: Path, value: str) -> None:
    """The damaged journal is named with the reason; a fork that reads through it is told as ever."""
    found, bad = told(damaged(sound, tmp_path, "try", f"head = {value}"))
    assert [info.name for info in found] == ["main", "try again"]
    assert bad == ("the journal 'try': the row of a journal says no head",)


def test_a_fork_whose_parent_is_gone_is_named(sound: Path, tmp_path: Path) -> None:
    """That its first records are not there is said of a fork, instead of calling it none."""
    found, bad = told(damaged(sound, tmp_path, "try", "parent = 77"))
    assert [info.name for info in found] == ["main", "try again"]
    assert bad == ("the journal 'try': the one that it reads its first 40 records from is not there",)


def test_the_error_says_how_many_and_can_be_handed_on() -> None:
    """A message names five and counts the rest; a pickled one comes back with all that it had."""
    error = DamagedJournals((), tuple(f"the journal {number}: gone" for number in range(7)))
    assert "the journal 4: gone, and 2 more" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, StoreError)
    assert (str(again), again.args) == (str(error), error.args)

"""Files that were torn or overwritten: what is wrong is named, or what opens is what was acknowledged."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mage.stores import NOTHING, JournalStore, Record, StoreError, UnknownSchema, fold, open_store, verify
from mage.testing.stores import chain, following

NAMES = ("main", "fork")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a closed store of two journals, its file whole."""
    place = tmp_path_factory.mktemp("sound")
    with open_store(f"sqlite:///{place / 'work.db'}") as store:
        write(store)
    return place


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a copy of a store in use: much of it stands in the log beside the file."""
    place = tmp_path_factory.mktemp("logged")
    used = tmp_path_factory.mktemp("used")
    with open_store(f"sqlite:///{used / 'work.db'}") as store:
        write(store)
        for file in ("work.db", "work.db-wal"):  # the third, an index of the log, is made anew from it
            shutil.copy(used / file, place)
    return place


def write(store: JournalStore) -> None:
    """Write the two journals, step by step."""
    records = history("main")
    head = store.create("main", records[:40])
    for record in records[40:]:
        head = store.append("main", head, [record])
    fork = store.fork("main", "fork", 30)
    store.append("fork", fork, history("fork")[30:])


def history(name: str) -> tuple[Record, ...]:
    """Return what was acknowledged of a journal."""
    records = chain(60)
    return records if name == "main" else (*records[:30], *following(records[29].head, "x", "y"))


def outcome(place: Path) -> dict[str, int | str]:
    """Return for each journal how many records open, or what is found to be wrong with it.

    Raises:
        AssertionError: something opens that was never written.
    """
    found: dict[str, int | str] = {}
    try:
        with open_store(f"sqlite:///{place / 'work.db'}", patience=0.1) as store:
            for name in NAMES:
                try:
                    records = tuple(verify(NOTHING, store.read(name), store.head(name)))
                    fold(records)
                    assert records == history(name)[: len(records)]
                    found[name] = len(records)
                except StoreError as error:
                    found[name] = str(error)
    except StoreError as error:
        found = dict.fromkeys(NAMES, str(error))
    return found


def damaged(sound: Path, place: Path, file: str, change: Callable[[bytearray], None]) -> Path:
    """Return a copy of a store in which one file is changed."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(sound, place)
    data = bytearray((place / file).read_bytes())
    change(data)
    (place / file).write_bytes(data)
    return place


def flips(size: int, seed: int, many: int) -> list[Callable[[bytearray], None]]:
    """Return changes of one byte each, at random offsets."""
    chance = random.Random(seed)

    def flip(offset: int, value: int) -> Callable[[bytearray], None]:
        def change(data: bytearray) -> None:
            data[offset] ^= value

        return change

    return [flip(chance.randrange(size), chance.randrange(1, 256)) for _ in range(many)]


@pytest.mark.parametrize("seed", range(3))
def test_a_flipped_byte_of_the_file_is_named_or_harmless(sound: Path, tmp_path: Path, seed: int) -> None:
    """A byte changed anywhere in the file: an error says what is wrong, or all that was written opens."""
    size = (sound / "work.db").stat().st_size
    named = 0
    for flip in flips(size, seed, 60):
        found = outcome(damaged(sound, tmp_path / "copy", "work.db", flip))
        assert all(isinstance(each, str) or each == len(history(name)) for name, each in found.items())
        named += any(isinstance(each, str) for each in found.values())
    assert named > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_flipped_byte_of_the_log_leaves_a_prefix(logged: Path, tmp_path: Path, seed: int) -> None:
    """A byte changed in the write-ahead log: named, or what opens is a prefix of what was acknowledged."""
    size = (logged / "work.db-wal").stat().st_size
    shorter = 0
    for flip in flips(size, seed, 40):
        found = outcome(damaged(logged, tmp_path / "copy", "work.db-wal", flip))
        shorter += found != {"main": 60, "fork": 32}
    assert shorter > 0


@pytest.mark.parametrize("file", ["work.db", "work.db-wal"])
def test_a_torn_file_is_named_or_leaves_a_prefix(logged: Path, tmp_path: Path, file: str) -> None:
    """A file that ends early: named, or what opens is a prefix of what was acknowledged."""
    size = (logged / file).stat().st_size
    chance = random.Random(7)
    lengths = [0, 1, 50, *(chance.randrange(size) for _ in range(20)), size - 1]
    whole = damaged(logged, tmp_path / "copy", file, lambda _: None)
    assert outcome(whole) == {"main": 60, "fork": 32}
    for length in lengths:

        def cut(data: bytearray, length: int = length) -> None:
            del data[length:]

        found = outcome(damaged(logged, tmp_path / "copy", file, cut))
        assert set(found) == set(NAMES)


def test_a_cut_file_is_refused_and_left_as_it_is(sound: Path, tmp_path: Path) -> None:
    """A file that is shorter than it says is refused at once, without a byte written beside or in it."""
    size = (sound / "work.db").stat().st_size
    for length in (1, 99, 100, 4096, size - 4096, size - 1):

        def cut(data: bytearray, length: int = length) -> None:
            del data[length:]

        place = damaged(sound, tmp_path / "copy", "work.db", cut)
        before = {path.name: path.read_bytes() for path in place.iterdir()}
        with pytest.raises(UnknownSchema):
            open_store(f"sqlite:///{place / 'work.db'}")
        assert {path.name: path.read_bytes() for path in place.iterdir()} == before

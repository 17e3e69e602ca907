"""Bytes torn and flipped anywhere: what the doctor does not name is a beginning of what was acknowledged."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mage.stores import NOTHING, Head, fold, open_store, verify
from mage.stores.doctor import Finding, examine, kept_at, repair
from mage.stores.doctor.reading import log_problem
from tests.stores.corrupted import PAGE, acknowledged, write

HISTORY = acknowledged()


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a store that nobody has open: all of it stands in its file."""
    place = tmp_path_factory.mktemp("closed")
    with open_store(f"sqlite:///{place / 'work.db'}") as store:
        write(store)
    return place


@pytest.fixture(scope="module")
def in_use(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a store whose writer was killed: much of it stands in the log beside its file."""
    used, place = tmp_path_factory.mktemp("used"), tmp_path_factory.mktemp("in_use")
    with open_store(f"sqlite:///{used / 'work.db'}") as store:
        write(store)
        for file in ("work.db", "work.db-wal"):
            shutil.copy(used / file, place)
    return place


def flip(content: bytearray, chance: random.Random) -> None:
    """Flip one bit."""
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def tear(content: bytearray, chance: random.Random) -> None:
    """Write zeros over half a sector or up to two pages."""
    start = chance.randrange(len(content))
    size = chance.choice((256, 512, PAGE, 2 * PAGE))
    content[start : start + size] = bytes(len(content[start : start + size]))


def cut(content: bytearray, chance: random.Random) -> None:
    """Cut the end off."""
    del content[chance.randrange(len(content)) :]


DAMAGES: list[Callable[[bytearray, random.Random], None]] = [flip, tear, cut]


def look(
    source: Path, place: Path, file: str, damage: Callable[[bytearray, random.Random], None], seed: int
) -> None:
    """Damage one file of a copy, examine and repair it, and ask what this test is about.

    Raises:
        AssertionError: something was changed, or not named, or repaired into what never was.
    """
    shutil.copytree(source, place / "store")
    path = place / "store" / file
    content = bytearray(path.read_bytes())
    damage(content, random.Random(seed))
    path.write_bytes(content)
    before = {each.name: each.read_bytes() for each in (place / "store").iterdir()}
    with (
        kept_at(f"sqlite:///{place / 'store' / 'work.db'}") as kept,
        open_store(f"sqlite:///{place / 'repaired.db'}") as into,
    ):
        examined = examine(kept)
        repair(kept, examined, into)
        heads = {}
        for info in into.journals():
            fold(verify(NOTHING, into.read(info.name), info.head))
            heads[info.name] = info.head
    assert {each.name: each.read_bytes() for each in (place / "store").iterdir()} == before
    for name, head in heads.items():  # where a name itself was damaged, it is the beginning of some history
        known = [HISTORY[name]] if name in HISTORY else list(HISTORY.values())
        assert any(head in history for history in known)
    require_named(examined.findings, heads)
    shutil.rmtree(place)


def require_named(findings: tuple[Finding, ...], heads: dict[str, Head]) -> None:
    """Ask that what is gone was named, or is a tail that nothing in the store can tell of."""
    if not findings:
        assert heads.keys() <= HISTORY.keys()
        short = [name for name in HISTORY if name not in heads or heads[name] != HISTORY[name][-1]]
        assert all(heads.get(name, NOTHING).version < HISTORY[name][-1].version for name in short)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("part", range(4))
def test_the_file_damaged_at_random(
    closed: Path, tmp_path: Path, part: int, damage: Callable[[bytearray, random.Random], None]
) -> None:
    """A bit, a sector or the end of the database: named, or a beginning; never changed in place."""
    for seed in range(5 * part, 5 * part + 5):
        look(closed, tmp_path / f"{seed}", "work.db", damage, seed)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("file", ["work.db", "work.db-wal"])
@pytest.mark.parametrize("part", range(2))
def test_a_store_in_use_damaged_at_random(
    in_use: Path, tmp_path: Path, part: int, file: str, damage: Callable[[bytearray, random.Random], None]
) -> None:
    """The same of the file and of the log that was written beside it."""
    for seed in range(5 * part, 5 * part + 5):
        look(in_use, tmp_path / f"{seed}", file, damage, seed)
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("file", ["work.db", "work.db-wal"])
def test_many_more_of_them(
    closed: Path,
    in_use: Path,
    tmp_path: Path,
    file: str,
    damage: Callable[[bytearray, random.Random], None],
) -> None:
    """Two hundred places each."""
    for seed in range(1000, 1200):
        look(in_use if file.endswith("wal") else closed, tmp_path / f"{seed}", file, damage, seed)
    assert not any(tmp_path.iterdir())


def test_every_flipped_bit_of_a_log_is_seen(in_use: Path) -> None:
    """Wherever a bit of its frames is flipped, it is told that SQLite leaves something out."""
    log = (in_use / "work.db-wal").read_bytes()
    assert log_problem(log) is None
    chance = random.Random(0)
    frames = (len(log) - 32) // (24 + PAGE)
    for _ in range(60):
        content = bytearray(log)
        offset = 32 + chance.randrange(frames) * (24 + PAGE) + chance.choice((3, 7, 17, 21, 24, 900, 4000))
        content[offset] ^= 1 << chance.randrange(8)
        assert log_problem(bytes(content)) is not None
    assert "refused for lack of room" in str(log_problem(log[:-100]))


def test_a_log_that_was_used_again_is_no_fault(in_use: Path) -> None:
    """Frames of an older use behind those of this one, with other salts, are as SQLite leaves them."""
    log = (in_use / "work.db-wal").read_bytes()
    old = bytearray(24 + PAGE)
    assert log_problem(log + bytes(old) * 3) is None
    assert log_problem(log[:-1]) is not None


def test_a_file_that_lost_its_end_is_read_up_to_there(closed: Path, tmp_path: Path) -> None:
    """Without its last page SQLite reads nothing of a file; the doctor finds what stands in the other pages."""
    shutil.copytree(closed, tmp_path / "store")
    path = tmp_path / "store" / "work.db"
    path.write_bytes(path.read_bytes()[:-PAGE])
    with (
        kept_at(f"sqlite:///{path}") as kept,
        open_store(f"sqlite:///{tmp_path / 'repaired.db'}") as into,
    ):
        examined = examine(kept)
        repair(kept, examined, into)
        heads = {info.name: info.head for info in into.journals()}
    assert examined.findings[0].fault == "cut file"
    assert heads
    assert all(head in HISTORY[name] for name, head in heads.items())

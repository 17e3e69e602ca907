"""What is timed beside one another does the same job. `pytest benchmarks` runs this too."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import pytest

from benchmarks.stores.content import SIZE, create_long, payload, steps
from benchmarks.stores.keepers import Awaited, Bare, Mage, Maker
from benchmarks.stores.peers import PEERS, missing
from benchmarks.stores.turns import kept_in_turn
from benchmarks.work import Contents
from mage import Session
from mage.stores import open_store

OURS: Final[dict[str, Maker]] = {"mage": Mage, "awaited": Awaited, "bare": Bare}


class Forgetful:
    """Keeps all but the last step."""

    def __init__(self, directory: Path, steps: int) -> None:
        self.kept: Contents = []

    async def step(self, action: str, observation: str) -> None:
        self.kept.append((action, observation))

    async def end(self) -> None:
        self.kept.pop()

    async def read(self) -> Contents:
        return self.kept


@pytest.mark.parametrize("others", [OURS, PEERS], ids=["ours", "peers"])
def test_each_keeper_shows_what_it_was_given(others: dict[str, Maker], tmp_path: Path) -> None:
    """Every side of a comparison shows the same steps from its closed database, and all of them were timed."""
    if others is PEERS and missing():
        pytest.skip(f"not installed: {missing()}")
    seen = asyncio.run(kept_in_turn(others, steps(60), tmp_path, readings=2))
    assert list(seen) == list(others)
    for noted in seen.values():
        assert (len(noted.clock), len(noted.processor), len(noted.reading)) == (60, 60, 2)
        assert noted.size > payload(steps(60))


def test_a_keeper_that_loses_a_step_is_not_timed(tmp_path: Path) -> None:
    """A side that does not show what it was given ends the run."""
    with pytest.raises(RuntimeError, match="forgetful does not show"):
        asyncio.run(kept_in_turn({"forgetful": Forgetful}, steps(3), tmp_path, readings=1))


@pytest.mark.parametrize("size", [48, SIZE])
def test_steps_have_the_size_that_the_table_says(size: int) -> None:
    """Steps differ from one another, and each has so many bytes."""
    made = steps(1_000, size)
    assert len(set(made)) == 1_000
    assert {payload([step]) for step in made} == {size}


def test_the_long_journal_has_as_many_commands_as_it_says() -> None:
    """It is made in several runs, and a summary stands for every twenty steps."""
    with open_store("memory:") as store:
        create_long(store, "s", 11_001, 48)
        assert store.head("s").version == 11_001
        with Session.open(store, "s") as session:
            shown = session.state()
    assert len(shown.compressed) == (11_001 - 1) // 22
    assert {line.boundary - line.label for line in shown.compressed} == {20}

"""A crowd on one SQLite file, of which some are killed: what was acknowledged is there, and the file is sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stores.crowding import crowd

SEED = 1


def test_a_small_crowd_loses_nothing(tmp_path: Path) -> None:
    """Eight processes of four threads, five seconds, five kills."""
    assert "0 lost" in crowd(tmp_path / "work.db", 5, 5, SEED)


@pytest.mark.slow
def test_a_crowd_loses_nothing(tmp_path: Path) -> None:
    """Eight processes of four threads, 60 seconds, 100 kills; `python -m tests.stores.crowding` does more."""
    assert "0 lost" in crowd(tmp_path / "work.db", 60, 100, SEED)

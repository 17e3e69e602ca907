"""Writers that are killed leave what was acknowledged, and nothing half."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEED = 1


def crash(url: str, *arguments: str) -> str:
    """Run the killing in a process of its own, which forks, and return what it says."""
    command = [sys.executable, "-m", "tests.stores.crashing", url, *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1500)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


def kills(url: str, sqlite: int, postgres: int) -> str:
    """Return how many writers are to be killed."""
    return str(sqlite if url.startswith("sqlite") else postgres)


def test_writers_killed_at_random_lose_nothing(url: str) -> None:
    """After each SIGKILL all that was acknowledged is there, batches are whole, and the state is the replay."""
    assert "operations acknowledged" in crash(url, kills(url, 60, 15), str(SEED))


@pytest.mark.slow
def test_many_more_writers_killed_at_random_lose_nothing(url: str) -> None:
    """The same, 500 times on SQLite and 100 times on PostgreSQL."""
    assert "operations acknowledged" in crash(url, kills(url, 500, 100), str(SEED + 1))


def test_a_writer_killed_at_each_statement_leaves_nothing_half(url: str) -> None:
    """Killed before and after each statement of each operation: it is done as a whole or not at all."""
    assert "killed at each of" in crash(url, "each")

"""The long run of `python -m benchmarks.agent`, in small: what is timed and drawn there must be right."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.agent.__main__ import LIMIT, is_bounded
from benchmarks.agent.cached import SHARE, measured
from benchmarks.agent.measuring import long_run
from benchmarks.agent.warehouse import MISTAKES
from mage.agent import RunFinished


@pytest.mark.parametrize(("mark", "fold_at"), [(1_200, 300), (2_000, 300), (100_000, None)])
def test_a_long_run_is_bounded(tmp_path: Path, mark: int, fold_at: int | None) -> None:
    """Whatever the mark, a run over forty aisles stays within its bounds, goes back once for each mistake, loses no step."""
    run = long_run(int(os.environ.get("LONG_RUN_AISLES", "40")), mark, tmp_path, fold_at=fold_at)
    assert is_bounded(run)
    assert isinstance(run.outcome, RunFinished)
    assert (run.above(), run.is_whole) == ([], True)
    assert run.outcome.totals.revisions == MISTAKES
    assert (run.fallbacks > 0) == (mark < LIMIT)
    assert (run.chapters > 0) == (fold_at is not None)
    assert run.reduction > 0.5
    if fold_at is not None:
        assert max(call.summaries for call in run.calls) <= fold_at + 200  # with interim accounts


def test_what_changes_stands_behind_what_stays() -> None:
    """With the instructions behind C, at most half of what was sent before is in no cache of prefixes."""
    found, beside = measured(100)
    assert found.sent == beside.sent
    assert found.again <= SHARE * beside.again

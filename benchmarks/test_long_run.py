"""The long run of `python -m benchmarks.agent`, in small: what is timed and drawn there must be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.agent.measuring import long_run
from mage.agent import RunFinished


@pytest.mark.parametrize("mark", [1_200, 2_000, 100_000])
def test_no_prompt_is_longer_than_mark_summaries_and_largest_step(tmp_path: Path, mark: int) -> None:
    """Whatever the mark, a run over eleven aisles stays within the bound, and goes back where it must."""
    run = long_run(11, mark, tmp_path)
    assert isinstance(run.outcome, RunFinished)
    assert run.above() == []
    assert run.outcome.totals.revisions >= 1
    assert (run.fallbacks > 0) == (mark < 10_000)
    assert run.reduction > 0.5

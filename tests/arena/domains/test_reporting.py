"""What a file of rows comes to."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.arena.domains.reporting import report, table, wilson


def row(number: int, sr: float, domain: str = "shopping", **more: Any) -> dict[str, Any]:
    settings = {"domain": domain, "memory": "mage", "agent": "plan", "seed": 0}
    return {"settings": settings, "number": number, "outcome": "finished", "sr": sr, "ps": sr / 2, **more}


def test_a_series_is_one_object() -> None:
    """One object for each domain and memory, with the names that the report's readers ask for; failed tasks count."""
    failed = {**row(2, 0.0), "outcome": "failed"}
    (said,) = report([row(0, 1.0, tokens=30, steps=2, answered=1.0), row(1, 1.0, tokens=60, steps=4), failed])
    assert set(said) >= {"domain", "memory", "tasks", "sr", "ps", "tokens", "sr_interval", "agent"}
    assert (said["domain"], said["memory"], said["agent"], said["tasks"]) == ("shopping", "mage", "plan", 3)
    assert said["sr"] == pytest.approx(2 / 3)
    assert said["ps"] == pytest.approx(1 / 3)
    assert (said["tokens"], said["steps"], said["failed"]) == (30, 2, 1)
    assert said["answered"] == pytest.approx(1 / 3)
    assert said["sr_interval"] == list(wilson(2, 3))
    assert "soft_ps" not in said


def test_mathematics_and_physics_stand_apart() -> None:
    """Each domain and each other setting has an object of its own, in an order that does not hang on the file's."""
    rows = [row(0, 1.0, "physics"), row(0, 0.0, "math"), row(0, 0.0, "travel", soft_ps=0.25)]
    assert [said["domain"] for said in report(rows)] == ["math", "physics", "travel"]
    assert report(rows) == report(rows[::-1])
    assert report(rows)[2]["soft_ps"] == 0.25


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (0, 0, 0.0, 1.0)],
)
def test_an_interval_is_wilsons(right: int, count: int, low: float, high: float) -> None:
    """The 95 % interval of a share, as Wilson's score has it, also where all or none are right."""
    assert wilson(right, count) == pytest.approx((low, high), abs=1e-4)


def test_a_table_has_a_line_for_each_series() -> None:
    """As text: a head, and a line for each; what a domain does not have is a dash."""
    text = table(report([row(0, 1.0, tokens=1234567), row(0, 0.0, "travel", soft_ps=0.25)]))
    head, first, second = text.splitlines()
    assert head.split()[:5] == ["domain", "memory", "agent", "tasks", "sr"]
    assert "1,234,567" in first
    assert " -  " in first
    assert "0.250" in second

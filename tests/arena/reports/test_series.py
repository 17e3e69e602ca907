"""What rows of tasks come to: means, intervals, and differences by pairs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena.reports.blocks import averages, blocks
from benchmarks.arena.reports.files import Results
from benchmarks.arena.reports.series import interval_of, report, wilson
from benchmarks.arena.reports.tables import tables
from tests.arena.reports.rows import any_rows, row, usage


def test_a_series_is_one_object() -> None:
    """One object for each domain and memory, with the names that the report's readers ask for; failed tasks count."""
    failed = {**row(2, 0.0), "outcome": "failed"}
    (said,) = report([row(0, 1.0, tokens=30, steps=2, answered=1.0), row(1, 1.0, tokens=60, steps=4), failed])
    assert set(said) >= {"domain", "memory", "tasks", "sr", "ps", "tokens", "sr_interval", "agent"}
    assert (said["domain"], said["memory"], said["agent"], said["tasks"]) == ("shopping", "mage", "plan", 3)
    assert said["sr"] == pytest.approx(2 / 3)
    assert said["ps"] == pytest.approx(1 / 3)
    assert (said["tokens"], said["tokens_tasks"]) == (45, 2)
    assert (said["steps"], said["failed"]) == (2, 1)
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


def test_differences_are_over_the_tasks_that_both_have_played() -> None:
    """A task that one of them lacks takes no part; what differs in each task by the same has an interval of a point."""
    full = [row(number, 0.0, memory="full-history", tokens=100 + number) for number in range(4)]
    mine = [row(number, float(number < 2), tokens=50 + number) for number in range(1, 6)]
    said: dict[str, Any] = {each["memory"]: each for each in report([*full, *mine])}["mage"]
    assert said["paired_tasks"] == 3
    assert said["sr_more"] == pytest.approx(1 / 3)
    low, high = said["sr_more_interval"]
    assert low <= 1 / 3 <= high
    assert (said["tokens_more"], said["tokens_more_interval"]) == (-50, [-50, -50])
    assert said["tokens_of_full_history"] == pytest.approx(52 / 102)


def test_nothing_is_put_beside_what_played_other_tasks() -> None:
    """Of another seed, another size, another model or another agent there is no pair."""
    full = row(0, 1.0, memory="full-history", agent="model")
    for other in ({"seed": 1}, {"size": "small"}, {"model": "n"}, {"agent": "plan"}):
        (said,) = [
            each
            for each in report([full, row(0, 1.0, agent="model", settings=other)])
            if each["memory"] == "mage"
        ]
        assert "sr_more" not in said, other


@settings(deadline=None)
@given(st.lists(st.integers(0, 20).map(float), min_size=1, max_size=30))
def test_a_drawn_interval_holds_no_more_than_there_is(values: list[float]) -> None:
    """Its ends lie between the least and the largest value, in their order, and the same ones come each time."""
    low, high = interval_of(values)
    assert min(values) <= low <= high <= max(values)
    assert interval_of(values) == [low, high]
    assert interval_of([value + 1000 for value in values]) == pytest.approx([low + 1000, high + 1000])


def test_averages_are_over_domains_and_over_tasks() -> None:
    """Domains count alike in the one, tasks in the other; a memory that lacks a domain has no average."""
    rows = [
        *[row(number, 1.0, tokens=10) for number in range(3)],
        row(0, 0.0, "math", tokens=50),
        *[row(number, 1.0, memory="bm25") for number in range(3)],
    ]
    (block,) = blocks(rows)
    (said,) = averages(block)
    assert said["memory"] == "mage"
    assert said["over_domains"] == {"sr": 0.5, "ps": 0.25, "tokens": 30}
    assert said["over_tasks"] == {"sr": 0.75, "ps": 0.375, "tokens": 20}


def test_tokens_are_told_by_kind_of_call() -> None:
    """Means over the tasks whose calls are known: one whose run failed says nothing of them."""
    (said,) = report([row(0, 1.0, tokens_by_call=usage(100)), row(1, 1.0, tokens_by_call={}), row(2, 0.0)])
    assert said["tokens_by_call"] == {
        "judge": {"calls": 0.5, "prompt": 5.5, "completion": 0.5},
        "model": {"calls": 1.5, "prompt": 50, "completion": 3.5},
    }


def test_a_task_that_could_not_be_run_makes_no_system_cheap() -> None:
    """Its tokens are in no mean and in no difference, while its success counts as 0."""
    full = [row(number, 1.0, memory="full-history", tokens=100) for number in range(2)]
    mine = [row(0, 1.0, tokens=80), {**row(1, 0.0, tokens=3), "outcome": "failed"}]
    said = {each["memory"]: each for each in report([*full, *mine])}["mage"]
    assert (said["sr"], said["sr_more"], said["tokens"]) == (0.5, -0.5, 80)
    assert (said["tokens_more"], said["tokens_of_full_history"]) == (-20, 0.8)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"rows": "a"}, {"rows": "b"}),
        ({"data": "a"}, {"data": "b"}),
        ({"reader": {"mistakes": 0.1}}, {"reader": {"mistakes": 0.2}}),
        ({"reader": {"recall": "flat:0.9"}}, {"reader": {"recall": ""}}),
    ],
)
def test_no_pair_is_made_of_other_rows_data_or_habits(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Tasks out of another file, or a reader that errs otherwise, are no pairs, in JSON and in the tables alike."""
    rows = [row(0, 1.0, memory="full-history", settings=theirs), row(0, 0.0, settings=ours)]
    assert all("sr_more" not in said for said in report(rows))
    found = [table for table in tables(Results(tuple(rows))) if table.title.startswith("Paired")]
    assert not any(table.lines for table in found)


def test_a_row_says_what_its_figures_are_worth() -> None:
    """As the rows of a memory system say it, and nothing where there is none beside the agent."""
    worth = {"figures": "plumbing only: no model wrote what was remembered"}
    mem0, ours = report([row(0, 1.0, memory="mem0", memory_system=worth), row(0, 1.0, memory="zero")])
    assert mem0["figures"] == worth["figures"]
    assert "figures" not in ours


@settings(deadline=None)
@given(any_rows())
def test_no_row_makes_a_report_raise(rows: list[dict[str, object]]) -> None:
    """Whatever rows lack or hold, a report is JSON, and shares are shares of all tasks."""
    said = report(rows)
    assert json.loads(json.dumps(said)) == said
    assert sum(int(str(each["tasks"])) for each in said) == len(
        {(json.dumps(each["settings"], sort_keys=True), each["number"]) for each in rows}
    )

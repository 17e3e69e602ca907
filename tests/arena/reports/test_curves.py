"""Context against steps: what a row keeps of it, and the curves that come of rows."""

from __future__ import annotations

import itertools
import json
import random
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena.domains.decisions import POINTS, context_of, decisions
from benchmarks.arena.domains.running import run_task
from benchmarks.arena.domains.settings import Settings
from benchmarks.arena.reports.blocks import blocks
from benchmarks.arena.reports.curves import Figure, as_plot, as_svg, figures, legend
from mage import Passed, Session
from mage.stores import MemoryStore
from tests.arena.reports.rows import any_rows, row


def drawn(rows: list[dict[str, Any]]) -> list[Figure]:
    """Return the figures of some rows."""
    return [each for block in blocks(rows) for each in figures(block)]


def test_a_row_has_the_prompts_of_its_path_however_often_it_was_interrupted(tmp_path: Path) -> None:
    """Few pairs in the order of the steps; the same from the kept session; as long as what was asked in all, at most."""
    kept = Settings(domain="shopping", size="small", sessions=tmp_path)
    one: Any = run_task(kept, 0)
    other: Any = run_task(Settings(domain="shopping", size="small"), 0)
    assert one["context"] == other["context"] == run_task(kept, 0)["context"]
    steps = [step for step, _ in one["context"]]
    assert steps == sorted(set(steps))
    assert 1 <= steps[0] <= steps[-1] <= one["steps"] + 1
    assert len(steps) <= POINTS
    assert max(tokens for _, tokens in one["context"]) <= one["tokens_by_call"]["model"]["prompt"]


def test_full_history_grows_and_mage_stays_bounded() -> None:
    """The paper's two curves: in a shop the last prompt of full history is its longest, and MAGE's are not."""
    context: dict[str, Any] = {}
    for memory in ("full-history", "mage"):
        context[memory] = run_task(Settings(domain="shopping", memory=memory), 0)["context"]
    full, mage = ([tokens for _, tokens in context[name]] for name in ("full-history", "mage"))
    assert full == sorted(full)
    assert max(mage) < 0.35 * full[-1]
    assert any(later < 0.7 * sooner for sooner, later in itertools.pairwise(mage))


def test_what_was_left_behind_is_no_part_of_the_path() -> None:
    """After going back, the prompts of the way that was left are not in the context; of the steps anew they are."""
    with Session.open(MemoryStore(), "a", task="t", judge=lambda _request: Passed()) as session:

        def decided(action: str, tokens: int) -> None:
            session.note("decided", json.dumps({"value": {}, "usage": {"prompt": tokens}}))
            session.grow(action, "x")

        decided("a", 10)
        session.compress("a is done")
        decided("b", 50)
        decided("c", 99)
        session.revise(1, "not b")
        decided("d", 20)
        assert context_of(decisions(session.log()), session.tree) == [[1, 10], [2, 50]]
        session.note("decided", "redacted")
        session.note("decided", '{"failed": {"fault": "server", "usage": {"prompt": 30}}}')
        assert context_of(decisions(session.log()), session.tree)[-1] == [3, 30]


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(1, 10**6)), min_size=1, max_size=60))
def test_a_curve_of_one_task_goes_through_what_its_row_has(pairs: list[tuple[int, int]]) -> None:
    """From its first step to its last, between the least and the most tokens, and the ends are the row's."""
    known = sorted(dict(pairs).items())
    (figure,) = drawn([row(0, 1.0, context=[list(pair) for pair in known])])
    (curve,) = figure.curves
    ends = [(step, float(tokens)) for step, tokens in (known[0], known[-1])]
    assert [curve.points[0], curve.points[-1]] == ends
    assert all(min(dict(known).values()) <= tokens <= max(dict(known).values()) for _, tokens in curve.points)


def test_a_mean_is_over_the_tasks_that_came_so_far() -> None:
    """A curve ends where less than half of the tasks go on, and is their mean at each step."""
    rows = [row(number, 1.0, context=[[1, 10 * (number + 1)], [10 + number, 100]]) for number in range(3)]
    (figure,) = drawn(rows)
    (curve,) = figure.curves
    assert curve.tasks == 3
    assert curve.points[0] == (1, 20.0)
    assert curve.points[-1][0] == 11
    assert curve.points[-1][1] == pytest.approx((100 + (30 + 70 * 10 / 11)) / 2)


@settings(deadline=None, max_examples=50)
@given(any_rows(), st.integers(0, 99))
def test_the_same_rows_give_the_same_figures(rows: list[dict[str, Any]], seed: int) -> None:
    """In whatever order they stand; and each can be drawn in a terminal and on a page, whatever it holds."""
    known = {(str(sorted(each["settings"].items(), key=str)), each["number"]): each for each in rows}
    mixed = list(known.values())
    found = drawn(mixed)
    random.Random(seed).shuffle(mixed)
    assert drawn(mixed) == found
    for figure in found:
        assert len(as_plot(figure).splitlines()) == 16 + 3 + len(figure.curves)
        ET.fromstring(as_svg(figure))  # it is well formed
        assert len(re.findall("<li>", legend(figure))) == len(figure.curves)


def test_a_plot_shows_a_line_that_rises_and_one_that_does_not() -> None:
    """In a terminal the larger value stands higher, at its step."""
    rows = [
        row(0, 1.0, memory="full-history", context=[[1, 1], [50, 100]]),
        row(0, 1.0, context=[[1, 10], [50, 10]]),
    ]
    lines = as_plot(drawn(rows)[0]).splitlines()[1:]
    assert lines[0].startswith("100 |")
    assert lines[0].endswith("o")
    assert lines[14].count("x") > 40
    assert "50" in lines[17]


def test_without_matplotlib_figures_are_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All else of a report needs none."""
    from benchmarks.arena.__main__ import main
    from benchmarks.arena.domains.results import write_results

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "benchmarks.arena.reports.figures", raising=False)
    out = tmp_path / "rows.jsonl"
    write_results(out, [row(0, 1.0, context=[[1, 1], [2, 3]])])
    assert main(["report", str(out), "--figures", str(tmp_path / "figures")]) == 2
    assert capsys.readouterr().err == "Error: --figures needs matplotlib: `make .venv/figures` brings it\n"
    assert main(["report", str(out), "--html", str(tmp_path / "page.html")]) == 0
    assert "<svg" in (tmp_path / "page.html").read_text()


@pytest.mark.figures
def test_figures_are_drawn_as_png_and_as_svg(tmp_path: Path) -> None:
    """A file of each for each domain; the same rows give the same bytes of SVG."""
    from benchmarks.arena.reports.figures import draw

    found = drawn([row(0, 1.0, context=[[1, 1], [2, 3]]), row(0, 1.0, "math", context=[[1, 1]])])
    once, twice = (draw(found, tmp_path / name) for name in ("a", "b"))
    assert [path.name for path in once] == [path.name for path in twice]
    assert [path.suffix for path in once] == [".png", ".svg"] * 2
    assert once[0].read_bytes().startswith(b"\x89PNG")
    assert once[1].read_bytes() == twice[1].read_bytes()

"""The arena's coverage: the controls that a sound measure has, and what was found, on a part of the real traces."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from benchmarks.arena.__main__ import ROOM, main
from benchmarks.arena.coverage import PRODUCT, Tally, by_system, cover_all, covered, draw, interval, summed
from benchmarks.arena.systems import (
    FullHistory,
    Oracle,
    Product,
    Retrieval,
    Window,
    at_random,
    by_bm25,
    has_bm25,
)
from benchmarks.arena.tables import Setting, as_text, rows
from benchmarks.arena.traces import Act, Run, read_runs, runs_of
from mage.engine import Grow, Start
from mage.tokens import EstimateCounter
from mage.trajectories import Trajectory
from tests.shared_data import SHARED, needs_shared

PAD = "It is in good order, and nothing more can be said of it at this time. " * 12


def a_run(name: str, lots: int = 12) -> Run:
    """Return a run that looks at so many lots, then takes three that are far away and one that nobody has seen."""
    looked = [
        Grow(f'look {{"lot":"LOT-{lot}"}}', f"LOT-{lot}: next is LOT-{lot + 1}. {PAD}") for lot in range(lots)
    ]
    taken = [Grow(f'take {{"lot":"LOT-{lot}"}}', "done") for lot in (1, 3, 900, 5)]
    (run,) = runs_of(Trajectory(name, (Start("Take the best."), *looked, *taken), summarized=False))
    return run


RUNS = [a_run(name, lots) for name, lots in (("a", 8), ("b", 12), ("c", 16))]


@cache
def tallies() -> dict[str, list[Tally]]:
    """Return what was found on three small runs."""
    return by_system(cover_all(RUNS, room=400, seed=1, workers=1))


@pytest.mark.parametrize("system", ["full history", "oracle summary"])
def test_the_controls_cover_everything(system: str) -> None:
    """The full history and a summary that knows the future miss nothing: else the measure itself would be wrong."""
    total = summed(tallies()[system])
    assert total.far > 0
    for name in ("values", "far", "actions", "runs"):
        assert total.part(name) == 1.0
    assert summed(tallies()["full history"]).part("far_words") == 1.0


def test_the_open_steps_alone_cover_nothing_far() -> None:
    """That is what far means; and a window covers no more than a longer one."""
    assert summed(tallies()["open steps alone"]).part("far") == 0.0
    shares = [summed(tallies()[f"last {steps} steps"]).values_covered for steps in (2, 4, 8)]
    assert shares == sorted(shares)
    assert (
        summed(tallies()["open steps alone"]).values_covered
        < summed(tallies()["full history"]).values_covered
    )


def test_a_value_that_nobody_saw_counts_nowhere() -> None:
    """LOT-900 is in no observation, so no system can miss it."""
    assert all("LOT-900" not in act.need.values for run in RUNS for act in run.acts)
    assert any("LOT-900" in act.action for run in RUNS for act in run.acts)


def test_the_product_is_shown_as_a_model_is_shown_it() -> None:
    """Its texts are those of `Memory.messages`, and what it sends whatever it holds is counted apart."""
    product = Product(RUNS[0], 400, EstimateCounter())
    for act in RUNS[0].acts:
        product.show()
        product.take(act.action, act.observation)
    (text,) = product.show()
    assert "Extract of" in text
    assert "Values: " in text
    total = summed(tallies()[PRODUCT])
    assert total.sent > total.tokens + total.decisions * 500


def test_every_system_has_the_same_needs_and_the_same_open_steps() -> None:
    """They differ in what they show alone."""
    counts = {
        (total.values, total.far, total.actions, total.decisions) for total in map(summed, tallies().values())
    }
    assert len(counts) == 1


def test_systems_show_what_they_say() -> None:
    """A window its last steps, a retrieval so many closed ones beside the open ones, in their order, by its seed."""
    opened = [min(place, 2) for place in range(9)]
    texts = [f"Action: a{place}\nObservation: o{place}\n" for place in range(8)]

    def shown(system: FullHistory | Oracle | Window | Retrieval) -> list[str]:
        kept = system.begin(RUNS[0], opened)
        for place in range(8):
            kept.show()
            kept.take(f"a{place}", f"o{place}")
        return list(kept.show())

    assert shown(FullHistory()) == texts
    assert shown(Window(3)) == texts[-3:]
    drawn = shown(Retrieval("r", 3, at_random, seed=4))
    assert drawn == shown(Retrieval("r", 3, at_random, seed=4))
    assert drawn == sorted(drawn)
    assert (len(drawn), drawn[-2:]) == (5, texts[-2:])


@pytest.mark.skipif(not has_bm25(), reason="bm25s is not installed: the dependency group `arena` brings it")
def test_bm25_finds_what_shares_rare_words() -> None:
    """The chunk that shares most with the query stands first; where nothing is shared, the newest."""
    chunks = ["red desk\n", "blue lamp\n", "red lamp\n"]
    assert next(iter(by_bm25("blue lamp", chunks, ""))) == 1
    assert list(by_bm25("green", chunks, "")) == [2, 1, 0]


def test_workers_change_no_number() -> None:
    """Runs are independent, and come back in their order."""
    assert by_system(cover_all(RUNS, room=400, seed=1, workers=2)) == tallies()


def test_intervals_are_drawn_by_task() -> None:
    """Runs of one task are drawn together; the same seed draws the same; of nothing there is no interval."""
    runs = [Run(f"{group}.{trial}", group, "", ()) for group in "ab" for trial in range(2)]
    drawn = draw(runs, 1, 50)
    assert drawn == draw(runs, 1, 50)
    assert drawn.groups == ((0, 1), (2, 3))
    found = [Tally(far=1, far_covered=number) for number in (1, 1, 0, 0)]
    assert set(drawn.values(found, "far")) == {0.0, 0.5, 1.0}
    assert interval(drawn.values([Tally()] * 4, "far")) is None


def test_the_command_writes_the_same_file_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row for each system, then the paired differences; missing traces are skipped with a reason, no file is replaced."""
    (tmp_path / "swe_agent").mkdir()
    trajectory = [{"action": f"open lot-{lot}", "observation": f"lot-{lot + 1} {PAD}"} for lot in range(8)]
    document = {"trajectory": [*trajectory, {"action": "take lot-2", "observation": ""}], "history": []}
    (tmp_path / "swe_agent" / "x.traj").write_text(json.dumps(document), encoding="utf-8")
    outs = [tmp_path / f"{number}.jsonl" for number in range(2)]
    for workers, out in enumerate(outs, start=1):
        arguments = ["--traces", str(tmp_path), "--out", str(out), "--workers", str(workers)]
        assert main(["coverage", *arguments]) == 0
        assert "skipped: tau-bench: there is no" in capsys.readouterr().err
    assert outs[0].read_bytes() == outs[1].read_bytes()
    found = [json.loads(line) for line in outs[0].read_text(encoding="utf-8").splitlines()]
    assert found[0]["system"] == PRODUCT
    assert {row["table"] for row in found} == {"coverage", "paired"}
    assert main(["coverage", "--out", str(outs[0])]) == 1
    assert main(["coverage", "--traces", str(tmp_path / "none")]) == 1


def test_text_says_each_number_of_the_rows() -> None:
    """Every system has a line with its intervals."""
    results = [covered(run, 400, [FullHistory()], EstimateCounter()) for run in RUNS]
    lines = list(as_text(list(rows("x", RUNS, results, Setting(400, 400, 1, "estimate")))))
    assert lines[2].startswith(PRODUCT)
    assert lines[3].split()[:3] == ["full", "history", "1.000"]
    assert "MAGE, extract - full history: +0.00 [+0.00, +0.00]" in lines[-1]


@needs_shared
@pytest.mark.parametrize(("traces", "least"), [("tau-bench", 0.9), ("STATE-Bench", 0.75)])
def test_an_extract_covers_far_values_at_half_of_the_tokens(traces: str, least: float) -> None:
    """On real runs, for at most half of the full history's tokens, and above each retrieval of at most as many."""
    runs = read_runs(traces, SHARED / "data")[::3]
    found = list(rows(traces, runs, cover_all(runs, room=ROOM, seed=1, workers=2), Setting(ROOM, 400, 1, "")))
    systems = {str(row["system"]): row for row in found if row["table"] == "coverage"}
    product = systems[PRODUCT]
    assert number(product["far"]) > 90
    assert number(product["far_part"]) >= least
    assert number(product["of_full_history"]) <= 0.5
    assert systems["full history"]["far_part"] == systems["oracle summary"]["far_part"] == 1.0
    for row in found:
        if (
            row["table"] == "paired"
            and str(row["beside"]).startswith(("random", "BM25"))
            and row["system"] == PRODUCT
        ):
            low = row["far_interval"]
            assert isinstance(low, list)
            assert low[0] > 0, row["beside"]


def number(value: object) -> float:
    """Return a number of a row."""
    assert isinstance(value, int | float)
    return value


def test_an_act_without_calls_needs_no_words() -> None:
    """The second reading is of arguments."""
    assert all(act.words == frozenset() for act in runs_only("take LOT-1"))


def runs_only(action: str) -> tuple[Act, ...]:
    """Return the acts of a run that looks, then does this."""
    (run,) = runs_of(Trajectory("x", (Start("t"), Grow("look", "LOT-1"), Grow(action, "")), summarized=False))
    return run.acts

"""The laboratory: what its reader can know, what its judge does, and what holds by construction."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena.__main__ import main
from benchmarks.arena.domains import laboratory
from benchmarks.arena.domains.judging import UNDOS, JudgedShop, TruthJudge, expected
from benchmarks.arena.domains.lab_report import ASSUMED, half_width, lab_report, lab_table
from benchmarks.arena.domains.laboratory import jobs, run_conditions, run_reader
from benchmarks.arena.domains.reader import GIVEN_BACK, ContextReader, Scene, read
from benchmarks.arena.domains.scoring import mean
from benchmarks.arena.domains.series import run_jobs
from benchmarks.arena.domains.sweeps import (
    ALL_MEMORIES,
    CHUNKS,
    COINS,
    LOSSES,
    MISTAKES,
    MOST,
    QUERIES,
    Conditions,
    sweep,
)
from benchmarks.arena.domains.world import Closed, World
from benchmarks.arena.systems import has_bm25
from mage.effects import Decision
from mage.tokens import default_counter
from tests.arena.domains.cases import SMALL, rules_of

SEED = 1


def small(memory: str, **conditions: Any) -> Conditions:
    """Return conditions in a small shop."""
    return Conditions(memory, size="small", seed=SEED, **conditions)


def bought(conditions: Conditions, numbers: Iterable[int]) -> list[object]:
    """Return what is bought in some tasks."""
    return [run_reader(conditions, number)["bought"] for number in numbers]


def without_facts(text: str) -> str:
    """Take out of a prompt what was bought, and leave that something was."""
    text = re.sub(r"Cart: [^\n]*", "Cart.", text)
    return re.sub(r"(Bought as product \d|Product \d purchased): [^\n]*", r"\1.", text)


def retrieving(rank: str, **conditions: Any) -> Conditions:
    """Return conditions in a small shop under a memory that retrieves; without BM25 the test is skipped."""
    if rank == "bm25" and not has_bm25():
        pytest.skip("bm25s is not installed: the dependency group `arena` brings it")
    return small(rank, **{"most": 3, **conditions})


# -- the reader ---------------------------------------------------------------------------------------


def test_a_perfect_reader_succeeds_with_full_history_at_the_size_of_the_paper() -> None:
    """Who errs never and sees everything has every bundle right, within 20 % of 99 steps and 24.5K tokens."""
    rows = [run_reader(Conditions("full-history", mistakes=0.0, seed=SEED), number) for number in range(3)]
    assert {(row["sr"], row["ps"], row["guessed"], row["outcome"]) for row in rows} == {(1, 1, 0, "finished")}
    traces: list[Any] = [row["trace"] for row in rows]
    assert 99 * 0.8 <= mean(trace["steps"] for trace in traces) <= 99 * 1.2
    assert 24_500 * 0.8 <= mean(trace["tokens"] for trace in traces) <= 24_500 * 1.2


@pytest.mark.parametrize(
    "seen",
    [
        small("full-history", mistakes=0.0),
        small("full-history", mistakes=0.0, cart=True),
        small("no-memory", mistakes=0.0, cart=True),
        small("mage-without-maintain", mistakes=0.0),
        small("full-history", mistakes=0.0, recall="flat 0.9"),
        small("random", mistakes=0.0, chunks="subtasks", most=5),
    ],
    ids=lambda each: f"{each.memory}, {each.cart}, {each.recall}",
)
def test_a_reader_has_no_other_way_to_know(seen: Conditions) -> None:
    """With purchases taken out of its texts it buys what it buys without memory, whatever it would be shown."""
    blind = [run_reader(seen, number, without_facts) for number in range(4)]
    assert [row["bought"] for row in blind] == bought(small("no-memory", mistakes=0.0), range(4))
    assert all(row["guessed"] for row in blind)


def test_who_knows_nothing_is_at_chance() -> None:
    """In the full size, with purchases taken out of full history, no bundle is right."""
    blind = [
        run_reader(Conditions("full-history", mistakes=0.0, seed=SEED), number, without_facts)
        for number in range(2)
    ]
    assert {row["sr"] for row in blind} == {0}
    assert mean(float(str(row["ps"])) for row in blind) < 0.6  # a first purchase needs no memory


def test_the_text_and_the_dice_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new reader with the same dice that is given the texts of a run alone decides the same all through it."""
    texts: list[str] = []
    decisions: list[Decision] = []

    def told(reader: ContextReader, text: str) -> Decision:
        assert type(text) is str
        texts.append(text)
        decisions.append(deciding(reader, text))
        return decisions[-1]

    deciding = ContextReader.__call__
    monkeypatch.setattr(ContextReader, "__call__", told)
    run_reader(small("mage", mistakes=0.5), 2)
    monkeypatch.undo()
    reader = ContextReader(SEED, 2, mistakes=0.5)
    assert decisions == [reader(text) for text in texts]


def test_what_was_undone_is_no_fact() -> None:
    """Purchases among the hints, and those that were given back, are not taken for purchases; summaries are."""
    one, two = "A1B-1234 Red Tent, 2 oz, $7.04.", "C1D-1234 Blue Tent, 2 oz, $8.00."
    hints = f"Hints: tried\nTried subgoal [Step 0]: Product 1 purchased: {one}"
    back = f"Action[buy {{}}]\nObservation: Bought as product 2: {two}\n A judge: no. {GIVEN_BACK}."
    assert read(f"\nTask: x\n{hints}").bought == {}
    assert read(f"\nTask: x\n{back}").over == set()
    assert read(f"\nTask: x\n[Step 0] Product 1 purchased: {one}").bought[1].title == "Red Tent, 2 oz"
    lost = read("\nTask: x\n[Step 0] Product 1 was purchased.")
    assert (lost.bought, lost.over) == ({}, {1})


@given(
    st.lists(st.sampled_from(["Task: ", "Instruction: ", "Action[", "Observation: ", "[Step 0] ", " ", "x"]))
)
@settings(deadline=None, max_examples=100)
def test_any_text_can_be_read(parts: list[str]) -> None:
    """Whatever a prompt says, there is a scene and a decision."""
    text = "\n".join(["", *parts])
    assert isinstance(read(text), Scene)
    assert isinstance(ContextReader("x")(text), Decision)


# -- what holds by construction -----------------------------------------------------------------------


@pytest.mark.parametrize("mistakes", [0.0, 0.2])
def test_with_a_perfect_reader_mage_is_full_history_with_judge_and_undo(mistakes: float) -> None:
    """Under the same judge both buy the same, so SR and PS are equal to the digit, for a third fewer tokens at least."""
    ours, theirs = [
        [run_reader(Conditions(memory, mistakes=mistakes, seed=SEED), number) for number in range(2)]
        for memory in ("mage", "full-history-judged")
    ]
    for name in ("bought", "sr", "ps"):
        assert [row[name] for row in ours] == [row[name] for row in theirs]
    assert sum(map(tokens, ours)) <= 0.67 * sum(map(tokens, theirs))


def tokens(row: dict[str, object]) -> int:
    """Return the tokens of a row."""
    return int(str(row["tokens"]))


@pytest.mark.parametrize("memory", ["full-history-judged", "mage-without-compress"])
def test_judged_memories_that_show_everything_buy_the_same(memory: str) -> None:
    """Also where the reader errs often and the judge does: the same wrong things are bought, and given back."""
    conditions = {"mistakes": 0.4, "misses": 0.3, "alarms": 0.3}
    assert bought(small(memory, **conditions), range(6)) == bought(small("mage", **conditions), range(6))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (small("mage-without-maintain", mistakes=0.4), small("full-history", mistakes=0.4)),
        (small("mage-without-revise", mistakes=0.4), small("full-history", mistakes=0.4)),
        (small("mage", mistakes=0.4, judge=False), small("full-history", mistakes=0.4)),
        (small("mage", mistakes=0.4, misses=1.0, alarms=0.0), small("full-history", mistakes=0.4)),
        (small("mage-without-maintain", loss=1.0), small("no-memory")),
    ],
)
def test_what_makes_no_difference(one: Conditions, other: Conditions) -> None:
    """Without Maintain or Revise, without a judge, or with one that misses everything, MAGE is full history."""
    assert bought(one, range(6)) == bought(other, range(6))


# -- a cart, recall, retrieval --------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["no-memory", "random"])
def test_with_a_cart_no_memory_is_full_history(memory: str) -> None:
    """Where the pages show what was bought all buy the same, as full history does without a cart; nobody guesses."""
    plain = bought(small("full-history", mistakes=0.3), range(6))
    rows = [run_reader(small(memory, mistakes=0.3, cart=True), number) for number in range(6)]
    assert [row["bought"] for row in rows] == plain
    assert {row["guessed"] for row in rows} == {0}
    assert bought(small(memory, mistakes=0.3), range(6)) != plain


def test_what_was_given_back_is_not_in_the_cart() -> None:
    """Judged, both memories buy with a cart what they buy without one."""
    for memory in ("mage", "full-history-judged"):
        judged = {"mistakes": 0.4, "alarms": 0.3}
        assert bought(small(memory, cart=True, **judged), range(4)) == bought(
            small(memory, **judged), range(4)
        )


@pytest.mark.parametrize("memory", ["full-history", "full-history-judged", "mage", "mage-without-compress"])
def test_a_flat_curve_of_one_changes_nothing(memory: str) -> None:
    """A reader that notices everything at any length does what a reader without a curve does, and takes as much."""
    flat = [run_reader(small(memory, mistakes=0.3, recall="flat 1.0"), number) for number in range(4)]
    plain = [run_reader(small(memory, mistakes=0.3), number) for number in range(4)]
    for name in ("bought", "guessed", "tokens", "steps"):
        assert [row[name] for row in flat] == [row[name] for row in plain]


def test_a_curve_of_no_strength_changes_nothing_and_a_steep_one_costs() -> None:
    """At strength 0 a fall does not show; where nearly nothing is noticed the reader guesses, as without memory."""
    plain = bought(small("full-history"), range(4))
    assert bought(small("full-history", recall="NoLiMa GPT-4o mini", strength=0.0), range(4)) == plain
    steep = [run_reader(small("full-history", recall="NoLiMa GPT-4o mini"), number) for number in range(4)]
    assert sum(int(str(row["guessed"])) for row in steep) > 0


def test_a_row_with_a_curve_names_it_and_its_source_and_says_what_it_is() -> None:
    """The row has the curve, where it comes from and that it is evidence of nothing; the table says so, too."""
    conditions = small("mage", recall="NoLiMa GPT-4o")
    row = run_reader(conditions, 0)
    origin: Any = row["origin"]
    assert "NoLiMa GPT-4o (NoLiMa, README of adobe-research/NoLiMa" in origin["recall"]
    assert "evidence of nothing" in origin["recall"]
    (said,) = lab_report([row], [conditions])
    assert said["sensitivity"] == ASSUMED
    assert ASSUMED in lab_table([said])


@pytest.mark.parametrize("rank", ["bm25", "random"])
def test_what_is_retrieved_is_all_that_is_known_of_earlier_subtasks(rank: str) -> None:
    """With as many whole subtasks as there are it buys what full history buys; with no chunk, as without memory."""
    everything = retrieving(rank, chunks="subtasks", most=9)
    assert bought(everything, range(4)) == bought(small("full-history"), range(4))
    nothing = retrieving(rank, most=0)
    assert bought(nothing, range(4)) == bought(small("no-memory"), range(4))


@pytest.mark.parametrize("chunks", CHUNKS)
def test_a_query_decides_what_is_found_and_never_where_all_is(chunks: str) -> None:
    """Each query finds so many chunks at most; where there are fewer, all queries find the same."""
    asked = [retrieving("bm25", chunks=chunks, query=query, most=10_000) for query in QUERIES]
    assert len({str(bought(each, range(2))) for each in asked}) == 1
    fewer = [retrieving("bm25", chunks=chunks, query=query, most=1) for query in QUERIES]
    assert all(tokens(run_reader(few, 0)) < tokens(run_reader(asked[0], 0)) for few in fewer)


# -- the judge ----------------------------------------------------------------------------------------


def test_a_judge_that_knows_mends_what_goes_wrong() -> None:
    """Without misses and alarms nothing wrong is kept but where each of four tries went wrong."""
    rows = [run_reader(small("mage", mistakes=0.3, misses=0.0, alarms=0.0), number) for number in range(10)]
    assert {row["sr"] for row in rows} == {1}
    plain = [run_reader(small("full-history", mistakes=0.3), number) for number in range(10)]
    assert mean(float(str(row["sr"])) for row in plain) < 0.7


@pytest.mark.parametrize(("alarms", "fails"), [(0.0, 0), (1.0, UNDOS)])
def test_a_purchase_is_given_back_as_often_as_allowed(alarms: float, fails: int) -> None:
    """A right purchase stands at once, or after so many false alarms; each of them leaves the shop as it was."""
    task = SMALL["shopping"].task(SEED, 0)
    world = World(rules_of(task))
    judge = TruthJudge(world, world.rules, default_counter(), "x", misses=0.0, alarms=alarms)  # type: ignore[arg-type]
    shop = JudgedShop(world, judge, task.text)
    shop.reset()
    for tried in range(fails + 1):
        seen = [shop.act(action) for action in task.plan[0].actions]
        assert (GIVEN_BACK in seen[-1].text) == (tried < fails)
        assert bool(seen[-1].instructions) == (tried == fails)
        assert len(world.standing.closed) == (tried == fails)
    assert shop.spent.calls == fails + 1
    assert shop.spent.prompt > 0


def test_what_the_cap_has_closed_is_judged_too() -> None:
    """A subtask that the cap closes without a purchase is opened again; the observation says which it was."""
    task = SMALL["shopping"].task(SEED, 0)
    world = World(rules_of(task))
    judge = TruthJudge(world, world.rules, default_counter(), "x", misses=0.0, alarms=0.0)  # type: ignore[arg-type]
    shop = JudgedShop(world, judge, task.text)
    shop.reset()
    seen = [shop.act("buy {}").text for _ in range(task.rules.cap)]
    assert "Subtask 1 is closed" in seen[-1]
    assert GIVEN_BACK in seen[-1]
    assert (world.standing.closed, world.standing.used) == ((), 0)


def test_what_is_right_follows_from_what_was_bought() -> None:
    """The plan's purchases are right one by one; behind a missing one nothing is."""
    task = SMALL["shopping"].task(SEED, 0)
    world = World(rules_of(task))
    world.reset()
    for part in task.plan:
        for action in part.actions:
            world.act(action)
    closed = world.standing.closed
    for count in range(1, len(closed) + 1):
        right = expected(rules_of(task), closed[:count])
        assert right is not None
        assert dict(closed[count - 1].answer) == {"code": right.code}
    assert expected(rules_of(task), (Closed("cap", (), 40), closed[1])) is None


# -- rows and table -----------------------------------------------------------------------------------


def test_the_same_seed_makes_the_same_file_whatever_the_workers(tmp_path: Path) -> None:
    """One worker and two write the same bytes, and a file that is there is not run again."""
    some, files = sweep(SEED, "small", has_bm25())[1:110:13], [tmp_path / "one", tmp_path / "two"]
    for workers, out in enumerate(files, 1):
        run_jobs(jobs(some, 2), out, workers=workers, run=run_conditions)
    assert files[0].read_bytes() == files[1].read_bytes()
    heard: list[object] = []
    run_jobs(jobs(some, 2), files[0], run=run_conditions, progress=lambda *told: heard.append(told))
    assert heard == []


def test_the_command_prints_a_line_for_each_series(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table has the controls, and says the same when it is asked for again."""
    monkeypatch.setattr("benchmarks.arena.domains.commands.sweep", lambda *asked: sweep(*asked)[:12])
    asked = ["lab", "--tasks", "1", "--size", "small", "--out", str(tmp_path / "rows.jsonl")]
    assert main(asked) == 0
    table = capsys.readouterr().out
    lines = table.splitlines()
    assert len(lines) == 2 + 12
    assert all(line.startswith("| ") and line.count("|") == 12 for line in lines)
    assert main(asked) == 0
    assert capsys.readouterr().out == table


def test_all_of_the_sweep_runs_in_its_scaled_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the small size every series runs to its end, and each question of a break-even has an answer."""
    out = tmp_path / "rows.jsonl"
    assert main(["lab", "--tasks", "1", "--size", "small", "--json", "--out", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {row["failed"] for row in told["rows"]} == {0}
    coin = next(row for row in told["rows"] if "draws" in row)
    assert (coin["draws"], len(coin["sr_of_draws"])) == (COINS, COINS)
    assert coin["sr"] == pytest.approx(mean(coin["sr_of_draws"]))
    assert len(told["break_even"]) == 7
    for each in told["break_even"]:
        assert each["at"] is None or each["rates"][0] <= each["at"] <= each["rates"][-1]


def test_the_sweep_has_its_controls() -> None:
    """Judges that never err, coins, none; a cart; curves beside flat ones; rates of mistakes and loss; retrieval."""
    series = sweep(SEED)
    assert len(set(series)) == len(series)
    assert {each.memory for each in series} == set(ALL_MEMORIES)
    mage = [each for each in series if each.memory == "mage"]
    assert {(each.misses, each.alarms) for each in mage} >= {(0, 0), (0.3, 0.05), (0.6, 0.05), (0.1, 0.3)}
    assert [each.throw for each in mage if (each.misses, each.alarms) == (0.5, 0.5)] == list(range(COINS))
    assert any(not each.judge for each in mage)
    assert {each.loss for each in mage} == {0, *LOSSES}
    for mistakes in MISTAKES:
        run = {each.memory for each in series if each.mistakes == mistakes}
        assert run >= {"full-history", "full-history-judged", "mage", "no-memory"}
    assert {each.memory for each in series if each.mistakes == MISTAKES[1]} == set(ALL_MEMORIES)
    assert {each.memory for each in series if each.cart} >= {"no-memory", "full-history", "bm25"}
    for curve in {each.recall for each in series if each.recall}:
        assert {each.memory for each in series if each.recall == curve} >= {"full-history-judged", "mage"}
    for rank in ("bm25", "random"):
        chosen = {(each.chunks, each.most) for each in series if each.memory == rank}
        assert len(chosen) == len(CHUNKS) * len(MOST)
    assert {(each.chunks, each.query) for each in series if each.memory == "bm25"} == {
        (chunks, query) for chunks in CHUNKS for query in QUERIES
    }
    assert not any(each.memory == "bm25" for each in sweep(SEED, "small", False))


def test_coins_are_thrown_anew() -> None:
    """Several draws of a judge that tosses differ, and the first is that of any other judge."""
    coins = [small("mage", misses=0.5, alarms=0.5, throw=throw) for throw in range(4)]
    assert len({str(bought(each, range(6))) for each in coins}) > 1


def test_a_task_that_fails_is_a_row_worth_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted, and the report says how many there are."""

    def broken(*_: object) -> object:
        raise RuntimeError("broken")

    monkeypatch.setattr(laboratory, "_task", broken)
    conditions = small("full-history")
    row = run_conditions(conditions, 0)
    assert (row["outcome"], row["sr"], row["detail"]) == ("failed", 0, "RuntimeError: broken")
    (said,) = lab_report([row], [conditions])
    assert (said["failed"], said["tasks"], said["sr"]) == (1, 1, 0)


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=8, max_size=40))
@settings(deadline=None, max_examples=20)
def test_a_half_width_is_about_that_of_a_normal_mean(values: list[float]) -> None:
    """It is 0 where all values are one, the same whenever it is asked for, and near 1.96 standard errors."""
    share = mean(values)
    normal = 1.96 * (share * (1 - share) / len(values)) ** 0.5
    assert half_width(values) == half_width(values)
    assert (half_width(values) == 0) == (len(set(values)) == 1)
    assert abs(half_width(values) - normal) <= max(0.05, 0.35 * normal)

"""The plan follower: a value is used only where it is shown, and what is not costs a step or is lost."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena.__main__ import main
from benchmarks.arena.coverage import PRODUCT
from benchmarks.arena.following.command import FULL, Setting, as_text, follow_all, summed, systems
from benchmarks.arena.following.cooking import CookingWorld, values_of
from benchmarks.arena.following.cooking import spoiled as spoiled_cooking
from benchmarks.arena.following.follower import UNKNOWN, BadFile, Followed, Plan, World, follow
from benchmarks.arena.following.state_bench import StateBench, spoiled_arguments, spoiled_literals
from benchmarks.arena.systems import FullHistory, Kept, Nothing, Oracle, System, Window, literals_of
from benchmarks.arena.traces import Run
from mage.chat import parse_action
from mage.tokens import default_counter
from tests.arena.lending.making import CARD, made

ROOM = 500


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library in the layout of STATE-Bench."""
    return made(tmp_path_factory.mktemp("lending"))


@pytest.fixture(scope="module")
def plans(checkout: Path) -> list[Plan]:
    """Its plans that pass."""
    bench = StateBench(checkout)
    return [plan for name in bench.names() if isinstance(plan := bench.plan(name), Plan)]


def followed(plan: Plan, system: System | None, look_ups: bool, before: Sequence[Run] = ()) -> Followed:
    """Follow a plan."""
    return follow(plan, system, look_ups=look_ups, room=ROOM, counter=default_counter(), before=before)


# -- the controls ---------------------------------------------------------------------------------------


def test_the_full_history_and_the_oracle_follow_every_plan(plans: list[Plan]) -> None:
    """To the score that was recorded, in as many steps, and with every word said."""
    assert len(plans) == 6
    for plan in plans:
        for system in (FullHistory(), Oracle()):
            for look_ups in (False, True):
                found = followed(plan, system, look_ups)
                assert (found.passed, found.lost, found.unsaid, found.looked_up) == (True, (), 0, 0)
                assert found.prompts == sum(kind != "heard" for kind in plan.kinds)


def test_nothing_is_enough_for_nothing(plans: list[Plan]) -> None:
    """Without a step in the prompt every value that came from one is lost, and the task fails, look-ups or not."""
    for plan in plans:
        for look_ups in (False, True):
            found = followed(plan, Nothing(), look_ups)
            assert not found.passed
            assert {value for _, value in found.lost} == {
                value
                for act, kind in zip(plan.run.acts, plan.kinds, strict=True)
                for value in act.need.values
                if kind == "call"
            }
            assert found.tokens == 0 < found.sent


def test_the_product_follows_them_for_fewer_tokens(plans: list[Plan]) -> None:
    """Its extract has the values of what it stands for; what it sends whatever it holds is counted apart."""
    for plan in plans:
        product, full = followed(plan, None, look_ups=False), followed(plan, FullHistory(), look_ups=False)
        assert (product.passed, product.lost) == (True, ())
        assert 0 < product.tokens < full.tokens
        assert product.sent > product.tokens + 500 * product.prompts


# -- values ---------------------------------------------------------------------------------------------


@attrs.define
class _Witness:
    """A memory that shows what it likes, and an environment that hears of it: each remembers what it saw."""

    inner: World
    seed: int
    texts: list[str] = attrs.field(factory=list)
    prompt: list[str] = attrs.field(factory=list)
    acted: list[tuple[str, frozenset[str]]] = attrs.field(factory=list)
    name: str = "witness"

    def begin(self, run: Run, opened: Sequence[int]) -> Kept:
        self.prompt = [run.task]
        return self

    def show(self) -> Sequence[str]:
        die = random.Random(f"{self.seed} {len(self.texts)}")
        self.prompt = [text for text in self.texts if die.random() < 0.5]
        return self.prompt

    def take(self, action: str, observation: str) -> None:
        self.texts.append(f"{action}\n{observation}")

    def act(self, action: str) -> str:
        shown = frozenset[str]().union(*map(literals_of, self.prompt))
        self.acted.append((action, shown))
        return self.inner.act(action)

    def score(self) -> float:
        return self.inner.score()


def _witnessed(plan: Plan, seed: int, look_ups: bool) -> tuple[_Witness, Followed]:
    witness = _Witness(plan.world(), seed)
    watched = attrs.evolve(plan, world=lambda: witness)
    return witness, followed(watched, witness, look_ups)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), look_ups=st.booleans(), place=st.integers(0, 5))
def test_no_value_is_used_that_is_not_shown(plans: list[Plan], seed: int, look_ups: bool, place: int) -> None:
    """Whatever a memory shows: each value that a call has from earlier steps stands in the prompt before it, those of
    look-ups too; what is lost is not in the call; and steps are prompts.
    """
    plan = plans[place]
    witness, found = _witnessed(plan, seed, look_ups)
    needed = frozenset[str]().union(*[act.need.values for act in plan.run.acts])
    for action, shown in witness.acted:
        assert literals_of(action) & needed <= shown
    assert len(witness.acted) == sum(kind == "call" for kind in plan.kinds) + found.looked_up
    assert found.prompts == sum(kind != "heard" for kind in plan.kinds) + found.looked_up
    assert found.looked_up == 0 or look_ups
    spoiled = [action for action, _ in witness.acted if UNKNOWN in action]
    assert len(spoiled) <= len({place for place, _ in found.lost}) <= len(spoiled) + len(found.lost)
    assert bool(found.lost) == any(UNKNOWN in action or '"stamp":0' in action for action, _ in witness.acted)


def test_what_the_agent_says_needs_its_values_too(plans: list[Plan]) -> None:
    """Else its own words would bring a lost value back into the memory."""
    witness, found = _witnessed(plans[0], 3, look_ups=False)
    assert found.unsaid in (0, 1)
    for seed in range(20):
        witness, found = _witnessed(plans[0], seed, look_ups=False)
        if found.unsaid:
            assert any(f"There is {UNKNOWN}, and more." in text for text in witness.texts)
            return
    raise AssertionError("no seed hid the value")


def test_lost_values_are_really_spoiled() -> None:
    """A text that holds one becomes UNKNOWN, a number 0, at any depth; the rest stays, and words lose the value alone."""
    action = 'book {"deep":[{"id":"BK-1 and BK-2"}],"n":1000,"ok":true,"who":"me"}'
    name, arguments = parse_action(spoiled_literals(action, {"BK-2", "1000"}))
    assert (name, arguments) == ("book", {"deep": [{"id": UNKNOWN}], "n": 0, "ok": True, "who": "me"})
    assert spoiled_literals(action, set()) == action
    assert spoiled_literals("It is BK-1, not BK-12.", {"BK-12"}) == f"It is BK-1, not {UNKNOWN}."
    assert spoiled_arguments('go {"to":"Old Town"}', {"old town"}) == f'go {{"to":"{UNKNOWN}"}}'
    assert spoiled_arguments('go {"to":"Old Town Hall"}', {"old town"}) == 'go {"to":"Old Town Hall"}'
    assert spoiled_arguments("To Old Town!", {"old town"}) == f"To {UNKNOWN}!"


# -- look-ups -------------------------------------------------------------------------------------------


def test_a_look_up_costs_a_step_and_its_tokens(plans: list[Plan]) -> None:
    """It is the read-only call that gave the value first; what the customer said is lost for good."""
    for plan in plans:
        off, on = (followed(plan, Window(4), look_ups) for look_ups in (False, True))
        assert off.looked_up == 0 < on.looked_up
        assert on.prompts == off.prompts + on.looked_up
        assert on.tokens > off.tokens
        assert len(on.lost) < len(off.lost)
        card = CARD.format(plan.run.task.split("member_")[1][0])
        assert card in {value for _, value in off.lost}
        assert {plan.run.acts[place].action.split(" ")[0] for place in plan.again.values()} <= {
            "get_member",
            "search_books",
        }


def test_what_the_customer_said_cannot_be_looked_up(plans: list[Plan]) -> None:
    """The card stands in the record of the member too, but he said it before."""
    assert all(CARD.format(each) not in plan.again for plan in plans for each in range(3))
    assert all(f"BK-{number}005" in plan.again for number, plan in enumerate(plans))


# -- files ----------------------------------------------------------------------------------------------


def _spoil_first(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        file = folder / "datasets/train_task_trajectories/lending/0-lend.json"
        document = json.loads(file.read_text(encoding="utf-8"))
        changed = change(document)
        file.write_text(json.dumps(document if changed is None else changed), encoding="utf-8")

    return spoil


def _call(document: dict[str, Any]) -> dict[str, Any]:
    call: dict[str, Any] = document["conversation"][2]["tool_calls"][0]
    return call


NONSENSE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no list": (_spoil_first(lambda document: ["x"]), "it has no `conversation`"),
    "no messages": (_spoil_first(lambda document: {"conversation": []}), "nothing was said in it"),
    "no system prompt": (
        _spoil_first(lambda document: document["conversation"].pop(0) and None),
        "message 0: the first is the system's",
    ),
    "another role": (
        _spoil_first(lambda document: document["conversation"][1].update(role="x")),
        "message 1",
    ),
    "no text": (_spoil_first(lambda document: document["conversation"][1].update(content=[1])), "is no text"),
    "no arguments": (
        _spoil_first(lambda document: _call(document).update(arguments=3)),
        "a call has a `name`",
    ),
    "no name": (_spoil_first(lambda document: _call(document).update(name="a b")), "no tool can be named"),
    "unknown tool": (
        _spoil_first(lambda document: _call(document).update(name="burn")),
        "has no tool 'burn'",
    ),
    "no JSON": (
        lambda folder: (folder / "datasets/train_task_trajectories/lending/0-lend.json").write_bytes(
            b"\xff{"
        ),
        "cannot be read",
    ),
    "no task": (
        lambda folder: (folder / "state_bench/domains/lending/tasks/0-lend.json").write_text("{}"),
        "is no task",
    ),
    "no environment": (
        lambda folder: (folder / "state_bench/domains/lending/task_envs/0-lend.json").unlink(),
        "its environment cannot be set up",
    ),
    "no such domain": (
        lambda folder: (folder / "datasets/train_task_trajectories/lending").rename(
            folder / "datasets/train_task_trajectories/baking"
        ),
        "there is no domain baking",
    ),
    "no runs": (
        lambda folder: (folder / "datasets").rename(folder / "other"),
        "there is no recorded run in it",
    ),
    "no checkout": (
        lambda folder: (folder / "state_bench/domain.py").unlink(),
        "is no checkout of STATE-Bench",
    ),
    "broken code": (
        lambda folder: (folder / "state_bench/domain.py").write_text("raise KeyError('broken')"),
        "state_bench.domain cannot be imported",
    ),
}


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_in_files_is_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], nonsense: str
) -> None:
    """One line on what is wrong and where, and no traceback."""
    spoil, said = NONSENSE[nonsense]
    folder = made(tmp_path / "bench", tasks=1)
    spoil(folder)
    if nonsense == "no such domain":
        (folder / "state_bench/domains/lending").rename(folder / "state_bench/domains/baking")
    assert main(["follow", "--state-bench", str(folder), "--workers", "1"]) == 1
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert said in told


def test_two_checkouts_can_be_loaded_one_after_the_other(checkout: Path, tmp_path: Path) -> None:
    """Each with its own code."""
    other = made(tmp_path / "other", tasks=1)
    schemas = other / "state_bench" / "scoring.py"
    schemas.write_text(schemas.read_text(encoding="utf-8").replace("== asked", "!= asked"), encoding="utf-8")
    assert StateBench(other).plan("lending/0-lend") == "does not pass"
    assert isinstance(StateBench(checkout).plan("lending/0-lend"), Plan)


def test_runs_that_cannot_be_followed_are_left_out(checkout: Path) -> None:
    """Those that do not pass, that ask for nothing, or that come out in another way than they were recorded."""
    bench = StateBench(checkout)
    assert bench.plan("lending/x-forgets") == "does not pass"
    assert bench.plan("lending/y-asks") == "asks for no change"


def test_a_run_that_comes_out_otherwise_is_left_out(tmp_path: Path) -> None:
    """What was recorded says what is needed: it must be what the environment gives."""
    folder = made(tmp_path / "bench", tasks=1)
    _spoil_first(lambda document: _call(document).update(result={"member_id": "x"}))(folder)
    assert StateBench(folder).plan("lending/0-lend") == "does not come out as it was recorded"


def test_arguments_as_a_whole_are_the_second_reading(checkout: Path) -> None:
    """They are whatever they are made of, but not what the tools say themselves."""
    plan = StateBench(checkout, "arguments").plan("lending/1-lend")
    assert isinstance(plan, Plan)
    needed = frozenset[str]().union(*[act.need.values for act in plan.run.acts])
    assert {"card-7711", "bk-1005", "1000"} <= needed
    assert not needed & {"whales", "rivers"}
    assert followed(plan, FullHistory(), look_ups=False).passed
    assert not followed(plan, Nothing(), look_ups=False).passed


# -- others before --------------------------------------------------------------------------------------


def test_runs_of_other_customers_stand_in_the_memory_before(checkout: Path) -> None:
    """As many as are asked for, drawn by the seed; the same plan is followed as well, for more tokens."""
    bench = StateBench(checkout)
    plan = bench.plan("lending/0-lend")
    assert isinstance(plan, Plan)
    others = bench.others("lending/0-lend", 2, 1)
    assert [run.task for run in others if "member_0" in run.task] == []
    assert others == bench.others("lending/0-lend", 2, 1)
    alone, beside = (followed(plan, FullHistory(), look_ups=False, before=each) for each in ((), others))
    assert alone.passed
    assert beside.passed
    assert beside.tokens > 2 * alone.tokens
    assert beside.prompts == alone.prompts
    assert followed(plan, Oracle(), look_ups=False, before=others).passed
    assert followed(plan, None, look_ups=False, before=others).passed
    with pytest.raises(BadFile, match="with other customers, and 99 are asked for"):
        bench.others("lending/0-lend", 99, 1)


# -- the command ----------------------------------------------------------------------------------------


def test_workers_change_no_byte(checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each row holds its setting; the tables are sums of the rows before them."""
    outs = [tmp_path / f"{workers}.jsonl" for workers in (1, 2)]
    for workers, out in enumerate(outs, start=1):
        arguments = ["--limit", "4", "--before", "1", "--workers", str(workers), "--out", str(out)]
        assert main(["follow", "--state-bench", str(checkout), *arguments]) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    rows = [json.loads(line) for line in outs[0].read_text(encoding="utf-8").splitlines()]
    assert {row["table"] for row in rows} == {"run", "follow", "paired"}
    for row in rows:
        assert row["environment"] == "STATE-Bench"
        assert (row["seed"], row["before"], row["reading"]) == (1, 1, "literals")
    for table in [row for row in rows if row["table"] == "follow"]:
        these = [
            row
            for row in rows
            if (row["table"], row["memory"], row["look_ups"]) == ("run", table["memory"], table["look_ups"])
        ]
        assert table["runs"] == len(these)
        assert table["sr"] == pytest.approx(sum(row["passed"] for row in these) / len(these), abs=1e-4)
        assert table["lost"] == sum(row["lost"] for row in these)
    assert "runs of others before, values: literals" in capsys.readouterr().out
    assert main(["follow", "--state-bench", str(checkout), "--out", str(outs[0])]) == 1
    assert "name a new file" in capsys.readouterr().err


def test_text_has_a_line_for_each_memory(checkout: Path) -> None:
    """And one for each difference from the product."""
    rows, left = follow_all(
        StateBench(checkout),
        Setting(0, "literals", ROOM, 1),
        look_ups=(False,),
        names=["lending/0-lend", "lending/x-forgets"],
        workers=1,
        only=[PRODUCT, "last 4 steps"],
    )
    assert left == {"does not pass": 1}
    assert [row["memory"] for row in rows] == [PRODUCT, FULL, "last 4 steps"]
    lines = list(as_text(list(summed(rows))))
    assert lines[1].startswith("STATE-Bench , 1 runs, look-ups off")
    assert lines[3].startswith(f"{PRODUCT}      1.000 ±0.000")
    assert lines[-1].startswith(f"  {PRODUCT} - last 4 steps: SR +1.000 [+1.000, +1.000]")


def test_something_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither environment is part of the project."""
    assert main(["follow"]) == 1
    assert "--state-bench names a checkout" in capsys.readouterr().err
    assert main(["follow", "--cooking", "1", "--memory", "none"]) == 1
    assert "no memory is named 'none': there are MAGE, extract, full history" in capsys.readouterr().err


# -- CookingWorld ---------------------------------------------------------------------------------------


def test_what_an_action_of_the_kitchen_needs() -> None:
    """The recipe's line for what is cut or cooked, and names; ways are given by the plan."""
    assert values_of("slice red hot pepper") == {"slice the red hot pepper"}
    assert values_of("cook pork chop in oven") == {"roast the pork chop", "oven"}
    assert values_of("open kitchen cupboard") == {"kitchen cupboard"}
    assert values_of("open door to north") == values_of("move north") == values_of("eat meal") == frozenset()
    assert spoiled_cooking("dice carrot", {"dice the carrot"}) == f"{UNKNOWN} carrot"
    assert spoiled_cooking("cook carrot in stove", {"fry the carrot"}) == f"cook carrot in {UNKNOWN}"
    assert spoiled_cooking("take red onion", {"red onion"}) == f"take {UNKNOWN}"
    assert spoiled_cooking("take red onion", set()) == "take red onion"


def need_the_game() -> None:
    """Skip the test where the package or Java is missing, or fail it in CI (`MAGE_CI`), which has both."""
    try:
        CookingWorld(1).names()
    except BadFile as missing:
        if os.environ.get("MAGE_CI"):
            pytest.fail(missing.reason)
        pytest.skip(missing.reason)


@pytest.mark.worlds
def test_gold_paths_are_followed_in_the_real_game() -> None:
    """With the full history to the win; without the recipe not, unless the cookbook is read again, which is a step."""
    need_the_game()
    world = CookingWorld(4)
    plans = [plan for name in world.names() if isinstance(plan := world.plan(name), Plan)]
    assert len(plans) == 4
    won = 0
    for plan in plans:
        for name, system in systems(1, plan.holds).items():
            if name in (FULL, Oracle().name):
                found = followed(plan, system, look_ups=False)
                assert (found.passed, found.lost) == (True, ())
        off, on = (followed(plan, Window(4), look_ups) for look_ups in (False, True))
        assert on.passed
        assert not (off.passed and any(" the " in value for _, value in off.lost))
        assert on.prompts == off.prompts + on.looked_up
        won += off.passed
        assert followed(plan, None, look_ups=True).passed
    assert won < 4
    assert followed(plans[3], FullHistory(), look_ups=False, before=world.others("game 3", 2, 1)).passed
    with pytest.raises(BadFile, match="there are 3 other games"):
        world.others("game 3", 9, 1)

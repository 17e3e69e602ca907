"""What every domain keeps: solvable by its plan, the same for the same seed, deaf to nonsense, silent on the truth."""

from __future__ import annotations

import re
from statistics import mean

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.arena.domains.registry import NAMES
from benchmarks.arena.domains.running import trace_text
from benchmarks.arena.domains.scoring import Score
from benchmarks.arena.domains.task import Task
from benchmarks.arena.domains.world import Closed, World, played
from mage.agent import Agent, Policy, RunFinished
from mage.effects import Capabilities, Decide, Decision, Snapshots
from mage.engine import Failed, FoldRequest, JudgeRequest, Passed, Verdict
from mage.stores import MemoryStore
from mage.tokens import default_counter
from tests.arena.domains.cases import FULL, SMALL, actions_of, nonsense, rules_of, seen_by

NAME = st.sampled_from(NAMES)
SEED = st.integers(0, 10_000)
FEW = settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])


def task_of(name: str, seed: int) -> Task:
    return SMALL[name].task(seed, seed % 7)


@given(NAME, SEED)
@settings(FEW, max_examples=60)
def test_a_plan_solves_its_task(name: str, seed: int) -> None:
    """Whoever does what the plan says has everything right, in every subtask, within the cap."""
    task = task_of(name, seed)
    marked = task.mark(played(task.rules, actions_of(task)).closed)
    assert set(marked.right) == {True}
    assert (marked.score.sr, marked.score.ps, marked.score.answered) == (1, 1, 1)
    assert marked.score.soft_ps in (1, None)


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_solves_a_task_of_full_size(name: str) -> None:
    """So it is in the size of the paper, which has at least the subtasks of the small one."""
    for number in range(3):
        task = FULL[name].task(11, number)
        assert task.mark(played(task.rules, actions_of(task)).closed).score.sr == 1
        assert len(task.rules.instructions) >= len(SMALL[name].task(11, number).rules.instructions)


@pytest.mark.parametrize(
    ("name", "steps", "tokens"),
    [("shopping", 98.56, 24_530), ("travel", 237.36, 25_190), ("search", 81.98, 101_920)],
)
def test_a_plan_is_about_as_long_as_the_papers_runs(name: str, steps: float, tokens: float) -> None:
    """The mean over tasks is within 20 % of the steps and the tokens that the paper's runs have."""
    if default_counter().name != "o200k_base":
        pytest.skip("without toktok-rs tokens are only estimated")
    tasks = [FULL[name].task(1, number) for number in range(4)]
    traces = [trace_text(task, tuple(actions_of(task))) for task in tasks]
    assert mean(len(actions_of(task)) for task in tasks) == pytest.approx(steps, rel=0.2)
    assert mean(map(default_counter().count, traces)) == pytest.approx(tokens, rel=0.2)


@given(NAME, SEED, st.data())
@FEW
def test_nonsense_never_raises_and_ends(name: str, seed: int, data: st.DataObject) -> None:
    """Whatever an agent writes, the world answers, and after the caps of all subtasks it is over and can be marked."""
    task = task_of(name, seed)
    world = World(task.rules)
    world.reset()
    told = data.draw(st.lists(nonsense(task), min_size=1, max_size=25))
    most = task.rules.cap * len(task.rules.instructions)
    seen = [world.act(told[at % len(told)]) for at in range(most)]
    assert seen[-1].over
    assert len(world.standing.closed) == len(task.rules.instructions)
    score = task.mark(world.standing.closed).score
    assert all(0 <= value <= 1 for value in attrs.astuple(score) if value is not None)
    again = world.act(told[0])
    assert again.over
    assert again.text == "The task is over."


@given(NAME, SEED, st.data())
@FEW
def test_a_world_goes_back_to_any_place(name: str, seed: int, data: st.DataObject) -> None:
    """Put back from a snapshot, a world shows the same once more; and where it stands follows from its path alone."""
    task = task_of(name, seed)
    steps = st.lists(nonsense(task) | st.sampled_from(actions_of(task)), max_size=12)
    before, then, other = data.draw(steps), data.draw(steps), data.draw(steps)
    world = World(task.rules)
    restoring = world.capabilities.restoring
    assert isinstance(restoring, Snapshots)
    world.reset()
    for action in before:
        world.act(action)
    place = restoring.take()
    seen = [world.act(action) for action in then]
    restoring.put_back(place)
    for action in other:
        world.act(action)
    restoring.put_back(place)
    assert [world.act(action) for action in then] == seen
    assert world.standing == played(task.rules, [*before, *then])


@given(NAME, SEED, st.integers(0, 3))
@FEW
def test_the_same_seed_is_the_same_task(name: str, seed: int, number: int) -> None:
    """Seed and number decide a task, to the last word; another number is another task."""
    one, same = (SMALL[name].task(seed, number) for _ in range(2))
    assert list(seen_by(one, actions_of(one))) == list(seen_by(same, actions_of(same)))
    assert one.plan == same.plan
    assert one.plan != SMALL[name].task(seed, number + 1).plan


@given(NAME, SEED)
@FEW
def test_an_instruction_comes_with_its_subtask(name: str, seed: int) -> None:
    """What a subtask asks for is told when the one before it is over, and by nothing before."""
    task = task_of(name, seed)
    told = task.rules.instructions
    world = World(task.rules)
    assert world.reset().instructions == told[:1]
    assert all(each not in task.text and each not in task.rules.manual for each in told)
    for place, part in enumerate(task.plan):
        *during, last = [world.act(action) for action in part.actions]
        assert not any(seen.instructions for seen in during)
        assert last.instructions == told[place + 1 : place + 2]
        assert last.over == (place == len(told) - 1)


@given(NAME, SEED, st.data())
@FEW
def test_no_label_reaches_an_observation(name: str, seed: int, data: st.DataObject) -> None:
    """With other answers an agent is told the same, but for its own words: nothing says whether it was right."""
    task = task_of(name, seed)
    wrong = [data.draw(st.sampled_from(part.actions[:-1])) for part in task.plan]
    mixed = [action for part, each in zip(task.plan, wrong, strict=True) for action in (each, *part.actions)]
    shown = "\n".join(seen_by(task, mixed)).casefold()
    for word in ("correct", "wrong", "incorrect", "reward", "score", "truth"):
        assert not re.search(rf"\b{word}\b", shown), word


def test_a_formal_world_and_a_corpus_do_not_know_the_truth() -> None:
    """With the truth taken out of the rules, the same actions show the same, byte for byte."""
    for name in ("math", "physics"):
        task = SMALL[name].task(1, 0)
        lemmas = [attrs.evolve(each, result="1", calls=()) for each in rules_of(task).proof.lemmas]
        blind = attrs.evolve(rules_of(task), proof=attrs.evolve(rules_of(task).proof, lemmas=tuple(lemmas)))
        check_the_same(task, attrs.evolve(task, rules=blind))
    task = SMALL["search"].task(1, 0)
    nothing = [
        attrs.evolve(each, answer=attrs.evolve(each.answer, name="?"), sources=(), words=())
        for each in rules_of(task).questions
    ]
    check_the_same(task, attrs.evolve(task, rules=attrs.evolve(rules_of(task), questions=tuple(nothing))))


def test_a_trip_does_not_know_the_truth() -> None:
    """The plans that are right for the members stand in no search, no booking and no itinerary."""
    task = SMALL["travel"].task(1, 0)
    first, *members = rules_of(task).group.travellers
    blind = (first, *(attrs.evolve(each, plan={}) for each in members))
    rules = attrs.evolve(rules_of(task), group=attrs.evolve(rules_of(task).group, travellers=blind))
    check_the_same(task, attrs.evolve(task, rules=rules))


def check_the_same(task: Task, blind: Task) -> None:
    assert list(seen_by(task, actions_of(task))) == list(seen_by(blind, actions_of(task)))


@given(NAME, SEED, st.integers(0, 4))
@FEW
def test_what_is_missing_counts_nothing_and_stays_in_the_denominator(name: str, seed: int, done: int) -> None:
    """After some subtasks of the plan, progress is their share of all; an empty run is worth nothing, and is marked."""
    task = task_of(name, seed)
    parts = task.plan[:done]
    marked = task.mark(played(task.rules, [action for part in parts for action in part.actions]).closed)
    count = len(task.plan)
    assert len(marked.right) == count
    assert marked.score.ps == pytest.approx(len(parts) / count)
    assert marked.score.sr == (len(parts) == count)
    assert marked.score.answered == pytest.approx(len(parts) / count)
    nothing = task.mark(())
    assert nothing.score in (Score(0, 0, 0), Score(0, 0, 0, 0))
    assert set(nothing.right) == {None}


@pytest.mark.parametrize("name", NAMES)
def test_the_cap_closes_a_subtask_and_says_so(name: str) -> None:
    """A subtask that takes as many actions as the cap is closed without an answer, and the next one comes."""
    task = SMALL[name].task(3, 0)
    world = World(task.rules)
    world.reset()
    seen = [world.act("nothing") for _ in range(task.rules.cap)]
    assert world.standing.closed == (Closed("cap", (), task.rules.cap),)
    assert not any(each.instructions for each in seen[:-1])
    assert seen[-1].instructions == task.rules.instructions[1:2]
    assert "may take no more" in seen[-1].text


# -- under the agent -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_that_goes_back_has_undone_what_it_did(name: str) -> None:
    """A judge fails the first subtask once; the agent goes back, the world too, and the second try counts alone."""
    task = SMALL[name].task(5, 0)
    world = World(task.rules)
    first = task.plan[0].actions
    asked = 0

    def judge(request: JudgeRequest | FoldRequest, /) -> Verdict:
        nonlocal asked
        asked += 1
        return Failed("Look again.") if asked == 1 else Passed()

    decisions = iter(
        [
            *(Decision.act(action) for action in first),
            Decision.compress("It is done."),
            *(
                each
                for part in task.plan
                for each in (*map(Decision.act, part.actions), Decision.compress(part.claim))
            ),
            Decision.finish("Done."),
        ]
    )

    def decide(_request: Decide, /) -> Decision:
        return next(decisions)

    store = MemoryStore()
    agent = Agent(model=decide, environment=world, judge=judge, policy=Policy(point_out=False))
    outcome = agent.run(store, "once more", task=task.text)
    assert isinstance(outcome, RunFinished), outcome
    assert outcome.totals.revisions == 1
    assert task.mark(world.standing.closed).score.sr == 1
    assert sum(closed.actions for closed in world.standing.closed) == len(actions_of(task))


def test_a_world_says_what_it_can_do() -> None:
    """It is restored by snapshots, has tools that a provider can enforce, and foresees that looking does no harm."""
    for name in NAMES:
        world = World(SMALL[name].task(0, 0).rules)
        assert isinstance(world.capabilities, Capabilities)
        assert isinstance(world.capabilities.restoring, Snapshots)
        assert all(tool.is_strict for tool in world.capabilities.tools)
        assert world.rules.looks < {tool.name for tool in world.rules.tools}
        looks = {
            tool.name
            for tool in world.rules.tools
            if world.capabilities.foresees(f"{tool.name} {{}}") is not None
        }
        assert looks == world.rules.looks

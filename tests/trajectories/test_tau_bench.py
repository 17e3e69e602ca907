"""tau-bench: the runs of one task become one tree."""

from __future__ import annotations

import functools

from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Grow, Revise, Step, StepId, Tree
from mage.trajectories import Counts, Steps, Trajectory, counts, load
from mage.trajectories.trajectory import Json
from tests.shared_data import SHARED, needs_shared
from tests.trajectories.samples import RUN, TAU_BENCH, TURNS, final_state, flat, grown, loaded, task, turns

SYSTEM: Json = {"role": "system", "content": "Keep the garden."}


def _run(messages: list[Json], *, trial: int = 0, reward: float = 0.0, name: Json = 1) -> Json:
    return {"task_id": name, "trial": trial, "reward": reward, "info": {}, "traj": messages}


def test_runs_of_one_task_are_one_tree() -> None:
    """The sample's two runs of task 7 share their first two steps and branch at the third."""
    seven, other = loaded(TAU_BENCH)
    assert (seven.name, other.name) == ("7", "b")
    assert task(seven) == task(other) == "Keep the garden.\n\nIs the pond frozen?"
    assert seven.commands[4] == Revise(StepId(0), "trial 0 ended with reward 0.0")
    expected = Counts(steps=4, merges=2, revisions=1, abandoned=3, branch_points=1, summaries=0, max_depth=3)
    assert counts(seven.commands) == expected
    assert other.commands[1:] == ()


def test_tool_steps_of_runs_merge() -> None:
    """With tool steps both runs made the same two calls, so the second adds nothing."""
    seven = loaded(TAU_BENCH, steps="tools")[0]
    assert (counts(seven.commands).steps, counts(seven.commands).merges) == (2, 2)


def test_last_reward_is_no_lesson() -> None:
    """Between trials the reward is the lesson, in order of trial; nobody came back after the last one."""
    runs = [_run(RUN, trial=trial, reward=float(trial == 1)) for trial in (2, 0, 1)]
    found = loaded(runs)[0]
    lessons = [command.lesson for command in found.commands if isinstance(command, Revise)]
    assert lessons == ["trial 0 ended with reward 0.0", "trial 1 ended with reward 1.0"]
    assert final_state(found).tree.lessons_at(StepId(0)) == tuple(lessons)


def test_user_who_words_it_anew_opens_each_trial() -> None:
    """Where first user messages differ, the task is the system prompt, and each trial opens with its own."""
    runs = [
        _run(
            [SYSTEM, {"role": "user", "content": word}, {"role": "assistant", "content": "Yes."}], trial=trial
        )
        for trial, word in enumerate(["Frozen?", "Is it ice?"])
    ]
    found = loaded(runs)[0]
    assert task(found) == "Keep the garden."
    assert grown(found) == [("", "Frozen?"), ("Yes.", ""), ("", "Is it ice?"), ("Yes.", "")]
    assert grown(loaded(runs, steps="tools")[0]) == []


def test_run_that_broke_down_at_once_says_nothing_of_the_task() -> None:
    """A run without any message leaves its lesson and does not blank the task of the others."""
    found = loaded([_run([], reward=0.0), _run(RUN, trial=1)])[0]
    assert task(found) == "Keep the garden.\n\nIs the pond frozen?"
    assert found.commands[1] == Revise(StepId(0), "trial 0 ended with reward 0.0")
    assert len(grown(found)) == 3


def test_task_ids_of_both_types_name_one_task() -> None:
    """The ids 7 and "7" are one name, so they are one task."""
    assert [found.name for found in loaded([_run(RUN, name=7), _run(RUN, name="7", trial=1)])] == ["7"]


@given(
    TURNS,
    st.lists(turns(salt="a"), max_size=2),
    st.lists(turns(salt="b"), max_size=2),
    st.sampled_from(["messages", "tools"]),
)
def test_shared_prefix_of_two_runs_merges(
    shared: list[list[Json]], one: list[list[Json]], other: list[list[Json]], steps: Steps
) -> None:
    """Two runs merge for as long as their steps are equal, whatever their call ids, and then never again."""
    runs = [
        _run([SYSTEM, *flat(shared), *flat(one)]),
        _run([SYSTEM, *flat(_with_other_ids(shared)), *flat(other)], trial=1),
    ]
    found = loaded(runs, steps=steps)[0]
    first, second = _by_trial(found)
    equal = 0
    while equal < min(len(first), len(second)) and first[equal] == second[equal]:
        equal += 1
    assert counts(found.commands).merges == equal
    if steps == "messages":
        assert equal >= len(shared) - 1  # the last shared reply may be followed by other messages
    assert [step.content for step in _path(final_state(found).tree)] == second


def _with_other_ids(turns: list[list[Json]]) -> list[list[Json]]:
    """Return the same turns as another run would record them."""
    return [[_renamed(message) for message in turn] for turn in turns]


def _renamed(value: Json) -> Json:
    if isinstance(value, list):
        return [_renamed(child) for child in value]
    if not isinstance(value, dict):
        return value
    return {
        key: f"other {child}" if key in ("id", "tool_call_id") else _renamed(child)
        for key, child in value.items()
    }


def _by_trial(found: Trajectory) -> list[list[tuple[str, str]]]:
    trials: list[list[tuple[str, str]]] = [[]]
    for command in found.commands:
        if isinstance(command, Revise):
            trials.append([])
        elif isinstance(command, Grow):
            trials[-1].append((command.action, command.observation))
    return trials


def _path(tree: Tree) -> list[Step]:
    return [tree.step(step) for step in tree.active_path()[1:]]


@functools.cache
def _airline() -> bytes:
    return (SHARED / "data/tau_bench_gpt4o_airline.json").read_bytes()


def _totals(steps: Steps) -> tuple[int, int, int, int]:
    found = [counts(each.commands) for each in load(_airline(), file="tau.json", steps=steps).unwrap()]
    assert len(found) == 50
    return (
        sum(each.steps for each in found),
        sum(each.merges for each in found),
        sum(each.branch_points for each in found),
        sum(each.revisions for each in found),
    )


@needs_shared
def test_airline_tool_trees_have_the_counts_that_others_counted() -> None:
    """50 trees of (tool call, observation), 150 times back to the root.

    By the text of the calls others counted 851 steps and 313 merges; 31 of the steps are one call in two spellings.
    """
    assert (820 + 31, 344 - 31) == (851, 313)
    assert _totals("tools") == (820, 344, 79, 150)


@needs_shared
def test_airline_message_trees_keep_every_message() -> None:
    """50 trees of assistant messages: 2,454 of them and 200 openings by the user, 7 of which merge."""
    assert _totals("messages") == (2_647, 7, 56, 150)
    assert 2_647 + 7 == 2_454 + 200


@needs_shared
def test_airline_siblings_differ() -> None:
    """In every tree, four trials stand below one root, and no two children of a step share content."""
    for steps in ("messages", "tools"):
        for found in load(_airline(), file="tau.json", steps=steps).unwrap():
            tree = final_state(found).tree
            for step in range(tree.next_step):
                children = [tree.step(child).content for child in tree.step_children(StepId(step))]
                assert len(children) == len(set(children))

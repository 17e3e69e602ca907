"""Where the records of a file stand in the tree."""

from __future__ import annotations

import pytest
from hypothesis import given

from mage.engine import MageError, Revise, Start, StepId, Tree
from mage.trajectories import Entry, Trajectory, load, placed
from mage.trajectories.trajectory import Json, entry_at
from tests.trajectories.samples import (
    HEAD,
    JOURNAL,
    JSON_SAMPLES,
    RUN,
    TAU_BENCH,
    TURNS,
    contents,
    final_state,
    flat,
    loaded,
)


def _tree(found: Trajectory) -> Tree:
    return final_state(found).tree


def _steps(found: Trajectory) -> dict[str, tuple[StepId, ...]]:
    return {entry.record: steps for entry, steps in placed(found).items()}


def test_messages_of_a_small_run() -> None:
    """What is told before the agent speaks is at the root; each other message at the step that it is part of."""
    assert _steps(loaded(RUN)[0]) == {
        "[0]": (0,),
        "[1]": (0,),
        "[2]": (1,),
        "[3]": (1,),
        "[4]": (2,),
        "[5]": (2,),
        "[6]": (2,),
        "[7]": (3,),
    }


def test_tool_steps_of_one_message() -> None:
    """A message with two calls is at two steps, each result at its own; what is left out is at none."""
    assert _steps(loaded(RUN, steps="tools")[0]) == {
        "[0]": (0,),
        "[1]": (0,),
        "[4]": (1, 2),
        "[6]": (1,),
        "[5]": (2,),
    }


def test_merged_trials_share_their_steps() -> None:
    """Messages of two trials that said the same are at one step."""
    steps = _steps(loaded(TAU_BENCH)[0])
    assert steps["[0].traj[2]"] == steps["[1].traj[2]"] == (1,)
    assert steps["[0].traj[0]"] == steps["[1].traj[0]"] == (0,)
    assert all(record in steps for record in ("[0].traj[7]", "[1].traj[7]"))


def test_lines_of_a_journal() -> None:
    """The commands of a journal count from 0, its lines from 1 with the header; a summary is at no step."""
    (found,) = load(JOURNAL, file="t.jsonl").unwrap()
    assert placed(found) == {
        Entry("line 2", 0): (0,),
        Entry("line 3", 1): (1,),
        Entry("line 6", 4): (2,),
    }


@pytest.mark.parametrize("sample", [sample for samples in JSON_SAMPLES.values() for sample in samples])
def test_every_step_is_made_of_something(sample: Json) -> None:
    """In every format each command knows what it was made of, and each step of the tree has a record."""
    for found in loaded(sample):
        assert len(found.sources) == len(found.commands)
        held = {step for steps in placed(found).values() for step in steps}
        assert held | {0} == set(range(_tree(found).next_step))


@given(HEAD, TURNS)
def test_record_stands_where_its_text_is(head: list[Json], turns: list[list[Json]]) -> None:
    """Whatever a chat holds, each message's text is in the step that its record is placed at."""
    messages = head + flat(turns)
    if not messages:
        return
    (found,) = loaded(messages)
    tree = _tree(found)
    where = placed(found)
    for place, message in enumerate(messages):
        assert isinstance(message, dict)
        (step,) = where[entry_at((place,))]
        told = "\n".join(tree.step(step).content) if step else tree.task
        assert all(text in told for text in contents(message["content"]))


def test_history_that_does_not_replay_raises() -> None:
    """A refused command is a mistake of the caller, raised as one of mage's own errors."""
    commands = (Start("t"), Revise(StepId(7), "no"))
    with pytest.raises(MageError):
        placed(Trajectory("t", commands, summarized=False, sources=((), ())))

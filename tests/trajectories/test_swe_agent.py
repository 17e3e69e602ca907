"""SWE-agent trajectories, in both shapes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.trajectories import counts, load
from mage.trajectories.formats import is_swe_agent
from mage.trajectories.trajectory import Json, Spot
from tests.shared_data import SHARED, needs_shared
from tests.trajectories.samples import (
    SWE_AGENT,
    SWE_AGENT_HISTORY,
    TEXT,
    final_state,
    grown,
    loaded,
    task,
)

FILES = sorted((SHARED / "data/swe_agent").glob("*.traj"))
STEPS = {
    "function_calling_simple": 5,
    "katy": 18,
    "marshmallow_default": 14,
    "marshmallow_default_sys-env_window100": 11,
    "marshmallow_function_calling_replace": 11,
    "rock": 12,
}


def test_trajectory_entries_are_steps() -> None:
    """Each entry is a step: thought and action once, though the reply repeats both."""
    found = loaded(SWE_AGENT)[0]
    assert task(found) == "You fix programs.\n\nThe pond is wrong."
    assert grown(found) == [("Look around.\n\nls\n", "pond.py"), ("Read it.\ncat pond.py", "ice = 1")]


def test_history_alone_is_enough() -> None:
    """Without a trajectory, the replies of the history are the steps."""
    found = loaded(SWE_AGENT_HISTORY)[0]
    assert task(found) == "You fix programs.\n\nThe pond is wrong."
    assert grown(found) == [("Look around.\nls", "pond.py"), ("Done.", "")]


def test_empty_trajectory_leaves_the_history() -> None:
    """A trajectory that is there and empty counts as none."""
    assert isinstance(SWE_AGENT_HISTORY, dict)
    assert grown(loaded({"trajectory": [], **SWE_AGENT_HISTORY})[0]) == grown(loaded(SWE_AGENT_HISTORY)[0])


def test_trajectory_without_history_has_a_blank_task() -> None:
    """Where nothing says what was asked, the task is blank and the steps are there."""
    entry: Json = {"action": "ls", "observation": "pond.py"}
    found = loaded({"trajectory": [entry]})[0]
    assert (task(found), grown(found)) == ("", [("ls", "pond.py")])


def test_history_in_which_nobody_acts_has_no_steps() -> None:
    """A run that stopped before its first action has a task and no steps."""
    found = loaded({"trajectory": [], "history": [{"role": "system", "content": "Fix."}]})[0]
    assert (task(found), grown(found)) == ("Fix.", [])


def test_demonstration_belongs_to_the_task() -> None:
    """What the agent was shown somebody do is told before it acts, and is none of its steps."""
    demo: list[Json] = [
        {"role": "user", "content": "Watch.", "is_demo": True},
        {"role": "assistant", "content": "I look.", "is_demo": True},
    ]
    found = loaded({"history": [*demo, {"role": "assistant", "content": "Now I."}]})[0]
    assert (task(found), grown(found)) == ("Watch.\n\nI look.", [("Now I.", "")])


def test_calls_stand_for_an_action_that_is_blank() -> None:
    """A reply that has no action but calls tools shows its calls."""
    made: Json = [{"id": "x", "type": "function", "function": {"name": "bash", "arguments": "ls"}}]
    for reply in ({"action": None}, {"action": ""}, {}):
        history: list[Json] = [{"role": "assistant", "content": "Look.", "tool_calls": made, **reply}]
        assert grown(loaded({"history": history})[0]) == [("Look.\nbash ls", "")]


REPLIES = st.tuples(TEXT, TEXT).flatmap(
    lambda parts: st.sampled_from(
        [
            "",
            parts[0],
            f"{parts[0]}\n```\n{parts[1]}\n```",
            f"{parts[0]}\n```bash\n{parts[1]}\n```\nand more",
            "something else",
        ]
    ).map(lambda reply: (*parts, reply))
)


@given(st.lists(st.tuples(REPLIES, TEXT), min_size=1, max_size=4))
def test_nothing_that_the_agent_wrote_is_lost(entries: list[tuple[tuple[str, str, str], str]]) -> None:
    """In both shapes, thought, action and reply stand in the action, up to white space, with what came back."""
    trajectory: list[Json] = []
    history: list[Json] = []
    for (thought, action, reply), seen in entries:
        written: dict[str, Json] = {"thought": thought, "action": action}
        trajectory.append({**written, "response": reply, "observation": seen})
        history.append({**written, "role": "assistant", "content": reply})
        history.append({"role": "user", "content": seen})
    shapes: list[Json] = [{"trajectory": trajectory}, {"history": history}]
    for whole in shapes:
        steps = grown(loaded(whole)[0])
        for ((thought, action, reply), seen), (told, observed) in zip(entries, steps, strict=True):
            assert seen == observed
            for part in (thought, action, reply):
                assert "".join(part.split()).replace("```", "") in "".join(told.split()).replace("```", "")


def test_looks_alone_decide() -> None:
    """A trajectory, or a history without a question, is SWE-agent's."""
    assert is_swe_agent(Spot({"trajectory": 5}))
    assert is_swe_agent(Spot({"history": []}))
    assert not is_swe_agent(Spot({"history": [], "question": "?"}))
    assert not is_swe_agent(Spot(["trajectory"]))


@needs_shared
def test_there_are_files_to_read() -> None:
    """The files that the next test reads are those whose steps were counted."""
    assert sorted(STEPS) == [file.stem for file in FILES]


@needs_shared
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_real_trajectory_replays(file: Path) -> None:
    """Every real trajectory gives one path, a step an entry, with a task and nothing blank in it."""
    (found,) = load(file.read_bytes(), file=str(file)).unwrap()
    total = counts(found.commands)
    assert (found.name, total.steps) == (file.stem, STEPS[file.stem])
    assert total.max_depth == total.steps
    assert final_state(found).tree.task.startswith("SETTING: You are")
    assert all(action.strip() for action, _ in grown(found))


@needs_shared
def test_replays_of_one_task_share_actions() -> None:
    """Two recordings of one run, one with fenced and one with called actions, share what was thought."""
    names = ("marshmallow_default_sys-env_window100", "marshmallow_function_calling_replace")
    fenced, called = (
        grown(load((SHARED / f"data/swe_agent/{name}.traj").read_bytes(), file=name).unwrap()[0])
        for name in names
    )
    assert fenced[0][0].split() == called[0][0].split()
    shared = {" ".join(action.split()) for action, _ in fenced} & {
        " ".join(action.split()) for action, _ in called
    }
    assert len(shared) >= 3

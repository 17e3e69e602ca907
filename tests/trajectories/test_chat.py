"""Chat messages in all the forms a file has them in."""

from __future__ import annotations

import pytest
from hypothesis import given

from mage.trajectories import Steps, load
from mage.trajectories.formats import is_chat
from mage.trajectories.trajectory import Json, Spot
from tests.shared_data import SHARED, needs_shared
from tests.trajectories.samples import (
    CHAT,
    HEAD,
    RUN,
    TURNS,
    encoded,
    final_state,
    flat,
    grown,
    lines,
    loaded,
    task,
)


def test_every_form_of_one_conversation_is_the_same() -> None:
    """A list, an object, messages a line and a conversation a line give one and the same trajectory."""
    forms = [encoded(RUN), encoded(CHAT), encoded([CHAT]), lines(RUN), lines([CHAT])]
    trajectories = [load(form, file="pond.json").unwrap() for form in forms]
    assert len({found[0].commands for found in trajectories}) == 1
    places = [[entry.index for entries in found[0].sources for entry in entries] for found in trajectories]
    assert all(found == list(range(len(RUN))) for found in places)
    assert trajectories[0][0].name == "pond"
    assert not trajectories[0][0].summarized


@pytest.mark.parametrize("data", [lines([CHAT, CHAT, CHAT]), encoded([CHAT] * 3), encoded([RUN] * 3)])
def test_several_conversations_are_named_by_place(data: bytes) -> None:
    """Several conversations in one file are told apart by their place, from 0."""
    found = load(data, file="pond.json").unwrap()
    assert [trajectory.name for trajectory in found] == ["0", "1", "2"]
    assert len({trajectory.commands for trajectory in found}) == 1


@pytest.mark.parametrize("message", RUN[:3])
def test_file_of_one_message_is_a_conversation(message: Json) -> None:
    """A JSON Lines file that stopped after its first message is a conversation of one message."""
    found = loaded(message)
    assert len(found) == 1
    assert len(grown(found[0])) == (message == RUN[2])


@given(HEAD, TURNS)
def test_conversation_replays_as_one_path(head: list[Json], turns: list[list[Json]]) -> None:
    """An imported conversation is one path of as many steps as it has assistant messages."""
    messages = head + flat(turns)
    if messages:
        state = final_state(loaded(messages)[0])
        assert len(state.tree.active_path()) == 1 + len(turns)


def test_conversation_that_the_agent_begins_has_a_blank_task() -> None:
    """Where the agent speaks first, what the user says then is an observation, not the task."""
    found = loaded([{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Hi."}])[0]
    assert task(found) == ""
    assert grown(found) == [("Hello.", "Hi.")]


def test_looks_alone_decide() -> None:
    """Chat is what has roles or messages, alone or among records, and nothing else."""
    assert is_chat(Spot([1, {"role": 5}]))
    assert is_chat(Spot([[{"role": "user"}]]))
    assert not is_chat(Spot([[{"actions": []}], 5]))
    assert not is_chat(Spot("role"))


@needs_shared
@pytest.mark.parametrize(("steps", "expected"), [("messages", 1), ("tools", 0)])
def test_travel_plans_load(steps: Steps, expected: int) -> None:
    """The 45 travel plans, a conversation a line, load as one step each; they call no tools."""
    data = (SHARED / "data/travelplanner/std_travelplanner.jsonl").read_bytes()
    found = load(data, file="std_travelplanner.jsonl", steps=steps).unwrap()
    assert len(found) == 45
    assert all(len(grown(trajectory)) == expected for trajectory in found)
    assert all(task(trajectory).startswith("You are a proficient planner.") for trajectory in found)

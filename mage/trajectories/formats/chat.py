"""OpenAI chat messages, as JSON or JSON Lines.

A file holds one conversation (a list of messages, an object with `messages`, or one message a line) or
several (a list or lines of such objects or lists). All that stands before the first assistant message is
the task, as a rule the system prompt and the first user message; system and user messages after it are
observations. With `steps="messages"` each assistant message is a step and all that follows until the next
one is its observation. With `steps="tools"` each tool call with its results is a step; all other messages,
and what an assistant message says beside its calls, are left out. What is unusual is read all the same, and
noted (see `messages`); only what is no list of messages is refused.
"""

from __future__ import annotations

from mage.engine import Start
from mage.trajectories.fields import Spot, items_at
from mage.trajectories.messages import conversation, entries_of, steps_of, task_of
from mage.trajectories.oddities import Oddities
from mage.trajectories.trajectory import Made, Malformed, Steps, Trajectory, made_of


def is_chat(document: Spot) -> bool:
    """Tell whether a file looks like chat messages: some record of it has a role or messages."""
    if _is_message(document) or document.has("messages"):
        return True
    records = document.items("a list")
    return not isinstance(records, Malformed) and any(
        _is_message(record) or record.has("messages") or _is_list_of_messages(record) for record in records
    )


def _is_message(spot: Spot) -> bool:
    return spot.has("role")


def _is_list_of_messages(spot: Spot) -> bool:
    inner = spot.items("a list")
    return not isinstance(inner, Malformed) and any(map(_is_message, inner))


def load_chat(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...] | Malformed:
    """Return one trajectory named `stem`, or one for each conversation, named by its place from 0."""
    found = _conversations(document)
    if isinstance(found, Malformed):
        return found
    loaded: list[Trajectory] = []
    for place, messages in enumerate(found):
        trajectory = _trajectory(messages, stem if len(found) == 1 else str(place), steps)
        if isinstance(trajectory, Malformed):
            return trajectory
        loaded.append(trajectory)
    return tuple(loaded)


def _conversations(document: Spot) -> list[Spot] | Malformed:
    """Return the places of the lists of messages, or of objects that hold one."""
    if document.has("messages"):
        return [document]
    if _is_message(document):
        return [Spot([document.value], lines=(1,))]
    records = document.items("messages: a list, or an object with messages")
    if isinstance(records, Malformed):
        return records
    if any(record.has("messages") or isinstance(record.value, list) for record in records):
        return records
    return [document]


def _trajectory(spot: Spot, name: str, steps: Steps) -> Trajectory | Malformed:
    messages = (
        items_at(spot, "messages", "a list of messages") if spot.has("messages") else spot.items("messages")
    )
    if isinstance(messages, Malformed):
        return messages
    if not messages:
        return spot.expected("at least one message")
    odd = Oddities()
    talk = conversation(messages, odd)
    if isinstance(talk, Malformed):
        return talk
    begin = Made(Start(task_of(talk.head)), entries_of(talk.head))
    made = [begin, *steps_of(talk.turns, steps, odd)]
    return made_of(name, made, remarks=odd.remarks)

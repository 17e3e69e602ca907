"""Chats as tests put them: read, turned into commands, and what is said of them."""

from __future__ import annotations

from mage.engine import Command
from mage.trajectories.messages import Conversation, conversation, steps_of
from mage.trajectories.trajectory import Json, Oddities, Spot, Steps


def talk_of(messages: list[Json], odd: Oddities | None = None) -> Conversation:
    """Return messages as they are read; they must be."""
    spots = [Spot(message, (place,)) for place, message in enumerate(messages)]
    return conversation(spots, Oddities() if odd is None else odd)


def commands_of(talk: Conversation, steps: Steps) -> list[Command]:
    """Return the steps of a conversation."""
    return [made.command for made in steps_of(talk.turns, steps, Oddities())]


def reply(*calls: Json, content: Json = None) -> Json:
    """Return an assistant message."""
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def remarks_on(messages: list[Json], steps: Steps = "messages") -> list[str]:
    """Return what is said of messages to be unusual, and where first."""
    odd = Oddities()
    list(steps_of(talk_of(messages, odd).turns, steps, odd))
    return list(map(str, odd.remarks))

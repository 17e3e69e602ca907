"""Messages of a chat as frozen values; each interface translates them at its border."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, final

import attrs

__all__ = ["Assistant", "ChatMessage", "System", "ToolCall", "ToolResult", "User", "merged"]


@final
@attrs.frozen
class System:
    """The fixed words at the start."""

    text: str


@final
@attrs.frozen
class User:
    """What the model is shown: words of ours at the left margin, content indented."""

    text: str


@final
@attrs.frozen
class ToolCall:
    """A call of a tool.

    Attributes:
        id: ties the result to the call.
        name: the tool's.
        arguments: JSON.
    """

    id: str
    name: str
    arguments: str


@final
@attrs.frozen
class Assistant:
    """What the agent did: a text, or the call of a tool."""

    text: str = ""
    call: ToolCall | None = None


@final
@attrs.frozen
class ToolResult:
    """What came back from a call.

    Attributes:
        call: the call's id.
        text: the observation, in the form of its block.
    """

    call: str
    text: str


ChatMessage: TypeAlias = System | User | Assistant | ToolResult


def merged(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """Yield the messages, neighbours from the user joined and empty ones left out.

    Some chat templates insist that user and assistant alternate. Every text of a `User` ends in a line feed,
    so what was two messages begins its second part at the left margin.
    """
    waiting = ""
    for message in messages:
        if isinstance(message, User):
            waiting += message.text
            continue
        if waiting:
            yield User(waiting)
            waiting = ""
        yield message
    if waiting:
        yield User(waiting)

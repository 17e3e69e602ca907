"""The execution state as messages of a chat, as OpenAI's and most other interfaces take them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypedDict

from mage.engine import ExecutionState
from mage.render.blocks import Block, head_of, hints_of, observation_of
from mage.render.caps import DEFAULT_CAPS, Caps

__all__ = ["Message", "messages"]


class Message(TypedDict):
    """One message of a chat.

    Attributes:
        role: `"assistant"` for what the agent did, `"user"` for all else.
        content: its text.
    """

    role: Literal["user", "assistant"]
    content: str


def messages(shown: ExecutionState, *, caps: Caps = DEFAULT_CAPS) -> list[Message]:
    """Return S as messages for a chat without tools.

    The first, from the user, has the task, the instructions in force, C and where R begins. Each step of R
    is an assistant's message with the action as it was, and a user's with the observation in the form of
    its block, so what an observation contains cannot be mistaken for words of ours. The hints, if there are
    any, come last, from the user. A grow that adds a step only adds to the end of the list, but for the
    hints. A lone surrogate stays what it is; UTF-8 cannot spell it, so replace it before sending.
    Cost: O(size of S).
    """
    chat = [_user(head_of(shown))]
    for step in shown.raw:
        chat.append({"role": "assistant", "content": step.action})
        chat.append(_user([observation_of(step.observation)]))
    hints = _user(hints_of(shown.hints, caps))
    return [*chat, hints] if hints["content"] else chat


def _user(blocks: Iterable[Block]) -> Message:
    return {"role": "user", "content": "".join([block.text for block in blocks])}

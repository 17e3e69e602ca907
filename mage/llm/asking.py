"""One call of a chat model, which a program asks for (`mage.effects.program`), and its reply.

What a call could not bring is thrown into the program.
"""

from __future__ import annotations

from typing import Final, final

import attrs

from mage.chat import ChatMessage, ToolCall
from mage.effects import EffectError, Schema, Tool, Usage
from mage.effects.program import Ask
from mage.engine import MageError

__all__ = ["Call", "NotEnforced", "Reply", "charged"]


_ONE: Final = Usage()


@final
@attrs.frozen
class Reply:
    """What a model has replied, whole or not.

    Attributes:
        text: its content.
        calls: the tools it called; an argument is JSON only if the model got it right.
        refusal: in its words, why it will not answer; empty where it does.
        finish: why it stopped, in the provider's word; None where the reply broke off.
        usage: what it took.
        model: the name under which the provider says it answered.
        aside: what it thought where a server splits that off; it is counted, and not read.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    finish: str | None = None
    usage: Usage = _ONE
    model: str = ""
    aside: str = attrs.field(default="", repr=False)


@final
@attrs.frozen
class Call(Ask[Reply]):
    """What is sent to a model.

    Attributes:
        messages: the chat.
        tools: what it may call.
        schema: what the reply must be, for servers that enforce it; None for any text.
        named: the name of that schema.
    """

    messages: tuple[ChatMessage, ...]
    tools: tuple[Tool, ...] = ()
    schema: Schema | None = None
    named: str = ""


@final
class NotEnforced(MageError):
    """A server has rejected a call that asks it to enforce a schema, perhaps because it cannot.

    Attributes:
        error: what it comes to if that was not the reason.
    """

    def __init__(self, error: EffectError) -> None:
        self.error = error
        super().__init__(str(error))


def charged(error: EffectError, spent: Usage) -> EffectError:
    """Return the error, on which what was spent before it is now counted too."""
    error.usage = spent + error.usage
    return error

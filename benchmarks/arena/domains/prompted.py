"""The context reader as a model: it has the text of the prompt that a model would be sent, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, final

from benchmarks.arena.domains.reader import ContextReader
from mage.chat import decide_messages, system_prompt, written
from mage.effects import Decide, Decision, Metered, Usage
from mage.tokens import TokenCounter

Sight: TypeAlias = Callable[[str], str]
"""What becomes of the text of a prompt before the reader has it; tests take facts out with it."""


@final
class ReaderModel:
    """A model, to an agent: a context reader behind the prompt that a model would be sent, in plain text."""

    def __init__(self, reader: ContextReader, counter: TokenCounter, sight: Sight = str) -> None:
        """Make a model of a reader.

        Args:
            reader: decides.
            counter: counts the tokens of prompts and replies.
            sight: what becomes of the text before the reader has it.
        """
        self._reader = reader
        self._count = counter.count
        self._sight = sight

    def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Render the prompt, and return what its reader decides. Tokens are counted message by message."""
        said = prompt_of(request)
        decision = self._reader(self._sight("\n".join(said)))
        reply = "".join(each.text for each in decision.actions) or str(getattr(decision.then, "text", ""))
        return Metered(
            decision, Usage(sum(map(self._count, said)), self._count(reply), estimated=1), "reader", ""
        )


def prompt_of(request: Decide) -> tuple[str, ...]:
    """Return the texts of the messages that ask for a decision in the mode without tool calls."""
    system = system_prompt("text", tools=request.tools, manual=request.manual, rules=request.rules)
    chat = written(decide_messages(request, system=system, mode="text", tools=request.tools), "chat")
    return tuple(each["content"] for each in chat)

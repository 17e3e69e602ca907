"""A first try without a key and without a network: the parts of a loop that buys a desk and a chair that fits it.

`TOOLS`, `buy` and `judge` are a tool and a judge; `ScriptedClient` is a model that reads its prompt. It makes one
mistake: it buys the chrome chair, unless a lesson in its prompt advises against it.

`mage.demo.shop` is an environment with ten products, and the model, judge and summarizer of the story that `mage demo`
and `mage run --offline` show.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from secrets import token_hex
from types import SimpleNamespace
from typing import Any, Final, final

from mage.engine import Failed, FoldRequest, JudgeRequest, Passed, Verdict

__all__ = ["TOOLS", "ScriptedClient", "buy", "judge"]

_PRICES: Final[Mapping[str, int]] = {"oak desk": 310, "chrome chair": 129, "linen chair": 145}

TOOLS: Final[list[dict[str, Any]]] = [
    {
        "type": "function",
        "function": {
            "name": "buy",
            "description": "Buy an item: an oak desk, a chrome chair or a linen chair.",
            "parameters": {
                "type": "object",
                "properties": {"item": {"type": "string"}},
                "required": ["item"],
                "additionalProperties": False,
            },
            "strict": True,
        },
    }
]
"""The shop's one tool, as OpenAI's chat completions take it."""


def buy(item: str) -> str:
    """Buy an item, and return the answer of the shop."""
    price = _PRICES.get(item)
    return f"There is no {item}." if price is None else f"Bought the {item} for ${price}."


def judge(request: JudgeRequest | FoldRequest, /) -> Verdict:
    """Judge a purchase: chrome does not fit oak."""
    if "chrome" in request.text:
        return Failed("Chrome does not fit to oak: buy the linen chair.")
    return Passed()


class _Object(SimpleNamespace):
    """An object of a client's library, with the attributes that a loop reads."""

    def model_dump(self, *, mode: str = "python") -> dict[str, Any]:
        """Return the object as JSON, as pydantic's models do."""
        del mode
        return {name: _plain(value) for name, value in vars(self).items()}


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.model_dump() if isinstance(value, _Object) else value


@final
class ScriptedClient:
    """Replaces `openai.OpenAI()` in a loop over `client.chat.completions.create(...)`.

    Its answer depends on the messages alone, so an interrupted loop goes on where it was.
    """

    def __init__(self) -> None:
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    def _create(self, *, messages: Sequence[Mapping[str, Any]], **_: object) -> _Object:
        text, calls = _decide("\n".join(str(message.get("content")) for message in messages))
        made = [
            _Object(
                id=f"call_{token_hex(8)}",
                type="function",
                function=_Object(name=name, arguments=json.dumps(arguments)),
            )
            for name, arguments in calls
        ]
        message = _Object(role="assistant", content=text, tool_calls=made or None)
        return _Object(choices=[_Object(message=message, finish_reason="tool_calls" if made else "stop")])


def _decide(prompt: str) -> tuple[str, list[tuple[str, dict[str, str]]]]:
    """Return the text and the calls with which the model answers a prompt."""
    knows = ": Chrome does not fit" in prompt or "] Chair: linen chair" in prompt
    chair = "linen chair" if knows else "chrome chair"
    for item, subgoal in (("oak desk", "Desk"), (chair, "Chair")):
        bought = f"{subgoal}: {item}, ${_PRICES[item]}."
        if f"] {bought}" in prompt:
            continue
        if f"Observation: Bought the {item}" in prompt:
            return "", [("compress", {"text": bought})]
        return f"The {item} first." if subgoal == "Desk" else "", [("buy", {"item": item})]
    return "The study has an oak desk and a linen chair.", []

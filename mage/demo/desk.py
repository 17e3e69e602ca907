"""Buy a desk, then a chair that fits it: one tool, a judge that knows what fits, and a model that reads its prompt.

The model makes one mistake: it buys the chrome chair, unless a lesson in its prompt tells it not to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from secrets import token_hex
from types import SimpleNamespace
from typing import Any, Final, final

from mage.engine import Failed, FoldRequest, JudgeRequest, Passed, Verdict

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
    """Buy an item, and return what the shop says."""
    price = _PRICES.get(item)
    return f"There is no {item}." if price is None else f"Bought the {item} for ${price}."


def judge(request: JudgeRequest | FoldRequest, /) -> Verdict:
    """Judge a purchase: chrome does not fit to oak."""
    if "chrome" in request.text:
        return Failed("Chrome does not fit to oak: buy the linen chair.")
    return Passed()


class _Object(SimpleNamespace):
    """An object of a client's, as far as a loop uses it."""

    def model_dump(self, *, mode: str = "python") -> dict[str, Any]:
        """Return it as JSON, as pydantic's models do."""
        del mode
        return {name: _plain(value) for name, value in vars(self).items()}


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.model_dump() if isinstance(value, _Object) else value


@final
class ScriptedClient:
    """Stands in for `openai.OpenAI()` in a loop over `client.chat.completions.create(...)`.

    What it answers depends on the messages alone, so a loop that was interrupted goes on where it was.
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
    """Return what the model says, and the calls it makes, after reading its prompt."""
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

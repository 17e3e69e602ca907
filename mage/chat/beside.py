"""What a provider puts beside a call, which goes back with the call while its step is shown as one.

Some providers refuse a call without it: DeepSeek and Kimi want their `reasoning_content`, Gemini its signature in
`extra_content`, Anthropic its thinking blocks, OpenAI's Responses their reasoning items. It is kept as JSON text, in
`ToolCall.beside`, `Action.beside`, and the meta of the step, and is never read for its words.

    {"form": "chat", "message": {...}, "call": {...}}     fields of the message, and of the call
    {"form": "anthropic", "before": [...], "call": {...}}  blocks or items right before the call, and its other fields
    {"form": "chat", "follows": true, ...}                 a call behind the first of its reply

Calls of one reply go back in one message, as a provider may sign the first of them alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from mage.chat.parts import list_of, mapping_of, string_of, thought_of
from mage.codec.spelling import canonical

Form: TypeAlias = Literal["chat", "responses", "anthropic"]
"""An interface to a model: OpenAI's chat completions and Responses, Anthropic's Messages."""
BESIDE: Final = "beside"
"""The key in the meta of a step under which stands what its provider put beside its call."""
ASIDE: Final = re.compile(r"reasoning|thinking|thought|signature|extra_content")
"""How the fields of a message begin that a provider wants back."""
_REASONING: Final = ("reasoning_content", "reasoning")  # some servers give both, with the same text
_OF_A_CALL: Final = frozenset(
    {"id", "call_id", "type", "index", "function", "custom", "name", "arguments", "input", "action", "status"}
)
_OF_A_FUNCTION: Final = frozenset({"name", "arguments"})
Beside: TypeAlias = Mapping[str, object]


def thoughts_beside(message: Mapping[str, object]) -> str:
    """Return what a model thought, from the fields beside the content of its message; empty where there is nothing."""
    details = [thought_of(item) or "" for item in list_of(message.get("reasoning_details"))]
    fields = [string_of(message.get(name)) for name in _REASONING]
    return max([*fields, "\n".join(filter(None, details))], key=len)


def message_beside(message: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a chat message that go back with its calls: reasoning, signatures, thinking in the content."""
    found = {name: value for name, value in message.items() if value and ASIDE.match(name)}
    thinking = [part for part in list_of(message.get("content")) if thought_of(part) is not None]
    return {**found, "content": thinking} if thinking else found


def call_beside(call: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a call that say more than id, name and arguments, and those of its `function`."""
    found = {name: value for name, value in call.items() if value is not None and name not in _OF_A_CALL}
    function = mapping_of(call.get("function"))
    more = {
        name: value for name, value in function.items() if value is not None and name not in _OF_A_FUNCTION
    }
    return {**found, "function": more} if more else found


def kept_beside(form: Form, beside: Sequence[Beside]) -> list[str]:
    """Return as texts what stands beside the calls of one reply, in order; empty texts where nothing does."""
    if not any(each for found in beside for each in found.values()):
        return [""] * len(beside)
    texts = []
    for place, found in enumerate(beside):
        kept = {name: value for name, value in found.items() if value}
        texts.append(_text({"form": form, **({"follows": True} if place else {}), **kept}))
    return texts


def _text(value: Beside) -> str:
    try:
        return canonical(value)
    except (
        TypeError,
        ValueError,
        RecursionError,
    ):  # a client's object, a number without end, nested too deeply
        return ""


def _read(beside: str) -> Beside:
    """Return what stands beside a call. Any text: it may come from a journal that others have written."""
    try:
        return mapping_of(json.loads(beside)) if beside else {}
    except (ValueError, RecursionError):
        return {}


def follows(beside: str) -> bool:
    """Tell whether a call stands behind another one in its reply."""
    return _read(beside).get("follows") is True


def fields_of_message(beside: str, form: Form) -> dict[str, object]:
    """Return the fields that go back into the message of a call, in the form that they came in."""
    found = _read(beside)
    message = mapping_of(found.get("message")) if found.get("form") == form else {}
    return {name: value for name, value in message.items() if ASIDE.match(name) or name == "content"}


def fields_of_call(beside: str, form: Form) -> dict[str, object]:
    """Return the fields that go back into a call; under `function` those that go into its function."""
    found = _read(beside)
    call = mapping_of(found.get("call")) if found.get("form") == form else {}
    return {name: value for name, value in call.items() if name not in _OF_A_CALL or name == "function"}


def items_before(beside: str, form: Form) -> list[dict[str, object]]:
    """Return the blocks or items that go back right before a call: thoughts, and nothing else."""
    found = _read(beside)
    before = list_of(found.get("before")) if found.get("form") == form else []
    return [dict(mapping_of(item)) for item in before if thought_of(item) is not None]


def without_nulls(item: Mapping[str, object]) -> dict[str, object]:
    """Return an item without its null fields: a client's SDK writes them, and its server takes no null."""
    return {name: value for name, value in item.items() if value is not None}

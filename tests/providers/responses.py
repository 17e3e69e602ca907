"""OpenAI's Responses: what is refused, read and written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, final

from tests.llm.server import Request
from tests.providers.forms import (
    Json,
    Prompt,
    Refusal,
    Reply,
    asked,
    check_format,
    check_functions,
    check_one_of,
    check_string,
    shown,
    tokens,
)

_KINDS: Final = ("message", "function_call", "function_call_output", "reasoning")
_PARTS: Final = ("input_text", "input_image", "input_file")
_UNSTORED: Final = (
    "Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item "
    "from your input."
)


@final
class Responses:
    """Responses; with `reasoning`, a reasoning item comes with each reply, as models that think give one.

    Of responses nothing is kept but what their reasoning items belong to: `previous_response_id` names none.
    """

    def __init__(self, *, reasoning: bool = False) -> None:
        self._reasoning = reasoning
        self._stored: dict[str, bool] = {}  # of each reasoning item, whether it is
        self._followers: dict[str, set[str]] = {}  # of each, the ids of the item that came behind it
        self._reasons: dict[str, str] = {}  # of each other item, the reasoning item that it came with

    def check(self, request: Request) -> None:
        """Raise `Refusal` where the provider would refuse the request."""
        body = request.body
        if previous := body.get("previous_response_id"):
            text = f"Previous response with id '{previous}' not found."
            raise Refusal(text, "previous_response_id", "previous_response_not_found")
        items = _items(body)
        for place, item in enumerate(items):
            _check_item(item, f"input[{place}]")
        _check_pairs(items)
        self._check_reasoning(items)
        check_functions([(f"tools[{place}]", tool) for place, tool in enumerate(body.get("tools", ()))])
        check_format((body.get("text") or {}).get("format"), "text.format")

    def _check_reasoning(self, items: Sequence[Json]) -> None:
        """Refuse reasoning without what it led to, and the reverse: vercel/ai#7099, mastra#8738, vercel/ai#13307."""
        seen: set[str] = set()
        for item, after in zip(items, [*items[1:], {}], strict=True):
            identity = item.get("id", "")
            named = f"Item '{identity}' of type '{item.get('type')}' was provided without its required"
            if identity and identity in seen:
                text = f"Duplicate item found with id {identity}. Remove duplicate items from your input and try again."
                raise Refusal(text, "input")
            seen.add(identity)
            if item.get("type") == "reasoning":
                self._check_known(item)
                if not {after.get("id"), after.get("call_id")} & self._followers[identity]:
                    raise Refusal(f"{named} following item.", "input")
            elif (reason := self._reasons.get(identity, "")) not in seen | {""}:
                raise Refusal(f"{named} 'reasoning' item: '{reason}'.", "input")

    def _check_known(self, item: Json) -> None:
        """Refuse a reasoning item that can neither be found nor read: vercel/ai#7543, openai-agents-js#546."""
        stored = self._stored.get(item["id"])  # None where it was never given
        if not stored and (stored is None or not item.get("encrypted_content")):
            reason = "" if stored is None else f" {_UNSTORED}"
            raise Refusal(f"Item with id '{item['id']}' not found.{reason}", "input", status=404)

    def prompt(self, body: Json, turn: int) -> Prompt:
        """Return a request as scripts read it."""
        text = "\n".join([*shown(body.get("instructions")), *shown(_items(body))])
        tools = tuple(tool["name"] for tool in body.get("tools", ()))
        schema = ((body.get("text") or {}).get("format") or {}).get("schema")
        return Prompt("responses", text, tools, asked(schema), self._reasoning, turn)

    def answer(self, body: Json, reply: Reply, serial: int) -> Json:
        """Return the body of a reply, the server's `serial`-th."""
        output: list[Json] = []
        if reply.text:
            part: Json = {"type": "output_text", "text": reply.text, "annotations": []}
            output.append({"type": "message", "id": f"msg_{serial}", "role": "assistant", "content": [part]})
        for place, (name, arguments) in enumerate(reply.calls):
            ids = {"id": f"fc_{serial}_{place}", "call_id": f"call_{serial}_{place}"}
            output.append({"type": "function_call", **ids, "name": name, "arguments": json.dumps(arguments)})
        if self._reasoning and reply.thought is not None:
            output.insert(0, self._reason(body, reply.thought, output, f"rs_{serial}"))
        read = tokens(body)
        return {
            "id": f"resp_{serial}",
            "object": "response",
            "created_at": 1,
            "model": body["model"],
            "status": "incomplete" if reply.cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if reply.cut else None,
            "output": output,
            "usage": {"input_tokens": read, "output_tokens": 8, "total_tokens": read + 8},
        }

    def _reason(self, body: Json, thought: str, output: Sequence[Json], identity: str) -> Json:
        """Return the reasoning item of a reply, and note what it belongs to."""
        self._stored[identity] = body.get("store") is not False
        self._followers[identity] = {output[0]["id"], output[0].get("call_id", "")}
        self._reasons |= {item["id"]: identity for item in output}
        item: Json = {"type": "reasoning", "id": identity, "summary": []}
        sealed = "reasoning.encrypted_content" in (body.get("include") or ())
        return {**item, "encrypted_content": f"sealed: {thought}"} if sealed else item

    def error(self, refusal: Refusal) -> Json:
        """Return the body of an error."""
        return {"error": refusal.error}


def _items(body: Json) -> list[Json]:
    found = body.get("input") or []
    return [{"role": "user", "content": found}] if isinstance(found, str) else list(found)


def _check_item(item: Json, at: str) -> None:
    """Refuse an item that is wrong by itself: rust-genai#119, fastllm#45, tingly-box#1445."""
    kind = item.get("type", "message")
    check_one_of(kind, _KINDS, f"{at}.type")
    if kind == "message":
        check_one_of(item.get("role"), ("assistant", "system", "developer", "user"), f"{at}.role")
        parts = item["content"] if isinstance(item["content"], list) else ()
        for spot, part in enumerate(parts):
            known = ("output_text", "refusal") if item["role"] == "assistant" else _PARTS
            check_one_of(part.get("type"), known, f"{at}.content[{spot}]")
    if kind.startswith("function_call"):
        check_string(item.get("call_id"), f"{at}.call_id", longest=64)
    if kind == "function_call":
        check_string(item.get("name"), f"{at}.name", longest=64, name=True)
        check_string(item.get("arguments"), f"{at}.arguments")
        if not item.get("id", "fc").startswith("fc"):
            text = f"Invalid '{at}.id': '{item['id']}'. Expected an ID that begins with 'fc'."
            raise Refusal(text, f"{at}.id", "invalid_value")


def _check_pairs(items: Sequence[Json]) -> None:
    """Refuse outputs without a call before them, and calls without an output: continue#10092, CLIProxyAPI#2368."""
    waiting: list[str] = []
    for item in items:
        if item.get("type") == "function_call":
            waiting.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] not in waiting:
                text = f"No tool call found for function call output with call_id {item['call_id']}."
                raise Refusal(text, "input")
            waiting.remove(item["call_id"])
    if waiting:
        raise Refusal(f"No tool output found for function call {waiting[0]}.", "input")

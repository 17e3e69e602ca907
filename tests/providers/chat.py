"""Chat completions, as OpenAI serves them and as Mistral does: what is refused, read and written."""

from __future__ import annotations

import json
import re
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

_ROLES: Final = ("system", "assistant", "user", "function", "tool", "developer")
_ORPHAN: Final = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
_UNANSWERED: Final = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: "
)
_UNEQUAL: Final = "Not the same number of function calls and responses"


@final
class Chat:
    """Chat completions; with `mistral`, order and ids are checked as Mistral's older validators do."""

    def __init__(self, *, mistral: bool = False) -> None:
        self._mistral = mistral

    def check(self, request: Request) -> None:
        """Raise `Refusal` where the provider would refuse the request."""
        body = request.body
        _check_filled(body["messages"], "messages")
        for place, message in enumerate(body["messages"]):
            _check_message(message, place)
        (_check_mistral if self._mistral else _check_pairs)(body["messages"])
        tools = enumerate(body.get("tools", ()))
        check_functions([(f"tools[{place}].function", tool["function"]) for place, tool in tools])
        check_format((body.get("response_format") or {}).get("json_schema"), "response_format")

    def prompt(self, body: Json, turn: int) -> Prompt:
        """Return a request as scripts read it."""
        schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
        tools = tuple(tool["function"]["name"] for tool in body.get("tools", ()))
        return Prompt("chat", "\n".join(shown(body["messages"])), tools, asked(schema), False, turn)

    def answer(self, body: Json, reply: Reply, serial: int) -> Json:
        """Return the body of a reply, the server's `serial`-th."""
        message: Json = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": f"c{serial:06}{place:02}",  # nine letters and digits, as Mistral makes them
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for place, (name, arguments) in enumerate(reply.calls)
            ]
        finish = "length" if reply.cut else "tool_calls" if reply.calls else "stop"
        return {
            "id": f"chatcmpl-{serial}",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": tokens(body),
                "completion_tokens": 8,
                "total_tokens": tokens(body) + 8,
            },
        }

    def error(self, refusal: Refusal) -> Json:
        """Return the body of an error; Mistral's stands in the body itself."""
        return {"object": "error", **refusal.error} if self._mistral else {"error": refusal.error}


def _check_filled(found: Sequence[object], param: str) -> None:
    if not found:  # openai-node#1341
        text = "empty array. Expected an array with minimum length 1, but got an empty array instead."
        raise Refusal(f"Invalid '{param}': {text}", param, "empty_array")


def _check_message(message: Json, place: int) -> None:
    """Refuse a message that is wrong by itself: docker-agent#63, camel#2215."""
    at, calls = f"messages[{place}]", message.get("tool_calls")
    check_one_of(message.get("role"), _ROLES, f"{at}.role")
    if message.get("content") is None and not (message["role"] == "assistant" and calls):
        text = "Invalid value for 'content': expected a string, got null."
        raise Refusal(text, f"messages.[{place}].content")
    if calls is not None:
        _check_filled(calls, f"{at}.tool_calls")
    for spot, call in enumerate(calls or ()):
        here = f"{at}.tool_calls[{spot}]"
        check_string(call.get("id"), f"{here}.id", longest=40)
        check_string(call["function"].get("name"), f"{here}.function.name", longest=64, name=True)
        check_string(call["function"].get("arguments"), f"{here}.function.arguments")


def _calls(message: Json) -> list[str]:
    return [call["id"] for call in message.get("tool_calls") or ()]


def _check_pairs(messages: Sequence[Json]) -> None:
    """Refuse calls without results, results without calls, results elsewhere: freecc#2, morphic#136, agno#5116."""
    waiting: list[str] = []
    answered: dict[str, int] = {}
    for place, message in enumerate([*messages, {"role": "end"}]):
        if message["role"] != "tool":
            if waiting:
                raise Refusal(_UNANSWERED + ", ".join(waiting), f"messages.[{place}].role")
            waiting, answered = _calls(message), {}
            continue
        call = message.get("tool_call_id")
        if call in answered:
            text = f"'tool_call_id' of '{call}', in messages[{answered[call]}] and messages[{place}]."
            raise Refusal(
                f"Invalid parameter: Duplicate value for {text}", f"messages.[{place}].tool_call_id"
            )
        if call not in waiting:
            raise Refusal(_ORPHAN, f"messages.[{place}].role")
        waiting.remove(call)
        answered[call] = place


def _check_mistral(messages: Sequence[Json]) -> None:
    """Refuse wrong orders: datapizza-ai#98, onyx#6458, crush#279; client-python#234, hermes-agent#11722; rig#1130."""
    before, waiting = "", list[str]()
    for message in messages:
        role = message["role"]
        if role not in ("tool", "assistant") if before == "tool" else role == "tool" and before != "calls":
            raise _out_of_order(f"Unexpected role '{role}' after role '{before}'")
        if role == "tool":
            call = _checked_id(message.get("tool_call_id"))
            if call not in waiting:
                raise _out_of_order(_UNEQUAL)
            waiting.remove(call)
        elif waiting:
            raise _out_of_order(_UNEQUAL)
        if role == "assistant":
            waiting = _checked_calls(message)
        before = "calls" if waiting and role == "assistant" else role
    if waiting:
        raise _out_of_order(_UNEQUAL)
    if before == "assistant":
        text = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
        raise _out_of_order(text)


def _checked_calls(message: Json) -> list[str]:
    """Return the ids of an assistant's calls: OpenHands#8685; langchain#21196, copilot-cli#4884; langchain#33648."""
    calls = [_checked_id(call) for call in _calls(message)]
    if bool(message.get("content")) == bool(calls):
        text = f"have either content or tool_calls, but not {'both' if calls else 'none'}."
        raise Refusal(f"Assistant message must {text}", code="3240")
    if len(set(calls)) < len(calls):
        raise _out_of_order("Duplicate tool call id in assistant message")
    return calls


def _checked_id(call: str | None) -> str:
    """Return an id of nine letters and digits: mistral-go#8, eca#233."""
    if call and re.fullmatch("[a-zA-Z0-9]{9}", call):
        return call
    wrong = f"was {call} but must be a-z, A-Z, 0-9, with a length of 9." if call else "has to be defined."
    raise Refusal(f"Tool call id {wrong}", code="3280", kind="invalid_function_call")


def _out_of_order(text: str) -> Refusal:
    return Refusal(text, code="3230", kind="invalid_request_message_order")

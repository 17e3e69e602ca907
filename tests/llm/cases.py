"""Every way in which a reply can be wrong or missing: what the server does, and the fault that it comes to.

`USELESS` are replies that a model has given and nobody can use, `UNANSWERED` is what keeps a reply from
coming, `STREAMS` is what goes wrong in a reply that is taken in pieces (`stream=True`).
"""

from __future__ import annotations

import json
from typing import Final

from mage.effects import EffectFault, Usage
from tests.llm.requests import SECRET
from tests.llm.server import (
    USAGE,
    Answer,
    Completion,
    Dropped,
    Raw,
    Silent,
    Status,
    Streamed,
    call_of,
    calls,
    says,
)
from tests.llm.twins import KEY

ONE: Final = Usage(100, 10, 60)
NONE: Final = Usage(calls=0)


def _called(*made: tuple[str, str], finish: str | None = "tool_calls") -> Raw:
    calls = [call_of(name, arguments, place) for place, (name, arguments) in enumerate(made)]
    return Completion({"content": None, "tool_calls": calls}, finish=finish)


def _error(status: int, message: str, code: str | None = None, **headers: str) -> Status:
    body = {"error": {"message": message, "type": "some_error", "code": code}}
    return Status(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


_MAXIMUM = (
    "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens."
)
_LLAMA = {
    "error": {
        "code": 400,
        "message": "request (6011 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 6011,
    }
}
_VLLM = {"object": "error", "message": _MAXIMUM, "type": "BadRequestError", "param": None, "code": 400}
_GEMINI = '[{"error": {"code": 400, "message": "The input token count (5000) exceeds the maximum number of tokens"}}]'
_DECODER = "The decoder prompt (length 5000) is longer than the maximum model length of 4096."
_GROK = "This model's maximum prompt length is 4096 but the request contains 5000 tokens."
_TGI = "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 and 100"
_MINUTE = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 40000."
_CHOICE_ERROR = {"finish_reason": "error", "error": {"code": 502, "message": "the provider behind it failed"}}
_ECHO = f"Incorrect API key provided: {KEY}. You can find it in your settings."

USELESS: Final[dict[str, tuple[EffectFault, Answer]]] = {
    "a refusal": ("refusal", says(None, refusal="I will not.")),
    "a refusal beside a content": ("refusal", says("I can't help with that.", refusal="I will not.")),
    "a filter that cut it off": ("refusal", says("Buy the", finish="content_filter")),
    "no content": ("empty", says(None)),
    "a blank content": ("empty", says(" \n")),
    "no choices": ("empty", Raw(json.dumps({"choices": [], "usage": USAGE}).encode())),
    "cut off for length": ("truncated", says("I think I sh", finish="length")),
    "cut off for length, in another word": ("truncated", says("I think I sh", finish="MAX_TOKENS")),
    "a filter, in another word": ("refusal", says("Buy the", finish="SAFETY")),
    "broken off by the server": ("truncated", says("I think I sh", finish="error")),
    "aborted by the server": ("truncated", _called(("act", '{"action": "look"}'), finish="abort")),
    "a blank reason to finish": ("truncated", says("I think", finish="")),
    "a call cut off for length": ("truncated", _called(("act", '{"action": "loo'), finish="length")),
    "no reason to finish": ("truncated", says("I think", finish=None)),
    "ends while thinking": ("truncated", says("<think>Well, the frosting")),
    "arguments that are not JSON": ("not_json", _called(("act", '{"action": "look'))),
    "arguments that are no object": ("wrong_schema", _called(("act", '["look"]'))),
    "an argument that is missing": ("wrong_schema", _called(("revise", '{"step": 0}'))),
    "an argument of another type": ("wrong_schema", _called(("revise", '{"step": "two", "lesson": ""}'))),
    "an argument that nobody knows": ("wrong_schema", _called(("act", '{"action": "a", "why": "b"}'))),
    "a step below 0": ("wrong_schema", _called(("revise", '{"step": -1, "lesson": "x"}'))),
    "no call": ("wrong_schema", says("I would like to search for frosting.")),
    "a blank action": ("empty", _called(("act", '{"action": " "}'))),
    "an unknown tool": ("unknown_tool", calls("search", query="frosting")),
    "a call without a name": ("unknown_tool", _called(("", "{}"))),
    "compress and finish": (
        "too_many_calls",
        _called(("compress", '{"text": "x"}'), ("finish", '{"answer": "y"}')),
    ),
    "two revisions": (
        "too_many_calls",
        _called(("revise", '{"step": 0, "lesson": "x"}'), ("revise", '{"step": 0, "lesson": "y"}')),
    ),
}
UNANSWERED: Final[dict[str, tuple[EffectFault, Answer]]] = {
    "overflow, as OpenAI says it": ("overflow", _error(400, "too long", "context_length_exceeded")),
    "overflow, as llama.cpp says it": ("overflow", Status(400, _LLAMA)),
    "overflow, as vLLM says it": ("overflow", Status(400, _VLLM)),
    "overflow, as a 500": ("overflow", _error(500, "the input is too large to process")),
    "overflow, as a proxy says it": ("overflow", Status(413, "Request Entity Too Large")),
    "overflow, as Gemini says it": ("overflow", Status(400, _GEMINI)),
    "overflow, as vLLM says of a prompt": ("overflow", _error(400, _DECODER)),
    "overflow, as Grok says it": ("overflow", Status(400, {"code": "invalid", "error": _GROK})),
    "overflow, as TGI says it": ("overflow", Status(422, {"error": _TGI, "error_type": "validation"})),
    "overflow, as LiteLLM says it": ("overflow", _error(400, "litellm.ContextWindowExceededError: no")),
    "more than a minute allows": ("overflow", _error(429, _MINUTE, "rate_limit_exceeded")),
    "asked too often": ("rate_limit", _error(429, "slow down", "rate_limit_exceeded")),
    "no credit": ("rejected", _error(429, "You exceeded your current quota", "insufficient_quota")),
    "a failure": ("server", _error(500, "oops")),
    "overloaded": ("server", _error(503, "overloaded", Retry_After="5")),
    "a page of a proxy": ("server", Status(502, "<html>Bad Gateway</html>")),
    "a lock": ("server", _error(409, "conflict")),
    "a page with 200": ("server", Raw(b"<html>Welcome</html>", "text/html")),
    "JSON that is no completion": ("server", Raw(b'{"hello": "there"}')),
    "JSON that breaks off": ("server", Raw(b'{"choices": [{"message"')),
    "an error with 200": ("server", Raw(b'{"error": {"message": "provider failed", "code": 502}}')),
    "an error in the choice": (
        "server",
        Raw(json.dumps({"choices": [{**_CHOICE_ERROR, "message": {"content": "I th"}}]}).encode()),
    ),
    "too often, with 200": ("rate_limit", Raw(b'{"error": {"message": "slow down", "code": 429}}')),
    "the server gave up": ("timeout", _error(408, "timeout")),
    "silence": ("timeout", Silent()),
    "no answer at all": ("dropped", Dropped()),
    "a body that breaks off": ("dropped", Dropped(b'{"choices": [')),
    "a wrong key": ("rejected", _error(401, _ECHO, "invalid_api_key")),
    "no permission": ("rejected", _error(403, _ECHO)),
    "an unknown model": ("rejected", _error(404, "The model m does not exist", "model_not_found")),
    "a parameter that nobody takes": ("rejected", _error(400, "Unsupported parameter: 'tools'")),
    "a key that is echoed": ("rejected", _error(400, f"no such key: {KEY} (sorry)")),
    "a prompt that is echoed": ("rejected", _error(422, f"invalid message: {SECRET}")),
}
STREAMS: Final[dict[str, tuple[EffectFault, Answer]]] = {
    "a stream that just ends": (
        "truncated",
        Streamed([{"choices": [{"delta": {"content": "I th"}}]}], ends=False),
    ),
    "a stream without a reason to finish": (
        "truncated",
        Streamed([{"choices": [{"delta": {"content": "I"}}]}]),
    ),
    "a stream that breaks": (
        "dropped",
        Streamed([{"choices": [{"delta": {"content": "I"}}]}], ends=False, breaks=True),
    ),
    "an error within a stream": ("server", Streamed([{"error": {"message": "oops", "code": 500}}])),
    "an error in a choice of a stream": (
        "server",
        Streamed([{"choices": [{"delta": {"content": "I"}}]}, {"choices": [_CHOICE_ERROR]}]),
    ),
    "overflow within a stream": ("overflow", Streamed([{"error": {"message": _MAXIMUM, "code": 400}}])),
    "a piece that is not JSON": ("server", Streamed(["data: {oops\n\n"])),
    "a stream of nothing": ("truncated", Streamed([])),
    "an error in place of a stream": ("rate_limit", _error(429, "slow down")),
    "no connection for a stream": ("dropped", Dropped()),
    "silence in place of a stream": ("timeout", Silent()),
    "a page in place of a stream": ("server", Raw(b"<html></html>", "text/html")),
}

"""Servers as they are, over HTTP, the same in both twins: how they say that a prompt is too long, how a reply ends."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from mage.chat.replies import parted
from mage.effects import EffectFault
from mage.engine import Passed
from mage.llm.completions import ProviderError, fault_of, provider_error
from tests.llm.server import Completion, Raw, Status, Streamed, call_of, says
from tests.llm.twins import decided, judged, summarized
from tests.shared_data import SHARED, needs_shared

_TOO_LONG: Final = (
    "Your input exceeds the context window of this model.",
    "Input length (5000) exceeds model's maximum context length (4096).",
    "prompt token count of 5000 exceeds the limit of 4096",
    "Prompt exceeds max length",
    "Prompt 超长",
    "输入长度超过模型上限",
    "Request body too large for m. Max size: 8000 tokens.",
    "Too many input tokens. Max input tokens: 4096, request input token count: 5000",
    "too many tokens: total number of tokens in the prompt cannot exceed 4096 - received 5000",
    "Number of input tokens exceeds maximum length.",
    "Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)",
    "Malformed input request: expected maxLength: 2048, actual: 5000",
    "Total tokens of image and text exceed max message tokens",
    "You passed 5000 input tokens and requested 100 output tokens. The model's context length is only 4096 tokens",
    "tokens to keep from the initial prompt is greater than the context length",
    "Context size has been exceeded.",
    "token limit exceeded for this model",
    "this model supports at most 4096 input tokens",
    "5000 tokens, but the limit is 4096: shorten the prompt",
)
_NO_OVERFLOW: Final = (
    "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for m",
    "Range of max_tokens should be [1, 8192]",
    "the maximum value for `max_tokens` is less than the `context_window` for this model",
    "max_completion_tokens exceeds the context window of the model",
    "Too many tokens, please wait before trying again.",
    "Request exceeded your limit of 4096 tokens per minute",
    "The request exceeded the time limit",
    "Invalid input: tool name is longer than 64 characters",
    "The input image is too large: 5000 pixels",
    "Invalid 'tools[0].function.description': string too long",
    "The response was filtered due to the prompt. Please modify your prompt and retry.",
)
_RAW: Final = {"error": {"message": "Range of input length should be [1, 98304]", "code": "invalid"}}


@pytest.mark.parametrize("words", _TOO_LONG)
def test_a_prompt_that_is_too_long_is_an_overflow_however_it_is_said(words: str) -> None:
    """In the words of servers that no other test has."""
    assert fault_of(ProviderError(400, "", words)) == "overflow"


@pytest.mark.parametrize("words", _NO_OVERFLOW)
def test_another_limit_is_no_overflow(words: str) -> None:
    """A shorter prompt does not cure a setting, a rate, or a name that is too long."""
    assert fault_of(ProviderError(400, "", words)) == "rejected"


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": json.dumps(_RAW)}}},
        {"error": {"message": "Provider returned error", "metadata": {"raw": _RAW}}},
        {"error": {"message": "Provider returned error", "metadata": {"raw": "prompt is too long"}}},
        {"error": {"message": json.dumps(_RAW)}},
        {"statusCode": 400, "message": "prompt is too long", "error": "Bad Request"},
        {"errors": [{"message": "prompt is too long", "code": 5021}], "success": False},
        {"base_resp": {"status_code": 2013, "status_msg": "context window exceeds limit"}},
    ],
    ids=["raw JSON", "raw object", "raw text", "JSON as message", "error as text", "a list", "base_resp"],
)
def test_an_error_within_an_error_is_read(body: dict[str, Any]) -> None:
    """A router says that its provider has failed, and quotes why somewhere inside."""
    outcome = decided(Status(400, body))
    assert outcome.fault == "overflow"
    assert fault_of(provider_error(200, body, {})) == "overflow"
    assert decided(Raw(json.dumps(body).encode())).fault == "overflow"


def test_an_error_within_an_error_is_told() -> None:
    """People read both: what the router says, and what it quotes."""
    body = {
        "error": {"message": "Provider returned error", "metadata": {"raw": '{"error": {"message": "odd"}}'}}
    }
    assert decided(Status(400, body)).detail.endswith("(HTTP 400): Provider returned error: odd")


@pytest.mark.parametrize(
    ("answer", "may"),
    [
        (Status(400, ""), True),
        (Status(400, {"error": {"message": "Bad Request"}}), True),
        (Status(422, {"error": {"message": "Unprocessable"}}), True),
        (Status(400, {"error": {"message": "Too much for me, says the model"}}), True),
        (Status(400, {"error": {"message": "Unsupported parameter: 'tools'"}}), False),
        (Status(400, {"error": {"message": "bad", "code": "unknown_parameter"}}), False),
        (Status(400, {"error": {"message": "max_tokens is too large: 200000"}}), False),
        (Status(401, {"error": {"message": "no key"}}), False),
        (Status(404, {"error": {"message": "no model"}}), False),
        (Status(500, {"error": {"message": "oops"}}), False),
        (Status(400, {"error": {"message": "prompt is too long"}}), False),
        (says("I", finish="length"), False),
    ],
)
def test_a_rejection_without_a_known_reason_is_worth_a_shorter_prompt(answer: Any, may: bool) -> None:
    """The error says so; an overflow needs no such word, and a key is not cured by it."""
    assert decided(answer).shorter_may_help is may


# -- how a reply ends ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finish", "fault"),
    [
        ("STOP", None),
        ("tool-calls", None),
        ("FINISH_REASON_STOP", None),
        ("COMPLETE", None),
        ("eosFound", None),
        ("IMAGE_SAFETY", "refusal"),
        ("ERROR_TOXIC", "refusal"),
        ("contextLengthReached", "overflow"),
        ("model_length", "overflow"),
        ("MALFORMED_FUNCTION_CALL", "truncated"),
        ("insufficient_system_resource", "truncated"),
        ("no such word", "truncated"),
    ],
)
def test_only_a_known_word_ends_a_whole_reply(finish: str, fault: EffectFault | None) -> None:
    """Whatever its spelling; any other word is a cut reply: never an action, a summary or a verdict."""
    call = Completion({"content": None, "tool_calls": [call_of("act", '{"action": "look"}')]}, finish=finish)
    assert decided(call).fault == fault
    assert summarized(*[says("Done.", finish=finish)] * 3).fault == fault
    assert judged(*[says('{"passed": true}', finish=finish)] * 3).fault == fault


def test_an_unknown_word_is_told() -> None:
    """So that somebody whose server has a new word for a whole reply sees why none is taken."""
    assert decided(says("x", finish="finished_well")).detail.endswith("(finished_well)")
    assert decided(says("x", finish="\x1b[31m")).detail == "the reply broke off before its end"


def test_a_context_at_its_end_is_not_asked_again() -> None:
    """The same prompt would not fit at the second try either."""
    outcome = summarized(*[says("", finish="model_context_window_exceeded")] * 3)
    assert (outcome.fault, len(outcome.bodies)) == ("overflow", 1)


def test_a_refusal_in_a_part_is_a_refusal() -> None:
    """Where a server puts it into the content, and not beside it."""
    part = {"type": "refusal", "refusal": "I will not."}
    assert decided(Completion({"content": [part]})).fault == "refusal"


def test_a_spoken_reply_is_read() -> None:
    """What a model says aloud has a transcript."""
    spoken = Completion({"content": None, "audio": {"id": "a", "data": "AAAA", "transcript": "Bought it."}})
    assert summarized(spoken).value == "Bought it."


# -- thinking --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "thought", "said"),
    [
        ("<think>so</think>Done.", "so", "Done."),
        ("<think>\nso\n</think>\n\nDone.", "so", "Done."),
        ("<THINK>so</THINK> Done.", "so", "Done."),
        ("<think></think>\n\nDone.", "", "Done."),
        ("<think>a</think>\n<think>b</think>\nDone.", "a\nb", "Done."),
        ("<think>it ends at '</think>', I think</think>Done.", "it ends at '</think>', I think", "Done."),
        ("<think>a <think>b</think> c</think>Done.", "a <think>b</think> c", "Done."),
        ("<think>open a <think> tag\n</think>\nDone.", "open a <think> tag", "Done."),
        ("so\n</think>\nDone.", "so", "Done."),
        ("so.</think>\n\nDone.", "so.", "Done."),
        ("It prints </think> at the end.", "", "It prints </think> at the end."),
        ("It reads\n```\n</think>\n```\nand stops.", "", "It reads\n```\n</think>\n```\nand stops."),
        ("It has <think>\n</think>\nin it.", "", "It has <think>\n</think>\nin it."),
        ("Action[write\n</think>\nto it]", "", "Action[write\n</think>\nto it]"),
        ("Not Action[a] then\nAction[b]\n</think>\nAction[c]", "Not Action[a] then\nAction[b]", "Action[c]"),
        ('{"a": "</think>\\n\\n"}', "", '{"a": "</think>\\n\\n"}'),
    ],
)
def test_thinking_is_cut_only_where_it_is_thinking(text: str, thought: str, said: str) -> None:
    """At the beginning, or before a closing tag that stands alone; a tag in a string, code, JSON or a move is text."""
    assert parted(text) == (thought, said)


def test_what_the_server_has_split_off_is_not_cut_again() -> None:
    """With thoughts in a field of their own, a closing tag in the content ends none."""
    text = "The tags are\n</think>\nand another."
    assert summarized(says(text, reasoning_content="hm")).value == text
    assert summarized(says(text)).value == "and another."


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": "Which?"},
        {"reasoning": "Which?", "reasoning_content": "Which?"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "Which?", "index": 0}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Which?"}]}]},
        {"content": "<think>Which?</think>"},
    ],
    ids=["reasoning_content", "both", "reasoning_details", "a part", "a tag"],
)
def test_what_a_model_thinks_beside_its_calls_is_kept(message: dict[str, Any]) -> None:
    """From wherever its server puts it."""
    call = call_of("act", '{"action": "look"}')
    answer = Completion({"content": None, "tool_calls": [call], **message}, finish="tool_calls")
    assert decided(answer).value.thought == "Which?"


# -- the developers' cases -------------------------------------------------------------------------------


def _cases(name: str) -> list[Any]:
    path = SHARED / "cases" / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else [None]


@needs_shared
@pytest.mark.parametrize("case", _cases("overflow.jsonl"))
def test_shared_overflows(case: Any) -> None:
    """Each wording, and the one that is no overflow."""
    answer = (
        says("", finish=case["finish_reason"])
        if case["status"] == 200
        else Status(case["status"], case["body"])
    )
    assert decided(answer).fault == case["right"]


@needs_shared
@pytest.mark.parametrize("case", _cases("finish_reasons.jsonl"))
def test_shared_finish_reasons(case: Any) -> None:
    """Each word, as the end of a summary."""
    right = None if case["right"] == "whole" else case["right"]
    assert summarized(*[says("Done.", finish=case["finish_reason"])] * 3).fault == right


@needs_shared
@pytest.mark.parametrize("case", _cases("streams.jsonl"))
def test_shared_streams(case: Any) -> None:
    """Each shape comes to the two calls."""
    events = "".join(f"{line}\n" for line in case["lines"])
    outcome = decided(Streamed([events], ends=False), stream=True)
    assert outcome.fault is None
    assert [["act", {"action": action.text}] for action in outcome.value.actions] == [
        [name, json.loads(arguments)] for name, arguments in case["right"]
    ]


@needs_shared
@pytest.mark.parametrize("case", _cases("think.jsonl"))
def test_shared_thinking(case: Any) -> None:
    """Each text, to whom it was said."""
    beside = {"reasoning_content": case["reasoning_content"]} if "reasoning_content" in case else {}
    answer = says(case["content"], **beside)
    if case["role"] == "judge":
        assert judged(answer).value == Passed()
    elif case["role"] == "summarizer":
        assert summarized(answer).value == case["right"]
    else:
        (action,) = decided(answer, mode="text").value.actions
        assert action.text == case["right"]["act"]

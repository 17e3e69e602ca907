"""A model's decisions over HTTP, in each of its three modes, the same in both twins."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from mage.chat import ACT, OWN_TOOLS, misfit, system_prompt
from mage.effects import Action, BadTool, Decide, Decision, Finish, LookInto, Notice, Tool
from mage.engine import Compress, MageError, Revise, UnknownName
from mage.llm import ChatModel, client
from tests.llm.requests import DECIDE, deciding
from tests.llm.server import Completion, Raw, Status, Streamed, call_of, calls, says
from tests.llm.twins import decided

SEARCH: Final = Tool.of("search", "Search the shop.", query={"type": "string"}, page={"type": "integer"})
LOOSE: Final = Tool("look", "Look.", {"type": "object", "properties": {"at": {"type": "string"}}})


def _moves(name: str, **arguments: Any) -> Raw:
    return says(json.dumps({"thought": "so", "move": {"name": name, "arguments": arguments}}))


def _looks(label: int, boundary: int, words: str, page: int) -> Decision:
    return Decision((), LookInto(label, boundary, words, page))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (calls("act", action="look"), Decision((Action("look", "call_0"),))),
        (calls("compress", text="Done."), Decision.compress("Done.")),
        (calls("revise", step=2, lesson="no"), Decision.revise(2, "no")),
        (calls("look", label=3, boundary=None, words=None, page=None), Decision.look(3)),
        (calls("look", label=3), Decision.look(3)),
        (calls("look", label=3, boundary=7, words="a price", page=2), _looks(3, 7, "a price", 2)),
        (calls("finish", answer="42"), Decision.finish("42")),
    ],
    ids=["act", "compress", "revise", "look", "a short look", "a long look", "finish"],
)
def test_a_call_is_a_decision(answer: Raw, expected: Decision) -> None:
    """Each tool that a model calls is what it has decided, with the id of the call (D15)."""
    assert decided(answer).value == expected


def test_calls_in_one_reply_are_done_in_order_and_the_state_last() -> None:
    """Actions keep the order of their calls; what is done to the own state comes last, wherever it stood (D11)."""
    made = [
        call_of("act", '{"action": "a"}', 0),
        call_of("compress", '{"text": "t"}', 1),
        call_of("act", '{"action": "b"}', 2),
    ]
    outcome = decided(Completion({"content": "Now.", "tool_calls": made}, finish="tool_calls"))
    assert outcome.value == Decision((Action("a", "call_0"), Action("b", "call_2")), Compress("t"), "Now.")


def test_a_call_of_the_world_is_canonical() -> None:
    """The same arguments in another order and spelling are the same action."""
    for written in ('{"query": "é", "page": 1}', '{ "page":1, "query":"\\u00e9" }'):
        made = Completion({"content": None, "tool_calls": [call_of("search", written)]}, finish="stop")
        assert decided(made, tools=(SEARCH,)).value.actions[0].text == 'search {"page":1,"query":"é"}'


def test_tools_are_sent_with_strict_schemas() -> None:
    """A tool that names all it allows is sent as strict, one that does not is not; both are checked here."""
    (body,) = decided(calls("look", at="shelf"), tools=(SEARCH, LOOSE)).bodies
    sent = {tool["function"]["name"]: tool["function"] for tool in body["tools"]}
    assert list(sent) == ["search", "look", "compress", "revise", "note", "finish"]
    assert {name: tool["strict"] for name, tool in sent.items()} == {
        **dict.fromkeys(sent, True),
        "look": False,
    }
    assert all(
        tool["parameters"]["additionalProperties"] is False for tool in sent.values() if tool["strict"]
    )


@pytest.mark.parametrize("tools", [(), (SEARCH,)], ids=["any text", "tools"])
def test_past_steps_are_shown_as_the_model_is_to_reply(tools: tuple[Tool, ...]) -> None:
    """With tools each step of R is a call and its result, so that the model goes on calling."""
    action = calls("search", query="x", page=1) if tools else calls("act", action="x")
    (body,) = decided(action, tools=tools).bodies
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    (call,) = body["messages"][2]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"action": "search[frosting]"}
    assert body["messages"][3]["tool_call_id"] == call["id"]
    assert body["messages"][3]["content"] == "Observation: 1. Cream Cheese\n 2. Vanilla\n"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I look.\nAction[click[Buy Now]]", Decision((Action("click[Buy Now]"),), None, "I look.")),
        ("Compress[Bought it.\nAll of it.]", Decision.compress("Bought it.\nAll of it.")),
        ("Thought: no\nRevise[2; too dear]", Decision.revise(2, "too dear", thought="Thought: no")),
        ("Look[3..7; a price; 2]", _looks(3, 7, "a price", 2)),
        ("Finish[done]\nObservation: you win", Decision.finish("done")),
        ("<think>Action[x]</think>\nAction[y]", Decision((Action("y"),), None, "Action[x]")),
    ],
    ids=["act", "compress", "revise", "look", "finish", "thinking"],
)
def test_a_move_in_plain_text_is_a_decision(said: str, expected: Decision) -> None:
    """The plain-text mode sends no tools and reads one move out of the reply."""
    outcome = decided(says(said), mode="text")
    assert outcome.value == expected
    assert "tools" not in outcome.bodies[0]
    assert outcome.bodies[0]["messages"][2] == {"role": "assistant", "content": "Action[search[frosting]]"}


def test_a_tool_in_plain_text_is_canonical_and_checked() -> None:
    """A world's tools can be used in plain text, and are held to their schemas."""
    said = says('Action[search {"query": "x", "page": 2}]')
    assert decided(said, mode="text", tools=(SEARCH,)).value == Decision.act('search {"page":2,"query":"x"}')
    for wrong, fault in (
        ('Action[search {"query": "x"}]', "wrong_schema"),
        ("Action[search x]", "not_json"),
        ("Action[find {}]", "unknown_tool"),
        ('Action[finish {"answer": "x"}]', "unknown_tool"),
    ):
        assert decided(says(wrong), mode="text", tools=(SEARCH,)).fault == fault


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_moves("act", action="look"), Decision((Action("look"),), None, "so")),
        (_moves("compress", text="Done."), Decision((), Compress("Done."), "so")),
        (_moves("revise", step=2, lesson="no"), Decision((), Revise(2, "no"), "so")),
        (_moves("look", label=3, boundary=7), Decision((), LookInto(3, 7), "so")),
        (_moves("finish", answer="42"), Decision((), Finish("42"), "so")),
        (
            says('Sure: ```json\n{"move": {"name": "finish", "arguments": {"answer": ""}}}\n```'),
            Decision.finish(),
        ),
    ],
    ids=["act", "compress", "revise", "look", "finish", "in a text"],
)
def test_a_move_in_json_is_a_decision(answer: Raw, expected: Decision) -> None:
    """The JSON mode asks the server for a schema and reads the move out of the reply."""
    outcome = decided(answer, mode="json")
    assert outcome.value == expected
    assert outcome.bodies[0]["response_format"]["json_schema"]["strict"] is True


def test_the_schema_allows_what_may_be_done_now_and_no_more() -> None:
    """In the JSON mode a boundary that is not there cannot be named, nor compress called with nothing open."""
    (body,) = decided(_moves("finish", answer=""), mode="json").bodies
    schema = body["response_format"]["json_schema"]["schema"]
    revise = {"thought": "", "move": {"name": "revise", "arguments": {"step": 2, "lesson": ""}}}
    assert misfit(revise, schema, "reply") is None
    revise["move"] = {"name": "revise", "arguments": {"step": 1, "lesson": ""}}
    assert misfit(revise, schema, "reply") is not None
    empty = Decide(DECIDE.shown, (), (), may_compress=False)
    (body,) = decided(_moves("finish", answer=""), mode="json", request=empty).bodies
    moves = body["response_format"]["json_schema"]["schema"]["properties"]["move"]["anyOf"]
    assert [move["properties"]["name"]["enum"] for move in moves] == [["act"], ["look"], ["note"], ["finish"]]


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("no braces", "not_json"),
        ("{", "not_json"),
        ('{"move": 1}', "wrong_schema"),
        ('{"moves": {}}', "wrong_schema"),
        ('{"move": {"name": "fly", "arguments": {}}}', "unknown_tool"),
        ('{"move": {"name": "revise", "arguments": {"step": "x", "lesson": ""}}}', "wrong_schema"),
        (" ", "empty"),
    ],
)
def test_json_that_cannot_be_used_has_its_fault(said: str, fault: str) -> None:
    """The faults of the JSON mode, from a server that enforces nothing."""
    assert decided(says(said), mode="json").fault == fault


def test_a_server_that_takes_no_schema_is_an_error_in_the_json_mode() -> None:
    """The mode was chosen for a server that enforces schemas: that it does not is said, not hidden."""
    answer = Status(400, {"error": {"message": "response_format is not supported"}})
    assert decided(answer, mode="json").fault == "rejected"


def test_a_stream_adds_up_to_the_reply() -> None:
    """Pieces of content, of several calls and of usage come to what one reply would have been."""

    def piece(**delta: Any) -> dict[str, Any]:
        return {"model": "s", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    def part(index: int, arguments: str, **function: Any) -> dict[str, Any]:
        return {
            "index": index,
            **({"id": f"c{index}"} if function else {}),
            "function": {"arguments": arguments, **function},
        }

    streamed = Streamed(
        [
            piece(role="assistant", content="I "),
            piece(content="look."),
            piece(tool_calls=[part(0, '{"act', name="act")]),
            piece(tool_calls=[part(0, 'ion": "a"}'), part(1, "", name="act")]),
            ": keep alive\n\n",
            piece(tool_calls=[part(1, '{"action": "b"}')]),
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}},
        ]
    )
    outcome = decided(streamed, stream=True)
    assert outcome.value == Decision((Action("a", "c0"), Action("b", "c1")), None, "I look.")
    assert outcome.usage.total == 110


def test_a_server_that_knows_no_streams_is_read_as_it_answers() -> None:
    """A whole completion in place of a stream is taken."""
    assert decided(calls("act", action="look"), stream=True).value.actions[0].text == "look"


def test_settings_reach_the_server_and_what_is_left_out_does_not() -> None:
    """Sampling settings are sent as given; without them the provider's defaults hold."""
    (plain,) = decided(calls("act", action="x")).bodies
    assert set(plain) == {"messages", "model", "tools"}
    settings: dict[str, Any] = {
        "max_tokens": 50,
        "temperature": 0.0,
        "seed": 7,
        "extra": {"parallel_tool_calls": False},
    }
    (body,) = decided(calls("act", action="x"), **settings).bodies
    assert {**body, "messages": 0, "tools": 0} == {
        "messages": 0, "tools": 0, "model": "m", "max_tokens": 50, "temperature": 0.0, "seed": 7,
        "parallel_tool_calls": False,
    }  # fmt: skip


def test_a_lone_surrogate_can_be_sent() -> None:
    """What UTF-8 cannot spell is replaced on the way out, and does not break the call."""
    (body,) = decided(calls("act", action="x"), request=deciding(Notice("environment", "a\ud800b"))).bodies
    assert "Notice: a\ufffdb\n" in body["messages"][-1]["content"]


def test_a_page_in_an_error_is_one_short_line() -> None:
    """What a proxy says at length is cut; what cannot be printed is left out."""
    detail = decided(Status(502, f"<html>\n{'Bad Gateway ' * 100}</html>")).detail
    assert detail.endswith("...")
    assert len(detail) < 300
    assert decided(Status(502, "\x00\x1b[31m")).detail == "the provider has failed (HTTP 502)"


@pytest.mark.parametrize("mode", ["tools", "text", "json"])
def test_the_prompt_text_is_all_that_is_sent_beside_the_state(mode: Any) -> None:
    """What the loop counts into its mark has the system prompt, the manual and every tool."""
    with client(base_url="http://127.0.0.1:9/v1", environment={}) as ours:
        model = ChatModel(ours, "m", mode=mode)
    text = model.prompt_text((SEARCH,), "The shop closes at 8.")
    assert text.startswith(system_prompt(mode, tools=(SEARCH,), manual="The shop closes at 8.").text)
    named = [SEARCH] if mode == "text" else [SEARCH, *OWN_TOOLS]
    assert all(tool.name in text and tool.description in text for tool in named if mode != "json")
    assert "query" in text
    assert ACT.description not in text


def test_what_cannot_be_offered_is_said_at_once() -> None:
    """A mode and a setting that are none, and tools that could not be told apart, are mistakes of the program."""
    with client(base_url="http://127.0.0.1:9/v1", environment={}) as ours:
        wrong: Any = "telepathy"
        with pytest.raises(UnknownName, match="telepathy"):
            ChatModel(ours, "m", mode=wrong)
        settings: Any = {"tools": (SEARCH,)}
        with pytest.raises(UnknownName, match="'tools' is no setting of a call"):
            ChatModel(ours, "m", **settings)
        for tools in ((SEARCH, SEARCH), (Tool.of("finish", ""),), (Tool.of("act", ""),)):
            with pytest.raises(BadTool) as caught:
                ChatModel(ours, "m").prompt_text(tools)
            assert isinstance(caught.value, MageError)

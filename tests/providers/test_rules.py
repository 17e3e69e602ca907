"""What each interface refuses, and what it takes beside that, by the providers' own clients."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

import anthropic
import openai
import pytest

from tests.providers.forms import Json, Reply
from tests.providers.server import ProviderServer

Interface: TypeAlias = Literal["chat", "responses", "anthropic"]
USER: Final[Json] = {"role": "user", "content": "Buy a desk."}
STRICT: Final[Json] = {
    "type": "object",
    "properties": {"item": {"type": "string"}},
    "required": ["item"],
    "additionalProperties": False,
}
OPEN: Final[Json] = {**STRICT, "additionalProperties": True}
NESTED: Final[Json] = {**STRICT, "properties": {"item": OPEN}}
SOME: Final[Json] = {**STRICT, "required": []}


@contextlib.contextmanager
def talking(
    interface: Literal["chat", "responses", "anthropic"], thought: str | None = "Hm.", **rules: bool
) -> Iterator[tuple[ProviderServer, Callable[[Json], Any]]]:
    """Yield a server that replies always the same, and what sends it a request by the provider's client."""
    reply = Reply("", (("buy", {"item": "oak desk"}),), thought)
    with ProviderServer(lambda _: reply, **rules) as server:
        if interface == "anthropic":
            with anthropic.Anthropic(api_key="k", base_url=server.anthropic_url) as claude:
                yield (
                    server,
                    lambda request: claude.messages.create(model="m", max_tokens=4096, **request),
                )
            return
        with openai.OpenAI(api_key="k", base_url=server.openai_url) as client:
            create: Any = (
                client.responses.create if interface == "responses" else client.chat.completions.create
            )
            yield server, lambda request: create(model="m", **request)


def check(interface: Any, right: Sequence[Json], wrong: Sequence[tuple[str, Json]], **rules: Any) -> None:
    """Ask that right requests are taken, and wrong ones refused in the words beside them, which the client tells."""
    with talking(interface, **rules) as (server, send):
        for request in right:
            send(request)
            assert server.refused == []
        for says, request in wrong:
            with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as caught:
                send(request)
            assert says in server.refused[-1]
            assert server.refused[-1] in str(caught.value)
        assert (len(server.taken), len(server.refused)) == (len(right), len(wrong))


# -- chat completions ----------------------------------------------------------------------------------------


def chat(*messages: Json, **more: Any) -> Json:
    """Return a request that begins with a user's message."""
    return {"messages": [USER, *messages], **more}


def said(content: str | None, **more: Any) -> Json:
    """Return a message of the assistant."""
    return {"role": "assistant", "content": content, **more}


def called(*ids: str, name: str = "buy", arguments: Any = "{}", content: str | None = None) -> Json:
    """Return a message that calls tools."""
    function = {"name": name, "arguments": arguments}
    return said(content, tool_calls=[{"id": call, "type": "function", "function": function} for call in ids])


def came(call: str) -> Json:
    """Return what came of a call."""
    return {"role": "tool", "tool_call_id": call, "content": "Bought."}


def tool(parameters: Json = STRICT, name: str = "buy", *, strict: bool = True) -> Json:
    """Return a tool as Responses takes it."""
    return {"type": "function", "name": name, "parameters": parameters, "strict": strict}


def offering(*tools: Json) -> Json:
    """Return a request with tools."""
    return chat(tools=[{"type": "function", "function": function} for function in tools])


def form(schema: Json) -> Json:
    """Return a form for the reply."""
    return {"name": "verdict", "strict": True, "schema": schema}


def test_chat_refuses_what_openai_refuses() -> None:
    """Chat completions wants each call's results right behind it, roles that it knows, and schemas that are strict."""
    right = [
        chat(called("a"), came("a")),
        chat(called("a", "b"), came("b"), came("a"), USER, said("Done."), USER),
        chat({"role": "developer", "content": ""}, called("a" * 40), came("a" * 40)),
        offering(tool(), tool(OPEN, "a" * 64, strict=False)),
        chat(response_format={"type": "json_schema", "json_schema": form(STRICT)}),
        chat(response_format={"type": "json_schema", "json_schema": {**form(SOME), "strict": False}}),
    ]
    wrong = [
        ("did not have response messages: a", chat(called("a"))),
        ("did not have response messages: b", chat(called("a", "b"), came("a"), USER)),
        ("must be followed by tool messages", chat(called("a"), USER, came("a"))),
        ("must be a response to a preceeding message", chat(came("a"))),
        ("must be a response to a preceeding message", chat(came("a"), called("a"))),
        ("must be a response to a preceeding message", chat(called("a"), came("a"), USER, came("a"))),
        ("'a', in messages[2] and messages[3]", chat(called("a"), came("a"), came("a"))),
        ("'tool', and 'developer'.", chat({"role": "exit", "content": "Submitted"})),
        ("Invalid 'messages': empty array", {"messages": []}),
        ("expected a string, got null", chat(said(None))),
        ("expected a string, got null", chat({**called("a"), "role": "user"}, came("a"))),
        ("messages[1].tool_calls': empty array", chat(said("x", tool_calls=[]))),
        ("messages[1].tool_calls[0].function.name", chat(called("a", name="buy!"), came("a"))),
        ("expected a string, but got an object", chat(called("a", arguments={}), came("a"))),
        ("length 40, but got a string with length 41", chat(called("a" * 41), came("a" * 41))),
        ("In context=(), 'additionalProperties' is", offering(tool(OPEN))),
        ("In context=('properties', 'item'), 'additional", offering(tool(NESTED))),
        ("in properties. Missing 'item'.", offering(tool(SOME))),
        ("'oneOf' is not permitted", offering(tool({**STRICT, "oneOf": []}))),
        ("got 'type: \"string\"'", offering(tool({"type": "string"}, strict=False))),
        ("tools[0].function.name': string does not match", offering(tool(name="a.b"))),
        ("tools[0].function.name': string too long", offering(tool(name="a" * 65))),
        ("Tool names must be unique", offering(tool(), tool())),
        (
            "response_format 'verdict'",
            chat(response_format={"type": "json_schema", "json_schema": form(SOME)}),
        ),
        ("Streams are not served", chat(stream=True)),
        ("cannot be read: KeyError('function')", chat(said(None, tool_calls=[{"id": "a"}]))),
    ]
    check("chat", right, wrong)


def test_chat_refuses_what_mistral_refuses() -> None:
    """Mistral wants ids of nine letters and digits, and its order of roles."""
    one, two = "step00001", "step00002"
    right = [
        chat(),
        chat(called(one), came(one)),
        chat(called(one, two), came(two), came(one), said("Done."), USER),
    ]
    wrong = [
        ("Tool call id was step_1 but must be", chat(called("step_1"), came("step_1"))),
        ("Tool call id has to be defined", chat(called(one), {"role": "tool", "content": "Bought."})),
        ("Unexpected role 'user' after role 'tool'", chat(called(one), came(one), USER)),
        ("Unexpected role 'tool' after role 'user'", chat(came(one))),
        ("Unexpected role 'tool' after role 'assistant'", chat(said("I buy."), came(one))),
        ("Expected last role User or Tool", chat(said("Done."))),
        ("Not the same number of function calls", chat(called(one))),
        ("Not the same number of function calls", chat(called(one, two), came(one), said("Done."), USER)),
        ("Not the same number of function calls", chat(called(one), came(two))),
        ("Duplicate tool call id", chat(called(one, one), came(one), came(one))),
        ("but not both", chat(called(one, content="I buy."), came(one))),
        ("but not none", chat(said(""), USER)),
    ]
    check("chat", right, wrong, mistral=True)


# -- Responses -----------------------------------------------------------------------------------------------


def items(*found: Json, **more: Any) -> Json:
    """Return a request that begins with a user's message."""
    return {"input": [USER, *found], **more}


def call(identity: str = "a", **more: Any) -> Json:
    """Return a call as an item."""
    return {"type": "function_call", "call_id": identity, "name": "buy", "arguments": "{}", **more}


def output(identity: str = "a") -> Json:
    """Return what came of a call as an item."""
    return {"type": "function_call_output", "call_id": identity, "output": "Bought."}


def part(role: str, kind: str) -> Json:
    """Return a message of one part."""
    return {"role": role, "content": [{"type": kind, "text": "Hm."}]}


def test_responses_refuses_what_openai_refuses() -> None:
    """Responses wants outputs behind their calls, items and parts that it knows, and schemas that are strict."""
    right = [
        {"input": "Buy a desk."},
        items(call("a", id="fc_1"), USER, call("b" * 64), output("b" * 64), output("a")),
        items(part("assistant", "output_text"), part("user", "input_text"), tools=[tool()]),
        items(text={"format": {"type": "json_schema", **form(STRICT)}}),
    ]
    wrong = [
        ("No tool output found for function call a.", items(call())),
        ("No tool call found for function call output with call_id a.", items(output())),
        ("No tool call found", items(output(), call())),
        ("No tool call found", items(call(), output(), output())),
        ("Expected an ID that begins with 'fc'", items(call(id="call_a"), output())),
        ("Duplicate item found with id fc_1", items(call(id="fc_1"), call(id="fc_1"), output(), output())),
        ("input[1].call_id': string too long", items(call("a" * 65), output("a" * 65))),
        ("input[1].arguments", items(call(arguments={}), output())),
        ("Supported values are: 'output_text' and 'refusal'.", items(part("assistant", "input_text"))),
        ("Invalid value: 'output_text'", items(part("user", "output_text"))),
        ("Invalid value: 'tool'", items({"role": "tool", "content": "Bought."})),
        ("Invalid value: 'tool_use'", items({"type": "tool_use"})),
        ("cannot be read: KeyError('content')", items({"role": "user"})),
        (
            "Item with id 'rs_9' not found.",
            items({"type": "reasoning", "id": "rs_9", "encrypted_content": "x"}),
        ),
        ("Previous response with id 'resp_9' not found", items(previous_response_id="resp_9")),
        ("tools[0].name", items(tools=[tool(name="a.b")])),
        ("Missing 'item'", items(tools=[tool(SOME)])),
        ("response_format 'verdict'", items(text={"format": {"type": "json_schema", **form(OPEN)}})),
    ]
    check("responses", right, wrong)


@pytest.mark.parametrize("more", [{}, {"store": False, "include": ["reasoning.encrypted_content"]}])
def test_reasoning_stays_with_what_it_led_to(more: Json) -> None:
    """Neither a reasoning item nor its call comes back without the other; a call without its item's id may."""
    with talking("responses", reasoning=True) as (server, send):
        thought, made = (item.to_dict() for item in send(items(**more)).output)
        answer = output(made["call_id"])
        nameless = {key: value for key, value in made.items() if key != "id"}
        for history in ([thought, made, answer], [thought, nameless, answer], [nameless, answer]):
            send(items(*history, **more))
        assert server.refused == []
        alone = "Item 'rs_1' of type 'reasoning' was provided without its required following item."
        for wrong in ([thought], [thought, USER, made, answer]):
            with pytest.raises(openai.BadRequestError, match=alone):
                send(items(*wrong, **more))
        behind = "Item 'fc_1_0' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."
        with pytest.raises(openai.BadRequestError, match=behind):
            send(items(made, answer, **more))


def test_reasoning_that_is_not_stored_comes_sealed() -> None:
    """Where nothing is stored, a reasoning item without its sealed content cannot be found."""
    with talking("responses", reasoning=True) as (_, send):
        found = [item.to_dict() for item in send(items(store=False)).output]
        with pytest.raises(openai.NotFoundError, match="not persisted when `store` is set to false"):
            send(items(*found, output("call_1_0"), store=False))


# -- Messages ------------------------------------------------------------------------------------------------


def turns(*contents: Any, **more: Any) -> Json:
    """Return a request of a user's message, and of these contents by the assistant and the user in turn."""
    roles = ["assistant", "user"] * len(contents)
    messages = [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]
    return {"messages": [USER, *messages], **more}


def use(identity: str = "a", **more: Any) -> Json:
    """Return a call as a block."""
    return {"type": "tool_use", "id": identity, "name": "buy", "input": {}, **more}


def done(identity: str = "a") -> Json:
    """Return what came of a call as a block."""
    return {"type": "tool_result", "tool_use_id": identity, "content": "Bought."}


def text(words: str) -> Json:
    """Return a text as a block."""
    return {"type": "text", "text": words}


def thinks(words: str = "Hm.", **more: Any) -> Json:
    """Return a thought as a block."""
    return {"type": "thinking", "thinking": words, **more}


def named(schema: Json = STRICT, name: str = "buy", **more: Any) -> Json:
    """Return a tool as Messages takes it."""
    return {"name": name, "input_schema": schema, **more}


def test_messages_refuses_what_anthropic_refuses() -> None:
    """Messages wants each call's results at the start of the next message, and texts that say something."""
    twice = [{"role": "assistant", "content": "No."}, {"role": "assistant", "content": "Yes."}]
    right = [
        turns([use("a"), use("b")], [done("b"), done("a"), text("Go on.")]),
        {"messages": [USER, USER, *twice, USER]},
        turns([text(" "), text("I buy."), use()], [{**done(), "content": []}], system=[text("Be brief.")]),
        turns(tools=[named(NESTED), named(SOME, "a" * 128, strict=True)]),
    ]
    wrong = [
        ("messages.1: `tool_use` ids were found without `tool_result` blocks", turns([use()], "Go on.")),
        ("immediately after: b.", turns([use("a"), use("b")], [done("a")], "Hm.", [done("b")])),
        ("immediately after: a.", turns([use()], [text("Here:"), done()])),
        ("messages.2.content.0: unexpected `tool_use_id` found", turns("I buy.", [done()])),
        ("Found multiple `tool_result` blocks", turns([use()], [done(), done()])),
        ("messages.3.content.0: `tool_use` ids must be unique", turns([use()], [done()], [use()], [done()])),
        ('first message must use the "user" role', {"messages": [*twice, USER]}),
        (
            "messages.0.role: Input should be 'user' or",
            {"messages": [{"role": "tool", "content": "Bought."}]},
        ),
        ("role 'system' is not supported", {"messages": [USER, {"role": "system", "content": "Be brief."}]}),
        ("first message must use", {"messages": []}),
        ("messages.1: all messages must have non-empty content", turns("", "Go on.")),
        ("messages: text content blocks must be non-empty", turns([text("Hm."), text("")], "Go on.")),
        ("system: text content blocks must be non-empty", turns(system=[text("")])),
        ("must contain non-whitespace text", turns([text(" ")], "Go on.")),
        ("must contain non-whitespace text", turns([text("\n"), use()], [done()])),
        ("must contain non-whitespace text", turns([use()], [{**done(), "content": " "}])),
        ("`tool_result` blocks can only be in `user` messages", turns([done()], "Go on.")),
        ("tool_use.id: String should match pattern", turns([use("a:1")], [done("a:1")])),
        ("tool_use.input: Input should be a valid dictionary", turns([use(input="{}")], [done()])),
        ("does not support assistant message prefill", turns("I buy")),
        ("input_schema.type: Field required", turns(tools=[named({})])),
        ("input_schema.type: Input should be 'object'", turns(tools=[named({"type": "string"})])),
        ("anyOf at the top level", turns(tools=[named({**STRICT, "anyOf": []})])),
        ("must be explicitly set to false", turns(tools=[named(NESTED, strict=True)])),
        ("tools.0.custom.name: String should match", turns(tools=[named(name="a.b")])),
        ("tools: Tool names must be unique.", turns(tools=[named(), named()])),
        ("Invalid `signature` in `thinking` block", turns([thinks(signature="x"), text("Hm.")], "Go on.")),
        ("thinking.signature: Field required", turns([thinks(), text("Hm.")], "Go on.")),
        ("cannot be read: KeyError('id')", turns([{"type": "tool_use", "name": "buy"}], "Go on.")),
    ]
    check("anthropic", right, wrong)


def test_messages_lets_older_models_go_on_with_a_reply() -> None:
    """Where the last message may be the assistant's, it may be empty and may not end in a space."""
    check("anthropic", [turns("I"), turns("")], [("trailing whitespace", turns("I "))], prefill=True)


ADAPTIVE: Final[Json] = {"type": "adaptive"}
ENABLED: Final[Json] = {"type": "enabled", "budget_tokens": 1024}


@pytest.mark.parametrize("thinking", [ADAPTIVE, ENABLED], ids=["adaptive", "enabled"])
def test_a_thought_comes_back_with_its_call(thinking: Json) -> None:
    """While results come in, calls want the thought they began with, as it was; once the user has spoken, none."""
    with talking("anthropic", bound=False) as (server, send):
        thought, made = (block.to_dict() for block in send(turns(thinking=thinking)).content)
        result = [done(made["id"])]
        send(turns([thought, made], result, thinking=thinking))
        send(turns([thought, made], result, thinking=thinking, system="Be brief."))
        send(turns([made], result, "Hm.", "Go on.", thinking=thinking))
        send(turns([made], result))
        assert server.refused == []
        for wrong, says in [
            ([made], "but found `tool_use`"),
            ([text("I buy."), thought, made], "but found `text`"),
            ([{**thought, "thinking": "No."}, made], "Invalid `signature` in `thinking` block"),
        ]:
            with pytest.raises(anthropic.BadRequestError, match=says):
                send(turns(wrong, result, thinking=thinking))


def test_a_call_that_was_not_thought_about_comes_back_alone() -> None:
    """A model that thinks as it likes may give a call without a thought; one that always thinks has not."""
    with talking("anthropic", thought=None) as (_, send):
        (made,) = (block.to_dict() for block in send(turns(thinking=ADAPTIVE)).content)
        send(turns([made], [done(made["id"])], thinking=ADAPTIVE))
        with pytest.raises(anthropic.BadRequestError, match="but found `tool_use`"):
            send(turns([made], [done(made["id"])], thinking=ENABLED))


def test_a_thought_is_bound_to_what_stands_before_it() -> None:
    """Behind another system prompt, other tools or another history a thought is refused."""
    with talking("anthropic") as (server, send):
        history: list[Any] = []
        for _ in range(3):
            reply = send(turns(*history, thinking=ADAPTIVE))
            blocks = [block.to_dict() for block in reply.content]
            history += [blocks, [done(blocks[1]["id"])]]
        same = turns(*history, thinking=ADAPTIVE)
        cached = {
            "role": "user",
            "content": [{**text("Buy a desk."), "cache_control": {"type": "ephemeral"}}],
        }
        send({**same, "messages": [cached, *same["messages"][1:]]})
        assert server.refused == []
        other = {"role": "user", "content": "S"}
        for changed in (
            {**same, "system": "Be brief."},
            {**same, "tools": [named()]},
            {**same, "messages": [other, *same["messages"][1:]]},
            turns(
                *history[:2], history[2][1:], *history[3:], thinking=ADAPTIVE
            ),  # one between others is left out
        ):
            with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
                send(changed)

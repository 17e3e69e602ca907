"""The text and the calls of one chat message."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mage.chat import canonical
from mage.trajectories.messages import Call, calls_of, content_at, function_key, key_at
from mage.trajectories.trajectory import Json, Oddities, Spot
from tests.trajectories.samples import CONTENTS, JSON, TEXT, call, contents


@given(CONTENTS)
def test_content_keeps_every_part(content: Json) -> None:
    """Whatever form a content has, its text is its parts, a line each."""
    assert content_at(Spot(content), Oddities()).text == "\n".join(contents(content))


def test_part_that_is_no_text_becomes_canonical_json() -> None:
    """An image keeps its place among the texts, as JSON."""
    parts: Json = ["see", {"type": "image_url", "image_url": {"url": "a.png"}}, {"type": "text", "text": "?"}]
    assert (
        content_at(Spot(parts), Oddities()).text == 'see\n{"image_url":{"url":"a.png"},"type":"image_url"}\n?'
    )


def test_text_part_without_text_is_not_lost() -> None:
    """A part that calls itself text and holds none is kept as JSON."""
    assert content_at(Spot([{"type": "text", "text": 5}]), Oddities()).text == '{"text":5,"type":"text"}'


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=3))
def test_calls_are_read_in_order(made: list[tuple[str, str, str]]) -> None:
    """Ids, names and arguments of calls are read as they stand, in order."""
    message = Spot({"tool_calls": [call(key, name, arguments) for key, name, arguments in made]})
    assert calls_of(message, Oddities()) == tuple(
        [Call(name, arguments, key) for key, name, arguments in made]
    )


def test_call_is_spelled_readably() -> None:
    """A call is shown as its name and its arguments, exactly as they were written."""
    assert Call("look", '{"at": "pond"}', "c1").action == 'look {"at":"pond"}'


def test_arguments_that_are_an_object_become_canonical_json() -> None:
    """Recorders that decode the arguments give the same call whatever the order of keys."""
    one = calls_of(Spot({"tool_calls": [call("c", "look", {"b": 1, "a": 2})]}), Oddities())
    other = calls_of(Spot({"tool_calls": [call("c", "look", {"a": 2, "b": 1})]}), Oddities())
    assert one == other == (Call("look", '{"a":2,"b":1}', "c"),)


def test_older_and_newer_forms_of_calls_are_read() -> None:
    """The older `function_call` and the newer custom tools are calls as well."""
    older: Json = {"function_call": {"name": "look", "arguments": "{}"}}
    newer: Json = {"tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]}
    assert calls_of(Spot(older), Oddities()) == (Call("look", "{}", function_key("look")),)
    assert calls_of(Spot(newer), Oddities()) == (Call("sh", "ls", "c"),)
    assert calls_of(Spot({"tool_calls": None, "function_call": None}), Oddities()) == ()


def test_call_without_arguments_has_none() -> None:
    """A call that lists no arguments is a call without any."""
    assert calls_of(Spot({"tool_calls": [{"function": {"name": "look"}}]}), Oddities()) == (
        Call("look", "", ""),
    )


def test_call_with_its_name_beside_its_id_is_read() -> None:
    """The newest recorders put name and arguments into the call itself."""
    flat: Json = {"type": "function_call", "call_id": "c", "id": "f", "name": "look", "arguments": "{}"}
    assert calls_of(Spot({"tool_calls": [flat]}), Oddities()) == (Call("look", "{}", "c"),)


def test_call_that_holds_more_is_kept_whole() -> None:
    """A call in which a recorder put the result too is kept as JSON, so that the result is not lost."""
    more: Json = {"name": "look", "arguments": {}, "result": "ice"}
    (made,) = calls_of(Spot({"tool_calls": [more]}), Oddities())
    assert made.action == '{"arguments":{},"name":"look","result":"ice"}'


@given(JSON)
def test_bent_calls_are_read(value: Json) -> None:
    """Any JSON in place of the calls, a call, an id or a function is read: as a call, or kept as its JSON."""
    messages: list[dict[str, Json]] = [
        {"tool_calls": value},
        {"tool_calls": [value]},
        {"tool_calls": [{"id": value, "function": {"name": "look"}}]},
        {"tool_calls": [{"id": "c", "function": value}]},
        {"tool_calls": [{"id": "c", "custom": value}]},
        {"tool_calls": [{"id": "c", "function": {"name": value}}]},
        {"function_call": value},
    ]
    for message in messages:
        odd = Oddities()
        found = calls_of(Spot(message), odd)
        assert all(each.name is not None or odd.remarks for each in found)
    (kept,) = calls_of(Spot({"tool_calls": [value]}), Oddities())
    assert kept.name is not None or canonical(value) == kept.action


def test_missing_id_is_an_empty_key() -> None:
    """A recorder that writes no ids gives every call the same empty one; any other value is an id as well."""
    assert key_at(Spot({}), "id") == key_at(Spot({"id": None}), "id") == ""
    assert key_at(Spot({"id": "c"}), "id") == "c"
    assert key_at(Spot({"id": 5}), "id") == "5"
    assert (
        key_at(Spot({"tool_call_id": None, "tool_call_ids": ["c"]}), "tool_call_id", "tool_call_ids") == "c"
    )

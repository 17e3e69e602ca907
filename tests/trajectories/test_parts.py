"""The text and the calls of one chat message."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mage.trajectories.fields import Json, Spot
from mage.trajectories.oddities import Oddities
from mage.trajectories.parts import Call, calls_of, content_text, function_key, key_at
from tests.trajectories.samples import CONTENTS, JSON, TEXT, call, contents


@given(CONTENTS)
def test_content_keeps_every_part(content: Json) -> None:
    """Whatever form a content has, its text is its parts, a line each."""
    assert content_text(Spot(content)) == "\n".join(contents(content))


def test_part_that_is_no_text_becomes_canonical_json() -> None:
    """An image keeps its place among the texts, as JSON."""
    parts: Json = ["see", {"type": "image_url", "image_url": {"url": "a.png"}}, {"type": "text", "text": "?"}]
    assert content_text(Spot(parts)) == 'see\n{"image_url":{"url":"a.png"},"type":"image_url"}\n?'


def test_text_part_without_text_is_not_lost() -> None:
    """A part that calls itself text and holds none is kept as JSON."""
    assert content_text(Spot([{"type": "text", "text": 5}])) == '{"text":5,"type":"text"}'


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=3))
def test_calls_are_read_in_order(made: list[tuple[str, str, str]]) -> None:
    """Ids, names and arguments of calls are read as they stand, in order."""
    message = Spot({"tool_calls": [call(key, name, arguments) for key, name, arguments in made]})
    assert calls_of(message) == tuple([Call(name, arguments, key) for key, name, arguments in made])


def test_call_is_spelled_readably() -> None:
    """A call is shown as its name and its arguments, exactly as they were written."""
    assert str(Call("look", '{"at": "pond"}', "c1")) == 'look({"at": "pond"})'


def test_arguments_that_are_an_object_become_canonical_json() -> None:
    """Recorders that decode the arguments give the same call whatever the order of keys."""
    one = calls_of(Spot({"tool_calls": [call("c", "look", {"b": 1, "a": 2})]}))
    other = calls_of(Spot({"tool_calls": [call("c", "look", {"a": 2, "b": 1})]}))
    assert one == other == (Call("look", '{"a":2,"b":1}', "c"),)


def test_older_and_newer_forms_of_calls_are_read() -> None:
    """The older `function_call` and the newer custom tools are calls as well."""
    older: Json = {"function_call": {"name": "look", "arguments": "{}"}}
    newer: Json = {"tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]}
    assert calls_of(Spot(older)) == (Call("look", "{}", function_key("look")),)
    assert calls_of(Spot(newer)) == (Call("sh", "ls", "c"),)
    assert calls_of(Spot({"tool_calls": None, "function_call": None})) == ()


def test_call_without_arguments_has_none() -> None:
    """A call that lists no arguments is a call without any."""
    assert calls_of(Spot({"tool_calls": [{"function": {"name": "look"}}]})) == (Call("look", "", ""),)


@given(JSON)
def test_bent_calls_are_refused_or_read(value: Json) -> None:
    """Any JSON in place of the calls, a call, an id or a function is read or refused with a place."""
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
        found = calls_of(Spot(message))
        assert found.path[:1] == (next(iter(message)),) if isinstance(found, Malformed) else len(found) <= 3


def test_missing_id_is_an_empty_key() -> None:
    """A recorder that writes no ids gives every call the same empty one."""
    assert id_key(Spot({}), "id") == id_key(Spot({"id": None}), "id") == ""
    assert id_key(Spot({"id": "c"}), "id") == "c"
    assert isinstance(id_key(Spot({"id": 5}), "id"), Malformed)

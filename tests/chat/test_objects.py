"""The JSON objects in a text: those that are found brace by brace, at a cost that grows as the text does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mage.chat.replies import Reply, decide_by_json, decide_by_text, objects_in, read_verdict
from mage.llm.completions import read_streamed_completion
from tests.llm.twins import tried

_pieces: Final = st.sampled_from(
    [
        *'{}[]:,"\\ \n',
        '"a"',
        '"a":',
        "1",
        "-0.5e3",
        "true",
        "NaN",
        "\\u00e9",
        '{"a":',
        '{"a":{"b":1}}',
        "{}",
        "x",
        "01",
    ]
)
_texts: Final = st.lists(_pieces, max_size=30).map("".join)


def _one_by_one(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a text as the words of `objects_in` say it, each brace for itself."""

    def no_number(written: str) -> None:
        raise ValueError(written)

    decoder = json.JSONDecoder(parse_constant=no_number)
    start = text.find("{")
    while start >= 0:
        end = start + 1
        try:
            document, end = decoder.raw_decode(text, start)
        except ValueError:
            pass
        else:
            yield document
        start = text.find("{", end)


@given(text=_texts | st.text(max_size=40))
@example(text='{"a": {"passed": true} x')
@example(text='{ "bad { "passed": true }')
@example(text='{"a": "{", "b": {}, "c": "{\\"d\\": 1}"')
@example(text='{"a": [1, {"b": {"c": 2}}, {"d": 3}')
@example(text='5" {"a": 1}')
def test_the_objects_are_those_that_each_brace_for_itself_would_give(text: str) -> None:
    """Whatever stands in a text, in strings, behind strings that do not end, or within an object that breaks off."""
    assert list(objects_in(text)) == list(_one_by_one(text))


def test_what_is_too_deep_or_too_long_is_no_object() -> None:
    """An object within is found where the one around it is too deep; a number that Python does not read does no harm."""
    deep = '{"a":' * 150 + '{"passed": true}' + "}" * 150
    assert len(list(objects_in(deep))) == 1
    deeper = '{"a":' * 300 + '{"passed": true}' + "}" * 300
    assert len(list(objects_in(deeper))) == 1
    assert list(objects_in('{"a": ' + "1" * 5_000 + "} {}")) == [{}]


SHAPES: Final[dict[str, Callable[[int], str]]] = {
    "braces": lambda length: "{" * length,
    "braces and quotes": lambda length: '{"' * (length // 2),
    "braces and spaces": lambda length: ("{" + " " * 50) * (length // 51),
    "one brace and spaces": lambda length: "{" + " " * length,
    "nested": lambda length: '{"a":' * (length // 5),
    "nested in lists": lambda length: '{"a":[' * (length // 6),
    "nested, and an open string": lambda length: '{"a":' * (length // 10) + '"' + "x" * (length // 2),
    "strings of braces": lambda length: '{"a":"{","b":"{",' * (length // 17),
    "strings of objects": lambda length: '{"a":"{{{{{{","b":"{\\"a\\":1}",' * (length // 30),
    "escapes": lambda length: '{"' + '\\"' * (length // 2),
    "objects": lambda length: '{"a": 1} ' * (length // 9),
    "deep objects": lambda length: ('{"a":' * 90 + "{}" + "}" * 89 + " ") * (length // 542),
    "long numbers": lambda length: ('{"a":' + "1" * 4_000 + " ") * (length // 4_006),
    "thoughts": lambda length: "<think>" * (length // 14) + "</think>" * (length // 16) + "{",
    "backticks": lambda length: "Action[" + "]" + "`" * length,
    "brackets": lambda length: "Action[" + "]\n" * (length // 2),
    "moves": lambda length: "Action[" * (length // 7),
    "white space": lambda length: "Revise[" + " " * (length // 2) + "1" + " " * (length // 2) + "x]",
}


def _work(task: Callable[[], object]) -> int:
    """Return how many instructions of Python a task takes, and how many characters are copied or looked at for errors.

    The decoder counts lines for each error, from the beginning of the text: that is what no count of our own sees.
    """
    count = 0
    make = json.JSONDecodeError.__init__

    def made(self: json.JSONDecodeError, msg: str, doc: str, pos: int) -> None:
        nonlocal count
        count += pos
        make(self, msg, doc, pos)

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    json.JSONDecodeError.__init__ = made  # type: ignore[method-assign]  # put back below
    sys.settrace(trace)
    try:
        task()
    finally:
        sys.settrace(before)
        json.JSONDecodeError.__init__ = make  # type: ignore[method-assign]
    return count


@pytest.mark.parametrize(
    "read", [read_verdict, lambda reply: decide_by_json(reply, ()), lambda reply: decide_by_text(reply, ())]
)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_reply_costs_a_fixed_number_of_times_its_length(
    shape: str, read: Callable[[Reply], object]
) -> None:
    """Every reader of replies does at most 300 things for each character, in the worst of shapes, however long it is."""
    for length in (4_000, 8_000):
        work = _work(lambda: tried(lambda: read(Reply(SHAPES[shape](length), finish="stop"))))  # noqa: B023  # called at once
        assert work <= 300 * length


def test_an_object_is_found_behind_formulas_and_programs() -> None:
    """Braces that begin no object, as LaTeX and programs have them, do not count among those that are tried."""
    text = r"\frac{a}{b} if (x) { y(); } " * 1_000 + '{"passed": true}'
    assert list(objects_in(text)) == [{"passed": True}]


def test_many_calls_in_a_stream_cost_what_they_are() -> None:
    """A piece of a call in a stream finds its call at once, however many calls there are."""

    def gathered(calls: int) -> None:
        events = []
        for index in range(calls):
            called = {"index": index, "id": f"c{index}", "function": {"name": "act", "arguments": "{}"}}
            events.append(f"data: {json.dumps({'choices': [{'delta': {'tool_calls': [called]}}]})}\n\n")
        came = read_streamed_completion("".join(events))
        assert isinstance(came, Reply)
        assert len(came.calls) == calls

    once, twice = (_work(lambda: gathered(calls)) for calls in (200, 400))  # noqa: B023  # called at once
    assert twice <= 2.2 * once

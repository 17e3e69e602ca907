"""Streams as servers spell them: where lines end, how the end is told, and how calls come in pieces."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat.replies import Reply
from mage.effects import Action
from mage.llm.completions import ProviderError, has_ended, read_streamed_completion
from tests.llm.server import Streamed
from tests.llm.twins import decided

_SPLITTERS: Final = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Ends of lines for `str.splitlines`, and not in a stream; JSON may hold the last three as they are."""
_LOOK: Final = '{"action": "look"}'


def _event(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta, "finish_reason": None}]}


def _piece(name: str | None, arguments: Any, **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"function": {key: value for key, value in function.items() if value is not None}, **more}


def _calling(*pieces: dict[str, Any]) -> list[dict[str, Any]]:
    end = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    return [*[_event(tool_calls=[piece]) for piece in pieces], end]


_LOOKING: Final = _calling(_piece("act", _LOOK, index=0, id="a"))


_said: Final = st.text(st.sampled_from(["a", "\u00e9", " ", "\u2028", "\x85"]), max_size=4)


@given(events=st.lists(st.tuples(_said, st.sampled_from(["\n", "\r", "\r\n"])), max_size=4))
def test_events_are_the_same_however_their_lines_end(events: list[tuple[str, str]]) -> None:
    """CR, LF and both together end a line and nothing else does, so that a text comes whole."""
    stream = [
        f"data: {json.dumps(_event(content=said), ensure_ascii=False)}{2 * end}" for said, end in events
    ]
    came = read_streamed_completion("".join(stream))
    assert isinstance(came, Reply)
    assert came.text == "".join(said for said, _ in events)


@given(cuts=st.sets(st.integers(1, 30)), before=st.sampled_from(["", "data: {}\n\n", ": x\r\r"]))
@pytest.mark.parametrize("last", ["data: [DONE]\n", "data:[DONE]\r\n", "data: [DONE] \r\n"])
def test_the_end_is_seen_in_whatever_pieces_it_comes(last: str, before: str, cuts: set[int]) -> None:
    """With the end of its line, however it is spelled, so that nobody waits for a connection that stays open."""
    data, stream, ended = (before + last).encode(), bytearray(), False
    places = sorted({0, *[cut for cut in cuts if cut < len(data)], len(data)})
    for start, end in pairwise(places):
        assert not ended or data[start:end] == b"\n"
        stream += data[start:end]
        ended = has_ended(stream, end - start)
    assert ended


@pytest.mark.parametrize("end", ["\n\n", "\r\r", "\r\n\r\n"])
def test_an_error_ends_a_stream(end: str) -> None:
    """With the end of its event, and not before; the same words within a reply do not."""
    data = f'data: {{"error": {{"message": "no"}}}}{end}'.encode()
    assert [has_ended(data[:length], length) for length in range(1, len(data) + 1)] == [False] * (
        len(data) - 1
    ) + [True]
    came = read_streamed_completion(data.decode())
    assert isinstance(came, ProviderError)
    assert came.message == "no"
    said = json.dumps(_event(content='data: {"error": 1}'))
    assert not has_ended(f"data: {said}{end}".encode(), 1_000)


def test_what_splits_lines_elsewhere_does_not_split_a_stream() -> None:
    """A text with each of these comes over the wire whole, unescaped wherever JSON allows that."""
    said = f"a{_SPLITTERS}b"
    chunks: list[dict[str, Any] | str] = [
        f"data: {json.dumps(_event(content=said), ensure_ascii=False)}\n\n",
        *_LOOKING,
    ]
    outcome = decided(Streamed(chunks), stream=True)
    assert (outcome.fault, outcome.value.thought) == (None, said)


@pytest.mark.parametrize(
    "pieces",
    [
        [_piece("act", _LOOK, index=0, id="a"), _piece("act", _LOOK, index=1, id="b")],
        [_piece("act", _LOOK, index=0, id="a"), _piece("act", _LOOK, index=0, id="b")],
        [_piece("act", _LOOK, id="a"), _piece("act", _LOOK, id="b")],
        [_piece("act", _LOOK[:5], id="a"), _piece(None, _LOOK[5:]), _piece("act", _LOOK, id="b")],
        [
            _piece("act", {"action": "look"}, index=0, id="a"),
            _piece("act", json.loads(_LOOK), index=1, id="b"),
        ],
        [
            _piece("act", "", index=1, id="b"),
            _piece("act", _LOOK, index=0, id="a"),
            _piece("act", _LOOK, index=1, id="b"),
        ],
    ],
    ids=["as OpenAI", "one index", "no index", "no index, in pieces", "objects", "names and ids again"],
)
def test_two_calls_are_two_however_their_pieces_are_marked(pieces: list[dict[str, Any]]) -> None:
    """Servers leave the index out, give every call the same, repeat names and ids, or give arguments as an object."""
    outcome = decided(Streamed(_calling(*pieces)), stream=True)
    assert outcome.fault is None
    assert outcome.value.actions == (Action("look", "a"), Action("look", "b"))


@pytest.mark.parametrize("ends", ["data:[DONE]\n\n", "data: [DONE]\r\n\r\n", ""], ids=repr)
def test_a_stream_ends_however_its_end_is_spelled(ends: str) -> None:
    """Without a space, with other line ends, or not at all: what came before is the reply."""
    outcome = decided(Streamed([*_LOOKING, ends] if ends else _LOOKING, ends=False), stream=True)
    assert outcome.value.actions == (Action("look", "a"),)


def test_a_content_in_parts_is_read_in_a_stream_too() -> None:
    """Some servers give a piece of the content as a list."""
    parts = _event(content=[{"type": "text", "text": "Well, "}, {"type": "text", "text": "look."}])
    assert decided(Streamed([parts, *_LOOKING]), stream=True).value.thought == "Well, look."

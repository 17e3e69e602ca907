"""Streams as servers spell them: where lines end, how the end is told, and how calls come in pieces."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mage.effects import Action
from mage.llm.events import Lines
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


@given(
    text=st.text(st.sampled_from(["\r", "\n", "a", "é", "\u2028", "\x85"])),
    cuts=st.lists(st.integers(0, 40), max_size=5),
)
@example(text="data: a\r\n\r\nb", cuts=[8])
@example(text="a\r", cuts=[])
def test_lines_do_not_depend_on_the_pieces_in_which_they_come(text: str, cuts: list[int]) -> None:
    """Cut anywhere, also within a character and between CR and LF, lines end at CR, LF or both and nowhere else."""
    data, lines = text.encode(), Lines()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in pairwise(places):
        assert not lines.take(data[start:end])
    expected = re.split("\r\n|\r|\n", text)
    assert lines.all() == (expected if expected[-1] else expected[:-1])


@pytest.mark.parametrize("last", ["data: [DONE]\n", "data:[DONE]\r\n", "data: [DONE] \r\n"])
def test_the_end_is_seen_in_whatever_pieces_it_comes(last: str) -> None:
    """With its last byte, however it is spelled, so that nobody waits for a connection that stays open."""
    lines = Lines()
    assert [lines.take(bytes([byte])) for byte in last.encode()] == [False] * (len(last) - 1) + [True]


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

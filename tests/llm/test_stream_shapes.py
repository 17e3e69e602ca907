"""Tool calls in streams, however a server numbers, names and cuts them: they come to the calls that were made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat import ToolCall
from mage.chat.replies import Reply
from mage.llm.completions import read_streamed_completion
from tests.llm.server import Streamed
from tests.llm.twins import decided

Piece = dict[str, Any]


def read(chunks: Sequence[Sequence[Piece]]) -> list[tuple[str, Any]]:
    """Return names and arguments of the calls that come of chunks of pieces."""
    return [(call.name, json.loads(call.arguments)) for call in calls(chunks)]


def calls(chunks: Sequence[Sequence[Piece]]) -> tuple[ToolCall, ...]:
    """Return the calls that come of chunks of pieces."""
    events = [{"choices": [{"delta": {"tool_calls": list(chunk)}}]} for chunk in chunks]
    end = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    came = read_streamed_completion("".join(f"data: {json.dumps(event)}\n\n" for event in [*events, end]))
    assert isinstance(came, Reply)
    return came.calls


def piece(name: str | None = None, arguments: Any = None, **more: Any) -> Piece:
    """Return a piece of a call; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    return {"function": {key: value for key, value in function.items() if value is not None}, **more}


def _cut(text: str, places: Sequence[int]) -> list[str]:
    ends = sorted({place for place in places if 0 < place < len(text)})
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


_texts = st.text(st.sampled_from('ab "\\{}é\n'), max_size=8)
_made = st.lists(
    st.tuples(st.sampled_from(["act", "actor", "look"]), st.dictionaries(st.sampled_from("pq"), _texts)),
    min_size=1,
    max_size=3,
    unique_by=json.dumps,
)


@given(
    made=_made,
    indices=st.sampled_from(["right", "zero", "none", "null", "text", "from 1"]),
    ids=st.sampled_from(["first", "every", "none", "same", "late"]),
    names=st.sampled_from(["first", "every", "before", "pieces", "growing"]),
    growing=st.booleans(),
    again=st.booleans(),
    cuts=st.lists(st.integers(1, 30), max_size=3),
)
def test_any_server_s_calls_are_put_together(
    made: list[tuple[str, dict[str, str]]],
    indices: str,
    ids: str,
    names: str,
    growing: bool,
    again: bool,
    cuts: list[int],
) -> None:
    """Every way to number, to identify, to name and to cut, with all others; `again` sends all calls once more."""
    chunks: list[list[Piece]] = []
    whole: list[Piece] = []
    for place, (name, arguments) in enumerate(made):
        text = json.dumps(arguments, ensure_ascii=False)
        cut = _cut(text, cuts)
        sent = ["".join(cut[: end + 1]) for end in range(len(cut))] if growing else cut
        numbers: dict[str, Any] = {
            "right": place,
            "zero": 0,
            "null": None,
            "text": str(place),
            "from 1": place + 1,
        }
        index = {} if indices == "none" else {"index": numbers[indices]}
        key = {} if ids == "none" else {"id": "call_1" if ids == "same" else f"c{place}"}
        heads: list[str] = {
            "first": [], "every": [], "before": [name], "pieces": [name[:2], name[2:]], "growing": [name[:2], name],
        }[names]  # fmt: skip
        pieces = [piece(head, "", **index) for head in heads]
        for number, part in enumerate(sent):
            named = name if names == "every" or (names == "first" and number == 0) else None
            pieces.append(piece(named, part, **index))
        for number, each in enumerate(pieces):
            last = number == len(pieces) - 1
            if ids in ("every", "same") or (ids == "first" and number == 0) or (ids == "late" and last):
                each.update(key)
        chunks += [[each] for each in pieces]
        whole.append(piece(name, text, **index, **key))
    assert read([*chunks, whole] if again else chunks) == made


@pytest.mark.parametrize(
    "pieces",
    [
        [piece("act", '{"a":', index=0, id="x1"), piece(None, "1}", index=0, id="x2")],
        [piece("act", '{"a":', index=0), piece(None, "1}", index=1)],
        [piece("act", '{"a":', index=0, id="c"), piece("act", "1}", index=1, id="c")],
        [piece("act", "{}", index=0, id="c"), piece(None, '{"a":', index=0), piece(None, "1}", index=0)],
        [piece("act", '{"a":1}', index=0, id="c"), piece("act", "", index=0)],
        [piece("act", {"a": 1}, index=0), piece("act", {"a": 1}, index=0)],
    ],
    ids=[
        "new ids",
        "new indices",
        "new indices, one id",
        "a placeholder",
        "the name again",
        "all of it again",
    ],
)
def test_one_call_is_one(pieces: list[Piece]) -> None:
    """An id or an index for each piece, an empty object before the first, or something that comes twice."""
    assert read([[each] for each in pieces]) == [("act", {"a": 1})]


def test_two_equal_calls_with_ids_are_two() -> None:
    """An action that a model wants twice is done twice where the server says that these are two calls."""
    made = [piece("roll", "{}", index=0, id=key) for key in ("a", "b")]
    assert read([[each] for each in made]) == [("roll", {})] * 2
    assert read([made]) == [("roll", {})] * 2


@pytest.mark.parametrize("indices", [(0, 1), (0, 0), (None, None)], ids=["right", "one", "none"])
def test_calls_whose_pieces_alternate_are_told_apart(indices: tuple[int | None, int | None]) -> None:
    """By their indices, and by their ids where the indices do not tell."""
    both = list(zip(indices, "ab", strict=True))
    heads = [piece("act", '{"a":', index=index, id=key) for index, key in both]
    tails = [piece(None, f'"{key}"}}', index=index, id=key) for index, key in both]
    assert read([[each] for each in [*heads, *tails]]) == [("act", {"a": "a"}), ("act", {"a": "b"})]


def test_the_first_id_stays() -> None:
    """The call keeps one id, whatever the later pieces have."""
    (call,) = calls([[piece("act", '{"a":', index=0, id="x1")], [piece(None, "1}", index=0, id="x2")]])
    assert call.id == "x1"


def test_thousands_of_pieces_take_linear_time() -> None:
    """With the name in each, arguments that grow, and braces that never close."""
    many = [[piece("act", "{" if number % 2 else '{"', index=0)] for number in range(20_000)]
    assert len(calls(many)) == 1


def test_what_stands_beside_a_streamed_call_is_kept() -> None:
    """Signatures in the pieces of the calls, reasoning in those of the message."""
    deltas: list[Any] = [
        {"reasoning_content": "Which"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "Whi", "index": 0}]},
        {
            "reasoning_content": "?",
            "reasoning_details": [{"type": "reasoning.text", "text": "ch?", "index": 0}],
        },
        {"reasoning_details": [{"type": "reasoning.text", "signature": "sig", "index": 0}]},
        {"tool_calls": [piece("act", '{"action": ', index=0, id="a", extra_content={"google": {"x": "s"}})]},
        {"tool_calls": [piece(None, '"look"}', index=0)]},
    ]
    end: Any = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    outcome = decided(Streamed([*[{"choices": [{"delta": delta}]} for delta in deltas], end]), stream=True)
    (action,) = outcome.value.actions
    assert outcome.value.thought == "Which?"
    assert json.loads(action.beside) == {
        "form": "chat",
        "message": {
            "reasoning_content": "Which?",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "Which?", "signature": "sig", "index": 0}
            ],
        },
        "call": {"extra_content": {"google": {"x": "s"}}},
    }

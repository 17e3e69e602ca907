"""Strict JSON: what the standard library lets pass is told apart, and every string survives."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.codec.strict_json import Json, OddNumber, Problem, Repeated, read_json, write_json
from mage.engine.text import as_text
from tests.codec.strategies import texts

_TOO_DEEP = Problem("", "arrays or objects are nested deeper than any that mage writes")
_values = st.recursive(
    st.none() | st.booleans() | st.integers(1 - 10**15, 10**15 - 1) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(_values)
def test_what_is_written_is_read_back(value: Json) -> None:
    """Every document of strings, booleans, null and integers of at most 15 digits survives."""
    assert read_json(write_json(value)) == value


@given(_values)
def test_what_is_written_is_one_line_of_utf_8_that_any_json_reader_reads(value: Json) -> None:
    """There is no newline in it, and the standard library reads the same."""
    data = write_json(value)
    assert b"\n" not in data
    assert json.loads(data.decode()) == value


@given(st.binary())
def test_any_bytes_give_a_value_or_a_problem(data: bytes) -> None:
    """Nothing is raised; what is taken, the standard library takes too."""
    found = read_json(data)
    assert isinstance(found, Problem) or json.loads(data.decode()) is not Ellipsis


@given(st.lists(st.sampled_from([r"\ud83d", r"\udca1", r"\ud800", "x", r"\\", "\U0001f4a1"])))
def test_a_string_that_was_read_has_its_surrogate_pairs_joined(pieces: list[str]) -> None:
    """So nothing shifts when the tree joins them (D15)."""
    text = read_json(f'"{"".join(pieces)}"'.encode())
    assert isinstance(text, str)
    assert as_text(text) == text


def test_only_what_must_be_escaped_is_escaped() -> None:
    """Text beyond ASCII stays as it is and small; a lone surrogate cannot."""
    assert write_json("书桌 \u2028\x85\x7f") == '"书桌 \u2028\x85\x7f"'.encode()
    assert write_json("\x00\ud800\udfff") == rb'"\u0000\ud800\udfff"'


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":1,"b":2,"b":3,"a":4}', Repeated("a")),
        (b'[{"a":{"b":2,"b":2}}]', [{"a": Repeated("b")}]),
        (rb'{"a":1,"\u0061":1}', Repeated("a")),
        (b"[1.0,1e3,-0.5]", [OddNumber("1.0"), OddNumber("1e3"), OddNumber("-0.5")]),
        (b"[NaN,-Infinity,Infinity]", [OddNumber("NaN"), OddNumber("-Infinity"), OddNumber("Infinity")]),
        (b"-999999999999999", -999999999999999),
        (b"1000000000000000", OddNumber("1000000000000000")),
        (b"9" * 100_000, OddNumber("9" * 100_000)),
        (b" 7\r\n", 7),
    ],
)
def test_what_has_two_readings_is_kept_as_it_was_written(data: bytes, value: Json) -> None:
    """A repeated key, a fraction, an infinity or a very long integer is no ordinary value."""
    assert read_json(data) == value


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "nothing is here, expected a JSON object"),
        (b" \r\n\t", "nothing is here, expected a JSON object"),
        (b"\xef\xbb\xbf{}", "found a byte order mark, expected plain UTF-8 without one"),
        (b'"caf\xe9"', "not UTF-8: found byte 0xe9 at byte 5"),
        (b'"\xed\xa0\x80"', "not UTF-8: found byte 0xed at byte 2"),
        (b"{", "not JSON: expecting property name enclosed in double quotes at character 2"),
        (b'"desk', "not JSON: unterminated string starting at character 1"),
        (rb'"\x"', "not JSON: invalid \\escape at character 2"),
        (b'"\n"', "not JSON: invalid control character at character 2"),
        (b"{} {}", "not JSON: extra data at character 4"),
        (b"\x00", "not JSON: expecting value at character 1"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(data: bytes, text: str) -> None:
    """Bytes are counted where they are no UTF-8, else characters; both from 1."""
    assert read_json(data) == Problem("", text)


@pytest.mark.parametrize("bomb", [b"[", b'{"a":', b'[{"a":'])
def test_nesting_bombs_are_refused(bomb: bytes) -> None:
    """Depth costs neither an exception nor the interpreter."""
    for data in (bomb * 100_000, b"[[]," + bomb * 100_000 + b"]" * 100_000):
        assert read_json(data) == _TOO_DEEP


def test_a_nesting_bomb_does_not_crash_a_host_that_raised_its_recursion_limit() -> None:
    """The parser alone would overflow the stack of the process there, on Python 3.11."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    try:
        assert read_json(b"[" * 1_000_000) == _TOO_DEEP
    finally:
        sys.setrecursionlimit(limit)


def test_depth_within_reach_of_the_hosts_limit_is_no_exception_either() -> None:
    """Whether so many levels can be read depends on the Python and on how deep the caller is."""
    found = read_json(b"[" * 1_000 + b"]" * 1_000)
    assert isinstance(found, list) or found == _TOO_DEEP


@given(st.lists(st.sampled_from([r"\\", r"\"", "[", "{", "n"]), max_size=10))
def test_brackets_in_strings_are_no_depth(pieces: list[str]) -> None:
    """However strings escape their quotes and backslashes, what stands in them nests nothing."""
    spelled = f'["{"".join(pieces)}{"[{" * 1_000}"]'.encode()
    assert read_json(spelled) == json.loads(spelled)

"""From bytes to JSON values and places."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.trajectories.loading import DEEPEST, first_record, read
from mage.trajectories.trajectory import Json, Malformed, Spot
from tests.trajectories.samples import JSON, TEXT, encoded, lines

OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)


def _value(data: bytes) -> Json:
    return read(data).value


def _error(data: bytes) -> tuple[str, str, int]:
    with pytest.raises(Malformed) as found:
        read(data)
    error = found.value.in_file("t.json")
    return error.record, error.problem, error.good


@given(JSON, st.sampled_from([None, 2]), st.booleans(), st.booleans())
def test_json_is_read_as_it_is(value: Json, indent: int | None, ascii_only: bool, marked: bool) -> None:
    """Any JSON, however it is laid out, with or without a byte order mark, comes back equal."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    data = text.encode(errors="backslashreplace")
    assert value == _value(b"\xef\xbb\xbf" * marked + data)


@given(st.lists(OBJECTS, min_size=2, max_size=4), st.lists(st.sampled_from(["", " ", "\t"]), max_size=3))
def test_json_lines_are_one_list_that_knows_its_lines(values: list[Json], blank: list[str]) -> None:
    """Objects a line come back as a list; blank lines count as lines and hold no record."""
    gap = "".join(f"{line}\r\n" for line in blank).encode()
    found = read(encoded(values[0]) + b"\r\n" + gap + lines(values[1:]))
    assert values == found.value
    assert found.lines == (1, *range(2 + len(blank), 1 + len(blank) + len(values)))


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.data())
def test_cut_list_is_told_where(values: list[Json], data: st.DataObject) -> None:
    """Cut anywhere, a list of records tells the record it was cut in and counts those before it."""
    text = json.dumps(values)
    cut = data.draw(st.integers(1, len(text) - 1))
    ends = [len(json.dumps(values[:count])) for count in range(1, len(values))]  # just after each comma
    record, problem, good = _error(text[:cut].encode())
    assert sum(end <= cut for end in ends) == good
    assert record.startswith(f"[{good}]")
    assert "not JSON" in problem


@given(st.text(alphabet='{}[],:"\\ab1\n', max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """What looks almost like JSON never raises, and what is refused is not JSON."""
    with suppress(Malformed):
        read(text.encode())
        return
    assert '"' in text or _is_no_json(text)  # a field that stands twice, or no JSON


def _is_no_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_nesting_is_read_to_its_limit(opening: str, closing: str) -> None:
    """The deepest nesting that is allowed is read; one level more is refused at that level."""
    deep = opening * DEEPEST + "1" + closing * DEEPEST
    assert isinstance(read(deep.encode()), Spot)
    record, problem, _ = _error((opening + deep + closing).encode())
    assert "..." in record
    assert problem.startswith(f"nested deeper than {DEEPEST} levels")


def test_first_flaw_of_the_text_is_the_one_told() -> None:
    """A flaw deep inside an early record comes before a shallow one of a later record."""
    assert _error(b'[{"a": [[NaN]]}, Infinity]')[0] == "[0].a[0][0]"
    assert _error(b'[1, {"a": 1, "b": 2, "a": 3}, NaN]') == (
        "[1].a",
        "this field stands twice in one object",
        1,
    )


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"a": 1,\n "b" 2}', "at line 2, column 6"),
        (b"[\n1,\n\n\n2", "but the text ends at line 5, column 2"),
        (b'{"a": "x\ny"}', "invalid control character at line 1, column 9"),
        (b'{"a": 1}\n{"b": }', "at column 7"),
        (b'{"a": 1} {"b": 2}', "extra data at line 1, column 10"),
    ],
)
def test_line_and_column_are_told(data: bytes, place: str) -> None:
    """Where JSON breaks is told as an editor counts: line and column from 1."""
    assert _error(data)[1].endswith(place)


def test_earlier_of_two_faults_is_told() -> None:
    """Bytes that are not UTF-8 do not hide an earlier syntax error, nor the other way round."""
    assert "not UTF-8" in _error(b'["\xff", }]')[1]
    assert "not JSON" in _error(b'[}, "\xff"]')[1]


def test_huge_number_does_not_raise() -> None:
    """A whole number of thousands of digits, on which int() raises, is refused with its place."""
    assert _error(b'{"a": [' + b"9" * 10_000 + b"]}") == ("a[0]", "expected a finite number, found inf", 0)
    assert _value(b"[" + b"9" * 300 + b"]") == [int("9" * 300)]


def test_first_record_is_the_first_line() -> None:
    """The first line that is not blank is looked at alone; a long or broken one is none."""
    assert first_record(b'\n {"op": 1}\nrest') == {"op": 1}
    assert first_record(b'{"op": "\xff"}') == {"op": "\ufffd"}
    assert first_record(b"{") is None
    assert first_record(b"") is None
    assert first_record(b'"' + b"x" * 20_000 + b'"') is None


@given(
    st.lists(JSON, max_size=2),
    st.sampled_from(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]),
)
def test_other_encodings_are_named(values: list[Json], encoding: str) -> None:
    """A file that an editor or a shell has saved in another encoding, marked or not, is told so."""
    data = json.dumps(values).encode(encoding)
    assert _error(data) == ("$", "expected UTF-8, found UTF-16 or UTF-32: save it as UTF-8", 0)


@pytest.mark.parametrize(
    ("start", "said"), [(b"\x1f\x8b\x08\x00", "a gzip archive"), (b"PK\x03\x04", "a zip archive")]
)
def test_archives_are_named(start: bytes, said: str) -> None:
    """What was downloaded packed is to be unpacked first."""
    assert _error(start + b"[]") == ("$", f"expected UTF-8, found {said}: unpack it first", 0)


@pytest.mark.parametrize("data", [b"\0", b"\0" * 100, b"[1]\0"])
def test_zeros_alone_are_no_encoding(data: bytes) -> None:
    """A file of zeros, or with one at its end, is just no JSON."""
    assert _error(data)[1].startswith("not JSON")

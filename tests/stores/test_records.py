"""Records: their bytes, their chain, and what shows when either is touched."""

from __future__ import annotations

import hashlib
import json
import pickle

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.codec.strict_json import Problem
from mage.engine.text import as_text, is_blank
from mage.stores import (
    NOTHING,
    DamagedRecord,
    Draft,
    Head,
    Part,
    Plain,
    Record,
    Redacted,
    read_parts,
    redacted,
    seal,
    verify,
    write_parts,
)
from mage.stores.protocol import following
from mage.stores.records import _any_parts, _usual_parts
from mage.testing import texts
from mage.testing.stores import chain, salts

_HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
_PARTS = st.lists(
    st.one_of(
        st.builds(Plain, texts.map(as_text), st.text("abcXYZ019-_", min_size=16, max_size=16)),
        st.builds(Redacted, _HEX),
    ),
    max_size=4,
).map(tuple)


def sha(*pieces: str) -> str:
    """Digest as the module's docstring has it."""
    return hashlib.sha256("".join(pieces).encode("utf-8", "surrogatepass")).hexdigest()


@given(_PARTS)
def test_parts_come_back_from_their_bytes(parts: tuple[Part, ...]) -> None:
    """What was written is read back, and is JSON that any reader takes."""
    data = write_parts(parts)
    assert read_parts(data) == parts
    assert len(json.loads(data)) == 2 * len(parts)


@given(st.one_of(st.binary(max_size=40), st.text(max_size=40).map(str.encode)))
def test_any_bytes_are_read(data: bytes) -> None:
    """Bytes give parts or a problem, never an exception; what they give is spelled by them."""
    read = read_parts(data)
    assert isinstance(read, Problem) or write_parts(read) == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"null",
        b'["0123456789abcdef"]',
        b'["short","text"]',
        b'["0123456789abcdef",1]',
        b'[0,"text"]',
        b'["","not a digest"]',
        b'["0123456789abcdef","\\u000A"]',
        b'["0123456789abcdef","\\u0041"]',
        b'["0123456789abcdef","\\/"]',
        b'["0123456789abcdef","\\uD800"]',
    ],
)
def test_what_mage_does_not_write_is_no_parts(data: bytes) -> None:
    """Other JSON, and the same texts in another spelling, are refused."""
    assert isinstance(read_parts(data), Problem)


PIECES = (b'"', b"\\", b"[", b"]", b",", b"0", b"null", b"{}", b"\\u0041", b"\\n", b"\xff", b" ", b"")


@given(st.lists(texts.map(as_text), max_size=3), st.data())
def test_the_usual_way_to_read_parts_says_what_the_long_way_says(
    contents: list[str], data: st.DataObject
) -> None:
    """However parts that were written are changed, the short way reads them as the long one does, or not at all."""
    parts = [Plain(text, f"{place:016x}") for place, text in enumerate((*contents, '{"at":1}'))]
    written = write_parts(parts)
    assert _any_parts(written) == tuple(parts)
    begin = data.draw(st.integers(0, len(written)))
    end = data.draw(st.integers(begin, min(begin + 2, len(written))))
    changed = written[:begin] + data.draw(st.sampled_from(PIECES)) + written[end:]
    for each in (written, changed):
        usual = _usual_parts(each)
        assert usual is None or usual == _any_parts(each)


def test_the_usual_parts_are_read_the_usual_way() -> None:
    """Short texts and meta are; what is long, redacted or otherwise escaped is not, and is read all the same."""
    usual = (Plain("look", "a" * 16), Plain('{"at":1}', "b" * 16))
    assert _usual_parts(write_parts(usual)) == usual
    for odd in (Plain("x" * 1000, "a" * 16), Plain("two\nlines", "a" * 16), Redacted("0" * 64)):
        assert _usual_parts(write_parts([odd])) is None
        assert read_parts(write_parts([odd])) == (odd,)


@given(texts.map(as_text), texts.map(as_text))
def test_the_chain_is_what_the_docstring_says(text: str, other: str) -> None:
    """Digests are recomputed here from the words of the module alone."""
    record = seal(NOTHING, Draft('{"op":"start"}', (text, other)), salts())
    parts = [sha(f"{0:016x}", text), sha(f"{1:016x}", other)]
    assert [part.digest for part in record.parts] == parts
    assert record.digest == sha("\n".join([NOTHING.digest, "1", '{"op":"start"}', *parts]))
    assert sha("mage-journal 1") == NOTHING.digest


def test_an_escape_is_not_the_surrogate_it_spells() -> None:
    """A lone surrogate and the six characters of its escape have different digests."""
    salt = "0" * 16
    assert Plain("\ud800", salt).digest != Plain("\\ud800", salt).digest


def test_sound_records_are_yielded() -> None:
    """Verifying yields the records themselves, from any head on, and knows where they must end."""
    records = chain(6)
    assert tuple(verify(NOTHING, records, records[-1].head)) == records
    assert tuple(verify(records[2].head, records[3:], records[-1].head)) == records[3:]
    assert tuple(verify(NOTHING, (), NOTHING)) == ()


def found(records: tuple[Record, ...], end: Head | None = None) -> tuple[int, str]:
    """Return what is found: the version and the reason."""
    with pytest.raises(DamagedRecord) as caught:
        tuple(verify(NOTHING, records, end))
    return caught.value.version, str(caught.value)


def test_a_misplaced_record_is_named() -> None:
    """A record that is missing, doubled, swapped or cut off is named by its version."""
    one, two, three, four = chain(4)
    assert found((two, three)) == (1, found((two, three))[1])
    assert found((one, three, four))[0] == 2
    assert "it is missing" in found((one, three, four))[1]
    assert "records 2 to 3" in found((one, four))[1]
    assert found((one, two, two, three))[0] == 3
    assert found((one, three, two, four))[0] == 2
    assert found((one, two), four.head)[0] == 3
    assert found((one, two, three, four), three.head)[0] == 4
    assert found((one, two), Head(2, three.digest))[0] == 2


def test_records_of_another_journal_are_named() -> None:
    """A record that is sound itself, but belongs to another journal, does not fit the chain."""
    ours, theirs = chain(4, "ours"), chain(4, "theirs")
    assert found((*ours[:2], *theirs[2:]))[0] == 3


@given(st.data())
def test_a_flipped_bit_of_a_record_is_found(data: st.DataObject) -> None:
    """Any bit flipped in body, texts or digest makes the record unreadable or unsound, and it is named."""
    records = chain(3)
    place = data.draw(st.integers(0, 2))
    record = records[place]
    field = data.draw(st.sampled_from(("body", "parts", "digest")))
    kept = {
        "body": record.body.encode(),
        "parts": write_parts(record.parts),
        "digest": record.digest.encode(),
    }
    whole = bytearray(kept[field])
    bit = data.draw(st.integers(0, len(whole) * 8 - 1))
    whole[bit // 8] ^= 1 << bit % 8
    if field == "parts":
        read = read_parts(bytes(whole))
        if isinstance(read, Problem):
            return
        touched = attrs.evolve(record, parts=read)
    elif field == "body":
        touched = attrs.evolve(record, body=whole.decode("latin-1"))
    else:
        touched = attrs.evolve(record, digest=whole.decode("latin-1"))
    version = found((*records[:place], touched, *records[place + 1 :]))[0]
    assert version == place + 1


@given(st.lists(texts.map(as_text), min_size=1, max_size=3), st.data())
def test_a_redacted_record_keeps_its_digest(contents: list[str], data: st.DataObject) -> None:
    """Texts taken out leave a marker each; the chain holds, and blank texts stay as they are."""
    record = seal(NOTHING, Draft('{"op":"start"}', tuple(contents)), salts())
    places = data.draw(st.lists(st.integers(0, len(contents) - 1)))
    after = redacted(record, places)
    assert tuple(verify(NOTHING, [after], record.head)) == (after,)
    for place, (old, new) in enumerate(zip(record.parts, after.parts, strict=True)):
        assert new.digest == old.digest
        if place in places and not is_blank(old.text):
            assert (new.salt, new.text) == (None, f"[redacted {old.digest[:12]}]")
        else:
            assert new == old
    assert redacted(after, range(len(contents))) == redacted(record, range(len(contents)))


def test_one_text_twice_has_two_markers() -> None:
    """Two records with the same text have different salts, so that their markers differ."""
    new_salt = salts()
    first = seal(NOTHING, Draft('{"op":"start"}', ("the same",)), new_salt)
    second = seal(first.head, Draft('{"op":"start"}', ("the same",)), new_salt)
    assert redacted(first, [0]).parts[0].text != redacted(second, [0]).parts[0].text


def test_a_record_is_believed_only_where_it_was_sealed() -> None:
    """Only what `seal` returned is taken as it is: of any other record, of a changed one too, the digest is computed."""
    first, second, third = chain(3)
    assert following(first.head, [second, third]) == (second, third)
    assert following(first.head, [pickle.loads(pickle.dumps(second))]) == (second,)
    read = Record(second.version, second.body, second.parts, second.digest)
    assert (read.sealed_behind, following(first.head, [read])) == (None, (second,))
    other = Plain("other", "0" * 16)
    for change in (
        {"body": '{"op":"accept"}'},
        {"parts": (other, *second.parts[1:])},
        {"digest": third.digest},
        {"version": 3},
    ):
        changed: Record = attrs.evolve(second, **change)
        assert changed.sealed_behind is None
        with pytest.raises(DamagedRecord):
            following(first.head, [changed])
    for before, records in ((NOTHING, [second]), (second.head, [second]), (first.head, [third])):
        with pytest.raises(DamagedRecord):
            following(before, records)


@pytest.mark.parametrize("text", ["\ud83d\ude00", "a\ud83d\ude00b"])
def test_what_no_store_takes_is_not_believed_because_it_was_sealed(text: str) -> None:
    """A text whose surrogate pairs are not joined can be sealed, and is refused where it is to be written."""
    sealed = seal(NOTHING, Draft('{"op":"start"}', (text, "{}")), salts())
    assert sealed.sealed_behind is None
    with pytest.raises(DamagedRecord, match="surrogate pairs"):
        following(NOTHING, [sealed])

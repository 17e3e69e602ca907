"""What every store asks before it writes. Write a store with these, and the answers are the same everywhere."""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import chain, count
from typing import Final

from mage.codec.shapes import DIGEST
from mage.engine.text import as_text
from mage.stores.errors import BadName, DamagedRecord, OtherRecord, UnknownVersion
from mage.stores.folding import GROW
from mage.stores.records import NOTHING, Head, Plain, Record, verify, write_parts
from mage.stores.sources import is_salt

LONGEST_NAME: Final = 255
"""Characters of the longest name."""


def as_name(name: str) -> str:
    """Return `name`, a plain string that can name a journal.

    Raises:
        BadName: it cannot, and why.
    """
    if not isinstance(name, str):
        raise BadName(str(name), "a name is text")
    if not name:
        raise BadName(name, "it is empty")
    if len(name) > LONGEST_NAME:
        raise BadName(name, f"it has {len(name)} characters, more than {LONGEST_NAME}")
    if "\0" in name:
        raise BadName(name, "it holds a NUL, which databases cannot keep")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise BadName(name, "it holds half of a surrogate pair, which UTF-8 cannot spell") from error
    return str.__str__(name)


def name_beside(name: str, taken: Container[str]) -> str:
    """Return the first of `monday.parent`, `monday.parent2`, ... that is not taken, where `name` is `monday`.

    A name that is too long for that is cut.
    """
    numbers = chain([""], map(str, count(2)))
    return next(
        free
        for ending in (f".parent{number}" for number in numbers)
        if (free := name[: LONGEST_NAME - len(ending)] + ending) not in taken
    )


def beginning(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return the records of a new journal, verified.

    Raises:
        DamagedRecord: one is not sound, or there is none.
    """
    checked = following(NOTHING, records)
    if not checked:
        raise DamagedRecord(1, "a journal has at least its start")
    return checked


def following(expected: Head, records: Iterable[Record]) -> tuple[Record, ...]:
    """Return records that are to follow `expected`, verified; there may be none.

    Of a record that was sealed behind the one before it, all is known already; of others each digest is computed.

    Raises:
        DamagedRecord: one is not sound, or not chained to the one before.
    """
    checked: list[Record] = []
    before = expected
    for record in records:
        if record.sealed_behind != before.digest or record.version != before.version + 1:
            checked += map(_readable, verify(before, [record]))
        else:
            checked.append(record)
        before = record.head
    return tuple(checked)


def _readable(record: Record) -> Record:
    """Return a record that is written, once it is known that it can be read back as it is.

    Raises:
        DamagedRecord: it cannot: a part of it is none.
    """
    for part in record.parts:
        if isinstance(part, Plain):
            if not is_salt(part.salt):
                raise DamagedRecord(record.version, "a salt of it is not 16 characters of ASCII")
            if type(part.text) is not str or as_text(part.text) != part.text:
                raise DamagedRecord(
                    record.version, "a text of it is no plain string with joined surrogate pairs"
                )
        elif not DIGEST.fits(part.digest):
            raise DamagedRecord(record.version, "the digest of a text taken out is none")
    return record


def require_range(name: str, after: int, upto: int | None, head: int) -> int:
    """Return the last version to be read of a journal with this head.

    Raises:
        UnknownVersion: the range does not lie in the journal.
    """
    last = head if upto is None else upto
    for version in (last, after):
        if not 0 <= version <= head:
            raise UnknownVersion(name, version, head)
    return last


def require_same(old: Record, new: Record) -> None:
    """Ask that `new` is `old` with texts redacted, or `old` itself.

    Raises:
        OtherRecord: it is not.
    """
    if not is_redaction(old, new):
        raise OtherRecord(new.version)


def is_redaction(old: Record, new: Record) -> bool:
    """Tell whether `new` is `old` with none or some of its texts redacted. Cost: O(length of its texts)."""
    if (old.version, old.body, old.digest, len(old.parts)) != (
        new.version,
        new.body,
        new.digest,
        len(new.parts),
    ):
        return False
    return all(
        after == before or (not isinstance(after, Plain) and after.digest == before.digest)
        for before, after in zip(old.parts, new.parts, strict=True)
    )


def payload_of(records: Iterable[Record]) -> tuple[int, int]:
    """Return the bytes of the records' texts as they are kept, and how many records add a step."""
    size = grows = 0
    for record in records:
        size += len(write_parts(record.parts))
        grows += record.body == GROW
    return size, grows

"""Records: what a journal is made of, and the chain that makes every change of them show.

A record has a `body`, the command without its texts, and `parts`, the texts, each with a salt of its own.
Digests are SHA-256, in hex:

    digest of a part    = over its salt (16 characters) and its text, in UTF-8
    digest of a record  = over these lines, joined by LF: the digest before, the version, the body, and the
                          digests of its parts in order

The digest before record 1 is `NOTHING`'s. Since the chain goes over the digests of texts, a text can be taken
out later (`redacted`) and all digests stay; since each text has a salt that goes with it, what was short
cannot be guessed from the digest that is left. No name is in the chain: a fork goes on from the digest at
its fork point. A chain shows accidents and tampering by those who cannot write the head; it is no signature.

In a digest a lone surrogate is spelled in three bytes as other characters are (`surrogatepass`), not by an
escape as in JSON: a text that holds the six characters of an escape must not have the digest of another.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Generic, TypeAlias, TypeVar, cast, final

import attrs

from mage.codec.shapes import DIGEST
from mage.codec.strict_json import Problem, read_json, write_json
from mage.engine.text import as_text, is_blank
from mage.stores.errors import BadSource, DamagedRecord

Salts: TypeAlias = Callable[[], str]
"""Returns a new salt: 16 characters of ASCII that nobody can guess."""

SALT: Final = 16
"""Characters of a salt: always as many, so that salt and text cannot be told apart in two ways."""
_SHORT: Final = 900
"""Bytes that nest no deeper than any parser can go."""
_scan: Final = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # as `raw_decode` calls it
_Given = TypeVar("_Given")


@final
class Checked(Generic[_Given]):
    """A clock or a source of salts that raises `BadSource` instead of a wrong answer; the first is asked for at once."""

    def __init__(
        self, word: str, source: Callable[[], _Given], problem_of: Callable[[object], str | None]
    ) -> None:
        if not callable(source):
            raise BadSource(word, f"it is a {type(source).__name__}, which cannot be called")
        self._word, self._source, self._problem_of = word, source, problem_of
        self()

    def __call__(self) -> _Given:
        """Return the next answer."""
        return _answer(self._word, self._source, self._problem_of)


def _answer(word: str, source: Callable[[], _Given], problem_of: Callable[[object], str | None]) -> _Given:
    given = source()
    problem = problem_of(given)
    if problem is not None:
        raise BadSource(word, problem)
    return given


def random_salt() -> str:
    """Return 16 url-safe characters from the system's source of randomness (96 bits)."""
    return secrets.token_urlsafe(12)


def is_salt(value: object) -> bool:
    """Tell whether a value is a salt: a plain string of 16 characters of ASCII."""
    return type(value) is str and len(value) == SALT and value.isascii()


def checked_salts(salts: Salts) -> Salts:
    """Return a source that raises `BadSource` instead of a wrong salt. It asks `salts` once, here."""
    return salts if isinstance(salts, Checked) else Checked("salts", salts, _salt_problem)


def _salt_problem(given: object) -> str | None:
    if is_salt(given):
        return None
    # Its text is not repeated: it may be a secret that stands where a salt should.
    what = f"{len(given)} characters" if isinstance(given, str) else f"a {type(given).__name__}"
    return f"a salt is {SALT} characters of ASCII, and it gave {what}"


@final
@attrs.frozen
class Head:
    """Where a journal ends: its version, and the digest of the record that made it.

    Two journals with equal heads hold the same records (but for texts that were redacted).
    """

    version: int
    digest: str

    def __str__(self) -> str:
        return f"version {self.version} ({self.digest[:12]})"


NOTHING: Final = Head(0, hashlib.sha256(b"mage-journal 1").hexdigest())
"""The head before the first record."""


@final
@attrs.frozen(weakref_slot=False)
class Plain:
    """A text of a record, any string whose surrogate pairs are joined (D15), and the salt that hides it in the digest."""

    text: str
    salt: str

    @property
    def digest(self) -> str:
        """The digest of salt and text. Cost: O(length), each time."""
        return hashlib.sha256((self.salt + self.text).encode("utf-8", "surrogatepass")).hexdigest()


@final
@attrs.frozen(weakref_slot=False)
class Redacted:
    """A text that was taken out: the digest of salt and text is left, and a marker where the text was."""

    digest: str

    @property
    def text(self) -> str:
        """The marker: different for every text taken out, so that siblings still differ (I2)."""
        return f"[redacted {self.digest[:12]}]"

    @property
    def salt(self) -> None:
        """None: the salt went with the text."""
        return


_MARKER: Final = re.compile(r"\[redacted [0-9a-f]{12}\]")


def is_marker(text: str) -> bool:
    """Tell whether a text is the marker of a text that was taken out."""
    return _MARKER.fullmatch(text) is not None


Part: TypeAlias = Plain | Redacted


@final
@attrs.frozen(weakref_slot=False)
class Record:
    """One command of a journal, as it is kept.

    Attributes:
        version: its place, from 1: the version of the journal that it made.
        body: the command without its texts, in canonical JSON (see `mage.stores.folding`).
        parts: the texts in order, then what goes with the record (meta, a JSON object).
        digest: the chain up to here.
        sealed_behind: the digest that `seal` computed this one from, so that a store need not compute it again; None
            for a record that was read or made otherwise.
    """

    version: int
    body: str
    parts: tuple[Part, ...]
    digest: str
    sealed_behind: str | None = attrs.field(default=None, init=False, eq=False, repr=False)

    @property
    def head(self) -> Head:
        """The head of a journal that ends here."""
        return Head(self.version, self.digest)


@final
@attrs.frozen
class Draft:
    """A record that has no place yet: its body, and the texts of its parts."""

    body: str
    texts: tuple[str, ...]


def seal(before: Head, draft: Draft, salts: Salts) -> Record:
    """Return the record that follows `before`; raise `BadSource` where `salts` gives no salt. Cost: O(length of its texts)."""
    parts = tuple([Plain(text, _answer("salts", salts, _salt_problem)) for text in draft.texts])
    version = before.version + 1
    record = Record(version, draft.body, parts, chained(before.digest, version, draft.body, parts))
    if all(as_text(text) is text for text in draft.texts):  # else it is no record that a store takes
        object.__setattr__(record, "sealed_behind", before.digest)
    return record


def chained(before: str, version: int, body: str, parts: Sequence[Part]) -> str:
    """Return the digest of a record, given the digest before it. Cost: O(length of its texts)."""
    lines = [before, str(version), body]
    for part in parts:  # as `Plain.digest` has it: to open a long journal is mostly this
        if type(part) is Plain:
            lines.append(hashlib.sha256((part.salt + part.text).encode("utf-8", "surrogatepass")).hexdigest())
        else:
            lines.append(part.digest)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def verify(before: Head, records: Iterable[Record], end: Head | None = None) -> Iterator[Record]:
    """Yield the records, each after it was found sound, in its place and chained to the one before.

    Args:
        before: the head that they go on from: `NOTHING`, or that of a record verified earlier.
        records: in order.
        end: the head that they must lead to, if that is known.

    Yields:
        Each record, as it is. Cost: O(length of its texts).

    Raises:
        DamagedRecord: at the first that is not sound; it names the version and says what is wrong.
    """
    version, digest = before.version, before.digest
    for record in records:
        version += 1
        if record.version != version:
            raise _misplaced(version, record.version)
        if chained(digest, version, record.body, record.parts) != record.digest:
            raise DamagedRecord(version, "its content, or the record before it, does not match its digest")
        digest = record.digest
        yield record
    if end is not None and (version, digest) != (end.version, end.digest):
        if version < end.version:
            reason = f"it is missing: the head is {end}, the records end before"
            raise DamagedRecord(version + 1, reason)
        raise DamagedRecord(version, f"it leads to {Head(version, digest)}, but the head says {end}")


def _misplaced(expected: int, found: int) -> DamagedRecord:
    if found > expected:
        missing = f"record {expected}" if found == expected + 1 else f"records {expected} to {found - 1}"
        return DamagedRecord(
            expected, f"it is missing: after {expected - 1} comes {found}, without {missing}"
        )
    return DamagedRecord(expected, f"record {found} stands in its place")


def redacted(record: Record, places: Iterable[int]) -> Record:
    """Return the record with the texts at these places of its parts taken out. Its digest stays, and so does a redacted text.

    A blank text stays as it is: that it is blank is no secret, and decides what a command does.
    """
    parts = list(record.parts)
    for place in places:
        part = parts[place]
        if not is_blank(part.text):
            parts[place] = Redacted(part.digest)
    return Record(record.version, record.body, tuple(parts), record.digest)


def flat_parts(parts: Iterable[Part]) -> list[str]:
    """Return two strings for each part: salt and text, or "" and the digest of a text that was taken out."""
    flat: list[str] = []
    for part in parts:
        flat += (part.salt, part.text) if isinstance(part, Plain) else ("", part.digest)
    return flat


def write_parts(parts: Iterable[Part]) -> bytes:
    """Return parts in bytes: `flat_parts` as a JSON array."""
    return write_json(flat_parts(parts))


def read_parts(data: bytes) -> tuple[Part, ...] | Problem:
    """Return the parts that bytes say, or why they say none. Any bytes. Cost: O(length).

    A character that is spelled in another way than `write_parts` does is refused: it is a change too.
    """
    usual = _usual_parts(data)
    return _any_parts(data) if usual is None else usual


def _any_parts(data: bytes) -> tuple[Part, ...] | Problem:
    flat = read_json(data)
    if not isinstance(flat, list) or len(flat) % 2:
        return flat if isinstance(flat, Problem) else Problem("", "expected an array of salts and texts")
    parts: list[Part] = []
    pairs = iter(flat)
    for salt, text in zip(pairs, pairs, strict=True):
        if type(salt) is str and type(text) is str and len(salt) == SALT:
            parts.append(Plain(text, salt))
        elif salt == "" and DIGEST.fits(text):
            parts.append(Redacted(cast("str", text)))
        else:
            return Problem(
                f"[{2 * len(parts)}]", "expected a salt and a text, or the digest of a text taken out"
            )
    if (b"\\u" in data or b"\\/" in data) and write_parts(parts) != data:
        return Problem("", "a character is not spelled as mage spells it")
    return tuple(parts)


def _usual_parts(data: bytes) -> tuple[Part, ...] | None:
    """Return what `_any_parts` does for usual parts, else None: a fourth of the time to open a long journal is spent here."""
    if len(data) > _SHORT or data.count(b"\\") != data.count(b'\\"'):
        return None
    try:
        text = data.decode()
        flat, end = _scan(text, 0)
    except (ValueError, StopIteration):
        return None
    if end != len(text) or type(flat) is not list or len(flat) % 2 or set(map(type, flat)) != {str}:
        return None
    salts = flat[::2]
    return tuple(map(Plain, flat[1::2], salts)) if set(map(len, salts)) <= {SALT} else None

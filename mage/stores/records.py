"""Records, the chain that shows every change of a record, and commands as records and back.

A record has a `body`, the command without its texts, and `parts`, the texts, each with a salt of its own.
Digests are SHA-256, in hex:

    digest of a part    = over its salt (16 characters) and its text, in UTF-8
    digest of a record  = over these lines, joined by LF: the digest before, the version, the body, and the
                          digests of its parts in order

The digest before record 1 is that of `NOTHING`. Since the chain goes over the digests of texts, a text can be taken out
later (`redacted`) and all digests stay. Since each text has a salt, which is taken out with it, a short text cannot be guessed
from the digest that is left. No name is in the chain: a fork goes on from the digest at its fork point. A chain shows
accidents, and tampering by those who cannot write the head; it is no signature.

In a digest a lone surrogate is spelled in three bytes as other characters are (`surrogatepass`), not by an
escape as in JSON: a text that holds the six characters of an escape must not have the digest of another.

The body of a record is one of these, in this spelling and no other:

    {"op":"start"}                      texts: task
    {"op":"instruct","standing":true}   text
    {"op":"grow"}                       action, observation
    {"op":"walk","step":5}              none: a grow that walks into step 5, which is there already (D10)
    {"op":"compress","kind":"subgoal"}  text
    {"op":"retext"}                     text
    {"op":"pass"}                       none
    {"op":"fail","fault":"execution","boundary":null}   feedback
    {"op":"accept"}                     none
    {"op":"revise","boundary":3}        lesson
    {"op":"fold","first":0,"last":3}    text
    {"op":"note","kind":"decided"}      note

Such a body is a command in the spelling of `mage.codec`, without its texts and its digest, and of a verdict the verdict
alone. A note folds to no change: so a run of an agent keeps its answers and intents, in order with its commands. A grow that
is merged stores no payload again. A verdict or a fold stores no digest of its question: the writer held the head behind which
it is recorded, and that proves more; folding takes the state's own digest. So the redaction of a text, which changes the
question, makes no recorded verdict stale.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar, cast, final

import attrs
from returns.result import Success

from mage.codec.commands import COMMAND, VERDICT, command_document, command_from, verdict_of
from mage.codec.strict_json import DIGEST, TEXT, WHOLE, Leaf, Problem, Shape, read_json, tagged, write_json
from mage.engine.errors import MageError
from mage.engine.folding import fold_request
from mage.engine.ids import StepId
from mage.engine.journal import ApplyVerdict, Command, Fold, Grow, apply
from mage.engine.machine import Active, State, Unverified
from mage.engine.text import as_text, is_blank
from mage.stores.errors import BadMeta, BadNote, BadSource, DamagedRecord

Salts: TypeAlias = Callable[[], str]
"""Returns a new salt: 16 characters of ASCII that cannot be guessed."""

SALT: Final = 16
"""Characters of a salt: a fixed number, so that salt and text can be separated in one way only."""
_SHORT: Final = 900
"""So many bytes are nested no deeper than the parser can read."""
_scan: Final = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # as `raw_decode` calls it
_Given = TypeVar("_Given")


@final
class Checked(Generic[_Given]):
    """A clock or a source of salts that raises `BadSource` instead of returning a wrong value; called once when it is made."""

    def __init__(
        self, word: str, source: Callable[[], _Given], problem_of: Callable[[object], str | None]
    ) -> None:
        if not callable(source):
            raise BadSource(word, f"it is a {type(source).__name__}, which cannot be called")
        self._word, self._source, self._problem_of = word, source, problem_of
        self()

    def __call__(self) -> _Given:
        """Return the next value."""
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
    """Return a source that raises `BadSource` instead of returning a wrong salt. Calls `salts` once."""
    return salts if isinstance(salts, Checked) else Checked("salts", salts, _salt_problem)


def _salt_problem(given: object) -> str | None:
    if is_salt(given):
        return None
    # without the value, which may be a secret in the place of a salt
    what = f"{len(given)} characters" if isinstance(given, str) else f"a {type(given).__name__}"
    return f"a salt is {SALT} characters of ASCII, and it gave {what}"


@final
@attrs.frozen
class Head:
    """The end of a journal: the last version, and the digest of its record.

    Two journals with equal heads have the same records, but for texts that were redacted.
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
    """A text of a record, any string with joined surrogate pairs (D15), and the salt that hides the text in the digest."""

    text: str
    salt: str

    @property
    def digest(self) -> str:
        """The digest of salt and text. Cost: O(length), each time."""
        return hashlib.sha256((self.salt + self.text).encode("utf-8", "surrogatepass")).hexdigest()


@final
@attrs.frozen(weakref_slot=False)
class Redacted:
    """A text that was taken out: the digest of salt and text is left, and a marker stands for the text."""

    digest: str

    @property
    def text(self) -> str:
        """The marker, different for every redacted text, so that siblings still differ (I2)."""
        return f"[redacted {self.digest[:12]}]"

    @property
    def salt(self) -> None:
        """None: the salt was taken out with the text."""
        return


_MARKER: Final = re.compile(r"\[redacted [0-9a-f]{12}\]")


def is_marker(text: str) -> bool:
    """Tell whether a text is the marker of a redacted text."""
    return _MARKER.fullmatch(text) is not None


Part: TypeAlias = Plain | Redacted


@final
@attrs.frozen(weakref_slot=False)
class Record:
    """One command or note of a journal, as it is kept.

    Attributes:
        version: the version of the journal that it made, from 1.
        body: the command without its texts, in canonical JSON (see `mage.stores.records`).
        parts: the texts in order, then the meta, a JSON object.
        digest: the digest of the chain up to here.
        sealed_behind: the digest behind which `seal` has made the record, so that a store need not compute the chain
            again; None for other records.
    """

    version: int
    body: str
    parts: tuple[Part, ...]
    digest: str
    sealed_behind: str | None = attrs.field(default=None, init=False, eq=False, repr=False)

    @property
    def head(self) -> Head:
        """The head of a journal that ends with this record."""
        return Head(self.version, self.digest)


@final
@attrs.frozen
class Draft:
    """A record without a place: its body, and the texts of its parts."""

    body: str
    texts: tuple[str, ...]


def seal(before: Head, draft: Draft, salts: Salts) -> Record:
    """Return the record that follows `before`; raise `BadSource` for a wrong salt. Cost: O(length of the texts)."""
    parts = tuple([Plain(text, _answer("salts", salts, _salt_problem)) for text in draft.texts])
    version = before.version + 1
    record = Record(version, draft.body, parts, chained(before.digest, version, draft.body, parts))
    if all(as_text(text) is text for text in draft.texts):  # else no store takes the record
        object.__setattr__(record, "sealed_behind", before.digest)
    return record


def chained(before: str, version: int, body: str, parts: Sequence[Part]) -> str:
    """Return the digest of a record, given the digest before it. Cost: O(length of the texts)."""
    lines = [before, str(version), body]
    for part in parts:  # `Plain.digest` inlined: most of the time to open a long journal is spent here
        if type(part) is Plain:
            lines.append(hashlib.sha256((part.salt + part.text).encode("utf-8", "surrogatepass")).hexdigest())
        else:
            lines.append(part.digest)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def verify(before: Head, records: Iterable[Record], end: Head | None = None) -> Iterator[Record]:
    """Yield the records, each once it is known to be sound, in its place and chained to the one before.

    Args:
        before: the head behind which they begin: `NOTHING`, or that of a record verified earlier.
        records: the records in order.
        end: the head that they must lead to, if that is known.

    Yields:
        Each record unchanged. Cost: O(length of its texts).

    Raises:
        DamagedRecord: a record is not sound; the error names the first such version and the fault.
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
    """Return the record with the texts at these places of its parts redacted. Its digest stays.

    A blank text stays: that it is blank is no secret, and decides what a command does.
    """
    parts = list(record.parts)
    for place in places:
        part = parts[place]
        if not is_blank(part.text):
            parts[place] = Redacted(part.digest)
    return Record(record.version, record.body, tuple(parts), record.digest)


def flat_parts(parts: Iterable[Part]) -> list[str]:
    """Return two strings for each part: salt and text, or "" and the digest of a redacted text."""
    flat: list[str] = []
    for part in parts:
        flat += (part.salt, part.text) if isinstance(part, Plain) else ("", part.digest)
    return flat


def write_parts(parts: Iterable[Part]) -> bytes:
    """Return parts as bytes: `flat_parts` as a JSON array."""
    return write_json(flat_parts(parts))


def read_parts(data: bytes) -> tuple[Part, ...] | Problem:
    """Return the parts in bytes, or why there are none. Takes any bytes. Cost: O(length).

    A character in another spelling than that of `write_parts` is refused, because it shows a change.
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
    """Return the answer of `_any_parts` for usual parts, else None: a fourth of the time to open a long journal is spent here."""
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


# -- commands and notes as records and back -----------------------------------------------------------------


@final
@attrs.frozen
class Note:
    """A record that changes no state: a text between the commands of a journal.

    Attributes:
        kind: the kind of the text: a lower-case letter, then up to 39 lower-case letters, digits and underscores.
        text: any text.
    """

    kind: str
    text: str


NOTE: Final = '{"op":"note",'
"""The beginning of the body of a note."""
GROW: Final = '{"op":"grow"}'
"""The body of a record that adds a step; a walk has another body."""

_NOTE_KIND: Final = re.compile("[a-z][a-z0-9_]{0,39}")


def _is_note_kind(value: object) -> bool:
    return isinstance(value, str) and _NOTE_KIND.fullmatch(value) is not None


_FIELDS: Final[Mapping[str, Mapping[str, Shape]]] = {
    **{op: case.fields for op, case in COMMAND.cases.items() if op != "apply_verdict"},
    "walk": {"step": WHOLE},
    "pass": {},
    "fail": VERDICT.cases["failed"].fields,
    "note": {"kind": Leaf("the kind of a note", _is_note_kind), "note": TEXT},
}
"""The fields of each operation as in `mage.codec`, with the texts, and with the fields in `_BESIDE`."""
_TEXTS: Final = {
    op: tuple([key for key, shape in fields.items() if shape is TEXT]) for op, fields in _FIELDS.items()
}
_BESIDE: Final = ("op", "type", "digest")
_BODY: Final = tagged(
    "op",
    **{
        op: {key: fields[key] for key in fields if key not in (*_TEXTS[op], *_BESIDE)}
        for op, fields in _FIELDS.items()
    },
)


def draft(state: State | None, command: Command | Note, meta: Mapping[str, object]) -> Draft:
    """Return the draft of a record of a command, which `state` must accept, or of a note.

    Args:
        state: the state before the command; None before the start.
        command: the command, or the note.
        meta: a JSON object that is kept with the record and is no part of the state. By custom "at" is the time in
            microseconds.

    Returns:
        The draft, to be sealed. Cost: O(length of its texts).

    Raises:
        NotText, UnknownName, NotAnId: a value of the command is no text, no name or no id.
        BadNote: the note's kind is not allowed.
        BadMeta: `meta` is no JSON object, or one nested more than 100 deep.
    """
    body = _spelled_note(command) if isinstance(command, Note) else _spelled(state, command)
    texts = [cast("str", body.pop(name)) for name in _TEXTS[str(body["op"])]]
    return Draft(write_json(body).decode(), (*texts, _meta(meta)))


def _spelled_note(note: Note) -> dict[str, object]:
    if not _is_note_kind(note.kind):
        raise BadNote(str(note.kind))
    return {"op": "note", "kind": note.kind, "note": as_text(note.text)}


def _spelled(state: State | None, command: Command) -> dict[str, object]:
    """Return the body of a command, with the texts."""
    body = command_document(command)
    if isinstance(command, Grow):
        known = _known_child(state, str(body["action"]), str(body["observation"]))
        return body if known is None else {"op": "walk", "step": known}
    if isinstance(command, ApplyVerdict):
        verdict = body["verdict"]
        return {"op": "pass" if verdict.pop("type") == "passed" else "fail", **verdict}
    body.pop("digest", None)
    return body


def _known_child(state: State | None, action: str, observation: str) -> StepId | None:
    return None if state is None else state.tree.child_with(state.tree.step_head, (action, observation))


def _meta(meta: Mapping[str, object]) -> str:
    if not isinstance(meta, Mapping):
        raise BadMeta(f"it is a {type(meta).__name__}")
    try:
        given = dict(meta)
        spelled = as_text(_SPELLER.encode(given))
        _require_shallow(given)  # after encoding, which refuses circles
        # joined surrogate pairs may change the place of a key, or make two keys one
        return spelled if spelled.isascii() else as_text(_SPELLER.encode(json.loads(spelled)))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadMeta(str(error)) from error


def _require_shallow(meta: dict[str, object]) -> None:
    level: list[_Container] = [meta]
    for _ in range(_DEEPEST):
        inside = chain.from_iterable(each.values() if isinstance(each, dict) else each for each in level)
        level = [inner for inner in inside if isinstance(inner, dict | list | tuple)]
        if not level:
            return
    raise BadMeta(f"it is nested more than {_DEEPEST} deep")


_Container: TypeAlias = dict[str, object] | list[object] | tuple[object, ...]

_DEEPEST: Final = 100
"""The most levels of nesting in meta: so many can be read on any stack."""
_SPELLER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)


def meta_of(record: Record) -> dict[str, object]:
    """Return the meta of a record; {} where it was redacted. Cost: O(length of the meta).

    Raises:
        DamagedRecord: the meta is no JSON object.
        RecursionError: the meta is nested deeper than this stack can read; `draft` makes none such. The record is sound.
    """
    if not record.parts:
        raise DamagedRecord(record.version, "it has no part for what goes with it")
    part = record.parts[-1]
    if isinstance(part, Redacted):
        return {}
    try:
        meta = json.loads(part.text)
    except ValueError as error:
        raise DamagedRecord(record.version, f"what goes with it is not JSON: {error}") from error
    if not isinstance(meta, dict):
        raise DamagedRecord(record.version, "what goes with it is no JSON object")
    return cast("dict[str, object]", meta)


class _Body(NamedTuple):
    op: str
    fields: dict[str, Any]
    texts: tuple[str, ...]
    """Their names, in order."""


@lru_cache(maxsize=4096)
def _read_body(body: str) -> _Body | Problem:
    document = read_json(body.encode(errors="surrogatepass"))
    problem = document if isinstance(document, Problem) else _BODY.problem(document)
    if problem is not None:
        return problem
    fields = cast("dict[str, Any]", document)
    op = fields.pop("op")
    ordered = {"op": op, **{key: fields[key] for key in _BODY.cases[op].fields if key != "op"}}
    if write_json(ordered).decode() != body:
        return Problem("", "not in the spelling that mage writes")
    return _Body(op, fields, _TEXTS[op])


def _command_in(state: State | None, body: _Body, texts: tuple[str, ...]) -> Command | Note | str:
    """Return the command or note of a body and its texts in the state before it, or why there is none."""
    match body.op:
        case "grow":
            known = _known_child(state, texts[0], texts[1])
            if known is not None:
                return f"it says that it adds a step, but step {known} has the same content"
            return Grow(texts[0], texts[1])
        case "walk":
            return _walking(state, StepId(body.fields["step"]))
        case "note":
            if state is None:
                return "it is a note, and the journal has not begun"
            return Note(body.fields["kind"], texts[0])
        case "pass" | "fail":
            if not isinstance(state, Unverified):
                return "it is a verdict, but no summary is pending"
            said = {"type": f"{body.op}ed", **body.fields, **dict(zip(body.texts, texts, strict=True))}
            return ApplyVerdict(verdict_of(said), state.digest)
        case "fold":
            return _folding(state, StepId(body.fields["first"]), StepId(body.fields["last"]), texts[0])
        case _:
            said = {"op": body.op, **body.fields, **dict(zip(body.texts, texts, strict=True))}
            return command_from(said)


def _walking(state: State | None, step: StepId) -> Command | str:
    if state is None or step >= state.tree.next_step or state.tree.step(step).parent != state.tree.step_head:
        return f"it walks into step {step}, which is not below the step head"
    return Grow(*state.tree.step(step).content)


def _folding(state: State | None, first: StepId, last: StepId, text: str) -> Command | str:
    if not isinstance(state, Active):
        return "it is a fold, and the summary head is not trusted"
    request = fold_request(state, first, last, text)
    asked = request.value_or(None)
    return str(request.failure()) if asked is None else Fold(first, last, text, asked.digest)


def _body_of(record: Record) -> _Body:
    body = _read_body(record.body)
    if isinstance(body, Problem):
        raise DamagedRecord(record.version, f"its body is no command: {body.as_error()}")
    if len(record.parts) != len(body.texts) + 1:
        raise DamagedRecord(record.version, f"a {body.op} has {len(body.texts)} texts and its meta")
    return body


def text_names(record: Record) -> tuple[str, ...]:
    """Return the names of a record's parts, such as `("action", "observation", "meta")`.

    Raises:
        DamagedRecord: the body is no command, or has other texts.
    """
    return (*_body_of(record).texts, "meta")


def operation_of(record: Record) -> tuple[str, str]:
    """Return the operation of a record, and the kind of a note, else ""; raise `DamagedRecord` for another body."""
    body = _body_of(record)
    return body.op, body.fields["kind"] if body.op == "note" else ""


def command_of(state: State | None, record: Record) -> Command | Note:
    """Return the command or the note of a record, in the state before it. Cost: O(1).

    Raises:
        DamagedRecord: the record has none that fits the state.
    """
    body = _body_of(record)
    texts = record.parts[: len(body.texts)]  # the last part is its meta
    command = _command_in(state, body, tuple([part.text for part in texts]))
    if isinstance(command, str):
        raise DamagedRecord(record.version, command)
    return command


def fold(records: Iterable[Record], state: State | None = None) -> State:
    """Return the state that records lead to (L8); notes change no state. Cost: the sum of the commands' costs.

    Args:
        records: the records in order; they are not verified (`verify` yields verified records).
        state: the state before them; None where the first is the start.

    Raises:
        DamagedRecord: the state before a record refuses the record's command; or there is no start.
    """
    for record in records:
        command = command_of(state, record)
        if isinstance(command, Note):
            continue
        try:
            result = apply(state, command)
        except MageError as error:
            raise DamagedRecord(record.version, str(error)) from error
        if not isinstance(result, Success):
            raise DamagedRecord(record.version, str(result.failure()))
        state = result.unwrap()
    if state is None:
        raise DamagedRecord(1, "there is no start")
    return state

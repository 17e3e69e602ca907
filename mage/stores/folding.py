"""Commands and notes as records and back: `draft` on the way in, `fold` on the way out.

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

Such a body is a command in the spelling of `mage.codec`, without its texts and its digest, and of a verdict the verdict.
A note folds to no change: an agent's run keeps its answers and intents so, in order with its commands.
A grow that is merged stores no payload again. A verdict or a fold stores no digest of its question: the writer held the
very head that the verdict was recorded on, which says more; folding takes the state's own digest. So a text
that is redacted, which changes the question, does not make what was recorded stale.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias, cast, final

import attrs
from returns.result import Success

from mage.codec.commands import COMMAND, VERDICT, command_document, command_from, verdict_of
from mage.codec.shapes import TEXT, WHOLE, Leaf, Shape, tagged
from mage.codec.strict_json import Problem, read_json, write_json
from mage.engine.errors import MageError
from mage.engine.folding import fold_request
from mage.engine.ids import StepId
from mage.engine.journal import ApplyVerdict, Command, Fold, Grow, apply
from mage.engine.machine import Active, State, Unverified
from mage.engine.text import as_text
from mage.stores.errors import BadMeta, BadNote, DamagedRecord
from mage.stores.records import Draft, Record, Redacted


@final
@attrs.frozen
class Note:
    """A record that changes nothing: a text that stands between the commands of a journal.

    Attributes:
        kind: what the text is: a lower-case letter, then up to 39 lower-case letters, digits and underscores.
        text: any text.
    """

    kind: str
    text: str


NOTE: Final = '{"op":"note",'
"""How the body of a note begins."""
GROW: Final = '{"op":"grow"}'
"""The body of a record that adds a step, if it changes anything: a walk has its own."""

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
"""What each operation says, with texts, as the codec has it, and what else stands beside it there."""
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
    """Return what records `command`, which is legal in `state` and not refused by it; or a note.

    Args:
        state: the state before it; None before the start.
        command: the command, or the note.
        meta: what goes with the record and is not part of the state: a JSON object. By custom "at" is the
            time in microseconds.

    Returns:
        The draft, to be sealed. Cost: O(length of its texts).

    Raises:
        NotText, UnknownName, NotAnId: the command holds what no command can.
        BadNote: the note's kind is none.
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
    """Return the body of a command, its texts in it."""
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
        _require_shallow(given)  # only now: what can be spelled has an end
        # Joining the surrogate pairs of a key may change its place, or make it another key's twin.
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
"""Levels of nesting of meta: so many can be read on any stack."""
_SPELLER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)


def meta_of(record: Record) -> dict[str, object]:
    """Return what goes with a record; empty where it was redacted. Cost: O(its length).

    Raises:
        DamagedRecord: it is no JSON object.
        RecursionError: it is nested deeper than this stack can read, as `draft` writes none. The record is sound.
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
    """Return the command that a body and its texts say in the state before it; a string says why there is none."""
    match body.op:
        case "grow":
            known = _known_child(state, texts[0], texts[1])
            if known is not None:
                return f"it says that it adds a step, but step {known} has the same content"
            return Grow(texts[0], texts[1])
        case "walk":
            return _walking(state, StepId(body.fields["step"]))
        case "note":
            return (
                "it is a note, and the journal has not begun"
                if state is None
                else Note(body.fields["kind"], texts[0])
            )
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
    """Return what each part of a record is, such as `("action", "observation", "meta")`.

    Raises:
        DamagedRecord: the body is no command, or has other texts.
    """
    return (*_body_of(record).texts, "meta")


def operation_of(record: Record) -> tuple[str, str]:
    """Return the operation that a record's body names, and of a note its kind, else nothing; `DamagedRecord` for none."""
    body = _body_of(record)
    return body.op, body.fields["kind"] if body.op == "note" else ""


def command_of(state: State | None, record: Record) -> Command | Note:
    """Return the command or the note that a record says in the state before it. Cost: O(1).

    Raises:
        DamagedRecord: it says none that could be carried out there.
    """
    body = _body_of(record)
    texts = record.parts[: len(body.texts)]  # the last part is its meta
    command = _command_in(state, body, tuple([part.text for part in texts]))
    if isinstance(command, str):
        raise DamagedRecord(record.version, command)
    return command


def fold(records: Iterable[Record], state: State | None = None) -> State:
    """Return the state that records lead to (L8); notes lead nowhere. Cost: the sum of their commands.

    Args:
        records: in order; they are not verified (`verify` yields them verified).
        state: the state before them; None where the first is the start.

    Raises:
        DamagedRecord: the first that its own state refuses, and why; or there is none at all.
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

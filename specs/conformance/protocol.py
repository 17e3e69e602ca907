"""The wire protocol: a request a line, an answer a line, each a JSON object. PROTOCOL.md has it in words.

    {"on":0,"command":{"op":"start","task":"t"}}           {"state":1,"fingerprint":"8f3..."}
    {"on":1,"command":{"op":"compress",...}}               {"refused":"EmptySegment","boundary":0}
    {"show":1}                                             the canonical JSON of state 1
    {"forget":true}                                        {"state":0}

What is no request is answered with `{"error":"..."}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NotRequired, TypeAlias, TypedDict, cast, final

import attrs

from mage.codec.commands import COMMAND, command_document, read_command
from mage.codec.strict_json import (
    DIGEST,
    FLAG,
    TEXT,
    WHOLE,
    Array,
    Json,
    Leaf,
    Nullable,
    Object,
    Problem,
    mismatch,
    read_json,
    tagged,
    write_json,
)
from specs.conformance.implementation import Answer, Detail, Reached, Refused, Request

FORGET: Final = b'{"forget":true}'
"""Drop all states; numbers begin anew."""
FORGOTTEN: Final = b'{"state":0}'
"""The answer to `FORGET`."""


@final
@attrs.frozen
class Show:
    """Ask for the canonical JSON of the state with this number."""

    state: int


Asked: TypeAlias = Request | Show | None
"""A request: a command, a state to be shown, or None for `FORGET`."""


@final
@attrs.frozen
class _Pair:
    """The shape of two values in a list.

    Attributes:
        first: the shape of the first.
        second: the shape of the second.
        words: what the two are.
    """

    first: Leaf
    second: Leaf
    words: str

    def problem(self, value: Json) -> Problem | None:
        """Return the first problem of `value`, None if it fits."""
        if not isinstance(value, list) or len(value) != 2:
            return Problem("", f"expected {self.words}")
        return self.first.problem(value[0]) or self.second.problem(value[1])


_LEFT: Final = _Pair(TEXT, FLAG, "a text and whether it stands")
"""An instruction left behind."""
_LINE: Final = _Pair(WHOLE, WHOLE, "a label and a boundary")
"""A line of C by its name."""

_REFUSALS: Final = tagged(
    "refused",
    EmptySegment={"boundary": WHOLE},
    UnknownBoundary={"legal": Array(WHOLE)},
    UnfoldableRange={"lines": Array(_LINE)},
    StaleVerdict={"expected": Nullable(DIGEST)},
    BlankSummary={},
    BlankFeedback={},
    BlankInstruction={},
    IllegalPhase={},
)
"""What a refused command is answered with."""
_DETAILS: Final = {
    "EmptySegment": "boundary",
    "UnknownBoundary": "legal",
    "UnfoldableRange": "lines",
    "StaleVerdict": "expected",
}


_REACHED: Final = Object({"state": WHOLE, "fingerprint": DIGEST})
_REVISED: Final = Object({**_REACHED.fields, "abandoned": Array(WHOLE), "instructions": Array(_LEFT)})
_FORGOTTEN: Final = Object({"state": Leaf("0", lambda value: type(value) is int and value == 0)})
_COMMANDED: Final = Object({"on": WHOLE, "command": COMMAND})
_SHOW: Final = Object({"show": WHOLE})
_FORGET: Final = Object({"forget": Leaf("true", lambda value: value is True)})


def write_request(asked: Asked) -> bytes:
    """Return a request as a line, without its newline. Cost: O(size).

    Raises:
        NotText, UnknownName: the command could not be read back, as `mage.codec.encode_command`.
    """
    if asked is None:
        return FORGET
    if isinstance(asked, Show):
        return write_json({"show": asked.state})
    return write_json({"on": asked.on, "command": command_document(asked.command)})


def read_request(line: bytes) -> Asked | Problem:
    """Return the request that a line says, or why it says none. Any bytes. Cost: O(length)."""
    document = read_json(line)
    if isinstance(document, Problem):
        return document
    if not isinstance(document, dict):
        return mismatch("an object", document)
    if "forget" in document:
        return _FORGET.problem(document)
    if "show" in document:
        return _SHOW.problem(document) or Show(cast("int", document["show"]))
    problem = _COMMANDED.problem(document)
    if problem is not None:
        return problem
    command = read_command(write_json(document["command"]))
    return command if isinstance(command, Problem) else Request(cast("int", document["on"]), command)


def write_answer(answer: Answer) -> bytes:
    """Return an answer as a line, without its newline. Cost: O(size)."""
    if isinstance(answer, Refused):
        key = _DETAILS.get(answer.refusal)
        detail = {} if key is None else {key: answer.detail}
        return write_json({"refused": answer.refusal, **detail})
    reached: dict[str, object] = {"state": answer.state, "fingerprint": answer.fingerprint}
    if answer.abandoned is not None:
        reached.update(abandoned=answer.abandoned, instructions=answer.instructions)
    return write_json(reached)


def write_error(why: str) -> bytes:
    """Return the answer to what is no request, as a line without its newline. Cost: O(length)."""
    return write_json({"error": why})


def read_answer(line: bytes) -> Answer | Problem:
    """Return the answer to a command that a line says, or why it says none. Any bytes. Cost: O(length)."""
    document = read_json(line)
    if isinstance(document, Problem):
        return document
    if not isinstance(document, dict):
        return mismatch("an object", document)
    if "error" in document:
        return Problem("", f"an error: {document['error']}")
    if "refused" in document:
        return _REFUSALS.problem(document) or _refused(document)
    shape = _REVISED if "abandoned" in document or "instructions" in document else _REACHED
    return shape.problem(document) or _reached(cast("_ReachedDocument", document))


def _refused(document: Mapping[str, Json]) -> Refused:
    """Return the refusal that fits its shape."""
    refusal = cast("str", document["refused"])
    return Refused(refusal, cast("Detail", _frozen(document.get(_DETAILS.get(refusal, "")))))


def _frozen(detail: Json) -> object:
    """Return what a refusal says, its lists as tuples."""
    return tuple([_frozen(each) for each in detail]) if isinstance(detail, list) else detail


class _ReachedDocument(TypedDict):
    """`Reached` in JSON, as far as it is always there."""

    state: int
    fingerprint: str
    abandoned: NotRequired[list[int]]
    instructions: NotRequired[list[tuple[str, bool]]]


def _reached(document: _ReachedDocument) -> Reached:
    """Return what fits the shape of a command that was accepted."""
    abandoned, left = document.get("abandoned"), document.get("instructions")
    return Reached(
        document["state"],
        document["fingerprint"],
        None if abandoned is None else tuple(abandoned),
        None if left is None else tuple([(text, standing) for text, standing in left]),
    )


def is_forgotten(line: bytes) -> bool:
    """Tell whether a line is the answer to `FORGET`. Any bytes. Cost: O(length)."""
    document = read_json(line)
    return not isinstance(document, Problem) and _FORGOTTEN.problem(document) is None

"""Verdicts, commands and journals in JSON.

A verdict is an object such as `{"type":"passed"}` or `{"type":"failed","feedback":...,"fault":...,"boundary":null}`. A
command is an object whose `op` names the operation; every field is always written.

    {"format":"mage-journal","version":1}
    {"op":"start","task":"Furnish the study"}
    {"op":"grow","action":"search[desk]","observation":"three desks"}

A line ends at the byte LF only: U+2028 and similar characters stand in strings as they are. The last line ends with LF
too, so that a file that was cut differs from a whole one. A CR before the LF is accepted: JSON takes it for white space, and
it cannot stand in a string unescaped, so a journal with CRLF ends means the same. Blank lines are refused: mage writes none,
so something was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, assert_never, cast

from returns.result import Failure, Result, Success

from mage.codec.strict_json import (
    DIGEST,
    FLAG,
    FORMAT_VERSION,
    KIND,
    TEXT,
    WHOLE,
    WORDS,
    DecodeError,
    Nullable,
    Object,
    Problem,
    Shape,
    header,
    header_problem,
    name,
    read_json,
    require_fit,
    tagged,
    write_json,
    written_step,
)
from mage.engine import journal
from mage.engine.journal import Command
from mage.engine.nodes import (
    FAULTS,
    Accepted,
    Failed,
    Passed,
    Pending,
    SummaryVerdict,
    Verdict,
    as_fault,
    as_kind,
)
from mage.engine.text import as_text

Document: TypeAlias = dict[str, Any]
"""A JSON object that fits a shape, which says more of the fields than a type can."""

# -- verdicts --------------------------------------------------------------------------------------------

_FAILED: Final[dict[str, Shape]] = {"feedback": WORDS, "fault": name(*FAULTS), "boundary": Nullable(WHOLE)}

VERDICT: Final = tagged("type", passed={}, failed={**_FAILED, "feedback": TEXT})
"""A judge's answer. Blank feedback fits: the engine refuses it (`BlankFeedback`)."""
SUMMARY_VERDICT: Final = tagged(
    "type",
    pending={},
    passed={},
    failed=_FAILED,
    accepted={"despite": Nullable(tagged("type", failed=_FAILED))},
)
"""The verdict of a summary in a tree."""


def verdict_document(verdict: Verdict) -> Document:
    """Return a judge's answer as JSON; raise `NotText` or `UnknownName` for a value that could not be read back."""
    if isinstance(verdict, Passed):
        return {"type": "passed"}
    feedback, fault = as_text(verdict.feedback), as_fault(verdict.fault)
    boundary = None if verdict.boundary is None else written_step(verdict.boundary)
    return {"type": "failed", "feedback": feedback, "fault": fault, "boundary": boundary}


def verdict_of(document: Mapping[str, Any]) -> Verdict:
    """Return the verdict in a document that fits the shape `VERDICT`."""
    if document["type"] == "passed":
        return Passed()
    return Failed(document["feedback"], document["fault"], document["boundary"])


def summary_verdict_document(verdict: SummaryVerdict) -> Document:
    """Return the verdict of a summary as JSON."""
    match verdict:
        case Pending():
            return {"type": "pending"}
        case Accepted(despite=despite):
            return {"type": "accepted", "despite": despite and verdict_document(despite)}
        case Passed() | Failed():
            return verdict_document(verdict)
        case _:
            assert_never(verdict)


def summary_verdict_of(document: Mapping[str, Any]) -> SummaryVerdict:
    """Return the verdict in a document that fits the shape `SUMMARY_VERDICT`."""
    if document["type"] == "pending":
        return Pending()
    if document["type"] == "accepted":
        despite = document["despite"]
        return Accepted(despite and cast("Failed", verdict_of(despite)))
    return verdict_of(document)


# -- commands --------------------------------------------------------------------------------------------


class _Field(NamedTuple):
    """A field of a command: its shape, and the function that makes JSON of its value. All but verdicts are read as they are."""

    shape: Shape
    write: Callable[[Any], object]


def _written_digest(digest: str) -> str:
    require_fit("digest", digest, DIGEST)
    return digest


_TEXT: Final = _Field(TEXT, as_text)
_FLAG: Final = _Field(FLAG, bool)
_KIND: Final = _Field(KIND, as_kind)
_STEP: Final = _Field(WHOLE, written_step)
_DIGEST: Final = _Field(DIGEST, _written_digest)
_VERDICT: Final = _Field(VERDICT, verdict_document)

_COMMANDS: Final[Mapping[str, tuple[type[Command], dict[str, _Field]]]] = {
    "start": (journal.Start, {"task": _TEXT}),
    "instruct": (journal.Instruct, {"text": _TEXT, "standing": _FLAG}),
    "grow": (journal.Grow, {"action": _TEXT, "observation": _TEXT}),
    "compress": (journal.Compress, {"text": _TEXT, "kind": _KIND}),
    "retext": (journal.Retext, {"text": _TEXT}),
    "apply_verdict": (journal.ApplyVerdict, {"verdict": _VERDICT, "digest": _DIGEST}),
    "accept": (journal.Accept, {}),
    "revise": (journal.Revise, {"boundary": _STEP, "lesson": _TEXT}),
    "fold": (journal.Fold, {"first": _STEP, "last": _STEP, "text": _TEXT, "digest": _DIGEST}),
}
"""The command of each operation, and the command's fields in order."""
_WRITTEN: Final = {
    kind: (op, [(key, field.write) for key, field in fields.items()])
    for op, (kind, fields) in _COMMANDS.items()
}

COMMAND: Final = tagged(
    "op",
    **{op: {key: field.shape for key, field in fields.items()} for op, (_, fields) in _COMMANDS.items()},
)
"""A line of a journal. Blank texts fit: the engine refuses them where the journal is replayed."""


def encode_command(command: Command) -> str:
    r"""Return a command as one line of JSON, without a newline.

    `decode_command` returns an equal command, with surrogate pairs joined as in the tree (D15). Lone surrogates are written
    as escapes, `\ud800`, so that the line is valid UTF-8. Cost: O(size).

    Raises:
        NotText: a text is not a string.
        UnknownName: a kind, a fault, a digest or a boundary could not be read back.
    """
    return write_json(command_document(command)).decode()


def decode_command(line: str | bytes) -> Result[Command, DecodeError]:
    """Return the command in a line, or why there is none. Takes any bytes and any string.

    White space around the object, such as a newline, is accepted, as in JSON. Cost: O(length).
    """
    try:
        data = line.encode() if isinstance(line, str) else line
    except UnicodeEncodeError as error:
        where = f"not UTF-8: found a surrogate that is not escaped, at character {error.start + 1}"
        return Failure(DecodeError("$", where))
    read = read_command(data)
    return Failure(read.as_error()) if isinstance(read, Problem) else Success(read)


def read_command(data: bytes) -> Command | Problem:
    """Return the command in `data`, or why there is none."""
    document = read_json(data)
    if isinstance(document, Problem):
        return document
    return COMMAND.problem(document) or command_from(cast("Document", document))


def command_document(command: Command) -> Document:
    """Return a command as JSON; raises as `encode_command` does."""
    op, fields = _WRITTEN[type(command)]
    document: Document = {"op": op}
    for key, write in fields:
        document[key] = write(getattr(command, key))
    return document


def command_from(document: Document) -> Command:
    """Return the command in a document that fits the shape `COMMAND`."""
    kind, fields = _COMMANDS[document["op"]]
    given = list(map(document.__getitem__, fields))
    if kind is journal.ApplyVerdict:
        given[0] = verdict_of(given[0])
    return kind(*given)


# -- journals -----------------------------------------------------------------------------------------------


JOURNAL_FORMAT: Final = "mage-journal"
_HEADER: Final = Object(header(JOURNAL_FORMAT))


def encode_journal(commands: Iterable[Command]) -> Iterator[bytes]:
    """Yield the lines of a journal, header first, each with its newline. Cost: O(size), lazily.

    Raises:
        NotText, UnknownName: as `encode_command`, at the command that could not be read back.
    """
    yield write_json({"format": JOURNAL_FORMAT, "version": FORMAT_VERSION}) + b"\n"
    for command in commands:
        yield write_json(command_document(command)) + b"\n"


def decode_journal(data: bytes | Iterable[bytes]) -> Result[tuple[Command, ...], DecodeError]:
    """Return the commands of a journal, or the first line that has none, and why. Takes any bytes.

    Whether the engine takes the commands in this order is not checked; `replay` tells.

    Args:
        data: a whole file, or its lines with their newlines, as a file opened in binary mode yields them.

    Returns:
        The commands, or the error with its line and the number of sound commands before it. Cost: O(size).
    """
    lines = _lines(data)
    first = next(lines, None)
    if first is None:
        return Failure(Problem("", "the journal is empty, expected its header").as_error(1))
    problem = _broken(first) or _header(first[:-1])
    if problem is not None:
        return Failure(problem.as_error(1))
    commands: list[Command] = []
    for number, line in enumerate(lines, start=2):
        read = _broken(line) or read_command(line[:-1])
        if isinstance(read, Problem):
            return Failure(read.as_error(number, len(commands)))
        commands.append(read)
    return Success(tuple(commands))


def _lines(data: bytes | Iterable[bytes]) -> Iterator[bytes]:
    if not isinstance(data, bytes):
        yield from data
        return
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _broken(line: bytes) -> Problem | None:
    """Return why a line is not whole, None if it is."""
    end = line.find(b"\n")
    if end == -1:
        return Problem("", "the line is cut: no newline ends it")
    if end != len(line) - 1:
        return Problem("", f"found a newline inside the line, at byte {end + 1}")
    if line.isspace():
        return Problem("", "the line is blank")
    return None


def _header(line: bytes) -> Problem | None:
    document = read_json(line)
    if isinstance(document, Problem):
        return document
    return header_problem(document, JOURNAL_FORMAT) or _HEADER.problem(document)

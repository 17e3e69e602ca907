"""Verdicts, commands and journals in JSON.

A verdict is `{"type":"passed"}`, `{"type":"failed","feedback":...,"fault":...,"boundary":null}` and so on: a journal
holds what a judge answered, a tree what a summary carries. A command is one object, whose `op` names the operation;
every field is written, always.

    {"format":"mage-journal","version":1}
    {"op":"start","task":"Furnish the study"}
    {"op":"grow","action":"search[desk]","observation":"three desks"}

A line ends at the byte LF and nowhere else: U+2028 and its like stand in strings as they are. The last line
has its LF too, so that a file whose writing was cut short differs from a whole one. A CR before the LF is
let pass: it is white space to JSON and cannot stand in a string unescaped, so a journal that some tool gave
CRLF ends says exactly what it said before. Blank lines are refused: mage writes none, so something was lost.
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
"""A JSON object that fits the shape of what it is read as; a shape says more of its fields than a type can."""

# -- verdicts --------------------------------------------------------------------------------------------

_FAILED: Final[dict[str, Shape]] = {"feedback": WORDS, "fault": name(*FAULTS), "boundary": Nullable(WHOLE)}

VERDICT: Final = tagged("type", passed={}, failed={**_FAILED, "feedback": TEXT})
"""What a judge answered; that feedback is not blank is the engine's to say (`BlankFeedback`)."""
SUMMARY_VERDICT: Final = tagged(
    "type",
    pending={},
    passed={},
    failed=_FAILED,
    accepted={"despite": Nullable(tagged("type", failed=_FAILED))},
)
"""What a summary carries."""


def verdict_document(verdict: Verdict) -> Document:
    """Return a judge's answer in JSON; raise `NotText` or `UnknownName` where it could not be read back."""
    if isinstance(verdict, Passed):
        return {"type": "passed"}
    feedback, fault = as_text(verdict.feedback), as_fault(verdict.fault)
    boundary = None if verdict.boundary is None else written_step(verdict.boundary)
    return {"type": "failed", "feedback": feedback, "fault": fault, "boundary": boundary}


def verdict_of(document: Mapping[str, Any]) -> Verdict:
    """Return the verdict that fits the shape `VERDICT`."""
    if document["type"] == "passed":
        return Passed()
    return Failed(document["feedback"], document["fault"], document["boundary"])


def summary_verdict_document(verdict: SummaryVerdict) -> Document:
    """Return in JSON what a summary carries."""
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
    """Return the verdict that fits the shape `SUMMARY_VERDICT`."""
    if document["type"] == "pending":
        return Pending()
    if document["type"] == "accepted":
        despite = document["despite"]
        return Accepted(despite and cast("Failed", verdict_of(despite)))
    return verdict_of(document)


# -- commands --------------------------------------------------------------------------------------------


class _Field(NamedTuple):
    """A field of a command: its shape, and how a value of it is written. All but a verdict are read as they stand."""

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
"""Each operation: its command, and the command's fields in their order."""
_WRITTEN: Final = {
    kind: (op, [(key, field.write) for key, field in fields.items()])
    for op, (kind, fields) in _COMMANDS.items()
}

COMMAND: Final = tagged(
    "op",
    **{op: {key: field.shape for key, field in fields.items()} for op, (_, fields) in _COMMANDS.items()},
)
"""A line of a journal. Whether a text may be blank is the engine's to say, when the journal is replayed."""


def encode_command(command: Command) -> str:
    r"""Return a command as one line of JSON, without a newline.

    `decode_command` gives an equal command back. (Strings come back as the tree keeps them: surrogate
    pairs joined, D15. Lone surrogates are written as escapes, `\ud800`, so the line is good UTF-8.)
    Cost: O(size).

    Raises:
        NotText: a text is not a string.
        UnknownName: a kind, a fault, a digest or a boundary could not be read back.
    """
    return write_json(command_document(command)).decode()


def decode_command(line: str | bytes) -> Result[Command, DecodeError]:
    """Return the command that a line says, or why it says none. Any bytes, any string.

    A newline or other white space around the object is let pass, as JSON has it. Cost: O(length).
    """
    try:
        data = line.encode() if isinstance(line, str) else line
    except UnicodeEncodeError as error:
        where = f"not UTF-8: found a surrogate that is not escaped, at character {error.start + 1}"
        return Failure(DecodeError("$", where))
    read = read_command(data)
    return Failure(read.as_error()) if isinstance(read, Problem) else Success(read)


def read_command(data: bytes) -> Command | Problem:
    """Return the command that `data` says, or the problem that keeps it from being one."""
    document = read_json(data)
    if isinstance(document, Problem):
        return document
    return COMMAND.problem(document) or command_from(cast("Document", document))


def command_document(command: Command) -> Document:
    """Return a command in JSON; raises as `encode_command` does."""
    op, fields = _WRITTEN[type(command)]
    document: Document = {"op": op}
    for key, write in fields:
        document[key] = write(getattr(command, key))
    return document


def command_from(document: Document) -> Command:
    """Return the command that fits the shape `COMMAND`."""
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
    """Return the commands of a journal, or the first line that is not one, and why. Any bytes.

    That the engine takes the commands in this order is not asked here; `replay` says so.

    Args:
        data: a whole file, or its lines with their newlines, as a file opened in binary mode yields them.

    Returns:
        The commands, or the error with its line and the number of sound commands before it.
        Cost: O(size).
    """
    lines = _lines(data)
    first = next(lines, None)
    if first is None:
        return Failure(Problem("", "the journal is empty, expected its header").at_line(1, 0))
    problem = _broken(first) or _header(first[:-1])
    if problem is not None:
        return Failure(problem.at_line(1, 0))
    commands: list[Command] = []
    for number, line in enumerate(lines, start=2):
        read = _broken(line) or read_command(line[:-1])
        if isinstance(read, Problem):
            return Failure(read.at_line(number, len(commands)))
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
    """Return why a line is no line, None if it is one."""
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

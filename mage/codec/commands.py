"""Commands in JSON: one object each, whose `op` names the operation; every field is written, always."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, TypedDict, assert_never, cast

from returns.result import Failure, Result, Success

from mage.codec.problems import DecodeError, Problem
from mage.codec.shapes import DIGEST, FLAG, TEXT, WHOLE, name, require_fit, tagged, written_step
from mage.codec.strict_json import read_json, write_json
from mage.codec.verdicts import VERDICT, VerdictDocument, verdict_document, verdict_of
from mage.engine.ids import Digest, StepId
from mage.engine.journal import (
    Accept,
    ApplyVerdict,
    Command,
    Compress,
    Fold,
    Grow,
    Instruct,
    Retext,
    Revise,
    Start,
)
from mage.engine.nodes import KINDS, Kind, as_kind
from mage.engine.text import as_text

_KIND: Final = name(*KINDS)

COMMAND: Final = tagged(
    "op",
    start={"task": TEXT},
    instruct={"text": TEXT, "standing": FLAG},
    grow={"action": TEXT, "observation": TEXT},
    compress={"text": TEXT, "kind": _KIND},
    retext={"text": TEXT},
    apply_verdict={"verdict": VERDICT, "digest": DIGEST},
    accept={},
    revise={"boundary": WHOLE, "lesson": TEXT},
    fold={"first": WHOLE, "last": WHOLE, "text": TEXT, "digest": DIGEST},
)
"""A line of a journal. Whether a text may be blank is the engine's to say, when the journal is replayed."""


class StartDocument(TypedDict):
    """`Start` in JSON."""

    op: Literal["start"]
    task: str


class InstructDocument(TypedDict):
    """`Instruct` in JSON."""

    op: Literal["instruct"]
    text: str
    standing: bool


class GrowDocument(TypedDict):
    """`Grow` in JSON."""

    op: Literal["grow"]
    action: str
    observation: str


class CompressDocument(TypedDict):
    """`Compress` in JSON."""

    op: Literal["compress"]
    text: str
    kind: Kind


class RetextDocument(TypedDict):
    """`Retext` in JSON."""

    op: Literal["retext"]
    text: str


class ApplyVerdictDocument(TypedDict):
    """`ApplyVerdict` in JSON."""

    op: Literal["apply_verdict"]
    verdict: VerdictDocument
    digest: str


class AcceptDocument(TypedDict):
    """`Accept` in JSON."""

    op: Literal["accept"]


class ReviseDocument(TypedDict):
    """`Revise` in JSON."""

    op: Literal["revise"]
    boundary: int
    lesson: str


class FoldDocument(TypedDict):
    """`Fold` in JSON."""

    op: Literal["fold"]
    first: int
    last: int
    text: str
    digest: str


CommandDocument: TypeAlias = (
    StartDocument
    | InstructDocument
    | GrowDocument
    | CompressDocument
    | RetextDocument
    | ApplyVerdictDocument
    | AcceptDocument
    | ReviseDocument
    | FoldDocument
)


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
    return COMMAND.problem(document) or command_from(cast("CommandDocument", document))


def command_document(command: Command) -> CommandDocument:
    """Return a command in JSON; raises as `encode_command` does."""
    match command:
        case Start(task=task):
            return {"op": "start", "task": as_text(task)}
        case Instruct(text=text, standing=standing):
            return {"op": "instruct", "text": as_text(text), "standing": bool(standing)}
        case Grow(action=action, observation=observation):
            return {"op": "grow", "action": as_text(action), "observation": as_text(observation)}
        case Compress(text=text, kind=kind):
            return {"op": "compress", "text": as_text(text), "kind": as_kind(kind)}
        case Retext(text=text):
            return {"op": "retext", "text": as_text(text)}
        case ApplyVerdict(verdict=verdict, digest=digest):
            require_fit("digest", digest, DIGEST)
            return {"op": "apply_verdict", "verdict": verdict_document(verdict), "digest": digest}
        case Accept():
            return {"op": "accept"}
        case Revise(boundary=boundary, lesson=lesson):
            return {"op": "revise", "boundary": written_step(boundary), "lesson": as_text(lesson)}
        case Fold(first=first, last=last, text=text, digest=digest):
            require_fit("digest", digest, DIGEST)
            return {
                "op": "fold",
                "first": written_step(first),
                "last": written_step(last),
                "text": as_text(text),
                "digest": digest,
            }
        case _:
            assert_never(command)


def command_from(document: CommandDocument) -> Command:
    """Return the command that fits the shape `COMMAND`."""
    match document["op"]:
        case "start":
            return Start(document["task"])
        case "instruct":
            return Instruct(document["text"], document["standing"])
        case "grow":
            return Grow(document["action"], document["observation"])
        case "compress":
            return Compress(document["text"], document["kind"])
        case "retext":
            return Retext(document["text"])
        case "apply_verdict":
            return ApplyVerdict(verdict_of(document["verdict"]), Digest(document["digest"]))
        case "accept":
            return Accept()
        case "revise":
            return Revise(StepId(document["boundary"]), document["lesson"])
        case "fold":
            first, last = StepId(document["first"]), StepId(document["last"])
            return Fold(first, last, document["text"], Digest(document["digest"]))
        case _:
            assert_never(document["op"])

"""Are recorded journals behaviours of the TLA+ model? `python -m specs.recorded JOURNAL.jsonl ...`

The engine replays a journal and says after each command what there is to see; that goes to TLC as a module,
texts as short names, and the model answers the same commands. `valid` means that both agree after every one
of them; else the first command that the model answers otherwise is named. A digest is the one thing that
the model cannot compute: it must stand for one question only, and each question must have one (D5).

Exit status 0; 1 where a journal is no behaviour of the model; 2 where a file is no journal, or TLC or Java is
missing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, assert_never, final

import attrs
from returns.pipeline import is_successful

from mage.codec import decode_journal
from mage.engine import (
    Accept,
    ApplyVerdict,
    Command,
    Compress,
    Failed,
    Grow,
    Instruct,
    Instruction,
    Passed,
    Retext,
    Revise,
    Revised,
    Start,
    State,
    Unverified,
    Verdict,
    start,
    view,
)
from mage.engine.journal import Operation
from mage.engine.text import as_text, is_blank
from mage.testing import carry_out
from mage.testing.canonical import plain_verdict
from specs.tla.tools import FOLDER, TLC, Run, ToolError, find

__all__ = ["Event", "Found", "Recording", "Value", "main", "record", "validate"]

Value: TypeAlias = str | int | bool | tuple["Value", ...] | Mapping[str, "Value"]
"""What can be written in TLA+: strings, numbers, truth values, sequences and records."""

_NO_DIGEST: Final = "none"
_NO_STEP: Final = -2
_PRINTED: Final = re.compile(r'<< ?"journal", (\d+), "command", (\d+), \{([^}]*)\} ?>>')


@final
@attrs.frozen
class Event:
    """One command, and what there was to see after it.

    Attributes:
        command: what was asked for, its texts by their short names.
        refusal: the name of the refusal, or of the error where the phase is wrong; "" where it was taken.
        digest: that of the pending summary afterwards.
        shown: what else there was to see: the phase, the heads, C, R and so on, by name.
    """

    command: Mapping[str, Value]
    refusal: str
    digest: str
    shown: Mapping[str, Value]


@final
@attrs.frozen
class Recording:
    """A journal as TLC reads it.

    Attributes:
        name: how it is reported.
        commands: the commands themselves, refused ones among them.
        events: one for each.
    """

    name: str
    commands: tuple[Command, ...]
    events: tuple[Event, ...]


@final
@attrs.frozen
class Found:
    """What TLC found in one recording.

    Attributes:
        name: the recording's.
        commands: how many it holds, the start included.
        at: the number of the first command that the model answers otherwise, from 1; None if there is none.
        differs: what is otherwise there.
    """

    name: str
    commands: int
    at: int | None
    differs: tuple[str, ...] = ()


@final
class _Names:
    """Short names for strings: the model compares them, and asks only whether they are blank."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, object], str] = {}

    def text(self, text: str) -> str:
        """Name a text; a blank one is the empty string (D3)."""
        return "" if is_blank(text) else self._named("t", as_text(text))

    def content(self, action: str, observation: str) -> str:
        """Name what is in a step."""
        return self._named("c", (as_text(action), as_text(observation)))

    def digest(self, digest: str) -> str:
        """Name a digest."""
        return self._named("d", digest)

    def _named(self, letter: str, value: object) -> str:
        return self._names.setdefault((letter, value), f"{letter}{len(self._names)}")


def record(name: str, commands: Iterable[Command]) -> Recording:
    """Replay commands on the engine, refused ones too, and note what there is to see after each.

    Cost: that of the commands, and O(path) for each.

    Raises:
        ValueError: the first command is not the start, or another one is.
    """
    names = _Names()
    tried = tuple(commands)
    first, *others = tried or (None,)
    operations = [command for command in others if not isinstance(command, Start)]
    if not isinstance(first, Start) or len(operations) != len(others):
        raise ValueError(f"{name}: a journal begins with a start, and has no other")
    state: State = start(first.task)
    events = [Event({"op": "start"}, "", _NO_DIGEST, {**_shown(state, names), **_left(None, names)})]
    for command in operations:
        asked = _command(command, names)
        edge = carry_out(state, command)
        state = edge.after
        refusal = "" if edge.refusal is None else type(edge.refusal).__name__
        shown = {**_shown(state, names), **_left(edge.revised, names)}
        events.append(Event(asked, refusal, _digest(state, names), shown))
    return Recording(name, tried, tuple(events))


def _digest(state: State, names: _Names) -> str:
    return names.digest(state.digest) if isinstance(state, Unverified) else _NO_DIGEST


def _command(command: Operation, names: _Names) -> Mapping[str, Value]:
    match command:
        case Instruct():
            return {"op": "instruct", "text": names.text(command.text), "standing": bool(command.standing)}
        case Grow():
            return {"op": "grow", "content": names.content(command.action, command.observation)}
        case Compress():
            return {"op": "compress", "text": names.text(command.text), "kind": command.kind}
        case Retext():
            return {"op": "retext", "text": names.text(command.text), "kind": command.kind or ""}
        case ApplyVerdict():
            digest = names.digest(command.digest)
            return {"op": "apply_verdict", **_verdict(command.verdict, names), "digest": digest}
        case Accept():
            return {"op": "accept"}
        case Revise():
            boundary = command.boundary if 0 <= command.boundary < 2**31 else _NO_STEP  # TLC's numbers
            return {"op": "revise", "boundary": boundary, "lesson": names.text(command.lesson)}
        case _:
            assert_never(command)


def _verdict(verdict: Verdict, names: _Names) -> Mapping[str, Value]:
    match verdict:
        case Passed():
            return {"word": "passed", "feedback": "", "fault": ""}
        case Failed():
            return {"word": "failed", "feedback": names.text(verdict.feedback), "fault": verdict.fault}
        case _:
            assert_never(verdict)


def _shown(state: State, names: _Names) -> Mapping[str, Value]:
    """Return what `Observed` in Recorded.tla says of the model's state."""
    tree, seen = state.tree, view(state)
    here = tree.step(tree.step_head)
    compressed: list[Value] = []
    for summary in seen.compressed:
        word, feedback, fault = plain_verdict(summary.verdict)
        about: dict[str, Value] = {"id": summary.id, "label": summary.label, "text": names.text(summary.text)}
        about |= {"kind": summary.kind, "verdict": word, "feedback": names.text(feedback), "fault": fault}
        compressed.append(about)
    return {
        "phase": type(state).__name__,
        "step_head": tree.step_head,
        "summary_head": tree.summary_head,
        "next_step": tree.next_step,
        "next_summary": tree.next_summary,
        "content": names.content(here.action, here.observation) if here.id else "",
        "C": tuple(compressed),
        "R": tuple([step.id for step in seen.raw]),
        "lessons": tuple([names.text(lesson) for lesson in seen.hints.lessons]),
        "continuations": tuple([step.id for step in seen.hints.continuations]),
        "subgoals": tuple([summary.id for summary in seen.hints.subgoals]),
        "placed": _told(tree.instructions_at(tree.step_head), names),
        "instructions": tuple([names.text(text) for text in seen.instructions]),
    }


def _left(revised: Revised | None, names: _Names) -> Mapping[str, Value]:
    """Return what `LeftBy` in Recorded.tla says: what a revise has left behind."""
    return {
        "abandoned": () if revised is None else tuple([step.id for step in revised.abandoned]),
        "left_behind": () if revised is None else _told(revised.instructions, names),
    }


def _told(placed: Iterable[Instruction], names: _Names) -> Value:
    return tuple([{"text": names.text(each.text), "standing": each.standing} for each in placed])


def validate(tlc: TLC, recordings: Sequence[Recording]) -> tuple[Found, ...]:
    """Have TLC follow all recordings, each by itself, in one run.

    Cost: a second for Java, and for each command the square of its path: a chain of 300 steps takes seconds,
    one of 1,000 a minute. Journals that compress are cheap.

    Raises:
        ToolError: TLC did not come to an end with them.
    """
    config = (FOLDER / "Recorded.cfg").read_text(encoding="utf-8")
    run = tlc.run("Recorded", config, {"Log": _module(recordings)})
    ended = {int(number): (int(at), names) for number, at, names in _printed(run)}
    if not run.finished or len(ended) != len(recordings):
        raise ToolError(f"TLC did not follow every journal to an end:\n{run.output}")
    return tuple(_found(recording, *ended[number]) for number, recording in enumerate(recordings, start=1))


def _printed(run: Run) -> Iterator[tuple[str, str, str]]:
    """Yield what `TraceNext` printed; TLC breaks long values into lines."""
    yield from _PRINTED.findall(" ".join(run.printed.split()))


def _found(recording: Recording, at: int, names: str) -> Found:
    differs = tuple(name.strip(' "') for name in names.split(",") if name.strip())
    return Found(recording.name, len(recording.events), at if differs else None, differs)


def _module(recordings: Sequence[Recording]) -> str:
    """Write the journals as a module; an event that many of them hold stands there once, and is read once."""
    names: dict[str, str] = {}
    journals = [
        ", ".join([names.setdefault(_event(event), f"Logged{len(names)}") for event in recording.events])
        for recording in recordings
    ]
    events = "\n".join(f"{name} == {event}" for event, name in names.items())
    listed = ",\n".join(f"<<{journal}>>" for journal in journals)
    return f"---- MODULE Log ----\n{events}\nJournals == <<\n{listed}>>\n====\n"


def _event(event: Event) -> str:
    return _written(
        {
            "command": event.command,
            "refusal": event.refusal,
            "digest": event.digest,
            "shown": event.shown,
        }
    )


def _written(value: Value) -> str:
    """Write a value in TLA+; the strings are names, and need no escapes."""
    match value:
        case str():
            return f'"{value}"'
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case tuple():
            return f"<<{', '.join(map(_written, value))}>>"
        case Mapping():
            return f"[{', '.join(f'{name} |-> {_written(part)}' for name, part in value.items())}]"
        case _:
            assert_never(value)


def main(arguments: list[str] | None = None) -> int:
    """Validate the journals that the command line names, and report."""
    parser = argparse.ArgumentParser(
        prog="python -m specs.recorded", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("journals", type=Path, nargs="+", metavar="JOURNAL.jsonl")
    parser.add_argument("--jar", type=Path, help="tla2tools.jar (default: TLA2TOOLS, then build/tla/)")
    options = parser.parse_args(arguments)
    try:
        tlc = find(options.jar)
        recordings = [_read(path) for path in options.journals]
        found = validate(tlc, recordings)
    except (ToolError, OSError, ValueError) as missing:
        print(missing, file=sys.stderr)
        return 2
    for each, recording in zip(found, recordings, strict=True):
        print(f"{each.name}: {_said(each, recording)}")
    return 0 if all(each.at is None for each in found) else 1


def _read(path: Path) -> Recording:
    decoded = decode_journal(path.read_bytes())
    if not is_successful(decoded):
        raise ValueError(f"{path}: {decoded.failure()}")
    recording = record(str(path), decoded.unwrap())
    taken = [attrs.evolve(event, refusal="") for event in recording.events]  # so a journal claims
    return attrs.evolve(recording, events=tuple(taken))


def _said(found: Found, recording: Recording) -> str:
    """Say that it is valid, or where the model and the engine part."""
    if found.at is None:
        return f"valid: {found.commands} commands"
    command = recording.commands[found.at - 1]
    return f"command {found.at}, {type(command).__name__}: the model has another {', '.join(found.differs)}"


if __name__ == "__main__":
    sys.exit(main())

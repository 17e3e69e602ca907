"""Are recorded journals behaviours of the TLA+ model? `python -m specs.recorded JOURNAL.jsonl ...`

The engine replays a journal and says after each command what there is to see; that goes to TLC as a module,
texts as short names, and the model answers the same commands. `valid` means that both agree after every one
of them; else the first command that the model answers otherwise is named. A digest is the one thing that
the model cannot compute: it must stand for one question only, and each question must have one (D5, D19).

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
    Active,
    ApplyVerdict,
    Chapter,
    Command,
    Compress,
    Failed,
    Fold,
    Grow,
    Hints,
    Instruct,
    Instruction,
    Line,
    Passed,
    Retext,
    Revise,
    Revised,
    Start,
    State,
    Summary,
    SummaryVerdict,
    Unverified,
    Verdict,
    fold_request,
    judge_request,
    start,
    view,
)
from mage.engine.ids import NOWHERE, ROOT_SUMMARY
from mage.engine.journal import Operation
from mage.engine.text import as_text, is_blank
from mage.testing import carry_out
from mage.testing.machine import plain_verdict
from specs.tla.tools import FOLDER, TLC, Run, ToolError, find

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
        folding: by which digest the engine would fold what the command says; "none" where it is no such fold.
        shown: what else there was to see: the phase, the heads, C, R and so on, by name.
    """

    command: Mapping[str, Value]
    refusal: str
    digest: str
    folding: str
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
    seen = {**_shown(state, names), **_left(None, names)}
    events = [Event({"op": "start"}, "", _NO_DIGEST, _NO_DIGEST, seen)]
    for command in operations:
        asked, folding = _command(command, names), _folding(state, command, names)
        edge = carry_out(state, command)
        state = edge.after
        refusal = "" if edge.refusal is None else type(edge.refusal).__name__
        shown = {**_shown(state, names), **_left(edge.revised, names)}
        events.append(Event(asked, refusal, _digest(state, names), folding, shown))
    return Recording(name, tried, tuple(events))


def _digest(state: State, names: _Names) -> str:
    return names.digest(state.digest) if isinstance(state, Unverified) else _NO_DIGEST


def _folding(state: State, command: Operation, names: _Names) -> str:
    if not isinstance(command, Fold) or not isinstance(state, Active):
        return _NO_DIGEST
    request = fold_request(state, command.first, command.last, command.text)
    return names.digest(request.unwrap().digest) if is_successful(request) else _NO_DIGEST


def _command(command: Operation, names: _Names) -> Mapping[str, Value]:
    match command:
        case Instruct():
            return {"op": "instruct", "text": names.text(command.text), "standing": bool(command.standing)}
        case Grow():
            return {"op": "grow", "content": names.content(command.action, command.observation)}
        case Compress():
            return {"op": "compress", "text": names.text(command.text), "kind": command.kind}
        case Retext():
            return {"op": "retext", "text": names.text(command.text)}
        case ApplyVerdict():
            digest = names.digest(command.digest)
            return {"op": "apply_verdict", **_verdict(command.verdict, names), "digest": digest}
        case Accept():
            return {"op": "accept"}
        case Revise():
            return {
                "op": "revise",
                "boundary": _place(command.boundary),
                "lesson": names.text(command.lesson),
            }
        case Fold():
            run: dict[str, Value] = {"first": _place(command.first), "last": _place(command.last)}
            text, digest = names.text(command.text), names.digest(command.digest)
            return {"op": "fold", **run, "text": text, "digest": digest}
        case _:
            assert_never(command)


def _place(step: int) -> int:
    """Return a step's number where TLC has such numbers, else one that no step has."""
    return step if 0 <= step < 2**31 else _NO_STEP


def _verdict(verdict: Verdict, names: _Names) -> Mapping[str, Value]:
    match verdict:
        case Passed():
            return {"word": "passed", "feedback": "", "fault": "", "boundary": NOWHERE}
        case Failed():
            said: dict[str, Value] = {"feedback": names.text(verdict.feedback), "fault": verdict.fault}
            boundary = NOWHERE if verdict.boundary is None else _place(verdict.boundary)
            return {"word": "failed", **said, "boundary": boundary}
        case _:
            assert_never(verdict)


def _shown(state: State, names: _Names) -> Mapping[str, Value]:
    """Return what `Observed` in Recorded.tla says of the model's state."""
    tree, seen = state.tree, view(state)
    here = tree.step(tree.step_head)
    return {
        "phase": type(state).__name__,
        "step_head": tree.step_head,
        "way": (ROOT_SUMMARY, *[summary.id for summary in tree.way_upwards()][::-1]),
        "next_step": tree.next_step,
        "next_summary": tree.next_summary,
        "content": names.content(here.action, here.observation) if here.id else "",
        "C": _lines(seen.compressed, names),
        "R": tuple([step.id for step in seen.raw]),
        "H": _hints(seen.hints, names),
        "placed": _told(tree.instructions_at(tree.step_head), names),
        "instructions": tuple([names.text(text) for text in seen.instructions]),
        "asked": (_asked(state, names),) if isinstance(state, Unverified) else (),
    }


def _lines(lines: Iterable[Line], names: _Names) -> Value:
    return tuple([_line(line, names) for line in lines])


def _line(line: Line, names: _Names) -> Value:
    said: dict[str, Value] = {"label": line.label, "boundary": line.boundary, "text": names.text(line.text)}
    match line:
        case Summary():
            ends: dict[str, Value] = {"first": line.id, "last": line.id, "accepted": 0}
            return {**said, **ends, "kind": line.kind, "verdict": _note(line.verdict, names)}
        case Chapter():
            ends = {"first": line.first, "last": line.last, "accepted": line.accepted}
            return {**said, **ends, "kind": "chapter", "verdict": ()}
        case _:
            assert_never(line)


def _note(verdict: SummaryVerdict, names: _Names) -> Value:
    word, feedback, fault, boundary = plain_verdict(verdict)
    return (word, names.text(feedback), fault, NOWHERE if boundary is None else boundary)


def _hints(hints: Hints, names: _Names) -> Value:
    return {
        "continuations": tuple([step.id for step in hints.continuations]),
        "subgoals": tuple([summary.id for summary in hints.subgoals]),
        "lessons": tuple(
            [{"boundary": lesson.boundary, "text": names.text(lesson.text)} for lesson in hints.lessons]
        ),
    }


def _asked(state: Unverified, names: _Names) -> Value:
    request = judge_request(state)
    earlier: list[Value] = [
        {
            "label": each.label,
            "boundary": each.boundary,
            "text": names.text(each.text),
            "verdict": _note(each.verdict, names),
        }
        for each in request.earlier
    ]
    return {
        "kind": request.kind,
        "text": names.text(request.text),
        "steps": tuple([step.id for step in request.steps]),
        "earlier": tuple(earlier),
        "instructions": tuple([names.text(text) for text in request.instructions]),
        "before": _lines(request.before, names),
        "boundaries": request.boundaries,
        "hints": _hints(request.hints, names),
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
    return f"---- MODULE Log ----\nEXTENDS Integers\n{events}\nJournals == <<\n{listed}>>\n====\n"


def _event(event: Event) -> str:
    return _written(
        {
            "command": event.command,
            "refusal": event.refusal,
            "digest": event.digest,
            "folding": event.folding,
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

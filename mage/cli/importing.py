"""`mage import`: a session in a store of a bundle, a journal, or the trace of another agent.

Of a log of a coding agent each subagent becomes a session of its own, in the same file or in the folder beside it; what
the client's compactions threw away is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, final

import attrs
import typer
from returns.pipeline import is_successful

from mage.bundle import decode_bundle, is_bundle, names_for, unpack
from mage.cli.naming import (
    STORE_HEADER,
    STORE_VARIABLE,
    InFile,
    InStore,
    Reference,
    checked_name,
    parse_reference,
    spelled,
)
from mage.cli.output import AsJson, Refused, numbered, print_json, print_text, read_bytes, some_of
from mage.cli.sessions import complete_session, load_commands, message_of, opened, recorded
from mage.engine import Grow
from mage.render import one_line, printable
from mage.stores import Head, NameTaken, Record, UnknownJournal
from mage.trajectories import Compaction, Trajectory, compactions, detect, formats, load

_KINDS: Final = 12
"""Kinds of what was unusual that are told; the others are in --json."""
_LOGS: Final = ("claude-code", "codex")
"""Formats of which the first trajectory is the session, and the others are its subagents."""
_SUBAGENTS: Final = "subagents"
"""The folder of the logs of subagents, in one that is called as the log is."""


class Steps(StrEnum):
    """What one step of a chat is."""

    MESSAGES = "messages"
    TOOLS = "tools"


@final
@attrs.frozen
class Imported:
    """A session that was made of a trace.

    Attributes:
        session: its name.
        head: where it ends.
        trajectory: what was imported.
        lost: what the compactions in it threw away.
    """

    session: InStore
    head: Head
    trajectory: Trajectory
    lost: tuple[Compaction, ...]


def import_session(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A bundle, a journal, or an agent's trace or log.",
            readable=False,
            show_default=False,
        ),
    ],
    session: Annotated[
        str,
        typer.Argument(
            metavar="STORE[#NAME]",
            envvar=STORE_VARIABLE,
            autocompletion=complete_session,
            help="The store, made where there is none, and the name of the new session; else its own, or the file's.",
            show_default=False,
        ),
    ],
    flatten: Annotated[
        bool, typer.Option("--flatten", help="Make one session of it, whatever it read through.")
    ] = False,
    format: Annotated[  # noqa: A002  # named as the option is
        str | None, typer.Option(metavar="NAME", help="Of a trace; found by looking where it is not said.")
    ] = None,
    steps: Annotated[
        Steps, typer.Option(help="In a trace, a step is a reply, or a tool call with its result.")
    ] = Steps.MESSAGES,
    as_json: AsJson = False,
) -> None:
    """Make a session in a store of a bundle, a journal, or an agent's trace or log.

    Of a log of Claude Code or Codex it says what the client's compactions threw away.
    """
    if format is not None and format not in formats():
        raise typer.BadParameter(f"{format!r} is none of {', '.join(formats())}", param_hint="--format")
    said = parse_reference(session)
    data = read_bytes(file)
    if data.startswith(STORE_HEADER):
        raise Refused(
            f"{file}: this is a store; mage export {file} --out FILE writes a session of it, to be imported"
        )
    form = format or ("bundle" if is_bundle(data) else detect(data))
    if form in (None, "journal", "bundle"):
        _import_ours(file, data, said, flatten=flatten, as_json=as_json)
        return
    made = _import_trace(file, data, said, form, steps)
    if as_json:
        print_json(_as_json_object(file, form, made))
    else:
        _report(file, form, made)


def _import_ours(file: Path, data: bytes, said: Reference, *, flatten: bool, as_json: bool) -> None:
    made, head, renamed = (
        _import_bundle(file, data, said, flatten) if is_bundle(data) else _import_journal(file, said)
    )
    if as_json:
        names = {"session": str(made), "from": str(file), "version": head.version, "head": head.digest}
        print_json({**names, "renamed": renamed})
        return
    print_text(f"made {printable(str(made))}, with the {head.version:,} versions of {printable(str(file))}\n")
    for old, new in renamed.items():
        print_text(f"{spelled(old)}, which it reads through, is {InStore(made.store, new)} there\n")


def _new_session(said: Reference, own: str) -> InStore:
    """Return the session that is to be made, of the name that was said, else of its own; refuse a file or a version."""
    if isinstance(said.place, InFile):
        raise Refused(f"{said.place}: a session is imported into a store, such as work.db#{spelled(own)}")
    if said.version is not None:
        raise Refused(f"{said}: a new session has no version: leave out @{said.version} (%40 spells an @)")
    return InStore(said.place, checked_name(own if said.name is None else said.name))


def _import_bundle(
    file: Path, data: bytes, said: Reference, flatten: bool
) -> tuple[InStore, Head, dict[str, str]]:
    """Import a bundle; return the session, its head, and the new names of what the session reads through."""
    decoded = decode_bundle(data)
    if not is_successful(decoded):
        raise Refused(f"{file}: {decoded.failure()}")
    bundle = decoded.unwrap().flat if flatten else decoded.unwrap()
    session = _new_session(said, bundle.session.name)
    names = names_for(bundle, session.name)
    renamed = {old: names[old] for each in bundle.journals[:-1] if names[old := each.name] != old}
    with opened(session.store, make=True) as store:
        try:
            return session, unpack(bundle, store, session.name), renamed
        except NameTaken as taken:
            hint = "" if taken.name == session.name else "; --flatten makes one session of the bundle"
            raise Refused(f"{message_of(session.store, taken)}{hint}") from None


def _import_journal(file: Path, said: Reference) -> tuple[InStore, Head, dict[str, str]]:
    session = _new_session(said, file.stem or "session")
    source = InFile(file)
    records = recorded(source, load_commands(source))
    with opened(session.store, make=True) as store:
        return session, store.create(session.name, records), {}


# -- traces --------------------------------------------------------------------------------------------


def _import_trace(file: Path, data: bytes, said: Reference, form: str, steps: Steps) -> list[Imported]:
    """Make a session of each trajectory: all under the name that was said."""
    found = _loaded(file, data, form, steps)
    first = found[0]
    session = _new_session(said, first.name if len(found) == 1 or form in _LOGS else file.stem or "session")
    if form in _LOGS:
        found = (*found, *_beside(file, first.name, steps))
    named = [
        (checked_name(_name(session.name, each, first, alone=form in _LOGS or len(found) == 1)), each)
        for each in found
    ]
    drafted = [(name, each, _recorded(file, each)) for name, each in named]
    with opened(session.store, make=True) as store:
        for name, *_ in drafted:
            try:
                store.head(name)
            except UnknownJournal:
                continue
            raise Refused(message_of(session.store, NameTaken(name)))
        return [
            Imported(InStore(session.store, name), store.create(name, records), each, compactions(each))
            for name, each, records in drafted
        ]


def _name(session: str, each: Trajectory, first: Trajectory, *, alone: bool) -> str:
    """Return the name of a session: of a log the first has the name alone, and subagents theirs behind it."""
    if each is first and alone:
        return session
    return f"{session}/{each.name.removeprefix(f'{first.name}/') if alone else each.name}"


def _loaded(file: Path, data: bytes, form: str, steps: Steps) -> tuple[Trajectory, ...]:
    loaded = load(data, file=str(file), format=form, steps=steps.value)
    if not is_successful(loaded):
        raise Refused(str(loaded.failure()))
    return loaded.unwrap()


def _beside(file: Path, name: str, steps: Steps) -> Iterable[Trajectory]:
    """Yield the sessions of subagents whose logs stand in the folder that is called as this log is."""
    for each in sorted((file.with_suffix("") / _SUBAGENTS).glob("*.jsonl")):
        data = read_bytes(each)
        form = detect(data)
        if form is not None:
            for trajectory in _loaded(each, data, form, steps):
                first, *others = trajectory.metas
                metas = ({**first, **_about(each)}, *others)
                yield attrs.evolve(trajectory, name=f"{name}/{trajectory.name}", metas=metas)


def _about(log: Path) -> dict[str, object]:
    """Return what stands beside a subagent's log, such as the call that started it; nothing where that cannot be read."""
    try:
        said = json.loads(log.with_suffix(".meta.json").read_bytes(), parse_constant=str)
    except (OSError, ValueError, RecursionError):
        return {}
    return {"agent": said} if isinstance(said, dict) else {}


def _recorded(file: Path, trajectory: Trajectory) -> list[Record]:
    return recorded(InFile(file), trajectory.commands, trajectory.metas)


def _report(file: Path, form: str, made: Sequence[Imported]) -> None:
    for each in made:
        grown = sum(isinstance(command, Grow) for command in each.trajectory.commands)
        print_text(
            f"made {printable(str(each.session))}, with {numbered(grown, 'step')} of {printable(str(file))} ({form})\n"
        )
        for compaction in each.lost:
            print_text(_of_compaction(each.session, compaction))
        for remark in each.trajectory.remarks[:_KINDS]:
            print_text(f"unusual: {printable(str(remark))}\n")
        if len(each.trajectory.remarks) > _KINDS:
            print_text(f"... {len(each.trajectory.remarks) - _KINDS} more kinds; --json has them all\n")


def _of_compaction(session: InStore, found: Compaction) -> str:
    missed = f", {len(found.missed)} of which it used again: {_some(found.missed)}" if found.missed else ""
    shown = f"mage show {printable(str(session))} --inside {found.label}"
    return (
        f"its compaction of {numbered(found.steps, 'step')} (version {found.version}) lost {len(found.lost):,} of"
        f" {numbered(found.names, 'name')}{missed}; {shown} has them\n"
    )


def _some(names: Sequence[str]) -> str:
    return some_of([one_line(name, 48) for name in names])


def _as_json_object(file: Path, form: str, made: Sequence[Imported]) -> dict[str, object]:
    sessions = [
        {
            "session": str(each.session),
            "version": each.head.version,
            "head": each.head.digest,
            "compactions": [attrs.asdict(compaction) for compaction in each.lost],
            "remarks": [attrs.asdict(remark) for remark in each.trajectory.remarks],
        }
        for each in made
    ]
    return {"from": str(file), "format": form, "sessions": sessions}

"""`mage export`, a session as a file; `mage import`, a session of a bundle, a journal, or the trace of another agent.

Each subagent in a log of a coding agent becomes a separate session, whether its log is in the same file or in the folder
beside it. The command says which names the client's compactions have lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TypeAlias, final

import attrs
import typer

import mage
from mage.bundle import Bundle, decode_bundle, encode_bundle, is_bundle, names_for, pack, unpack
from mage.cli.naming import (
    STORE_HEADER,
    AtVersion,
    InFile,
    InStore,
    Reference,
    checked_name,
    parse_reference,
    spelled,
)
from mage.cli.output import (
    AsJson,
    Refused,
    numbered,
    print_answer,
    print_json,
    print_lines,
    read_bytes,
    require_absent,
    some_of,
    write_new,
)
from mage.cli.sessions import (
    Opened,
    Version,
    has_session,
    load_commands,
    message_of,
    named_by,
    opened,
    opened_session,
    recorded,
    records_of,
    state_at,
    unwrapped,
)
from mage.codec import encode_journal, encode_tree
from mage.engine import Grow, State
from mage.render import as_dot, as_mermaid, draw, one_line, printable
from mage.session import Session
from mage.stores import Head, MemoryStore, NameTaken
from mage.trajectories import (
    FORMATS,
    Compaction,
    Trajectory,
    atif_document,
    compactions,
    detect,
    formats,
    load,
)

# -- mage export ------------------------------------------------------------------------------------------


class Notation(StrEnum):
    """The forms in which a session can be written; all but the first three are its tree alone."""

    BUNDLE = "bundle"
    JOURNAL = "journal"
    ATIF = "atif"
    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


def export(
    session: Version,
    to: Annotated[
        Notation,
        typer.Option(
            "--to",
            help="A bundle has every record; a journal the commands alone; atif is for other tools; the others draw the tree.",
        ),
    ] = Notation.BUNDLE,
    lineage: Annotated[
        bool, typer.Option("--lineage", help="Bundle the sessions that a fork reads through as sessions too.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="A new file; else standard output.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a session as a bundle, or its tree as a diagram.

    A bundle has every record, and mage import reads it. Of the tree there is text, Mermaid, Graphviz dot and JSON.
    """
    if lineage and session.version is not None:
        raise typer.BadParameter(
            f"a bundle of sessions has all of them: leave out @{session.version}", param_hint="--lineage"
        )
    if out is not None:
        require_absent(out)
    lines = _lines(session, to, lineage=lineage)
    if out is not None:
        write_new(out, lines)
        document = {"session": str(session), "to": to.value, "file": str(out)}
        print_answer(as_json, document, [f"{printable(str(session))} written to {printable(str(out))}\n"])
    elif as_json:
        print_json({"to": to.value, "content": b"".join(lines).decode()})
    else:
        print_lines(lines)


def _lines(session: AtVersion, to: Notation, *, lineage: bool) -> Iterator[bytes]:
    match to:
        case Notation.BUNDLE:
            with opened_session(session.session) as found:
                bundle = _bundle(found, session.version, lineage=lineage)
            yield from encode_bundle(bundle)
        case Notation.JOURNAL:
            yield from encode_journal(load_commands(session.session, session.version))
        case Notation.ATIF:
            yield json.dumps(_document(session), indent=1).encode() + b"\n"
        case _:
            drawn = _DRAWN[to](state_at(session.session, session.version))
            yield drawn.encode(errors="backslashreplace")


_DRAWN: Final[dict[Notation, Callable[[State], str]]] = {
    Notation.TEXT: lambda state: "".join(f"{line}\n" for line in draw(state.tree, limit=None)),
    Notation.MERMAID: lambda state: as_mermaid(state.tree),
    Notation.DOT: lambda state: as_dot(state.tree),
    Notation.JSON: lambda state: encode_tree(state).decode().rstrip("\n") + "\n",
}


def _document(session: AtVersion) -> dict[str, object]:
    """Return the session as a document of ATIF."""
    with opened_session(session.session) as found:
        last = found.require(session.version)
        with Session.open(found.store, found.name, wait=False) as opened:
            return atif_document(found.name, opened.history(upto=last), mage.__version__)


def _bundle(found: Opened, version: int | None, *, lineage: bool) -> Bundle:
    if version is None:
        return pack(found.store, found.name, lineage=lineage)
    with MemoryStore() as store:
        store.create(found.name, records_of(found, version))
        return pack(store, found.name)


# -- the traces of other agents, for import and replay ----------------------------------------------------


class Steps(StrEnum):
    """What becomes a step of a chat."""

    MESSAGES = "messages"
    TOOLS = "tools"


FormatName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"Of a trace, one of {', '.join(FORMATS)}; found by looking where it is not said.",
    ),
]
StepsOf: TypeAlias = Annotated[
    Steps,
    typer.Option(
        "--steps", help="In a chat, a step is an assistant message, or a tool call with its result."
    ),
]
MOST_KINDS: Final = 12
"""How many kinds of remarks on a trace are printed; --json has the others."""


def require_format(name: str | None) -> None:
    """Refuse a format that nobody reads, as a usage error."""
    if name is not None and name not in formats():
        raise typer.BadParameter(f"{name!r} is none of {', '.join(formats())}", param_hint="--format")


def load_trace(data: bytes, file: str, form: str | None, steps: Steps) -> tuple[Trajectory, ...]:
    """Return what a trace holds; its format is found by looking where `form` is None.

    Raises:
        Refused: it cannot be read; says where.
    """
    return unwrapped(load(data, file=file, format=form, steps=steps.value))


# -- mage import ------------------------------------------------------------------------------------------

_LOGS: Final = ("claude-code", "codex")
"""Formats of which the first trajectory is the session, and the others are its subagents."""
_SUBAGENTS: Final = "subagents"
"""The folder of the logs of subagents, in a folder that is named as the log is."""


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
        named_by(
            str,
            "STORE[#NAME]",
            "The store, made where there is none, and the name of the new session; else its own, or the file's.",
        ),
    ],
    flatten: Annotated[
        bool, typer.Option("--flatten", help="Make one session of it, whatever it read through.")
    ] = False,
    form: FormatName = None,
    steps: StepsOf = Steps.MESSAGES,
    as_json: AsJson = False,
) -> None:
    """Make a session in a store of a bundle, a journal, or an agent's trace or log.

    For a log of Claude Code or Codex it says which names the client's compactions have lost.
    """
    require_format(form)
    said = parse_reference(session)
    if "#" in file.name and not file.exists():
        raise Refused(
            f"{file}: there is no such file; a session of a store is first written into one by mage export"
        )
    data = read_bytes(file)
    if data.startswith(STORE_HEADER):
        raise Refused(
            f"{file}: this is a store; mage export {file} --out FILE writes a session of it, to be imported"
        )
    found = form or ("bundle" if is_bundle(data) else detect(data))
    if found in (None, "journal", "bundle"):
        _import_ours(file, data, said, flatten=flatten, as_json=as_json)
        return
    made = _import_trace(file, data, said, found, steps)
    document = {"from": str(file), "format": found, "sessions": [each.document for each in made]}
    print_answer(as_json, document, [line for each in made for line in _lines_of_import(file, found, each)])


def _new_session(said: Reference, own: str) -> InStore:
    """Return the session to be made, under the name that was said, else under its own; refuse a file or a version."""
    if isinstance(said.place, InFile):
        raise Refused(f"{said.place}: a session is imported into a store, such as work.db#{spelled(own)}")
    if said.version is not None:
        raise Refused(f"{said}: a new session has no version: leave out @{said.version} (%40 spells an @)")
    return InStore(said.place, checked_name(own if said.name is None else said.name))


def _import_ours(file: Path, data: bytes, said: Reference, *, flatten: bool, as_json: bool) -> None:
    made, head, renamed = (
        _import_bundle(file, data, said, flatten) if is_bundle(data) else _import_journal(file, said)
    )
    document = {"session": str(made), "from": str(file), "version": head.version, "head": head.digest}
    lines = [f"made {printable(str(made))}, with the {head.version:,} versions of {printable(str(file))}\n"]
    for old, new in renamed.items():
        lines.append(f"{spelled(old)}, which it reads through, is {InStore(made.store, new)} there\n")
    print_answer(as_json, {**document, "renamed": renamed}, lines)


def _import_bundle(
    file: Path, data: bytes, said: Reference, flatten: bool
) -> tuple[InStore, Head, dict[str, str]]:
    """Import a bundle; return the session, its head, and the new names of the sessions that it reads through."""
    bundle = unwrapped(decode_bundle(data), file)
    bundle = bundle.flat if flatten else bundle
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


# -- mage import of a trace -------------------------------------------------------------------------------


@final
@attrs.frozen
class _Imported:
    """A session that was made of a trajectory, its head, and the compactions in it with the names that they lost."""

    session: InStore
    head: Head
    trajectory: Trajectory
    lost: tuple[Compaction, ...]

    @property
    def document(self) -> dict[str, object]:
        """The same, as JSON."""
        return {
            "session": str(self.session),
            "version": self.head.version,
            "head": self.head.digest,
            "compactions": [attrs.asdict(compaction) for compaction in self.lost],
            "remarks": [attrs.asdict(remark) for remark in self.trajectory.remarks],
        }


def _import_trace(file: Path, data: bytes, said: Reference, form: str, steps: Steps) -> list[_Imported]:
    """Make a session of each trajectory, all of them under the name that was said, or none."""
    found = load_trace(data, str(file), form, steps)
    first = found[0]
    is_one = len(found) == 1 or form in _LOGS
    session = _new_session(said, first.name if is_one else file.stem or "session")
    if form in _LOGS:
        found = (*found, *_beside(file, first.name, steps))
    named = [(checked_name(_name(session.name, each, first, is_one=is_one)), each) for each in found]
    drafted = [(name, each, recorded(InFile(file), each.commands, each.metas)) for name, each in named]
    with opened(session.store, make=True) as store:
        for name, *_ in drafted:
            if has_session(store, name):
                raise NameTaken(name)
        return [
            _Imported(InStore(session.store, name), store.create(name, records), each, compactions(each))
            for name, each, records in drafted
        ]


def _name(session: str, each: Trajectory, first: Trajectory, *, is_one: bool) -> str:
    """Return the name of a session: the first of a log has the name `session`, a subagent its name behind that."""
    if each is first and is_one:
        return session
    return f"{session}/{each.name.removeprefix(f'{first.name}/') if is_one else each.name}"


def _beside(file: Path, name: str, steps: Steps) -> Iterable[Trajectory]:
    """Yield the trajectories of subagents whose logs stand in the folder that is named as this log is."""
    for each in sorted((file.with_suffix("") / _SUBAGENTS).glob("*.jsonl")):
        data = read_bytes(each)
        form = detect(data)
        if form is not None:
            for trajectory in load_trace(data, str(each), form, steps):
                first, *others = trajectory.metas
                metas = ({**first, **_about(each)}, *others)
                yield attrs.evolve(trajectory, name=f"{name}/{trajectory.name}", metas=metas)


def _about(log: Path) -> dict[str, object]:
    """Return the data beside a subagent's log, such as the call that started it; empty where it cannot be read."""
    try:
        said = json.loads(log.with_suffix(".meta.json").read_bytes(), parse_constant=str)
    except (OSError, ValueError, RecursionError):
        return {}
    return {"agent": said} if isinstance(said, dict) else {}


def _lines_of_import(file: Path, form: str, made: _Imported) -> Iterator[str]:
    grown = sum(isinstance(command, Grow) for command in made.trajectory.commands)
    session = printable(str(made.session))
    yield f"made {session}, with {numbered(grown, 'step')} of {printable(str(file))} ({form})\n"
    for lost in made.lost:
        missed = f", {len(lost.missed)} of which it used again: {_some(lost.missed)}" if lost.missed else ""
        yield (
            f"its compaction of {numbered(lost.steps, 'step')} (version {lost.version}) lost {len(lost.lost):,} of"
            f" {numbered(lost.names, 'name')}{missed}; mage show {session} --inside {lost.label} has them\n"
        )
    remarks = made.trajectory.remarks
    yield from (f"unusual: {printable(str(remark))}\n" for remark in remarks[:MOST_KINDS])
    if len(remarks) > MOST_KINDS:
        yield f"... {len(remarks) - MOST_KINDS} more kinds; --json has them all\n"


def _some(names: Sequence[str]) -> str:
    return some_of([one_line(name, 48) for name in names])

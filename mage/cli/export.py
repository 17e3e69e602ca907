"""`mage export` and `mage import`: a session as a bundle and back; its tree in other notations."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from returns.pipeline import is_successful

from mage.bundle import decode_bundle, encode_bundle, is_bundle, names_for, pack, unpack
from mage.cli.diagrams import as_dot, as_mermaid
from mage.cli.draw import draw
from mage.cli.files import read_bytes, require_absent, write_new
from mage.cli.naming import InFile, InStore, Session, SessionName, spelled
from mage.cli.output import AsJson, Refused, print_json, print_lines, print_text, printable
from mage.cli.sessions import load_commands, opened_session, recorded, state_at
from mage.cli.stores import opened, said_of
from mage.codec import encode_journal, encode_tree
from mage.engine import State
from mage.stores import Head, NameTaken
from mage.stores.checks import as_session_name

__all__ = ["register"]


class Notation(StrEnum):
    """What a session can be written as; all but the first two are its tree alone."""

    BUNDLE = "bundle"
    JOURNAL = "journal"
    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


def register(app: typer.Typer) -> None:
    """Add the commands of this room."""
    app.command("export")(export)
    app.command("import")(import_session)


def export(
    session: Session,
    to: Annotated[
        Notation,
        typer.Option(
            "--to", help="A bundle has every record; a journal the commands alone; the others draw the tree."
        ),
    ] = Notation.BUNDLE,
    lineage: Annotated[
        bool, typer.Option("--lineage", help="Bundle the sessions that it reads through as sessions, too.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="A new file; else standard output.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a session as a bundle that `mage import` reads, or its tree as text, Mermaid, Graphviz dot or JSON."""
    if out is not None:
        require_absent(out)
    lines = _lines(session, to, lineage=lineage)
    if out is not None:
        write_new(out, lines)
        said = {"session": str(session), "to": to.value, "file": str(out)}
        print_json(said) if as_json else print_text(
            f"{printable(str(session))} written to {printable(str(out))}\n"
        )
    elif as_json:
        print_json({"to": to.value, "content": b"".join(lines).decode()})
    else:
        print_lines(lines)


def _lines(session: SessionName, to: Notation, *, lineage: bool) -> Iterator[bytes]:
    match to:
        case Notation.BUNDLE:
            with opened_session(session) as found:
                bundle = pack(found.store, found.name, lineage=lineage)
            yield from encode_bundle(bundle)
        case Notation.JOURNAL:
            yield from encode_journal(load_commands(session))
        case Notation.TEXT | Notation.MERMAID | Notation.DOT | Notation.JSON:
            yield _drawn(state_at(session), to).encode(errors="backslashreplace")


def _drawn(state: State, to: Notation) -> str:
    match to:
        case Notation.TEXT:
            return "".join(f"{line}\n" for line in draw(state.tree, limit=None))
        case Notation.MERMAID:
            return as_mermaid(state.tree)
        case Notation.DOT:
            return as_dot(state.tree)
        case _:
            return encode_tree(state).decode().rstrip("\n") + "\n"


def import_session(
    file: Annotated[Path, typer.Argument(help="A bundle, or a journal.", readable=False, show_default=False)],
    session: Session,
    flatten: Annotated[
        bool, typer.Option("--flatten", help="Make one session of it, whatever it read through.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a session in a store of a bundle that was exported, or of a journal."""
    if not isinstance(session, InStore):
        raise Refused(f"{session}: a session is imported into a store: name it as URL#NAME")
    data = read_bytes(file)
    renamed: dict[str, str] = {}
    if is_bundle(data):
        head, renamed = _import_bundle(file, data, session, flatten)
    else:
        head = _import_journal(file, session)
    if as_json:
        said = {"session": str(session), "from": str(file), "version": head.version, "head": head.digest}
        print_json({**said, "renamed": renamed})
        return
    print_text(f"{printable(str(session))} has {head.version:,} versions of {printable(str(file))}\n")
    for old, new in renamed.items():
        print_text(f"{spelled(old)}, which it reads through, is {InStore(session.store, new)} there\n")


def _import_bundle(file: Path, data: bytes, session: InStore, flatten: bool) -> tuple[Head, dict[str, str]]:
    """Import a bundle; return its head, and the new names of what the session reads through."""
    decoded = decode_bundle(data)
    if not is_successful(decoded):
        raise Refused(f"{file}: {decoded.failure()}")
    bundle = decoded.unwrap().flat if flatten else decoded.unwrap()
    names = names_for(bundle, session.name)
    renamed = {old: names[old] for each in bundle.journals[:-1] if names[old := each.name] != old}
    with opened(session.store, make=True) as store:
        try:
            return unpack(bundle, store, session.name), renamed
        except NameTaken as taken:
            hint = "" if taken.name == session.name else "; --flatten makes one session of the bundle"
            raise Refused(f"{said_of(session.store, taken)}{hint}") from None


def _import_journal(file: Path, session: InStore) -> Head:
    source = InFile(file)
    records = recorded(source, load_commands(source))
    if not records:
        raise Refused(f"{file}: the journal is empty: it should begin with a start")
    with opened(session.store, make=True) as store:
        return store.create(as_session_name(session.name), records)

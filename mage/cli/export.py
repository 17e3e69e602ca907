"""`mage export` and `mage import`: a session as a bundle and back; its tree in other notations."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from returns.pipeline import is_successful

from mage.bundle import Bundle, decode_bundle, encode_bundle, is_bundle, names_for, pack, unpack
from mage.cli.files import read_bytes, require_absent, write_new
from mage.cli.naming import (
    STORE_HEADER,
    STORE_VARIABLE,
    AtVersion,
    InFile,
    InStore,
    Reference,
    checked_name,
    parse_reference,
    spelled,
)
from mage.cli.output import AsJson, Refused, print_json, print_lines, print_text
from mage.cli.sessions import (
    Opened,
    Version,
    complete_session,
    load_commands,
    message_of,
    opened,
    opened_session,
    recorded,
    records_of,
    state_at,
)
from mage.codec import encode_journal, encode_tree
from mage.engine import State
from mage.render import as_dot, as_mermaid, draw, printable
from mage.stores import Head, MemoryStore, NameTaken


class Notation(StrEnum):
    """What a session can be written as; all but the first two are its tree alone."""

    BUNDLE = "bundle"
    JOURNAL = "journal"
    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


def export(
    session: Version,
    to: Annotated[
        Notation,
        typer.Option(
            "--to", help="A bundle has every record; a journal the commands alone; the others draw the tree."
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
        said = {"session": str(session), "to": to.value, "file": str(out)}
        print_json(said) if as_json else print_text(
            f"{printable(str(session))} written to {printable(str(out))}\n"
        )
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
        case Notation.TEXT | Notation.MERMAID | Notation.DOT | Notation.JSON:
            yield _drawn(state_at(session.session, session.version), to).encode(errors="backslashreplace")


def _bundle(found: Opened, version: int | None, *, lineage: bool) -> Bundle:
    if version is None:
        return pack(found.store, found.name, lineage=lineage)
    with MemoryStore() as store:
        store.create(found.name, records_of(found, version))
        return pack(store, found.name)


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
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A bundle, or a journal.", readable=False, show_default=False),
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
    as_json: AsJson = False,
) -> None:
    """Make a session in a store of a bundle or a journal."""
    said = parse_reference(session)
    data = read_bytes(file)
    if data.startswith(STORE_HEADER):
        raise Refused(
            f"{file}: this is a store; mage export {file} --out FILE writes a session of it, to be imported"
        )
    renamed: dict[str, str] = {}
    if is_bundle(data):
        made, head, renamed = _import_bundle(file, data, said, flatten)
    else:
        made, head = _import_journal(file, said)
    if as_json:
        names = {"session": str(made), "from": str(file), "version": head.version, "head": head.digest}
        print_json({**names, "renamed": renamed})
        return
    print_text(f"made {printable(str(made))}, with the {head.version:,} versions of {printable(str(file))}\n")
    for old, new in renamed.items():
        print_text(f"{spelled(old)}, which it reads through, is {InStore(made.store, new)} there\n")


def _new_session(said: Reference, own: str) -> InStore:
    """Return the session that is to be made: of the name that was said, else of its own.

    Raises:
        Refused: a session file is to be written, or a version; or no session can have that name.
    """
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


def _import_journal(file: Path, said: Reference) -> tuple[InStore, Head]:
    session = _new_session(said, file.stem or "session")
    source = InFile(file)
    records = recorded(source, load_commands(source))
    if not records:
        raise Refused(f"{file}: the journal is empty: it should begin with a start")
    with opened(session.store, make=True) as store:
        return session, store.create(session.name, records)

"""Commands that write a session's history on: `fork`, `revise`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from returns.pipeline import is_successful

from mage.bundle import is_bundle
from mage.cli.draw import one_line
from mage.cli.files import add_line, read_bytes, write_new
from mage.cli.naming import InFile, InStore, as_name
from mage.cli.naming import Session as Named
from mage.cli.output import AsJson, Refused, print_json, print_text, printable
from mage.cli.plain import Json, plain_step
from mage.cli.sessions import load_commands, state_at
from mage.cli.stores import opened
from mage.cli.tapes import refuse_tape
from mage.codec import encode_command, encode_journal
from mage.engine import MageError, Revise, Revised, State, StepId
from mage.engine import revise as revise_state
from mage.session import Refused as NotRevised
from mage.session import Session
from mage.stores.checks import as_session_name

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this room."""
    app.command("fork")(fork)
    app.command("revise")(revise)


def fork(
    session: Named,
    name: Annotated[
        str,
        typer.Argument(
            help="The new session: its name in the same store; for a file, the path of a new one.",
            show_default=False,
        ),
    ],
    at: Annotated[
        int | None, typer.Option("--at", metavar="VERSION", help="Where it begins; else at the head.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Begin a new session at a version of another. In a store nothing is copied.

    It takes no tape along: mage run on the fork begins a new run there.
    """
    if isinstance(session, InStore):
        new = InStore(session.store, as_name(name))
        with opened(session.store) as store:
            refuse_tape(store, session)
            version = store.head(session.name).version if at is None else at
            head = store.fork(session.name, as_session_name(new.name), version)
        version, digest, made = head.version, head.digest, str(new)
    else:
        commands = load_commands(session)
        version = len(commands) if at is None else at
        if not 1 <= version <= len(commands):
            raise Refused(f"{session}: there is no version {version}; it has versions 1 to {len(commands)}")
        write_new(Path(name), encode_journal(commands[:version]))
        digest, made = None, name
    if as_json:
        print_json({"session": made, "from": str(session), "version": version, "head": digest})
    else:
        print_text(f"{printable(made)} begins at version {version} of {printable(str(session))}\n")


def revise(
    session: Named,
    boundary: Annotated[int, typer.Argument(help="The step to go back to.", show_default=False)],
    lesson: Annotated[str, typer.Option("--lesson", help="What whoever comes back there should know.")] = "",
    as_json: AsJson = False,
) -> None:
    """Go back to a boundary of a session, leave a lesson there, and say what was abandoned."""
    revised, version = (
        _revise_stored(session, boundary, lesson)
        if isinstance(session, InStore)
        else _revise_file(session, boundary, lesson)
    )
    if as_json:
        print_json(_plain(str(session), version, boundary, revised))
        return
    print_text(f"{printable(str(session))} is at [Step {boundary}] again, version {version}\n")
    for step in revised.abandoned:
        print_text(f"abandoned {step.id} {one_line(step.action, 56)} → {one_line(step.observation, 48)}\n")
    for left in revised.instructions:
        print_text(f"left behind: {'standing ' * left.standing}instruction: {one_line(left.text, 80)}\n")
    if not revised.abandoned:
        print_text("no step was abandoned\n")


def _revise_stored(session: InStore, boundary: int, lesson: str) -> tuple[Revised, int]:
    try:
        with opened(session.store) as store:
            refuse_tape(store, session)
            with Session.open(store, session.name) as live:
                return live.revise(boundary, lesson), live.version
    except NotRevised as refused:
        raise Refused(f"{session}: {refused}") from None


def _revise_file(session: InFile, boundary: int, lesson: str) -> tuple[Revised, int]:
    data = read_bytes(session.path)
    if is_bundle(data):
        raise Refused(f"{session}: a bundle is not written on; mage import makes a session of it in a store")
    commands = load_commands(session)
    state = state_at(session)
    revised = _revised(session, state, boundary, lesson)
    if revised.state is state:
        return revised, len(commands)
    line = encode_command(Revise(StepId(boundary), lesson)).encode() + b"\n"
    add_line(session.path, line, behind=len(data))
    return revised, len(commands) + 1


def _revised(session: InFile, state: State, boundary: int, lesson: str) -> Revised:
    try:
        result = revise_state(state, StepId(boundary), lesson)
    except MageError as error:
        raise Refused(f"{session}: {error}") from None
    if not is_successful(result):
        raise Refused(f"{session}: {result.failure()}")
    return result.unwrap()


def _plain(session: str, version: int, boundary: int, revised: Revised) -> Json:
    return {
        "session": session,
        "version": version,
        "boundary": boundary,
        "phase": type(revised.state).__name__.lower(),
        "abandoned": [plain_step(step) for step in revised.abandoned],
        "instructions": [{"text": left.text, "standing": left.standing} for left in revised.instructions],
    }

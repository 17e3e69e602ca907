"""Commands that change sessions in a store: `fork`, `revise`, `rename`, `rm`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mage.cli.naming import InStore, new_name
from mage.cli.output import AsJson, Refused, print_json, print_text
from mage.cli.sessions import (
    Opened,
    Stored,
    StoredVersion,
    complete_session,
    listed_names,
    opened,
    parse_stored_version,
    records_of,
)
from mage.engine import Revised
from mage.render import one_line, printable, step_as_json
from mage.render.to_json import Json
from mage.session import Refused as NotRevised
from mage.session import Session
from mage.stores import DamagedJournals, DamagedRecord, JournalStore, UnknownJournal, fold


def fork(
    session: Annotated[
        StoredVersion,
        typer.Argument(
            parser=parse_stored_version,
            metavar="SESSION[@VERSION]",
            autocompletion=complete_session,
            help="STORE#NAME, or STORE alone where it holds one session. @9 behind it begins at version 9.",
            show_default=False,
        ),
    ],
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The name of the new session, in the same store.", show_default=False
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Make a new session that begins at a version of another one.

    Nothing is copied. The run of the session is taken along: mage run on the fork goes on with it from there.
    """
    source, at = session.session, session.version
    new = InStore(source.store, new_name(name))
    with opened(source) as store:
        version = Opened(store, source.name).require(at)
        _require_sound(store, source, version, name)
        head = store.fork(source.name, new.name, version)
    if as_json:
        print_json({"session": str(new), "from": str(source), "version": version, "head": head.digest})
    else:
        print_text(
            f"made {printable(str(new))}: it begins at version {version} of {printable(str(source))}\n"
        )


def _require_sound(store: JournalStore, source: InStore, version: int, name: str) -> None:
    """Do nothing if every record that a fork would read is sound and can be carried out. Cost: O(records).

    Raises:
        Refused: one is not; it says where a fork can begin.
    """
    try:
        fold(records_of(Opened(store, source.name), version))
    except DamagedRecord as damage:
        before = damage.version - 1
        hint = (
            f"mage fork {source}@{before} {name} begins before it" if before else "there is nothing before it"
        )
        raise Refused(f"{source}: {damage}; a fork behind that could not be shown: {hint}") from None


def revise(
    session: Stored,
    boundary: Annotated[
        int, typer.Argument(metavar="BOUNDARY", help="The step to go back to.", show_default=False)
    ],
    lesson: Annotated[
        str, typer.Option("--lesson", help="What the agent should know when it is there again.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Go back to a boundary, leave a lesson there, say what was left.

    A boundary is a step behind which a summary stands, or 0, the beginning: mage show names those on the path.
    """
    revised, version = _revised(session, boundary, lesson)
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


def _revised(session: InStore, boundary: int, lesson: str) -> tuple[Revised, int]:
    try:
        with opened(session) as store, Session.open(store, session.name) as live:
            return live.revise(boundary, lesson), live.version
    except NotRevised as refused:
        raise Refused(f"{session}: {refused}") from None


def _plain(session: str, version: int, boundary: int, revised: Revised) -> Json:
    return {
        "session": session,
        "version": version,
        "boundary": boundary,
        "phase": type(revised.state).__name__.lower(),
        "abandoned": [step_as_json(step) for step in revised.abandoned],
        "instructions": [{"text": left.text, "standing": left.standing} for left in revised.instructions],
    }


def rename(
    session: Stored,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Its new name, in the same store.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Give a session another name.

    A session that forks read through keeps its name.
    """
    new = InStore(session.store, new_name(name))
    with opened(session) as store:
        _require_unforked(store, session, "renamed")
        store.rename(session.name, new.name)
    if as_json:
        print_json({"session": str(new), "was": str(session)})
    else:
        print_text(f"renamed {printable(str(session))} to {printable(str(new))}\n")


def remove(
    session: Stored,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a session and its run for good.

    A session that forks read through is kept. It asks first, unless --yes is given. mage gc removes many at once, and gives their room back.
    """
    with opened(session) as store:
        head = store.head(session.name)
        _require_unforked(store, session, "removed")
        if not yes:
            _ask(session, head.version, as_json)
        store.delete(session.name, expected=head)
    if as_json:
        print_json({"removed": str(session), "versions": head.version})
    else:
        print_text(f"removed {printable(str(session))} with its {head.version:,} versions\n")


def _ask(session: InStore, versions: int, as_json: bool) -> None:
    """Ask the user at a terminal whether a session is to be removed.

    Raises:
        Refused: there is nobody to ask.
        typer.Abort: the answer is no.
    """
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused(
            f"{session}: mage rm asks first, and nobody is there to answer: add --yes to remove it for good"
        )
    typer.confirm(f"Remove {printable(str(session))} with its {versions:,} versions for good?", abort=True)


def _is_there(store: JournalStore, name: str) -> bool:
    try:
        store.head(name)
    except UnknownJournal:
        return False
    return True


def _require_unforked(store: JournalStore, session: InStore, done: str) -> None:
    """Do nothing if no session reads through this one; the store looks once more when it changes it.

    Raises:
        Refused: forks do, and which.
    """
    try:
        journals = store.journals()
    except DamagedJournals as damage:
        journals = damage.sound
    forks = [each.name for each in journals if each.parent == session.name]
    if forks:
        raise Refused(
            f"{session} cannot be {done}, for its forks read through it: {listed_names(forks)}; remove these first"
        )

"""Commands that look at one session: `tree`, `show`, `check`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from mage.cli.draw import draw
from mage.cli.output import AsJson, Refused, console, print_json, print_text, printable
from mage.cli.plain import plain_state, plain_tree
from mage.cli.sessions import Session, load_commands, state_at
from mage.engine import InvariantError, MageError, State, Tree, apply, check, check_change, view
from mage.render import render

__all__ = ["STYLES", "print_tree", "register"]

STYLES = {"active": "green", "left": "dim", "summary": "bold cyan", "lesson": "yellow", "note": "italic"}


def register(app: typer.Typer) -> None:
    """Add the commands of this room."""
    app.command("tree")(tree)
    app.command("show")(show)
    app.command("check")(check_session)


def print_tree(tree: Tree, *, limit: int | None = 80) -> None:
    """Draw a tree on standard output."""
    screen = console()
    cut = screen.is_terminal  # a line of a drawing is not wrapped where that would break the drawing
    for line in draw(tree, limit=limit):
        text = Text(str(line), style=STYLES[line.style])
        screen.print(text, no_wrap=cut, overflow="ellipsis" if cut else None, soft_wrap=not cut)


At = Annotated[int | None, typer.Option("--at", metavar="VERSION", help="An earlier version, from 1.")]


def tree(
    session: Session,
    at: At = None,
    full: Annotated[bool, typer.Option("--full", help="Fold nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw a session's tree: the active path straight down, what was left beside it."""
    state = state_at(session, at)
    if as_json:
        print_json(plain_tree(state))
    else:
        print_tree(state.tree, limit=None if full else 80)


def show(session: Session, at: At = None, as_json: AsJson = False) -> None:
    """Show what the agent would see: S = (C, R, H)."""
    shown = view(state_at(session, at))
    if as_json:
        print_json(plain_state(shown))
    else:
        print_text(render(shown))


def check_session(session: Session, as_json: AsJson = False) -> None:
    """Check I1 to I10 of every version of a session, and all of the last one."""
    commands = load_commands(session)
    state: State | None = None
    for version, command in enumerate(commands, start=1):
        try:
            result = apply(state, command)
            after = result.value_or(None)
            if after is None:
                raise Refused(f"{session}: command {version}, {type(command).__name__}: {result.failure()}")
            if state is not None:
                check_change(state, after)
        except InvariantError as broken:
            raise Refused(f"{session}: version {version} breaks {broken}") from None
        except MageError as reason:
            raise Refused(f"{session}: command {version}, {type(command).__name__}: {reason}") from None
        state = after
    if state is None:
        raise Refused(f"{session}: the journal is empty: it should begin with a start")
    try:
        check(state)
    except InvariantError as broken:
        raise Refused(f"{session}: the last version breaks {broken}") from None
    if as_json:
        print_json({"versions": len(commands), "steps": state.tree.next_step - 1, "sound": True})
    else:
        print_text(f"{printable(str(session))}: {len(commands)} versions, all hold I1 to I10\n")

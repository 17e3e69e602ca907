"""`mage demo`: a story in under a minute, without a network, a model or a key."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from mage.cli.chart import bars
from mage.cli.draw import one_line
from mage.cli.episode import EPISODE, TASK, Beat
from mage.cli.inspect import print_tree
from mage.cli.output import AsJson, console, print_json, say
from mage.cli.plain import plain_state
from mage.engine import (
    ApplyVerdict,
    Command,
    Compress,
    Digest,
    Failed,
    Grow,
    Instruct,
    Passed,
    Revise,
    Start,
    State,
    Unverified,
    apply,
    view,
)
from mage.render import Meter, render
from mage.tokens import default_counter
from mage.trajectories.measure import ContextSizes, measure

__all__ = ["register", "story"]


def register(app: typer.Typer) -> None:
    """Add the command of this room."""
    app.command("demo")(demo)


def story() -> list[tuple[Beat, Command, State]]:
    """Return the episode as beats, the command of each, and the state after it. Start is not among them."""
    state = apply(None, Start(TASK)).unwrap()
    told: list[tuple[Beat, Command, State]] = []
    for beat in EPISODE:
        command = _command(beat, state)
        state = apply(state, command).unwrap()
        told.append((beat, command, state))
    return told


def _command(beat: Beat, state: State) -> Command:
    move = beat.move
    if isinstance(move, Passed | Failed):
        return ApplyVerdict(move, state.digest if isinstance(state, Unverified) else Digest(""))
    return move


def demo(
    pace: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Pause between steps; none into a pipe.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Watch an agent shop, make a mistake, be judged, go back and do better."""
    told = story()
    meter = Meter(default_counter())
    commands = [Start(TASK), *(command for _, command, _ in told)]
    sizes = measure(commands, meter).sizes
    if as_json:
        print_json(
            {"state": plain_state(view(told[-1][2])), "shown": list(sizes.shown), "full": list(sizes.full)}
        )
        return
    _tell(told, (0.6 if sys.stdout.isatty() else 0.0) if pace is None else pace)
    _compare(sizes, meter)


def _tell(told: list[tuple[Beat, Command, State]], pace: float) -> None:
    screen = console()
    screen.print(Panel(Text(TASK), title="task", title_align="left"))
    before: State | None = None
    for beat, command, state in told:
        if beat.told:
            say(f"\n{beat.told}", "italic")
        if isinstance(command, Revise) and before is not None:
            _show(screen, "S before the revision: what the agent would be shown", before)
        say(*_line(command, state))
        if isinstance(command, Revise):
            _show(screen, "S after the revision: the wrong branch is gone, the lesson is there", state)
        time.sleep(pace)
        before = state
    say("\nThe tree, with the branch that was left:", "italic")
    print_tree(told[-1][2].tree)


def _show(screen: Console, title: str, state: State) -> None:
    screen.print(Panel(Text(render(view(state)).rstrip("\n")), title=title, title_align="left"))


def _line(command: Command, state: State) -> tuple[str, str]:
    match command:
        case Grow():
            said, style = (
                f"  ● {state.tree.step_head} {command.action} → {one_line(command.observation, 60)}",
                "",
            )
        case Compress():
            said, style = f"  ■ compress: {command.text}", "bold cyan"
        case Instruct():
            said, style = f"  ! instruction: {command.text}", "blue"
        case ApplyVerdict(verdict=Failed(feedback=feedback)):
            said, style = f"  ✗ the judge: {feedback}", "red"
        case ApplyVerdict():
            said, style = "  ✓ the judge: passed", "green"
        case Revise():
            said, style = f"  ↶ revise to [Step {command.boundary}], lesson: {command.lesson}", "yellow"
        case _:
            said, style = f"  {type(command).__name__}", ""
    return said, style


def _compare(sizes: ContextSizes, meter: Meter) -> None:
    top = max(sizes.full)
    say(f"\nPrompt tokens before each step ({meter.counter.name}):", "italic")
    encoding = console().encoding
    say(f"shown |{bars(sizes.shown, top=top, encoding=encoding)}| {sizes.shown_total:,} in all")
    say(f"full  |{bars(sizes.full, top=top, encoding=encoding)}| {sizes.full_total:,} in all")
    say(f"{sizes.reduction:.0%} less than keeping everything, in {len(sizes.shown)} steps")

"""`mage replay`: put somebody else's trace through the tree, and see what mage would have shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from returns.pipeline import is_successful
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn

from mage.cli.draw import one_line
from mage.cli.files import read_bytes, require_absent, write_new
from mage.cli.output import AsJson, Refused, console, print_json, printable, say
from mage.cli.report import Replayed, as_json_object, print_report
from mage.codec import encode_journal
from mage.engine import Command
from mage.render import Meter
from mage.tokens import TokenCounter, default_counter
from mage.trajectories import FORMATS, Trajectory, counts, load, placed
from mage.trajectories.measure import measure

__all__ = ["register"]


class Steps(StrEnum):
    """What one step of a chat is."""

    MESSAGES = "messages"
    TOOLS = "tools"


def register(app: typer.Typer) -> None:
    """Add the command of this room."""
    app.command("replay")(replay)


def replay(
    file: Annotated[
        Path,
        typer.Argument(help="A trace; its format is found by looking.", readable=False, show_default=False),
    ],
    task: Annotated[
        str | None, typer.Option("--task", metavar="N", help="Only this task of the file.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="TOKENS",
            help="Compress when the open segment would pass this, where the trace does not compress itself.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="SESSION.jsonl", help="Keep the replayed session, in a new file.")
    ] = None,
    format: Annotated[str | None, typer.Option(metavar="NAME", help=f"One of {', '.join(FORMATS)}.")] = None,  # noqa: A002
    steps: Annotated[
        Steps, typer.Option(help="In a chat, a step is an assistant message, or a tool call with its result.")
    ] = Steps.MESSAGES,
    as_json: AsJson = False,
) -> None:
    """Turn a real agent's trace into a tree, and measure what the agent would have been shown."""
    chosen = _choose(_load(file, format, steps), file, task)
    if out is not None:
        _require_one(chosen, file)
        require_absent(out)
    counter = default_counter()
    replayed = _replay_all(chosen, budget, counter, quiet=as_json)
    if out is not None:
        write_new(out, encode_journal(replayed[0].measured.commands))
    if as_json:
        print_json(as_json_object(replayed, counter, budget))
        return
    print_report(replayed, counter, budget)
    if out is not None:
        say(f"session written to {printable(str(out))}")


def _load(file: Path, format_name: str | None, steps: Steps) -> tuple[Trajectory, ...]:
    if format_name is not None and format_name not in FORMATS:
        raise typer.BadParameter(f"{format_name!r} is none of {', '.join(FORMATS)}", param_hint="--format")
    loaded = load(read_bytes(file), file=str(file), format=format_name, steps=steps.value)
    if not is_successful(loaded):
        raise Refused(str(loaded.failure()))
    return loaded.unwrap()


def _choose(trajectories: Sequence[Trajectory], file: Path, task: str | None) -> Sequence[Trajectory]:
    if task is None:
        return [trajectory for trajectory in trajectories if not trajectory.lineage]
    named = [trajectory for trajectory in trajectories if trajectory.name == task]
    if not named and task.isdecimal() and len(task) < 10 and int(task) < len(trajectories):
        named = [trajectories[int(task)]]
    if not named:
        names = ", ".join(one_line(trajectory.name, 24) for trajectory in trajectories[:8])
        more = ", ..." * (len(trajectories) > 8)
        asked = one_line(task, 24)
        raise Refused(f"{file}: there is no task {asked!r}; it holds {len(trajectories)}: {names}{more}")
    return named


def _require_one(chosen: Sequence[Trajectory], file: Path) -> None:
    if len(chosen) != 1:
        raise typer.BadParameter(
            f"{file} holds {len(chosen)} tasks: choose one with --task", param_hint="--out"
        )


def _replay_all(
    chosen: Sequence[Trajectory], budget: int | None, counter: TokenCounter, *, quiet: bool
) -> list[Replayed]:
    meter = Meter(counter)
    with _progress(sum(len(trajectory.commands) for trajectory in chosen), quiet=quiet) as done:
        return [_replay_one(trajectory, budget, meter, done) for trajectory in chosen]


def _replay_one(trajectory: Trajectory, budget: int | None, meter: Meter, done: _Done) -> Replayed:
    measured = measure(
        trajectory.commands,
        meter,
        budget=None if trajectory.summarized else budget,
        trials=trajectory.trials,
        progress=done,
    )
    return Replayed(trajectory, measured, counts(measured.commands), placed(trajectory))


class _Done:
    """Advances the progress bar, where there is one."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._bar = None if progress is None else progress.add_task("replaying", total=total)

    def __call__(self, command: Command) -> None:
        if self._progress is not None and self._bar is not None:
            self._progress.advance(self._bar)


@contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[_Done]:
    screen = console(stderr=True)
    if quiet or not screen.is_terminal:
        yield _Done(None, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TaskProgressColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        yield _Done(progress, total)

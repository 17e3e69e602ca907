"""`mage replay`: put somebody else's trace through the tree, and see what mage would have shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, final

import attrs
import typer
from returns.pipeline import is_successful
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from mage.cli.chart import bars
from mage.cli.files import read_bytes, require_absent, write_new
from mage.cli.inspect import print_tree
from mage.cli.output import AsJson, Refused, console, print_json, say
from mage.codec import encode_journal
from mage.engine import Command
from mage.render import Meter
from mage.tokens import TokenCounter, default_counter
from mage.trajectories import FORMATS, Counts, Trajectory, counts, load
from mage.trajectories.measure import ContextSizes, Measured, measure

__all__ = ["register"]


class Steps(StrEnum):
    """What one step of a chat is."""

    MESSAGES = "messages"
    TOOLS = "tools"


@final
@attrs.frozen
class Replayed:
    """One trajectory, put through the tree."""

    trajectory: Trajectory
    measured: Measured
    counts: Counts


def register(app: typer.Typer) -> None:
    """Add the command of this room."""
    app.command("replay")(replay)


def replay(
    file: Annotated[
        Path, typer.Argument(help="A trace; its format is found by looking.", show_default=False)
    ],
    task: Annotated[
        str | None, typer.Option("--task", metavar="N", help="Only this task of the file.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(min=1, metavar="TOKENS", help="Compress when the open segment would pass this."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="SESSION.jsonl", help="Keep the replayed session, in a new file.")
    ] = None,
    format: Annotated[str | None, typer.Option(metavar="NAME", help=f"One of {', '.join(FORMATS)}.")] = None,  # noqa: A002
    steps: Annotated[
        Steps, typer.Option(help="A step is an assistant message, or a tool call and its result.")
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
        print_json(_as_json(replayed, counter))
        return
    _print(replayed, counter, budget)
    if out is not None:
        say(f"session written to {out}")


def _load(file: Path, format_name: str | None, steps: Steps) -> tuple[Trajectory, ...]:
    if format_name is not None and format_name not in FORMATS:
        raise typer.BadParameter(f"{format_name!r} is none of {', '.join(FORMATS)}", param_hint="--format")
    loaded = load(read_bytes(file), file=str(file), format=format_name, steps=steps.value)
    if not is_successful(loaded):
        raise Refused(str(loaded.failure()))
    return loaded.unwrap()


def _choose(trajectories: Sequence[Trajectory], file: Path, task: str | None) -> Sequence[Trajectory]:
    if task is None:
        return trajectories
    named = [trajectory for trajectory in trajectories if trajectory.name == task]
    if not named and task.isdecimal() and int(task) < len(trajectories):
        named = [trajectories[int(task)]]
    if not named:
        names = ", ".join(trajectory.name for trajectory in trajectories[:8])
        more = ", ..." * (len(trajectories) > 8)
        raise Refused(f"{file}: there is no task {task}; it holds {len(trajectories)}: {names}{more}")
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
        progress=done,
    )
    return Replayed(trajectory, measured, counts(measured.commands))


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
    screen = Console(stderr=True)
    if quiet or not screen.is_terminal:
        yield _Done(None, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TaskProgressColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        yield _Done(progress, total)


def _print(replayed: Sequence[Replayed], counter: TokenCounter, budget: int | None) -> None:
    screen = console()
    first = replayed[0]
    if first.measured.state is not None:
        print_tree(first.measured.state.tree, limit=80 if len(replayed) == 1 else 36)
    if len(replayed) > 1:
        screen.print(
            f"... task {first.trajectory.name} of {len(replayed)}; --task N draws another\n", markup=False
        )
        screen.print(_table(replayed))
    total, sizes = _totals(replayed)
    say(_counts_line(total))
    if len(replayed) == 1:
        top = max(sizes.full, default=0)
        say(f"shown |{bars(sizes.shown, top=top)}| at most {sizes.shown_max:,} tokens")
        say(f"full  |{bars(sizes.full, top=top)}| at most {top:,} tokens")
    say(
        f"prompt tokens ({counter.name}): shown {sizes.shown_mean:,.0f} on average, {sizes.shown_max:,} at most,"
        f" {sizes.shown_total:,} in all; the full history (every step so far, abandoned ones too)"
        f" {sizes.full_total:,} in all; reduction {sizes.reduction:.1%}"
    )
    say(_remark(replayed, budget))


def _remark(replayed: Sequence[Replayed], budget: int | None) -> str:
    if all(each.trajectory.summarized for each in replayed):
        return "the summaries are those of the trace"
    if budget is None:
        return "nothing was compressed: the trace has no summaries; --budget TOKENS compresses by extracts"
    return f"segments over {budget} tokens were compressed to extracts (no LLM), accepted without a verdict"


def _counts_line(total: Counts) -> str:
    return (
        f"{total.steps:,} steps, {total.merges:,} merges, {total.branch_points:,} branch points,"
        f" {total.revisions:,} revisions ({total.abandoned:,} steps abandoned),"
        f" {total.summaries:,} summaries, deepest path {total.max_depth:,}"
    )


def _table(replayed: Sequence[Replayed]) -> Table:
    names = (
        "task",
        "steps",
        "merges",
        "branch points",
        "revisions",
        "summaries",
        "deepest",
        "shown",
        "reduction",
    )
    table = Table(*names, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for each in replayed:
        total = each.counts
        numbers = (total.steps, total.merges, total.branch_points, total.revisions, total.summaries)
        cells = [*map(str, numbers), str(total.max_depth), f"{each.measured.sizes.shown_mean:,.0f}"]
        table.add_row(each.trajectory.name, *cells, f"{each.measured.sizes.reduction:.1%}")
    return table


def _totals(replayed: Sequence[Replayed]) -> tuple[Counts, ContextSizes]:
    sizes = ContextSizes(
        tuple(size for each in replayed for size in each.measured.sizes.shown),
        tuple(size for each in replayed for size in each.measured.sizes.full),
    )
    every = [each.counts for each in replayed]
    total = Counts(
        steps=sum(each.steps for each in every),
        merges=sum(each.merges for each in every),
        revisions=sum(each.revisions for each in every),
        abandoned=sum(each.abandoned for each in every),
        branch_points=sum(each.branch_points for each in every),
        summaries=sum(each.summaries for each in every),
        max_depth=max((each.max_depth for each in every), default=0),
    )
    return total, sizes


def _as_json(replayed: Sequence[Replayed], counter: TokenCounter) -> dict[str, object]:
    tasks = [{"task": each.trajectory.name, **_plain(each.counts, each.measured.sizes)} for each in replayed]
    return {**_plain(*_totals(replayed)), "counter": counter.name, "tasks": tasks}


def _plain(total: Counts, sizes: ContextSizes) -> dict[str, object]:
    tokens = {
        "shown_mean": round(sizes.shown_mean, 1),
        "shown_max": sizes.shown_max,
        "shown_total": sizes.shown_total,
        "full_total": sizes.full_total,
        "reduction": round(sizes.reduction, 4),
    }
    return {**attrs.asdict(total), "tokens": tokens}

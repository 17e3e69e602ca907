"""`mage replay`: put somebody else's trace through the tree, and see what mage would have shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, final

import attrs
import typer
from returns.pipeline import is_successful
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from mage.cli.files import read_bytes, require_absent, write_new
from mage.cli.output import AsJson, Refused, console, print_json, say
from mage.cli.show import print_tree
from mage.codec import encode_journal
from mage.engine import Command, StepId
from mage.render import Meter, bars, one_line, printable
from mage.tokens import TokenCounter, default_counter
from mage.trajectories import FORMATS, Counts, Entry, Mistake, Remark, Trajectory, counts, load, placed
from mage.trajectories.measure import ContextSizes, Measured, is_our_extract, measure

_ROWS: Final = 60
"""Rows of the table of tasks; the others are in --json."""
_KINDS: Final = 12
"""Kinds of what was unusual that are told; the others are in --json."""


class Steps(StrEnum):
    """What one step of a chat is."""

    MESSAGES = "messages"
    TOOLS = "tools"


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
    """Turn an agent's trace into a tree; count what S would have shown."""
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


# -- what a replay comes to -----------------------------------------------------------------------------


@final
@attrs.frozen
class Replayed:
    """One trajectory, put through the tree.

    Attributes:
        trajectory: as it was imported.
        measured: what was shown at each decision.
        counts: what the tree came to.
        placed: the steps at which each record of the file stands.
    """

    trajectory: Trajectory
    measured: Measured
    counts: Counts
    placed: Mapping[Entry, tuple[StepId, ...]]


def print_report(replayed: Sequence[Replayed], counter: TokenCounter, budget: int | None) -> None:
    """Print the first tree, the table of tasks where there are several, and the totals."""
    screen = console()
    first = replayed[0]
    if first.measured.state is not None:
        print_tree(first.measured.state.tree, limit=80 if len(replayed) == 1 else 36)
    name = one_line(first.trajectory.name, 40)
    if len(replayed) > 1:
        say(f"... task {name} of {len(replayed)}; --task N draws another\n")
        screen.print(_table(replayed[:_ROWS]))
        if len(replayed) > _ROWS:
            say(f"... {len(replayed) - _ROWS} more tasks; --json has them all")
    total, sizes = _totals(replayed)
    say(("" if len(replayed) > 1 else f"task {name}: ") + _counts_line(total))
    for each in replayed:
        for mistake in each.trajectory.mistakes:
            say(_of_mistake(each, mistake))
    for line in _unusual(replayed):
        say(line)
    if not sizes.shown:
        say("no step was taken, so nothing was shown")
        return
    if len(replayed) == 1:
        _chart(screen, sizes)
    say(
        f"prompt tokens ({counter.name}): shown {sizes.shown_mean:,.0f} on average, {sizes.shown_max:,} at most,"
        f" {sizes.shown_total:,} in all; the full history {sizes.full_total:,} in all;"
        f" reduction {sizes.reduction:.1%}"
    )
    for remark in _remarks(replayed, budget):
        say(remark)


def _of_mistake(each: Replayed, mistake: Mistake) -> str:
    at = () if mistake.entry is None else each.placed.get(mistake.entry, ())
    steps = ", ".join(map(str, at)) or "none"
    record = one_line(mistake.said, 24) if mistake.entry is None else mistake.entry.record
    return (
        f"labelled mistake: step {steps} ({record} in the file), by {one_line(mistake.agent, 80) or 'nobody named'}:"
        f" {one_line(mistake.reason, 1_000)}"
    )


def _unusual(replayed: Sequence[Replayed]) -> Iterable[str]:
    """Yield what was unusual in the traces, each kind once."""
    found: dict[str, Remark] = {}
    for remark in (remark for each in replayed for remark in each.trajectory.remarks):
        first = found.get(remark.what, Remark(remark.what, 0, remark.record))
        found[remark.what] = Remark(first.what, first.count + remark.count, first.record)
    for remark in list(found.values())[:_KINDS]:
        yield f"of note: {printable(str(remark))}"
    if len(found) > _KINDS:
        yield f"of note: {len(found) - _KINDS} more kinds; --json has them all"


def _chart(screen: Console, sizes: ContextSizes) -> None:
    top = max(sizes.full)
    width = max(10, min(72, screen.width - 32))
    for name, values in (("shown", sizes.shown), ("full ", sizes.full)):
        row = bars(values, top=top, width=width, encoding=screen.encoding)
        say(f"{name} |{row}| at most {max(values):,} tokens")


def _remarks(replayed: Sequence[Replayed], budget: int | None) -> list[str]:
    history = "the full history is the task and every step so far, abandoned ones too"
    if any(each.trajectory.trials for each in replayed):
        history += "; each trial begins it anew"
    return [_of_summaries(replayed, budget), f"{history}; calls to judges and summarizers are not counted"]


def _of_summaries(replayed: Sequence[Replayed], budget: int | None) -> str:
    commands = [command for each in replayed for command in each.measured.commands]
    if any(map(is_our_extract, commands)):
        return "the summaries are extracts (no LLM), accepted without a verdict"
    if any(each.trajectory.summarized for each in replayed):
        return "the summaries are those of the trace" + "; --budget does nothing here" * (budget is not None)
    if budget is None:
        return "nothing was compressed: the trace has no summaries; --budget TOKENS compresses by extracts"
    return f"nothing was compressed: no open segment passed {budget:,} tokens"


def _counts_line(total: Counts) -> str:
    return (
        f"{_number(total.steps, 'step')}, {_number(total.merges, 'merge')},"
        f" {_number(total.branch_points, 'branch point')}, {_number(total.revisions, 'revision')}"
        f" ({_number(total.abandoned, 'step')} abandoned), {_number(total.summaries, 'summary')},"
        f" deepest path {total.max_depth:,}"
    )


def _number(count: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"


def _table(replayed: Sequence[Replayed]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("task", overflow="ellipsis", no_wrap=True)
    for name in (
        "steps",
        "merges",
        "branch points",
        "revisions",
        "summaries",
        "deepest",
        "shown",
        "reduction",
    ):
        table.add_column(name, justify="right", overflow="fold", min_width=6)
    for each in replayed:
        total, sizes = each.counts, each.measured.sizes
        numbers = (total.steps, total.merges, total.branch_points, total.revisions, total.summaries)
        cells = [*map(str, numbers), str(total.max_depth), f"{sizes.shown_mean:,.0f}"]
        table.add_row(Text(one_line(each.trajectory.name, 24)), *cells, f"{sizes.reduction:.1%}")
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


def as_json_object(
    replayed: Sequence[Replayed], counter: TokenCounter, budget: int | None
) -> dict[str, object]:
    """Return totals over the tasks, and the same for each under `tasks`, with what its file says and holds."""
    tasks = [
        {"task": each.trajectory.name, **_plain(each.counts, each.measured.sizes), **_plain_file(each)}
        for each in replayed
    ]
    return {
        **_plain(*_totals(replayed)),
        "counter": counter.name,
        "notes": _remarks(replayed, budget),
        "tasks": tasks,
    }


def _plain_file(each: Replayed) -> dict[str, object]:
    """Return what was labelled and what was unusual, and at which steps the records of the file stand."""
    mistakes = [
        {
            "said": mistake.said,
            "record": None if mistake.entry is None else mistake.entry.record,
            "steps": [] if mistake.entry is None else list(each.placed.get(mistake.entry, ())),
            "agent": mistake.agent,
            "reason": mistake.reason,
        }
        for mistake in each.trajectory.mistakes
    ]
    records = [
        {"record": entry.record, "index": entry.index, "steps": list(steps)}
        for entry, steps in each.placed.items()
    ]
    remarks = [attrs.asdict(remark) for remark in each.trajectory.remarks]
    return {"mistakes": mistakes, "remarks": remarks, "records": records}


def _plain(total: Counts, sizes: ContextSizes) -> dict[str, object]:
    tokens = {
        "shown_mean": round(sizes.shown_mean, 1),
        "shown_max": sizes.shown_max,
        "shown_total": sizes.shown_total,
        "full_total": sizes.full_total,
        "reduction": round(sizes.reduction, 4),
    }
    return {**attrs.asdict(total), "tokens": tokens}

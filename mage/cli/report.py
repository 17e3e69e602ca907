"""What a replay comes to: the tree, counts and prompt tokens, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import final

import attrs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mage.cli.chart import bars
from mage.cli.draw import one_line
from mage.cli.inspect import print_tree
from mage.cli.output import console, printable, say
from mage.engine import StepId
from mage.tokens import TokenCounter
from mage.trajectories import Counts, Entry, Mistake, Remark, Trajectory
from mage.trajectories.measure import ContextSizes, Measured, is_our_extract

__all__ = ["Replayed", "as_json_object", "print_report"]

_ROWS = 60  # of the table of tasks; the rest is in --json
_KINDS = 12  # of what was unusual; the rest is in --json


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

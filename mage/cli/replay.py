"""`mage replay`: a trace of another agent as a tree, and what its prompts would have cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final, final

import attrs
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from mage.cli.files import MOST_KINDS, FormatName, Steps, StepsOf, load_trace, require_format
from mage.cli.naming import InFile, InStore, parse_reference
from mage.cli.output import (
    AsJson,
    Refused,
    console,
    numbered,
    print_json,
    read_bytes,
    require_absent,
    say,
    some_of,
    write_new,
)
from mage.cli.sessions import load_commands, named_by, parse_version
from mage.cli.show import print_tree
from mage.codec import encode_journal
from mage.engine import Command, StepId
from mage.render import Meter, bars, one_line, printable
from mage.tokens import TokenCounter, default_counter
from mage.trajectories import Counts, Coverage, Entry, Mistake, Remark, Trajectory, counts, needs, placed
from mage.trajectories.measure import ContextSizes, Covering, Measured, is_our_extract, measure, together

_ROWS: Final = 60
"""Rows of the table of tasks; --json has the others."""


def replay(
    file: Annotated[
        str,
        named_by(
            str,
            "TRACE|SESSION",
            "A trace, whose format is found by looking; or a session in a store.",
            envvar=None,
        ),
    ],
    task: Annotated[
        str | None, typer.Option("--task", metavar="N", help="Only this task of the file.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="TOKENS",
            help="Compress as a memory with this mark would, where the trace does not compress itself.",
        ),
    ] = None,
    covers: Annotated[
        bool,
        typer.Option(
            "--coverage", help="Say how many of the values that later actions need were still shown to them."
        ),
    ] = False,
    writes: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="With --coverage: the tools that change something, such as 'book_*,cancel_*', counted apart.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="SESSION.jsonl", help="Keep the replayed session, in a new file.")
    ] = None,
    form: FormatName = None,
    steps: StepsOf = Steps.MESSAGES,
    as_json: AsJson = False,
) -> None:
    """Turn an agent's trace into a tree; count the tokens that S would have taken."""
    require_format(form)
    if writes is not None and not covers:
        raise typer.BadParameter("it says something with --coverage alone", param_hint="--writes")
    data, named = _trace(file)
    chosen = _chosen(load_trace(data, named, form, steps), file, task)
    if out is not None:
        if len(chosen) != 1:
            raise typer.BadParameter(
                f"{file} holds {len(chosen)} tasks: choose one with --task", param_hint="--out"
            )
        require_absent(out)
    counter = default_counter()
    replayed = _replay_all(chosen, _Asked(budget, covers, writes or ""), counter, quiet=as_json)
    if out is not None:
        write_new(out, encode_journal(replayed[0].measured.commands))
    if as_json:
        print_json(_as_json(replayed, counter, budget))
        return
    _print_report(replayed, counter, budget)
    if out is not None:
        say(f"session written to {printable(str(out))}")


def _trace(given: str) -> tuple[bytes, str]:
    """Return the bytes of a trace and the name of its file; a session in a store is a journal.

    Raises:
        Refused: there is neither.
    """
    said = parse_reference(given)
    if isinstance(said.place, InFile) and said.version is None:
        return read_bytes(said.place.path), given
    named = parse_version(given)
    name = named.session.name if isinstance(named.session, InStore) else given
    return b"".join(encode_journal(load_commands(named.session, named.version))), f"{name}.jsonl"


def _chosen(trajectories: Sequence[Trajectory], file: str, task: str | None) -> Sequence[Trajectory]:
    if task is None:
        return [trajectory for trajectory in trajectories if not trajectory.lineage]
    named = [trajectory for trajectory in trajectories if trajectory.name == task]
    if not named and task.isdecimal() and len(task) < 10 and int(task) < len(trajectories):
        named = [trajectories[int(task)]]
    if not named:
        names = some_of([one_line(trajectory.name, 24) for trajectory in trajectories])
        asked = one_line(task, 24)
        raise Refused(f"{file}: there is no task {asked!r}; it holds {len(trajectories)}: {names}")
    return named


# -- one replay, and all of a file ------------------------------------------------------------------------


@final
@attrs.frozen
class _Asked:
    """The options of a replay; `writes` names tools, separated by commas."""

    budget: int | None
    covers: bool
    writes: str

    def covering(self, trajectory: Trajectory) -> Covering | None:
        """Return the watcher of the values that actions need; None without --coverage."""
        if not self.covers:
            return None
        names = [name for each in self.writes.split(",") if (name := each.strip())]
        is_write = (lambda tool: any(fnmatchcase(tool, name) for name in names)) if names else None
        return Covering(needs(trajectory, writes=is_write))


@final
@attrs.frozen
class _Replayed:
    """A trajectory with its measures.

    Attributes:
        measured: the tokens that were shown at each decision.
        counts: how many steps, summaries and revisions its tree has.
        placed: at which steps each record of the file stands.
        coverage: which values its actions need, and whether they were shown; None without --coverage.
    """

    trajectory: Trajectory
    measured: Measured
    counts: Counts
    placed: Mapping[Entry, tuple[StepId, ...]]
    coverage: Coverage | None


def _replay_all(
    chosen: Sequence[Trajectory], asked: _Asked, counter: TokenCounter, *, quiet: bool
) -> list[_Replayed]:
    meter = Meter(counter)
    screen = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TaskProgressColumn())
    disable = quiet or not screen.is_terminal
    with Progress(*columns, console=screen, transient=True, disable=disable) as progress:
        bar = progress.add_task("replaying", total=sum(len(trajectory.commands) for trajectory in chosen))
        return [_replay_one(each, asked, meter, lambda _: progress.advance(bar)) for each in chosen]


def _replay_one(
    trajectory: Trajectory, asked: _Asked, meter: Meter, done: Callable[[Command], None]
) -> _Replayed:
    covering = asked.covering(trajectory)
    measured = measure(
        trajectory.commands,
        meter,
        budget=None if trajectory.summarized else asked.budget,
        trials=trajectory.trials,
        progress=done,
        decided=None if covering is None else covering.decided,
    )
    coverage = None if covering is None else covering.coverage
    return _Replayed(trajectory, measured, counts(measured.commands), placed(trajectory), coverage)


def _totals(replayed: Sequence[_Replayed]) -> tuple[Counts, ContextSizes]:
    sizes = ContextSizes(
        tuple(size for each in replayed for size in each.measured.sizes.shown),
        tuple(size for each in replayed for size in each.measured.sizes.full),
    )
    every = [attrs.astuple(each.counts) for each in replayed]
    total = Counts(*map(sum, zip(*every, strict=True)))
    return attrs.evolve(total, max_depth=max(each.counts.max_depth for each in replayed)), sizes


def _covered(replayed: Sequence[_Replayed]) -> Coverage | None:
    found = [each.coverage for each in replayed if each.coverage is not None]
    return together(found) if found else None


# -- the report -------------------------------------------------------------------------------------------


def _print_report(replayed: Sequence[_Replayed], counter: TokenCounter, budget: int | None) -> None:
    """Print the first tree, the table of tasks where there are several, and the totals."""
    screen = console()
    is_alone = len(replayed) == 1
    first = replayed[0]
    if first.measured.state is not None:
        print_tree(first.measured.state.tree, limit=80 if is_alone else 36)
    name = one_line(first.trajectory.name, 40)
    if not is_alone:
        say(f"... task {name} of {len(replayed)}; --task N draws another\n")
        screen.print(_table(replayed[:_ROWS]))
        if len(replayed) > _ROWS:
            say(f"... {len(replayed) - _ROWS} more tasks; --json has them all")
    total, sizes = _totals(replayed)
    say((f"task {name}: " if is_alone else "") + _counts_line(total))
    for each in replayed:
        for mistake in each.trajectory.mistakes:
            say(_mistake_line(each, mistake))
    for line in _unusual(replayed):
        say(line)
    if not sizes.shown:
        say("no step was taken, so nothing was shown")
        return
    for title, values in (("shown", sizes.shown), ("full ", sizes.full)) if is_alone else ():
        width = max(10, min(72, screen.width - 32))
        row = bars(values, top=max(sizes.full), width=width, encoding=screen.encoding)
        say(f"{title} |{row}| at most {max(values):,} tokens")
    say(
        f"prompt tokens ({counter.name}): shown {sizes.shown_mean:,.0f} on average, {sizes.shown_max:,} at most,"
        f" {sizes.shown_total:,} in all; the full history {sizes.full_total:,} in all;"
        f" reduction {sizes.reduction:.1%}"
    )
    for line in (*_coverage_lines(replayed, sizes), *_remarks(replayed, budget)):
        say(line)


_TITLES: Final = (
    "steps",
    "merges",
    "branch points",
    "revisions",
    "summaries",
    "deepest",
    "shown",
    "reduction",
)


def _table(replayed: Sequence[_Replayed]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("task", overflow="ellipsis", no_wrap=True)
    for title in _TITLES:
        table.add_column(title, justify="right", overflow="fold", min_width=6)
    for each in replayed:
        total, sizes = each.counts, each.measured.sizes
        numbers = (total.steps, total.merges, total.branch_points, total.revisions, total.summaries)
        cells = [*map(str, numbers), str(total.max_depth), f"{sizes.shown_mean:,.0f}"]
        table.add_row(Text(one_line(each.trajectory.name, 24)), *cells, f"{sizes.reduction:.1%}")
    return table


def _counts_line(total: Counts) -> str:
    return (
        f"{numbered(total.steps, 'step')}, {numbered(total.merges, 'merge')},"
        f" {numbered(total.branch_points, 'branch point')}, {numbered(total.revisions, 'revision')}"
        f" ({numbered(total.abandoned, 'step')} abandoned), {numbered(total.summaries, 'summary')},"
        f" deepest path {total.max_depth:,}"
    )


def _mistake_line(each: _Replayed, mistake: Mistake) -> str:
    steps = ", ".join(map(str, _steps_of(each, mistake))) or "none"
    record = one_line(mistake.said, 24) if mistake.entry is None else mistake.entry.record
    return (
        f"labelled mistake: step {steps} ({record} in the file), by {one_line(mistake.agent, 80) or 'nobody named'}:"
        f" {one_line(mistake.reason, 1_000)}"
    )


def _steps_of(each: _Replayed, mistake: Mistake) -> tuple[StepId, ...]:
    return () if mistake.entry is None else each.placed.get(mistake.entry, ())


def _unusual(replayed: Sequence[_Replayed]) -> Iterable[str]:
    """Yield a line for each kind of remark in the traces, with the sum of its counts."""
    found: dict[str, Remark] = {}
    for remark in (remark for each in replayed for remark in each.trajectory.remarks):
        first = found.get(remark.what, Remark(remark.what, 0, remark.record))
        found[remark.what] = Remark(first.what, first.count + remark.count, first.record)
    for remark in list(found.values())[:MOST_KINDS]:
        yield f"of note: {printable(str(remark))}"
    if len(found) > MOST_KINDS:
        yield f"of note: {len(found) - MOST_KINDS} more kinds; --json has them all"


_COVERED: Final = {
    "values": "values that actions copy from earlier observations",
    "far": "of these, far: in no open step",
    "actions": "actions with all of their values",
    "writes": "of these, actions that change something",
    "runs": "runs with all of their values",
}


def _coverage_lines(replayed: Sequence[_Replayed], sizes: ContextSizes) -> Iterator[str]:
    """Yield the shares of the coverage, and what they do not say; nothing without --coverage."""
    covered = _covered(replayed)
    if covered is None:
        return
    if not covered.uses:
        yield "coverage: no action copies a value from an earlier observation, so there is nothing to cover"
        return
    shares = covered.shares()
    says_writes = any(use.need.writes is not None for use in covered.uses)
    for name, words in _COVERED.items():
        share = shares[name]
        if name == "writes" and not says_writes:
            yield "coverage: nothing says which actions change something; --writes names their tools"
        elif share.part is None:
            yield f"coverage: none {words}"
        else:
            yield f"coverage: {share.part:.1%} ({share.covered:,} of {share.of:,}) {words}"
    yield (
        f"coverage: at {1 - sizes.reduction:.1%} of the tokens of the full history, which covers everything;"
        " a value that is shown need not be used"
    )


def _remarks(replayed: Sequence[_Replayed], budget: int | None) -> list[str]:
    history = "the full history is the task and every step so far, abandoned ones too"
    if any(each.trajectory.trials for each in replayed):
        history += "; each trial begins it anew"
    said = [_of_summaries(replayed, budget), f"{history}; calls to judges and summarizers are not counted"]
    longest = max((each.measured.sizes.shown_max for each in replayed), default=0)
    if budget is None or longest <= budget or all(each.trajectory.summarized for each in replayed):
        return said
    above = f"a prompt took up to {longest:,} tokens, more than {budget:,}: the mark counts no finished part, and each step"
    return [*said, f"{above} is shown whole once"]


def _of_summaries(replayed: Sequence[_Replayed], budget: int | None) -> str:
    commands = [command for each in replayed for command in each.measured.commands]
    if any(map(is_our_extract, commands)):
        return "the summaries are extracts (no LLM), accepted without a verdict"
    if any(each.trajectory.summarized for each in replayed):
        return "the summaries are those of the trace" + "; --budget does nothing here" * (budget is not None)
    if budget is None:
        return "nothing was compressed: the trace has no summaries; --budget TOKENS compresses by extracts"
    return f"nothing was compressed: the prompts did not pass {budget:,} tokens"


# -- as JSON ----------------------------------------------------------------------------------------------


def _as_json(replayed: Sequence[_Replayed], counter: TokenCounter, budget: int | None) -> dict[str, object]:
    """Return the totals over the tasks, and under `tasks` those of each, with what its file says and holds."""
    return {
        **_measures(*_totals(replayed), _covered(replayed)),
        "counter": counter.name,
        "notes": _remarks(replayed, budget),
        "tasks": [
            {
                "task": each.trajectory.name,
                **_measures(each.counts, each.measured.sizes, each.coverage),
                **_labels(each),
            }
            for each in replayed
        ],
    }


def _measures(total: Counts, sizes: ContextSizes, coverage: Coverage | None) -> dict[str, object]:
    tokens = {
        "shown_mean": round(sizes.shown_mean, 1),
        "shown_max": sizes.shown_max,
        "shown_total": sizes.shown_total,
        "full_total": sizes.full_total,
        "reduction": round(sizes.reduction, 4),
    }
    said: dict[str, object] = {**attrs.asdict(total), "tokens": tokens}
    if coverage is not None:
        said["coverage"] = {
            name: {
                "covered": share.covered,
                "of": share.of,
                "part": None if share.part is None else round(share.part, 4),
            }
            for name, share in coverage.shares().items()
        }
    return said


def _labels(each: _Replayed) -> dict[str, object]:
    """Return the labelled mistakes and the remarks of a file, and at which steps its records stand."""
    return {
        "mistakes": [
            {
                "said": mistake.said,
                "record": None if mistake.entry is None else mistake.entry.record,
                "steps": list(_steps_of(each, mistake)),
                "agent": mistake.agent,
                "reason": mistake.reason,
            }
            for mistake in each.trajectory.mistakes
        ],
        "remarks": [attrs.asdict(remark) for remark in each.trajectory.remarks],
        "records": [
            {"record": entry.record, "index": entry.index, "steps": list(steps)}
            for entry, steps in each.placed.items()
        ],
    }

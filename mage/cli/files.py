"""Commands over files: `export`, a session as a bundle; `replay`, other agents' traces as trees."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final, final

import attrs
import typer
from returns.pipeline import is_successful
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

import mage
from mage.bundle import Bundle, encode_bundle, pack
from mage.cli.naming import AtVersion, InFile, InStore, parse_reference
from mage.cli.output import (
    AsJson,
    Refused,
    console,
    numbered,
    print_json,
    print_lines,
    print_text,
    read_bytes,
    require_absent,
    say,
    some_of,
    write_new,
)
from mage.cli.sessions import (
    Opened,
    Version,
    complete_session,
    load_commands,
    opened_session,
    parse_version,
    records_of,
    state_at,
)
from mage.cli.show import print_tree
from mage.codec import encode_journal, encode_tree
from mage.engine import Command, State, StepId
from mage.render import Meter, as_dot, as_mermaid, bars, draw, one_line, printable
from mage.session import Session
from mage.stores import MemoryStore
from mage.tokens import TokenCounter, default_counter
from mage.trajectories import (
    FORMATS,
    Counts,
    Coverage,
    Entry,
    Mistake,
    Need,
    Remark,
    Trajectory,
    atif_document,
    counts,
    formats,
    load,
    needs,
    placed,
)
from mage.trajectories.measure import ContextSizes, Covering, Measured, is_our_extract, measure, together


class Notation(StrEnum):
    """What a session can be written as; all but the first three are its tree alone."""

    BUNDLE = "bundle"
    JOURNAL = "journal"
    ATIF = "atif"
    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


def export(
    session: Version,
    to: Annotated[
        Notation,
        typer.Option(
            "--to",
            help="A bundle has every record; a journal the commands alone; atif is for other tools; the others draw the tree.",
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
        if as_json:
            print_json({"session": str(session), "to": to.value, "file": str(out)})
        else:
            print_text(f"{printable(str(session))} written to {printable(str(out))}\n")
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
        case Notation.ATIF:
            yield json.dumps(_document(session), indent=1).encode() + b"\n"
        case _:
            drawn = _DRAWN[to](state_at(session.session, session.version))
            yield drawn.encode(errors="backslashreplace")


_DRAWN: Final[dict[Notation, Callable[[State], str]]] = {
    Notation.TEXT: lambda state: "".join(f"{line}\n" for line in draw(state.tree, limit=None)),
    Notation.MERMAID: lambda state: as_mermaid(state.tree),
    Notation.DOT: lambda state: as_dot(state.tree),
    Notation.JSON: lambda state: encode_tree(state).decode().rstrip("\n") + "\n",
}


def _document(session: AtVersion) -> dict[str, object]:
    """Return the session as a document of ATIF."""
    with opened_session(session.session) as found:
        last = found.require(session.version)
        with Session.open(found.store, found.name, wait=False) as opened:
            return atif_document(found.name, opened.history(upto=last), mage.__version__)


def _bundle(found: Opened, version: int | None, *, lineage: bool) -> Bundle:
    if version is None:
        return pack(found.store, found.name, lineage=lineage)
    with MemoryStore() as store:
        store.create(found.name, records_of(found, version))
        return pack(store, found.name)


# -- replay ---------------------------------------------------------------------------------------------

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
        str,
        typer.Argument(
            metavar="TRACE|SESSION",
            autocompletion=complete_session,
            help="A trace, whose format is found by looking; or a session in a store.",
            show_default=False,
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
    format: Annotated[str | None, typer.Option(metavar="NAME", help=f"One of {', '.join(FORMATS)}.")] = None,  # noqa: A002
    steps: Annotated[
        Steps, typer.Option(help="In a chat, a step is an assistant message, or a tool call with its result.")
    ] = Steps.MESSAGES,
    as_json: AsJson = False,
) -> None:
    """Turn an agent's trace into a tree; count what S would have shown."""
    if format is not None and format not in formats():
        raise typer.BadParameter(f"{format!r} is none of {', '.join(formats())}", param_hint="--format")
    if writes is not None and not covers:
        raise typer.BadParameter("it says something with --coverage alone", param_hint="--writes")
    data, named = _trace(file)
    loaded = load(data, file=named, format=format, steps=steps.value)
    if not is_successful(loaded):
        raise Refused(str(loaded.failure()))
    chosen = _choose(loaded.unwrap(), file, task)
    if out is not None:
        if len(chosen) != 1:
            raise typer.BadParameter(
                f"{file} holds {len(chosen)} tasks: choose one with --task", param_hint="--out"
            )
        require_absent(out)
    counter = default_counter()
    asked = _Asked(budget, covers, tuple(filter(None, map(str.strip, (writes or "").split(",")))))
    replayed = _replay_all(chosen, asked, counter, quiet=as_json)
    if out is not None:
        write_new(out, encode_journal(replayed[0].measured.commands))
    if as_json:
        print_json(as_json_object(replayed, counter, budget))
        return
    print_report(replayed, counter, budget)
    if out is not None:
        say(f"session written to {printable(str(out))}")


def _trace(given: str) -> tuple[bytes, str]:
    """Return a trace as bytes and what its file is called: the file itself, or a session in a store as a journal.

    Raises:
        Refused: there is neither.
    """
    said = parse_reference(given)
    if isinstance(said.place, InFile) and said.version is None:
        return read_bytes(said.place.path), given
    named = parse_version(given)
    name = named.session.name if isinstance(named.session, InStore) else given
    return b"".join(encode_journal(load_commands(named.session, named.version))), f"{name}.jsonl"


@final
@attrs.frozen
class _Asked:
    """What a replay is to do beside counting."""

    budget: int | None
    covers: bool
    writes: tuple[str, ...]

    def needs(self, trajectory: Trajectory) -> tuple[Need, ...]:
        """Return what its steps need."""
        names = self.writes
        return needs(
            trajectory,
            writes=(lambda name: any(fnmatchcase(name, each) for each in names)) if names else None,
        )


def _choose(trajectories: Sequence[Trajectory], file: str, task: str | None) -> Sequence[Trajectory]:
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


def _replay_all(
    chosen: Sequence[Trajectory], asked: _Asked, counter: TokenCounter, *, quiet: bool
) -> list[Replayed]:
    meter = Meter(counter)
    screen = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TaskProgressColumn())
    disable = quiet or not screen.is_terminal
    with Progress(*columns, console=screen, transient=True, disable=disable) as progress:
        bar = progress.add_task("replaying", total=sum(len(trajectory.commands) for trajectory in chosen))
        return [_replay_one(each, asked, meter, lambda _: progress.advance(bar)) for each in chosen]


def _replay_one(
    trajectory: Trajectory, asked: _Asked, meter: Meter, done: Callable[[Command], None]
) -> Replayed:
    covering = Covering(asked.needs(trajectory)) if asked.covers else None
    measured = measure(
        trajectory.commands,
        meter,
        budget=None if trajectory.summarized else asked.budget,
        trials=trajectory.trials,
        progress=done,
        decided=None if covering is None else covering.decided,
    )
    coverage = None if covering is None else covering.coverage
    return Replayed(trajectory, measured, counts(measured.commands), placed(trajectory), coverage)


# -- what a replay comes to -----------------------------------------------------------------------------


@final
@attrs.frozen
class Replayed:
    """A trajectory, what was shown at each decision in it, what its tree came to, and at which steps each record stands.

    What its actions need, and whether it was shown, where that was asked.
    """

    trajectory: Trajectory
    measured: Measured
    counts: Counts
    placed: Mapping[Entry, tuple[StepId, ...]]
    coverage: Coverage | None = None


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
    for title, values in (("shown", sizes.shown), ("full ", sizes.full)) if len(replayed) == 1 else ():
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


_COVERED: Final = {
    "values": "values that actions copy from earlier observations",
    "far": "of these, far: in no open step",
    "actions": "actions with all of their values",
    "writes": "of these, actions that change something",
    "runs": "runs with all of their values",
}


def _coverage_lines(replayed: Sequence[Replayed], sizes: ContextSizes) -> Iterator[str]:
    """Yield what was covered, where that was asked, and what it says and does not."""
    covered = _covered(replayed)
    if covered is None:
        return
    shares = covered.shares()
    if not covered.uses:
        yield "coverage: no action copies a value from an earlier observation, so there is nothing to cover"
        return
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


def _covered(replayed: Sequence[Replayed]) -> Coverage | None:
    found = [each.coverage for each in replayed if each.coverage is not None]
    return together(found) if found else None


def _plain_coverage(coverage: Coverage | None) -> dict[str, object]:
    """Return the counts for JSON; nothing where they were not asked for."""
    if coverage is None:
        return {}
    shares = {
        name: {
            "covered": share.covered,
            "of": share.of,
            "part": None if share.part is None else round(share.part, 4),
        }
        for name, share in coverage.shares().items()
    }
    return {"coverage": shares}


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


def _remarks(replayed: Sequence[Replayed], budget: int | None) -> list[str]:
    history = "the full history is the task and every step so far, abandoned ones too"
    if any(each.trajectory.trials for each in replayed):
        history += "; each trial begins it anew"
    said = [_of_summaries(replayed, budget), f"{history}; calls to judges and summarizers are not counted"]
    longest = max((each.measured.sizes.shown_max for each in replayed), default=0)
    if budget is None or longest <= budget or all(each.trajectory.summarized for each in replayed):
        return said
    above = f"a prompt took up to {longest:,} tokens, more than {budget:,}: the mark counts no finished part, and each step"
    return [*said, f"{above} is shown whole once"]


def _of_summaries(replayed: Sequence[Replayed], budget: int | None) -> str:
    commands = [command for each in replayed for command in each.measured.commands]
    if any(map(is_our_extract, commands)):
        return "the summaries are extracts (no LLM), accepted without a verdict"
    if any(each.trajectory.summarized for each in replayed):
        return "the summaries are those of the trace" + "; --budget does nothing here" * (budget is not None)
    if budget is None:
        return "nothing was compressed: the trace has no summaries; --budget TOKENS compresses by extracts"
    return f"nothing was compressed: the prompts did not pass {budget:,} tokens"


def _counts_line(total: Counts) -> str:
    return (
        f"{numbered(total.steps, 'step')}, {numbered(total.merges, 'merge')},"
        f" {numbered(total.branch_points, 'branch point')}, {numbered(total.revisions, 'revision')}"
        f" ({numbered(total.abandoned, 'step')} abandoned), {numbered(total.summaries, 'summary')},"
        f" deepest path {total.max_depth:,}"
    )


_COLUMNS: Final = (
    *("steps", "merges", "branch points", "revisions"),
    *("summaries", "deepest", "shown", "reduction"),
)


def _table(replayed: Sequence[Replayed]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("task", overflow="ellipsis", no_wrap=True)
    for name in _COLUMNS:
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
    every = [attrs.astuple(each.counts) for each in replayed]
    total = Counts(*map(sum, zip(*every, strict=True)))
    return attrs.evolve(total, max_depth=max(each.counts.max_depth for each in replayed)), sizes


def as_json_object(
    replayed: Sequence[Replayed], counter: TokenCounter, budget: int | None
) -> dict[str, object]:
    """Return totals over the tasks, and the same for each under `tasks`, with what its file says and holds."""
    tasks = [
        {
            "task": each.trajectory.name,
            **_plain(each.counts, each.measured.sizes),
            **_plain_coverage(each.coverage),
            **_plain_file(each),
        }
        for each in replayed
    ]
    return {
        **_plain(*_totals(replayed)),
        **_plain_coverage(_covered(replayed)),
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

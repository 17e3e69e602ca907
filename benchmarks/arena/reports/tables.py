"""The tables of a report: the paper's two in their layout, and what they do not say, with its intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final, cast

from benchmarks.arena.domains.results import Row
from benchmarks.arena.domains.scoring import mean
from benchmarks.arena.domains.words import several
from benchmarks.arena.reports.blocks import ABLATIONS, NAMED, Block, averages, blocks
from benchmarks.arena.reports.files import Numbers, Results
from benchmarks.arena.reports.series import (
    BASELINE,
    Said,
    Series,
    beside,
    calls_of,
    difference,
    has_a_model,
    number_of,
    pairs_of,
    report,
    share_of_tokens,
    tokens_of,
    who_acted,
    with_tokens,
)
from benchmarks.arena.reports.table import Line, Place, Table

_TITLES: Final = {
    "shopping": "Web Shopping",
    "travel": "Travel Planning",
    "search": "Web Search",
    "math": "Math",
    "physics": "Physics",
}
_FORMAL: Final = ("math", "physics")
_NOTHING: Final = "-"
_EACH: Final = several(
    "domain, memory; tasks; SR; 95 %; PS; 95 %; soft PS; answered; by cap; stopped; failed; steps; tokens; 95 %"
)
_PAIRED: Final = several("memory - full history; tasks; SR; 95 %; PS; 95 %; tokens; 95 %; of full")
_LABORATORY: Final = several(
    "memory; tasks; SR; 95 %; PS; SR - full; 95 %; tokens; 95 %; steps; guessed; revisions; failed"
)
_COVERAGE: Final = several(
    "system; values; far; ±; actions; writes; runs; far words; tokens; ±; of full; all that is sent"
)
_FOLLOWED: Final = several(
    "memory; runs; SR; 95 %; score; steps; lost; looked up; tokens; of full; 95 %; sent; of full"
)
_INTERVALS: Final = (
    "95 % intervals: of SR by Wilson's score, of the others by tasks drawn anew, which is a point where all tasks agree:"
    " then more tasks are needed. A missing answer and a failed task count as 0; tokens and calls are means over the tasks"
    " whose run has not failed."
)


def tables(results: Results) -> list[Table]:
    """Return the tables of a report, in their order."""
    found = [table for block in blocks(results.tasks) for table in _of_block(block)]
    found += [_laboratory(block) for block in blocks(results.tasks, laboratory=True)]
    coverage, followed, paired = (results.tables.get(name, ()) for name in ("coverage", "follow", "paired"))
    found += [*_coverage(coverage), *_coverage_paired([row for row in paired if "traces" in row])]
    found += [*_followed(followed), *_followed_paired([row for row in paired if "environment" in row])]
    others = [name for name in results.tables if name not in ("coverage", "follow", "paired", "run")]
    found += [_as_they_are(name, results.tables[name]) for name in others]
    return found


def _of_block(block: Block) -> Iterator[Table]:
    who = who_acted(block.settings)
    ours = set(block.memories.values())
    main = [label for label in block.labels if block.memories[label] not in list(ABLATIONS)[1:]]
    if main:
        yield _main(block, main, f"Main results: {who}")
    ablated = [label for label in block.labels if block.memories[label] in ABLATIONS]
    if ours.intersection(list(ABLATIONS)[1:]):
        yield _ablation(block, ablated, f"Ablation: {who}")
    yield _each(block, f"Each series: {who}")
    yield _differences(block, f"Paired differences against full history, over the same tasks: {who}")
    yield _calls(block, f"Tokens of a task by kind of call: {who}")


# -- the paper's two tables ------------------------------------------------------------------------------


def _main(block: Block, labels: Sequence[str], title: str) -> Table:
    """Return Table 1: a line for each system, SR and PS of each domain, Math and Physics apart; then averages."""
    groups, columns = list[tuple[str, int]](), ["Method"]
    plain = [name for name in block.domains if name not in _FORMAL]
    formal = [name for name in block.domains if name in _FORMAL]
    for name in plain:
        groups.append((_TITLES.get(name, name), 3))
        columns += ["SR", "PS", "#tokens"]
    for name in formal:
        groups.append((_TITLES[name], 2))
        columns += ["SR", "PS"]
    if formal:
        groups.append(("Formal", 1))
        columns.append("#tokens")
    means = {str(said["label"]): said for said in averages(block)} if len(block.domains) > 1 else {}
    if means:
        groups += [("Average over domains", 3), ("Average over tasks", 3)]
        columns += ["SR", "PS", "#tokens"] * 2
    lines = [
        (label, *_scores(block, label, plain, formal), *_means(means.get(label), bool(means)))
        for label in labels
    ]
    limited = {at for at, line in enumerate(lines) if line[0] in block.limited}
    notes = [_about(block), *block.notes, "#tokens: mean of a task, prompts and replies of all calls."]
    marked = _marked(columns, lines, limited) if has_a_model(block.settings) and len(lines) > 1 else {}
    if marked:
        notes.append(
            "The best of a column is bold (in a terminal *), the second underlined ('); intervals stand below."
        )
    return Table(title, tuple(columns), tuple(lines), tuple(groups), tuple(notes), marked)


def _scores(block: Block, label: str, plain: Sequence[str], formal: Sequence[str]) -> Iterator[str]:
    for name in (*plain, *formal):
        series = block.series.get((label, name))
        yield from (
            (_NOTHING, _NOTHING) if series is None else (_share(series.mean("sr")), _share(series.mean("ps")))
        )
        if name in plain:
            yield _NOTHING if series is None else _mean_of(tokens_of(series.rows))
    if formal:
        yield _mean_of(tokens_of(block.rows_of(label, formal)))


def _means(said: Said | None, wanted: bool) -> Iterator[str]:
    for name in ("over_domains", "over_tasks") if wanted else ():
        if said is None:
            yield from (_NOTHING,) * 3
        else:
            of = cast("Mapping[str, float]", said[name])
            yield from (
                _share(of["sr"]),
                _share(of["ps"]),
                _thousands(of["tokens"]) if of["tokens"] else _NOTHING,
            )


def _marked(columns: Sequence[str], lines: Sequence[Line], limited: Set[int]) -> dict[Place, str]:
    """Return the best and the second cells of each column of scores; equal ones share a mark.

    Lines whose figures say nothing of a system take no part.
    """
    found: dict[Place, str] = {}
    for place, name in enumerate(columns):
        cells = [_NOTHING if at in limited else line[place] for at, line in enumerate(lines)]
        ranked = (
            sorted({cell for cell in cells if cell != _NOTHING}, reverse=True) if name in ("SR", "PS") else []
        )
        for at, cell in enumerate(cells):
            for rank, mark in enumerate(["best", "second"]):
                if cell in ranked[rank : rank + 1] and len(ranked) > 1:
                    found[at, place] = mark
    return found


def _ablation(block: Block, labels: Sequence[str], title: str) -> Table:
    groups = tuple((_TITLES.get(name, name), 3) for name in block.domains)
    order = sorted(labels, key=lambda label: list(ABLATIONS).index(block.memories[label]))
    lines = [(_variant(block, label), *_scores(block, label, block.domains, ())) for label in order]
    columns = ("Variant", *["SR", "PS", "#tokens"] * len(block.domains))
    return Table(title, columns, tuple(lines), groups, (_about(block),))


def _variant(block: Block, label: str) -> str:
    memory = block.memories[label]
    return ABLATIONS[memory] + label.removeprefix(NAMED.get(memory, memory))


def _about(block: Block) -> str:
    told = ", ".join(f"{name} {value}" for name, value in block.settings.items() if name != "agent")
    counts = ", ".join(f"{name} {_tasks(block, name)}" for name in block.domains)
    return f"{told}; tasks: {counts}."


def _tasks(block: Block, domain: str) -> str:
    counts = sorted({len(series.rows) for (_, name), series in block.series.items() if name == domain})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


# -- what stands beside them ----------------------------------------------------------------------------


def _each(block: Block, title: str) -> Table:
    lines = []
    for label, domain in _in_order(block):
        (said,) = report(block.series[label, domain].rows)
        lines.append((f"{domain}, {label}", *_each_cells(said)))
    return Table(title, _EACH, tuple(lines), notes=(_INTERVALS, *_origins(block)))


def _origins(block: Block) -> Iterator[str]:
    """Yield where the numbers come from, as the rows say it."""
    found: dict[str, None] = {}
    for series in block.series.values():
        origin = next((row["origin"] for row in series.rows if isinstance(row.get("origin"), dict)), {})
        found.update(
            {f"{name}: {told}.": None for name, told in cast("Mapping[str, object]", origin).items()}
        )
    yield from sorted(found)


def _in_order(block: Block) -> list[tuple[str, str]]:
    return [
        (label, domain)
        for domain in block.domains
        for label in block.labels
        if (label, domain) in block.series
    ]


def _each_cells(said: Said) -> Iterator[str]:
    yield str(said["tasks"])
    yield from (
        _share(said["sr"]),
        _ends(said["sr_interval"]),
        _share(said["ps"]),
        _ends(said["ps_interval"]),
    )
    yield _share(said["soft_ps"]) if "soft_ps" in said else _NOTHING
    yield from (
        _share(said["answered"]),
        _share(said["stopped_by_cap"]),
        str(said["stopped"]),
        str(said["failed"]),
    )
    yield f"{said['steps']:.0f}"
    yield from (
        (f"{said['tokens']:,.0f}", _ends(said["tokens_interval"], ",.0f"))
        if said["tokens_tasks"]
        else (_NOTHING, _NOTHING)
    )


def _differences(block: Block, title: str) -> Table:
    if BASELINE not in block.memories.values():
        return Table(
            title, _PAIRED, (), notes=(f"There is no row of {BASELINE}, so nothing to put beside it.",)
        )
    lines = []
    for label in block.labels:
        pairs = []
        for domain in block.domains:
            series = block.series.get((label, domain))
            other = None if series is None else beside(series, list(block.series.values()))
            shared = [] if series is None or other is None else pairs_of(series, other)
            pairs += shared
            if shared:
                lines.append((f"{domain}, {label}", *_difference_cells(shared)))
        if pairs and len(block.domains) > 1:
            lines.append((f"all tasks, {label}", *_difference_cells(pairs)))
    return Table(title, _PAIRED, tuple(lines), notes=("An interval without 0 in it is a difference.",))


def _difference_cells(pairs: Sequence[tuple[Row, Row]]) -> Iterator[str]:
    yield str(len(pairs))
    for name, form in (("sr", "+.3f"), ("ps", "+.3f"), ("tokens", "+,.0f")):
        more, ends = difference(pairs, name)
        known = name != "tokens" or with_tokens(pairs)
        yield from (format(more, form), _ends(ends, form)) if known else (_NOTHING, _NOTHING)
    yield _share(share_of_tokens(pairs))


def _calls(block: Block, title: str) -> Table:
    told = {pair: calls_of(block.series[pair].rows) for pair in _in_order(block)}
    kinds = [name for name in ("model", "judge", "summarizer") if any(name in each for each in told.values())]
    kinds += sorted({name for each in told.values() for name in each}.difference(kinds))
    lines = []
    for (label, domain), each in told.items():
        cells = [f"{domain}, {label}"]
        for kind in kinds:
            of = each.get(kind, {"calls": 0.0, "prompt": 0.0, "completion": 0.0})
            cells += [f"{of['calls']:.1f}", f"{of['prompt']:,.0f}", f"{of['completion']:,.0f}"]
        lines.append(tuple(cells))
    columns = ("domain, memory", *["calls", "read", "written"] * len(kinds))
    return Table(title, columns, tuple(lines), tuple((kind, 3) for kind in kinds))


# -- other commands' rows -----------------------------------------------------------------------------------


def _laboratory(block: Block) -> Table:
    lines = []
    said_of = {str(said["settings"]): said for said in report(_all_rows(block))}
    for label, domain in _in_order(block):
        series: Series = block.series[label, domain]
        said = said_of[str(dict(series.settings))]
        lines.append((label, *_laboratory_cells(said)))
    notes = (
        f"{_about(block)} No result for a model: which numbers hold by construction, the domains' README says.",
        *block.notes,
        _INTERVALS,
    )
    return Table(f"Laboratory: {who_acted(block.settings)}", _LABORATORY, tuple(lines), notes=notes)


def _all_rows(block: Block) -> Iterator[Row]:
    return (row for series in block.series.values() for row in series.rows)


def _laboratory_cells(said: Said) -> Iterator[str]:
    yield from (str(said["tasks"]), _share(said["sr"]), _ends(said["sr_interval"]), _share(said["ps"]))
    has_pair = "sr_more" in said
    yield f"{said['sr_more']:+.3f}" if has_pair else _NOTHING
    yield _ends(said["sr_more_interval"], "+.3f") if has_pair else _NOTHING
    yield from (f"{said['tokens']:,.0f}", _ends(said["tokens_interval"], ",.0f"), f"{said['steps']:.0f}")
    yield f"{said['guessed']:.1f}" if "guessed" in said else _NOTHING
    yield from (f"{said['revisions']:.1f}", str(said["failed"]))


def _coverage(rows: Iterable[Numbers]) -> Iterator[Table]:
    for traces, found in _by(rows, "traces").items():
        lines = [tuple(_coverage_cells(row)) for row in found]
        first = found[0]
        notes = (
            f"{first.get('tasks')} tasks, {first.get('decisions')} decisions; room {first.get('room')}, summary limit"
            f" {first.get('summary_limit')}, seed {first.get('seed')}, tokens by {first.get('counter')}.",
            "A value that is shown need not be used: full history covers all by construction, so this shows loss alone.",
        )
        yield Table(f"Coverage of {traces}: no model acted", _COVERAGE, tuple(lines), notes=notes)


def _coverage_cells(row: Numbers) -> Iterator[str]:
    yield str(row.get("system"))
    yield from (
        _share(row.get("values_part")),
        _share(row.get("far_part")),
        _share(row.get("far_half_width")),
    )
    yield from (_share(row.get(f"{name}_part")) for name in ("actions", "writes", "runs", "far_words"))
    yield from (_whole(row.get("tokens_each")), _whole(row.get("tokens_half_width")))
    yield from (_share(row.get("of_full_history")), _whole(row.get("sent_each")))


def _coverage_paired(rows: Iterable[Numbers]) -> Iterator[Table]:
    for traces, found in _by(rows, "traces").items():
        lines = [
            (
                f"{row.get('system')} - {row.get('beside')}",
                _signed(row.get("far_difference"), "+.3f"),
                _ends(row.get("far_interval"), "+.3f"),
                _signed(row.get("tokens_difference"), "+,.0f"),
                _ends(row.get("tokens_interval"), "+,.0f"),
            )
            for row in found
        ]
        columns = several("systems; far values; 95 %; tokens; 95 %")
        yield Table(f"Coverage of {traces}, paired differences: no model acted", columns, tuple(lines))


def _followed(rows: Iterable[Numbers]) -> Iterator[Table]:
    for title, found in _by_environment(rows):
        lines = [
            (
                str(row.get("memory")),
                str(row.get("runs")),
                _share(row.get("sr")),
                _ends(row.get("sr_interval"), ".3f"),
                _share(row.get("score")),
                *(_plain(row.get(name)) for name in ("steps", "lost", "looked_up")),
                _whole(row.get("tokens")),
                _share(row.get("of_full_history")),
                _ends(row.get("of_full_interval"), ".3f"),
                _whole(row.get("sent")),
                _share(row.get("sent_of_full_history")),
            )
            for row in found
        ]
        named = ("version", "before", "seed", "reading", "room")
        told = ", ".join(f"{name} {found[0][name]}" for name in named if name in found[0])
        notes = (f"{told}. A value may be used only where it is shown; environment and scorer are others'.",)
        yield Table(
            f"{title}: no model acted: recorded plans are followed", _FOLLOWED, tuple(lines), notes=notes
        )


def _followed_paired(rows: Iterable[Numbers]) -> Iterator[Table]:
    for title, found in _by_environment(rows):
        lines = [
            (
                f"{row.get('memory')} - {row.get('beside')}",
                _signed(row.get("sr_difference"), "+.3f"),
                _ends(row.get("sr_interval"), "+.3f"),
                _signed(row.get("of_full_difference"), "+.3f"),
                _ends(row.get("of_full_interval"), "+.3f"),
            )
            for row in found
        ]
        columns = several("systems; SR; 95 %; tokens of full; 95 %")
        yield Table(f"{title}, paired differences: no model acted", columns, tuple(lines))


def _by_environment(rows: Iterable[Numbers]) -> Iterator[tuple[str, list[Numbers]]]:
    """Yield rows of the plan follower by where they were played and how, with a title."""
    found: dict[str, list[Numbers]] = {}
    for row in rows:
        ups = f", look-ups {'on' if row['look_ups'] else 'off'}" if "look_ups" in row else ""
        before = f", {row['before']} runs of others before" if row.get("before") else ""
        found.setdefault(f"Plans followed in {row.get('environment')}{ups}{before}", []).append(row)
    yield from found.items()


def _by(rows: Iterable[Numbers], name: str) -> dict[str, list[Numbers]]:
    found: dict[str, list[Numbers]] = {}
    for row in rows:
        found.setdefault(str(row.get(name)), []).append(row)
    return found


def _as_they_are(name: str, rows: Sequence[Numbers]) -> Table:
    """Return the rows of a measure that this report knows nothing of: what differs in columns, what does not in a note."""
    names = [each for each in dict.fromkeys(each for row in rows for each in row) if each != "table"]
    texts = {each: [_plain(row.get(each)) for row in rows] for each in names}
    same = [each for each in names if len(rows) > 1 and len(set(texts[each])) == 1]
    shown = [each for each in names if each not in same]
    lines = tuple(zip(*(texts[each] for each in shown), strict=True)) if shown else ()
    note = "; ".join(f"{each}: {texts[each][0]}" for each in same)
    return Table(f"Rows of {name}", tuple(shown) or ("",), lines, notes=(f"{note}.",) if note else ())


# -- cells -------------------------------------------------------------------------------------------------


def _share(number: object) -> str:
    return _NOTHING if number is None else f"{number_of(number):.3f}"


def _whole(number: object) -> str:
    return _NOTHING if number is None else f"{number_of(number):,.0f}"


def _mean_of(tokens: Sequence[float]) -> str:
    return _thousands(mean(tokens)) if tokens else _NOTHING


def _thousands(number: float) -> str:
    return f"{number / 1000:,.0f}K" if number >= 1000 else f"{number:.0f}"


def _signed(number: object, form: str) -> str:
    return _NOTHING if number is None else format(number_of(number), form)


def _ends(interval: object, form: str = ".2f") -> str:
    if not isinstance(interval, list | tuple) or len(interval) != 2:
        return _NOTHING
    return f"[{format(number_of(interval[0]), form)}, {format(number_of(interval[1]), form)}]"


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, list) and all(isinstance(each, int | float) for each in value):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, dict):
        return ", ".join(f"{name}={_plain(each)}" for name, each in value.items())
    return _NOTHING if value is None else f"{value:,}" if type(value) is int else str(value)

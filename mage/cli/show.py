"""Commands that look at stores and sessions: `sessions`, `tree`, `show`, `log`, `diff`, `check`."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, TypeVar, cast, final

import attrs
import typer
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from mage.cli.naming import AtVersion, spelled
from mage.cli.output import AsJson, Refused, console, print_answer, print_json, print_text, some_of
from mage.cli.sessions import (
    Opened,
    Store,
    Version,
    load_commands,
    named_by,
    opened,
    opened_session,
    parse_version,
    records_of,
    sound_sessions,
    state_at,
    unwrapped,
)
from mage.engine import (
    Active,
    Chapter,
    InvariantError,
    Line,
    State,
    Step,
    Tree,
    apply,
    check,
    check_change,
    view,
)
from mage.engine import inside as look_inside
from mage.engine.tree import trace
from mage.memory.journal import ANSWERED, MEMORY_NOTES, RUN
from mage.render import (
    Difference,
    Meter,
    Sides,
    compare_states,
    difference_as_json,
    draw,
    one_line,
    printable,
    render,
    state_as_json,
    tree_as_json,
)
from mage.render.blocks import Block, inside_of, named_line_of
from mage.render.forms import Json, Style, line_as_json, step_as_json, verdict_of
from mage.stores import (
    NOTE,
    JournalInfo,
    JournalStore,
    Record,
    Redacted,
    StoreError,
    fold,
    meta_of,
    operation_of,
    text_names,
)
from mage.tokens import default_counter

Item = TypeVar("Item")

STYLES: Final[dict[Style, str]] = {
    "active": "none",
    "left": "dim",
    "note": "italic",
    "lesson": "cyan",
    "passed": "green",
    "failed": "bold red",
    "accepted": "yellow",
    "unverified": "magenta",
}
"""How a terminal shows each kind of line of a drawing."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FAR: Final = 8 * 10**15
"""Microseconds, in the year 2223: a record with a later time is shown without one."""
_WIDTH: Final = 100
"""Columns of a text in a difference; --json has it whole."""

# -- sessions --------------------------------------------------------------------------------------------

_TITLES: Final = ("session", "outcome", "versions", "tokens", "last change", "task")
_NUMBERS: Final = ("versions", "tokens")
_WIDEST: Final = 40
"""Columns of a cell: a longer cell stands out of its column, for a name is never cut."""
_LEAST: Final = 24
"""Columns that a task needs beside the others; with fewer it has a separate line."""
_SOME: Final = 4
"""How many damaged sessions a message lists."""
_TASK: Final = 60
"""Columns of a task where there is no terminal."""


@final
@attrs.frozen
class _Listed:
    """A session as `mage sessions` lists it.

    Attributes:
        name: empty where its row in the store is damaged.
        journal: None where its row is damaged.
        task: None where a damage hides it, as with `tokens`.
        outcome: how its run ended, or the phase of a summary that is not accepted; else empty.
        tokens: the size of S, which the agent would be shown.
        damage: the first fault; None where every record is as it was written.
    """

    name: str
    journal: JournalInfo | None
    task: str | None = None
    outcome: str = ""
    tokens: int | None = None
    damage: str | None = None


def sessions(store: Store, as_json: AsJson = False) -> None:
    """List the sessions of a store, the last changed first.

    The columns are the outcome of the session's run, its versions, the tokens of S, which its agent would be shown now,
    the time of the last change in UTC, and the task, with the version at which a fork begins. Every record is read: a
    damaged session is named as damaged. Exit status: 0, or 1 where a session is damaged.
    """
    with opened(store) as found:
        listed = _listed(found)
    damaged = [each for each in listed if each.damage is not None]
    if as_json:
        known = [_listed_as_json(each, each.journal) for each in listed if each.journal is not None]
        faults = [": ".join([spelled(each.name)] * bool(each.name) + [f"{each.damage}"]) for each in damaged]
        print_json({"store": str(store), "sessions": known, "damaged": faults})
    elif listed:
        _print_table(listed)
    else:
        print_text(f"{printable(str(store))} holds no session\n")
    if damaged:
        some = some_of([spelled(each.name) or f"{each.damage}" for each in damaged], _SOME)
        raise Refused(f"{store} is damaged: {some}; mage doctor {store} looks at all of it")


def _listed(found: JournalStore) -> list[_Listed]:
    journals, broken = sound_sessions(found)
    meter = Meter(default_counter())
    return [
        *[_Listed("", None, damage=words) for words in broken],
        *[
            _looked_at(found, each, meter)
            for each in sorted(journals, key=lambda each: (-each.changed, each.name))
        ],
    ]


def _looked_at(found: JournalStore, journal: JournalInfo, meter: Meter) -> _Listed:
    """Return a session as it is listed. Cost: O(its records)."""
    last: list[Record] = []
    try:
        state = fold(_noticing(records_of(Opened(found, journal.name), journal.head.version), last))
    except StoreError as error:
        return _Listed(journal.name, journal, damage=str(error))
    outcome = _outcome(last, state, journal.head.version)
    return _Listed(journal.name, journal, state.tree.task, outcome, meter.count(view(state)))


def _noticing(records: Iterator[Record], last: list[Record]) -> Iterator[Record]:
    """Yield records, and put the last note among them into `last`."""
    for record in records:
        if record.body.startswith(NOTE):
            last[:] = [record]
        yield record


def _outcome(last: list[Record], state: State, version: int) -> str:
    """Return how the run of a session ended, by its last note; without a run, the phase of an open summary.

    The notes of a memory belong to no run: only its answer is listed, until a command stands behind it.
    """
    kind = operation_of(last[0])[1] if last else ""
    if kind == ANSWERED and last[0].version == version:
        return "answered"
    if kind in ("", *MEMORY_NOTES):
        return "" if isinstance(state, Active) else type(state).__name__.lower()
    if kind != "ended" or last[0].version != version:  # behind its end the run goes on from a command by hand
        return "not ended"
    try:
        document = json.loads(last[0].parts[0].text)
        outcome, reason = str(document["outcome"]), str(document["reason"]).replace("_", " ")
    except (ValueError, LookupError, TypeError):
        return "unreadable"  # it was redacted
    return outcome if reason == outcome else f"{outcome}: {reason}"


def _print_table(listed: Sequence[_Listed]) -> None:
    """Print a line of titles and a line for each session; a name is never cut or broken, so that it can be pasted."""
    screen = console()
    rows = [_TITLES, *[_cells(each, 2 * screen.width if screen.is_terminal else _TASK) for each in listed]]
    widths = [max(min(cell_len(cell), _WIDEST) for cell in column) for column in zip(*rows, strict=True)][:-1]
    room = screen.width - sum(widths) - 2 * len(widths) if screen.is_terminal else None
    styles = ["bold", *("bold red" if each.damage is not None else "" for each in listed)]
    for row, style in zip(rows, styles, strict=True):
        line, task = "  ".join(map(_padded, _TITLES, row, widths)), row[-1]
        lines = [(f"{line}  {task if room is None else _cut(task, room)}", style)]
        if room is not None and room < _LEAST:
            below = (f"    {_cut(task, screen.width - 4)}", style or "dim")
            lines = [(line, style), *[below] * (row is not _TITLES)]
        for text, shown in lines:
            screen.print(Text(text.rstrip(), style=shown), soft_wrap=True)


def _padded(title: str, cell: str, width: int) -> str:
    room = " " * (width - cell_len(cell))
    return room + cell if title in _NUMBERS else cell + room


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _cells(each: _Listed, longest: int) -> tuple[str, ...]:
    journal = each.journal
    if journal is None:
        return ("?", "damaged", "", "", "", f"{each.damage}")
    begins = "" if journal.parent is None else f"(from {spelled(journal.parent)}@{journal.forked_at}) "
    return (
        spelled(each.name),
        each.outcome if each.damage is None else "damaged",
        f"{journal.head.version:,}",
        "" if each.tokens is None else f"{each.tokens:,}",
        (time_of(journal.changed) or "")[:16].replace("T", " "),
        begins + one_line(each.task or "", longest) if each.damage is None else each.damage,
    )


def _listed_as_json(each: _Listed, journal: JournalInfo) -> Json:
    return {
        "name": each.name,
        "spelled": spelled(each.name),
        "task": each.task,
        "outcome": each.outcome,
        "tokens": each.tokens,
        "damage": each.damage,
        "versions": journal.head.version,
        "own_records": journal.records,
        "own_steps": journal.grows,
        "own_bytes": journal.payload,
        "parent": journal.parent,
        "forked_at": journal.forked_at,
        "head": journal.head.digest,
        "created": time_of(journal.created),
        "changed": time_of(journal.changed),
    }


def time_of(microseconds: object) -> str | None:
    """Return a time in ISO 8601, in UTC and to the second; None for a value that is no time."""
    if type(microseconds) is not int or not 0 <= microseconds < _FAR:
        return None
    return (_EPOCH + timedelta(microseconds=microseconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


# -- tree and show ---------------------------------------------------------------------------------------


def print_tree(tree: Tree, *, limit: int | None = 80) -> None:
    """Draw a tree on standard output; a terminal cuts the end of a line, a pipe gets it whole."""
    screen = console()
    cut = screen.is_terminal
    for line in draw(tree, limit=limit):
        text = Text(line.drawn(screen.width if cut else None), style=STYLES[line.style])
        screen.print(text, no_wrap=cut, overflow="ellipsis" if cut else None, soft_wrap=not cut)


def tree(
    session: Version,
    full: Annotated[bool, typer.Option("--full", help="Fold nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw a session's tree: the path straight down, what was left beside it.

    ● is a step on the active path, ◆ the step where the agent stands, ○ a step that was left; ■ is a summary, with
    its verdict first; ! an instruction; ✎ a lesson.
    """
    state = state_at(session.session, session.version)
    if as_json:
        print_json(tree_as_json(state))
    else:
        print_tree(state.tree, limit=None if full else 80)


_LINE: Final = re.compile(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?\Z")


def show(
    session: Version,
    as_json: AsJson = False,
    inside: Annotated[
        str | None,
        typer.Option(
            "--inside",
            metavar="N|N..M",
            help="Show instead what a line stands for: N of [Step N], N..M of a line inside a chapter.",
        ),
    ] = None,
) -> None:
    """Show what the agent would see: the execution state S. Or what stands under one of its lines.

    A line of a finished subgoal stands for its steps, as they were; a chapter for the lines that it replaced, and
    --inside N..M shows what stands under such a line.
    """
    state = state_at(session.session, session.version)
    if inside is not None:
        _show_inside(state, inside, as_json)
        return
    shown = view(state)
    print_answer(as_json, state_as_json(shown), [render(shown)])


def _show_inside(state: State, named: str, as_json: AsJson) -> None:
    spelled_line = _LINE.match(named)
    if spelled_line is None:
        raise typer.BadParameter("expected N or N..M, such as 24 or 0..57", param_hint="--inside")
    boundary = None if spelled_line[2] is None else int(spelled_line[2])
    found = unwrapped(look_inside(state, int(spelled_line[1]), boundary))
    document = {
        "line": line_as_json(found.line),
        "lines": [line_as_json(line) for line in found.lines],
        "steps": [step_as_json(step) for step in found.steps],
    }
    blocks = [*named_line_of(found.line), Block("stands for"), *inside_of(found)]
    print_answer(as_json, document, [block.text for block in blocks])


# -- log -------------------------------------------------------------------------------------------------


@final
@attrs.frozen
class Entry:
    """A record, its operation, and what that did: the step or summary made or changed, the boundary gone back to."""

    record: Record
    operation: str
    did: dict[str, Json]
    meta: dict[str, object]

    @property
    def time(self) -> str | None:
        """The time when it was recorded; None where its meta does not say."""
        return time_of(self.meta.get("at"))

    @property
    def texts(self) -> dict[str, str]:
        """Its texts by name, without its meta."""
        named = zip(text_names(self.record), self.record.parts, strict=True)
        return {name: part.text for name, part in named if name != "meta"}

    @property
    def redacted(self) -> list[str]:
        """The names of the texts that were taken out of it."""
        named = zip(text_names(self.record), self.record.parts, strict=True)
        return [name for name, part in named if isinstance(part, Redacted)]


def entries(records: Iterable[Record]) -> Iterator[Entry]:
    """Yield what each record of a journal did, from its first on.

    Raises:
        DamagedRecord: at the first that cannot be carried out.
    """
    state: State | None = None
    for record in records:
        before, state = state, fold([record], state)
        operation, did = _did(record, before, state)
        yield Entry(record, operation, did, meta_of(record))


def _did(record: Record, before: State | None, after: State) -> tuple[str, dict[str, Json]]:
    """Return the operation of a record, and what it did."""
    operation, kind = operation_of(record)
    tree = after.tree
    head = tree.head_summary
    match operation:
        case "start":
            return operation, {}
        case "note":
            return operation, {"kind": kind}
        case "grow" | "walk" | "instruct":
            return operation, {"step": tree.step_head}
        case "revise":
            left = 0 if before is None else len(trace(before.tree, tree.step_head, before.tree.step_head))
            return operation, {"boundary": tree.step_head, "abandoned": left}
        case "compress" | "retext":
            covers: list[Json] = [head.covers[0], head.covers[-1]]
            return operation, {"summary": head.id, "covers": covers, "kind": head.kind}
        case _:
            return operation, {"summary": head.id}


def log(
    session: Version,
    texts: Annotated[
        bool,
        typer.Option(
            "--texts", help="Show actions, observations and other texts too; --json always has them."
        ),
    ] = False,
    notes: Annotated[
        bool,
        typer.Option("--notes", help="List the notes of a run too: its answers and its intents."),
    ] = False,
    last: Annotated[
        int | None, typer.Option("--last", min=1, metavar="N", help="Only the last so many records.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what each command did to a session.

    A command of a run is marked {run}. A line has version, time, operation, what it did, and in braces the keys of its meta.
    """
    with opened_session(session.session) as found:
        shown: Iterable[Entry] = (
            entry
            for entry in entries(records_of(found, session.version))
            if notes or entry.operation != "note"
        )
        shown = shown if last is None else deque(shown, maxlen=last)
        if as_json:
            print_json({"session": str(session), "records": [_entry_as_json(each) for each in shown]})
            return
        for entry in shown:
            print_text(_line(entry))
            if texts:
                lines = [f"        {name}: {printable(text)}\n" for name, text in entry.texts.items()]
                print_text("".join(lines))


def _line(entry: Entry) -> str:
    did = " ".join(f"{name} {_range(value)}" for name, value in entry.did.items())
    keys = sorted(key for key in entry.meta if key != "at")
    words = [f"{entry.record.version:>6}", entry.time or "-" * 20, f"{entry.operation:<8}", did]
    if keys:
        words.append("{" + ", ".join(one_line(key, 24) for key in keys) + "}")
    if entry.redacted:
        words.append(f"(redacted: {', '.join(entry.redacted)})")
    return "  ".join(word for word in words if word).rstrip() + "\n"


def _range(value: Json) -> str:
    if isinstance(value, list):
        return f"{value[0]}-{value[1]}" if value[0] != value[1] else f"{value[0]}"
    return f"{value}"


def _entry_as_json(entry: Entry) -> Json:
    return {
        "version": entry.record.version,
        "time": entry.time,
        "operation": entry.operation,
        **entry.did,
        "run": entry.operation == "note" or entry.meta.get(RUN) is True,
        "texts": dict(entry.texts),
        "meta": cast("Json", entry.meta),  # it was read from JSON
        "redacted": [*entry.redacted],
        "digest": entry.record.digest,
    }


# -- diff ------------------------------------------------------------------------------------------------


def diff(
    left: Annotated[
        AtVersion,
        named_by(parse_version, "SESSION[@VERSION]", "A session, at its head or at a version.", envvar=None),
    ],
    right: Annotated[
        AtVersion, named_by(parse_version, "SESSION[@VERSION]", "What it is compared with.", envvar=None)
    ],
    as_json: AsJson = False,
) -> None:
    """Show what differs in S between two versions or sessions.

    Exit status: 0 where S is the same, else 1.
    """
    one, other = (view(state_at(side.session, side.version)) for side in (left, right))
    found = compare_states(one, other)
    parts = difference_as_json(found)
    document = {"left": str(left), "right": str(right), "differ": found.differ, "parts": parts}
    sides = f"- {printable(str(left))}\n+ {printable(str(right))}\n"
    print_answer(as_json, document, [sides, *difference_lines(found)])
    if found.differ:
        raise typer.Exit(1)


def difference_lines(found: Difference) -> list[str]:
    """Return the differences as lines, each with its end; one that says so where nothing differs."""
    if not found.differ:
        return ["nothing differs in C, R and H\n"]
    return [
        *_part("task", found.task, _text),
        *_part("instructions", found.instructions, _text),
        *_part("C compressed", found.compressed, _shown_line),
        *_part("R raw", found.raw, _step),
        *_part("H boundary", found.boundary, lambda step: f"[Step {step}]"),
        *_part("H continuations", found.continuations, _step),
        *_part("H subgoals", found.subgoals, _shown_line),
        *_part("H lessons", found.lessons, lambda lesson: f"[Step {lesson.boundary}] {_text(lesson.text)}"),
    ]


def _part(name: str, sides: Sides[Item], line: Callable[[Item], str]) -> Sequence[str]:
    if not sides.differ:
        return ()
    same = f" ({sides.same:,} the same)" if sides.same else ""
    return (
        f"{name}{same}\n",
        *[f"  - {line(item)}\n" for item in sides.left],
        *[f"  + {line(item)}\n" for item in sides.right],
    )


def _text(text: str) -> str:
    return one_line(text, _WIDTH)


def _step(step: Step) -> str:
    return f"{step.id} {one_line(step.action, _WIDTH // 2)} → {one_line(step.observation, _WIDTH // 2)}"


def _shown_line(line: Line) -> str:
    if isinstance(line, Chapter):
        return f"[Step {line.label}..{line.boundary}] {_text(line.text)} (chapter)"
    first, last = line.covers[0], line.covers[-1]
    covers = f"{first}-{last}" if first != last else f"{first}"
    return f"[Step {line.label}] {_text(line.text)} (covers {covers}, {line.kind}, {verdict_of(line)})"


# -- check -----------------------------------------------------------------------------------------------


def check_session(session: Version, as_json: AsJson = False) -> None:
    """Check that a session is a sound tree after each of its commands: the twelve invariants of the engine."""
    commands = load_commands(session.session, session.version)
    state = apply(None, commands[0]).unwrap()  # `load_commands` has carried them out once
    at = "command 1"
    try:
        for number, command in enumerate(commands[1:], start=2):
            at = f"command {number}"
            before, state = state, apply(state, command).unwrap()
            check_change(before, state)
        at = "the last state"
        check(state)
    except InvariantError as broken:
        raise Refused(f"{session}: {at} breaks {broken}") from None
    document = {"commands": len(commands), "steps": state.tree.next_step - 1, "sound": True}
    line = f"{printable(str(session))}: {len(commands)} commands, sound after each: I1 to I12 hold\n"
    print_answer(as_json, document, [line])

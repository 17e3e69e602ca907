"""A stateful test of the engine: commands on any earlier version; and the plain form of a state, by which versions are compared.

A bundle holds all versions, so a rule draws an old version as easily as the newest.

The plain form is everything that can be observed of a state, as data that any language can write. Two implementations agree
on a state when they write the same bytes: `canonical_json`. Where they do not, `differences` of the two forms names the
parts. `specs/conformance/PROTOCOL.md` lists the parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, TypeAlias, assert_never, final

import attrs
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    multiple,
    precondition,
    rule,
)

from mage.engine import (
    Accepted,
    ApplyVerdict,
    Chapter,
    Command,
    Compress,
    Digest,
    ExecutionState,
    Failed,
    Grow,
    Hints,
    Kind,
    Line,
    Passed,
    Pending,
    Rejected,
    Revise,
    Start,
    State,
    Step,
    StepId,
    Summary,
    SummaryId,
    SummaryVerdict,
    Tree,
    Unverified,
    Verdict,
    check,
    check_change,
    inside,
    judge_request,
    start,
    view,
)
from mage.engine.ids import ROOT_SUMMARY
from mage.engine.journal import Operation
from mage.engine.tree import CHUNK
from mage.testing.strategies import (
    OPERATIONS,
    Edge,
    OperationName,
    carry_out,
    commands,
    kinds,
    runs,
    state_script,
    texts,
    verdicts,
)


@final
@attrs.frozen
class Version:
    """A state, the commands that led to it, and its form and hash when it was new.

    Attributes:
        state: the state of the engine.
        form: its canonical JSON.
        hash: its hash.
        before: the version that the edges begin at, None for the start.
        edges: the commands from `before` to here, refused ones included.
    """

    state: State
    form: bytes
    hash: int
    before: Version | None
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, state: State, before: Version | None = None, edges: tuple[Edge, ...] = ()) -> Version:
        """Return the version of a new state. Cost: O(size of its tree)."""
        return cls(state, canonical_json(state), hash(state), before, edges)

    @property
    def path(self) -> tuple[Edge, ...]:
        """Every edge from the start to here. Cost: O(their number)."""
        parts: list[tuple[Edge, ...]] = []
        version: Version | None = self
        while version is not None:
            parts.append(version.edges)
            version = version.before
        return tuple([edge for part in reversed(parts) for edge in part])

    @property
    def tried(self) -> tuple[Command, ...]:
        """The start and every command that was tried on the way here. Cost: O(their number)."""
        return (Start(self.state.tree.task), *(edge.command for edge in self.path))

    @property
    def journal(self) -> tuple[Command, ...]:
        """The start and the commands on the way here that were accepted. Cost: O(their number)."""
        accepted = (edge.command for edge in self.path if edge.refusal is None)
        return (Start(self.state.tree.task), *accepted)


Versioned: TypeAlias = Version | MultipleResults[Version]
"""What a rule adds to the bundle: a version, or nothing where nothing changed."""


class VersionMachine(RuleBasedStateMachine):
    """Carries out commands on any earlier version, and checks everything that must hold.

    For every command, `check_change` and `check` find nothing, a refused command returns the state before it, and the
    version before it has the same form, to the byte, and the same hash as when it was new (L2, L7).

    Subclass it to check more, or to run code of yours beside the engine:

        from mage.testing import Edge, VersionMachine

        class Mine(VersionMachine):
            def on_edge(self, edge: Edge) -> None:
                assert edge.after.tree.task == edge.before.tree.task

        TestMine = Mine.TestCase

    An exception that is raised while a command is carried out gets a note: Python that makes the state before the command,
    and the command.

    Attributes:
        tried: the start and every command up to the one that is carried out, refused ones included.
    """

    versions: Bundle[Version] = Bundle("versions")
    lengths = st.integers(1, 12)

    def __init__(self) -> None:
        super().__init__()
        self.newest = Version.of(start(""))
        self.tried: tuple[Command, ...] = self.newest.tried

    def on_start(self, first: State) -> None:
        """Check the first state; raise for a fault. Override it."""

    def on_edge(self, edge: Edge) -> None:
        """Check one command and the state after it; raise for a fault. Override it."""

    def look_again(self, version: Version) -> None:
        """Check that a version is the same after commands were carried out on it. Extend it with `super()`.

        Raises:
            AssertionError: the version has changed since it was new.
        """
        if canonical_json(version.state) != version.form or hash(version.state) != version.hash:
            raise AssertionError("L2 old_versions_stand: the state before is another than it was")

    @initialize(target=versions, task=texts)
    def begin(self, task: str) -> Version:
        """Start with any task."""
        self.newest = Version.of(start(task))
        self.tried = self.newest.tried
        with _Noted(self.newest.journal):
            self.on_start(self.newest.state)
        return self.newest

    @rule(target=versions, length=lengths, data=st.data())
    def go_on(self, length: int, data: st.DataObject) -> Versioned:
        """Carry out commands that mostly fit, on the newest version."""
        return self.followed(self.newest, length, data)

    @rule(target=versions, version=versions, length=lengths, data=st.data())
    def fork(self, version: Version, length: int, data: st.DataObject) -> Versioned:
        """Carry out commands that mostly fit, on any earlier version."""
        return self.followed(version, length, data)

    def followed(self, version: Version, length: int, data: st.DataObject) -> Versioned:
        """Carry out `length` drawn commands; return every version on the way."""
        passed: list[Version] = []
        for _ in range(length):
            led_to = self.carried_out(version, data.draw(commands(version.state)))
            if isinstance(led_to, Version):
                version = led_to
                passed.append(version)
        return multiple(*passed)

    @rule(target=versions, version=versions, operation=st.sampled_from(OPERATIONS), data=st.data())
    def try_anything(self, version: Version, operation: OperationName, data: st.DataObject) -> Versioned:
        """Carry out any operation, legal in this phase or not."""
        return self.carried_out(version, data.draw(commands(version.state, operation)))

    @rule(target=versions, version=versions, other=versions, verdict=verdicts)
    def judge_late(self, version: Version, other: Version, verdict: Verdict) -> Versioned:
        """Record a verdict on the question of another version."""
        digest = other.state.digest if isinstance(other.state, Unverified) else Digest("0" * 64)
        return self.carried_out(version, ApplyVerdict(verdict, digest))

    @precondition(lambda self: self.newest.state.tree.next_step < 2 * CHUNK)
    @rule(target=versions, run=runs)
    def grow_a_run(self, run: tuple[Grow, ...]) -> Versioned:
        """Record enough steps for the tree to pack them."""
        return self.carried_out(self.newest, *run)

    @rule(target=versions, version=versions, pick=st.integers(0, 9), text=texts, kind=kinds)
    def retrace(self, version: Version, pick: int, text: str, kind: Kind) -> Versioned:
        """Go back to the label of a summary, take the steps that it covers again, and compress them again (D4)."""
        tree = version.state.tree
        starts = tree.summary_path()[:-1] if isinstance(version.state, Rejected) else tree.summary_path()
        summaries = [tree.summary(below) for above in starts for below in tree.summary_children(above)]
        if not summaries:
            return multiple()
        summary = summaries[pick % len(summaries)]
        steps = map(tree.step, summary.covers)
        again = (Grow(step.action, step.observation) for step in steps)
        return self.carried_out(version, Revise(summary.label, ""), *again, Compress(text, kind))

    def carried_out(self, version: Version, *operations: Operation) -> Versioned:
        """Carry out commands in order, and check everything that must hold; return the version after them, if it is new."""
        state, edges = version.state, list[Edge]()
        journal, before = version.journal, version.tried
        for place, command in enumerate(operations):
            self.tried = (*before, *operations[: place + 1])
            with _Noted(journal, command):
                edge = carry_out(state, command)
                _look_at(edge)
                self.on_edge(edge)
            state = edge.after
            edges.append(edge)
            journal = (*journal, command) if edge.refusal is None else journal
        with _Noted(journal):
            check(state)
            self.look_again(version)
        if state is version.state:
            return multiple()
        self.newest = Version.of(state, version, tuple(edges))
        return self.newest


@final
@attrs.frozen
class _Noted:
    """Adds a note to an exception: Python that makes a state, and the command that was tried on that state."""

    journal: tuple[Command, ...]
    command: Command | None = None

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            tried = "" if self.command is None else f"\ncommand = {self.command!r}"
            error.add_note(f"{state_script(state=self.journal)}{tried}")


def _look_at(edge: Edge) -> None:
    """Check the laws that hold for every command."""
    check_change(edge.before, edge.after)
    if edge.refusal is not None and edge.after is not edge.before:
        raise AssertionError("L7 refusal_changes_nothing: a refused command returned another state")
    if edge.revised is not None:
        tree = edge.after.tree
        if any(tree.step(step.id) != step for step in edge.revised.abandoned):
            raise AssertionError("D7: an abandoned step is not the one in the tree")


# -- the plain form of a state ------------------------------------------------------------------------------

Canonical: TypeAlias = dict[str, object]
"""A plain form: its parts by name, each made of tuples, strings, numbers, True, False and None."""

_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False
)


def canonical(state: State) -> Canonical:
    """Return the plain form of a state: nodes with their children, lessons, instructions, heads, phase, S, a judge's question.

    Only the fields of the two roots are left out, which no view shows (D2). Two states are equal exactly when their forms
    are. Cost: O(size of the tree); 0.2 ms for 100 steps under 15 summaries.
    """
    tree = state.tree
    return {
        "phase": type(state).__name__,
        "heads": (tree.step_head, tree.summary_head, tree.boundary, tree.next_step, tree.next_summary),
        "paths": (tree.active_path(), tree.summary_path(), _way(tree), tree.segment()),
        **_nodes(tree),
        **_shown(view(state)),
        "inside": _inside(state),
        "asked": _asked(state),
    }


def canonical_json(state: State) -> bytes:
    r"""Return the plain form of a state as canonical JSON, in the spelling of D5. Cost: O(size of the tree).

    Keys are sorted, no space stands between the tokens, text is UTF-8; characters that JSON must escape are escaped
    in lower case, and lone surrogates are written as escapes, `\ud800`.
    """
    return spelled(canonical(state))


def spelled(form: Canonical) -> bytes:
    """Return a plain form, of any implementation, as canonical JSON. Cost: O(size)."""
    return _ENCODER.encode(form).encode(errors="backslashreplace")


def _way(tree: Tree) -> tuple[SummaryId, ...]:
    return (ROOT_SUMMARY, *[summary.id for summary in tree.way_upwards()][::-1])


def _inside(state: State) -> tuple[object, ...]:
    """Return the chapters that C shows, and those inside them, each with the lines that it replaced."""
    found: list[object] = []
    lines = [*view(state).compressed][::-1]
    while lines:
        line = lines.pop()
        if isinstance(line, Chapter):
            replaced = inside(state, line.label, line.boundary).unwrap().lines
            found.append(
                (line.label, line.boundary, tuple([(each.label, each.boundary) for each in replaced]))
            )
            lines.extend(replaced[::-1])
    return tuple(found)


def _nodes(tree: Tree) -> Canonical:
    steps = [StepId(number) for number in range(tree.next_step)]
    summaries = [SummaryId(number) for number in range(tree.next_summary)]
    return {
        "steps": _steps(tree.steps()),
        "step children": tuple([tree.step_children(step) for step in steps]),
        "summaries": _lines(tree.summaries()),
        "summary children": tuple([tree.summary_children(summary) for summary in summaries]),
        "chapters": tuple(
            [(summary, _lines(ended)) for summary in summaries if (ended := tree.chapters_at(summary))]
        ),
        "lessons": tuple([(step, left) for step in steps if (left := tree.lessons_at(step))]),
        "instructions": tuple(
            [(step, each.text, each.standing) for step in steps for each in tree.instructions_at(step)]
        ),
    }


def _shown(shown: ExecutionState) -> Canonical:
    hints = shown.hints
    return {
        "task": shown.task,
        "in force": shown.instructions,
        "C": _lines(shown.compressed),
        "R": _steps(shown.raw),
        "continuations": _steps(hints.continuations),
        "subgoals": _lines(hints.subgoals),
        "lessons here": tuple([(lesson.boundary, lesson.text) for lesson in hints.lessons]),
        "boundary": shown.boundary,
    }


def _asked(state: State) -> object:
    if not isinstance(state, Unverified):
        return None
    request = judge_request(state)
    return (
        request.task,
        request.instructions,
        request.kind,
        _lines(request.before),
        tuple(
            [(each.label, each.boundary, each.text, plain_verdict(each.verdict)) for each in request.earlier]
        ),
        _steps(request.steps),
        request.text,
        request.digest,
        tuple([step.id for step in judge_request(state, since_root=True).steps]),
        _hints(request.hints),
        request.boundaries,
    )


def _hints(hints: Hints) -> object:
    lessons = tuple([(lesson.boundary, lesson.text) for lesson in hints.lessons])
    return (hints.boundary, _steps(hints.continuations), _lines(hints.subgoals), lessons)


def _steps(steps: Iterable[Step]) -> tuple[object, ...]:
    return tuple([(step.id, step.parent, step.action, step.observation) for step in steps])


def _lines(lines: Iterable[Line]) -> tuple[object, ...]:
    return tuple([attrs.astuple(line) if isinstance(line, Chapter) else _summary(line) for line in lines])


def _summary(summary: Summary) -> object:
    place = (summary.id, summary.parent, summary.after, summary.label, summary.covers)
    return (*place, summary.text, summary.kind, plain_verdict(summary.verdict))


def plain_verdict(verdict: SummaryVerdict) -> tuple[str, str, str, int | None]:
    """Return a verdict as a word, feedback, fault and boundary; of `Accepted` those of the failed verdict before it (D6)."""
    match verdict:
        case Pending():
            return ("pending", "", "", None)
        case Passed():
            return ("passed", "", "", None)
        case Failed():
            return ("failed", verdict.feedback, verdict.fault, verdict.boundary)
        case Accepted():
            failed = verdict.despite
            if failed is None:
                return ("accepted", "", "", None)
            return ("accepted", failed.feedback, failed.fault, failed.boundary)
        case _:
            assert_never(verdict)


def differences(engine: Canonical, other: Canonical, name: str = "the other") -> str:
    """Return a line for each part in which the engine's plain form and another differ; "" for equal forms.

    Of a part that is a list the line names the first place that differs, and the number of others. `name` is that of the other
    implementation.
    """
    parts = dict.fromkeys([*engine, *other])
    lines = (_difference(part, engine.get(part), other.get(part), name) for part in parts)
    return "\n".join(line for line in lines if line)


def _difference(part: str, ours: object, theirs: object, name: str) -> str:
    if ours == theirs:
        return ""
    if not isinstance(ours, tuple | list) or not isinstance(theirs, tuple | list):
        return f"{part}: the engine has {ours!r}, {name} {theirs!r}"
    most = max(len(ours), len(theirs))
    at = [place for place in range(most) if ours[place : place + 1] != theirs[place : place + 1]]
    more = f" (and {len(at) - 1} more places)" if len(at) > 1 else ""
    found, instead = (repr(each[at[0]]) if at[0] < len(each) else "nothing" for each in (ours, theirs))
    return f"{part}[{at[0]}]: the engine has {found}, {name} {instead}{more}"

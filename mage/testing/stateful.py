"""Commands from any version that ever was: a stateful test to build one's own on.

A bundle holds all versions, so a rule draws an old one as easily as the newest: forks, and operations on what
others have long left behind.
"""

from __future__ import annotations

from typing import TypeAlias, final

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
    ApplyVerdict,
    Command,
    Compress,
    Digest,
    Grow,
    Kind,
    Rejected,
    Revise,
    Start,
    State,
    Unverified,
    Verdict,
    check,
    check_change,
    start,
)
from mage.engine.journal import Operation
from mage.engine.tree import CHUNK
from mage.testing.comparing import Disagreement, disagreement, script
from mage.testing.drawing import OPERATIONS, OperationName, draw_command
from mage.testing.edges import Edge, carry_out
from mage.testing.forms import canonical_json
from mage.testing.implementation import BEFORE_START, Implementation, Outcome, Request
from mage.testing.values import kinds, runs, texts, verdicts

__all__ = ["Version", "VersionMachine", "Versioned"]


@final
@attrs.frozen
class Version:
    """A state, how it was reached, and all that could be read of it when it was new.

    Attributes:
        state: the state of the engine.
        number: what the implementation beside the engine calls it; counted without one, too.
        form: its canonical JSON.
        hash: its hash.
        before: the version that the command before went on from, None at the start.
        commands: the commands that led here from there, refused ones included.
    """

    state: State
    number: int
    form: bytes
    hash: int
    before: Version | None
    commands: tuple[Command, ...]

    @property
    def way(self) -> tuple[Command, ...]:
        """The commands that led here, the start first. Cost: O(their number)."""
        parts: list[tuple[Command, ...]] = []
        version: Version | None = self
        while version is not None:
            parts.append(version.commands)
            version = version.before
        return tuple([command for part in reversed(parts) for command in part])


Versioned: TypeAlias = Version | MultipleResults[Version]
"""What a rule adds to the bundle: a version, or nothing where nothing changed."""


@final
@attrs.frozen
class _Told:
    """Adds to whatever goes wrong inside it the commands that led there, to be pasted."""

    commands: tuple[Command, ...]

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, Disagreement):
            error.add_note(f"from mage import *\n{script(self.commands)}")


class VersionMachine(RuleBasedStateMachine):
    """Carries out commands on any earlier version, and looks at everything that must hold.

    On every command: `check_change` and `check` find nothing, a refused command returns the state it was
    given, and the version that it went on from is what it was, to the byte and to the hash (L2, L7). With an
    `implementation`, also: it answers what the engine answers, and still shows that version as it was.

    To hold your own implementation against the engine, or to look at more:

        from hypothesis import settings
        from hypothesis.stateful import run_state_machine_as_test
        from mage.testing import Edge, JsonLines, VersionMachine

        def test_mine():
            with JsonLines(["./my-implementation"]) as mine:

                class Mine(VersionMachine):
                    implementation = mine

                    def on_edge(self, edge: Edge) -> None:
                        assert edge.after.tree.task == edge.before.tree.task

                run_state_machine_as_test(Mine, settings=settings(stateful_step_count=20))

    What fails has a note with the commands that led there, as Python to be pasted.
    """

    versions: Bundle[Version] = Bundle("versions")
    lengths = st.integers(1, 12)

    def __init__(self) -> None:
        super().__init__()
        self.reached = 0
        self.newest = self._version(start(""), None, (Start(""),))

    @property
    def implementation(self) -> Implementation | None:
        """What is held against the engine; None for the engine alone. Yours to say."""
        return None

    def on_edge(self, edge: Edge) -> None:
        """Look at one command and where it led; raise where something is wrong. Yours to override."""

    @initialize(target=versions, task=texts)
    def begin(self, task: str) -> Version:
        """Start with any task."""
        began, command = start(task), Start(task)
        if self.implementation is not None:
            self.implementation.forget()
        self.reached = 1
        self._compare(BEFORE_START, command, Outcome(began), ())
        self.newest = self._version(began, None, (command,))
        return self.newest

    @rule(target=versions, length=lengths, data=st.data())
    def go_on(self, length: int, data: st.DataObject) -> Versioned:
        """Carry out some commands that mostly fit, on from the newest version."""
        return self.followed(self.newest, length, data)

    @rule(target=versions, version=versions, length=lengths, data=st.data())
    def fork(self, version: Version, length: int, data: st.DataObject) -> Versioned:
        """Carry out some commands that mostly fit, on from any version that ever was."""
        return self.followed(version, length, data)

    def followed(self, version: Version, length: int, data: st.DataObject) -> Versioned:
        """Carry out so many drawn commands; return every version on the way."""
        passed: list[Version] = []
        for _ in range(length):
            led_to = self.carried_out(version, draw_command(data.draw, version.state))
            if isinstance(led_to, Version):
                version = led_to
                passed.append(version)
        return multiple(*passed)

    @rule(target=versions, version=versions, operation=st.sampled_from(OPERATIONS), data=st.data())
    def try_anything(self, version: Version, operation: OperationName, data: st.DataObject) -> Versioned:
        """Carry out any operation, legal in this phase or not."""
        return self.carried_out(version, draw_command(data.draw, version.state, operation))

    @rule(target=versions, version=versions, other=versions, verdict=verdicts)
    def judge_late(self, version: Version, other: Version, verdict: Verdict) -> Versioned:
        """Answer what was asked in another version."""
        digest = other.state.digest if isinstance(other.state, Unverified) else Digest("0" * 64)
        return self.carried_out(version, ApplyVerdict(verdict, digest))

    @precondition(lambda self: self.newest.state.tree.next_step < 2 * CHUNK)
    @rule(target=versions, run=runs)
    def grow_a_run(self, run: tuple[Grow, ...]) -> Versioned:
        """Record so many steps that the tree packs them."""
        return self.carried_out(self.newest, *run)

    @rule(target=versions, version=versions, pick=st.integers(0, 9), text=texts, kind=kinds)
    def retrace(self, version: Version, pick: int, text: str, kind: Kind) -> Versioned:
        """Go back to where some summary starts, walk down its covers and compress them again (D4)."""
        tree = version.state.tree
        starts = tree.summary_path()[:-1] if isinstance(version.state, Rejected) else tree.summary_path()
        summaries = [tree.summary(below) for above in starts for below in tree.summary_children(above)]
        if not summaries:
            return multiple()
        summary = summaries[pick % len(summaries)]
        steps = map(tree.step, summary.covers)
        again = (Grow(step.action, step.observation) for step in steps)
        return self.carried_out(version, Revise(summary.label, ""), *again, Compress(text, kind))

    def carried_out(self, version: Version, *commands: Operation) -> Versioned:
        """Carry out commands, one on from the other, and look at everything that must hold.

        Returns:
            The version that they led to, now the newest, or nothing where they changed nothing.
        """
        state, number = version.state, version.number
        for place, command in enumerate(commands):
            tried = (*version.way, *commands[: place + 1])
            with _Told(tried):
                edge = carry_out(state, command)
                self.reached += edge.refusal is None
                self._compare(number, command, Outcome.of(edge), tried[:-1])
                _look_at(edge)
                self.on_edge(edge)
            if edge.refusal is None:
                state, number = edge.after, self.reached
        with _Told((*version.way, *commands)):
            check(state)
            self._look_again(version)
        if state is version.state:
            return multiple()
        self.newest = self._version(state, version, commands, number)
        return self.newest

    def _version(
        self, state: State, before: Version | None, commands: tuple[Command, ...], number: int = 1
    ) -> Version:
        return Version(state, number, canonical_json(state), hash(state), before, commands)

    def _compare(self, on: int, command: Command, outcome: Outcome, before: tuple[Command, ...]) -> None:
        """Ask the implementation for the same command, and compare its answer with the engine's."""
        if self.implementation is None:
            return
        answer = self.implementation.apply(Request(on, command))
        if wrong := disagreement(self.implementation, answer, self.reached, outcome):
            raise Disagreement((*before, command), wrong)

    def _look_again(self, version: Version) -> None:
        """See that a version is what it was when it was new, on both sides."""
        if canonical_json(version.state) != version.form or hash(version.state) != version.hash:
            raise AssertionError("L2 old_versions_stand: the state before is another than it was")
        if self.implementation is not None and self.implementation.show(version.number) != version.form:
            raise AssertionError("L2 old_versions_stand: the implementation shows the state before otherwise")


def _look_at(edge: Edge) -> None:
    """See that one command did on the engine what any may do."""
    check_change(edge.before, edge.after)
    if edge.refusal is not None and edge.after is not edge.before:
        raise AssertionError("L7 refusal_changes_nothing: a refused command returned another state")
    if edge.revised is not None:
        tree = edge.after.tree
        if any(tree.step(step.id) != step for step in edge.revised.abandoned):
            raise AssertionError("D7: an abandoned step is not the one in the tree")

"""The engine beside the reference, from every version that ever was, one command at a time.

A bundle holds all versions, so a rule draws an old one as easily as the newest: forks, and operations on
what others have long left behind.
"""

from __future__ import annotations

from typing import TypeAlias, final

import attrs
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    multiple,
    rule,
    run_state_machine_as_test,
)

from mage import (
    ApplyVerdict,
    Compress,
    Digest,
    Grow,
    Kind,
    Rejected,
    Revise,
    State,
    Unverified,
    Verdict,
    check,
    check_change,
    start,
)
from mage.engine.journal import Operation
from specs.canonical import canonical_of_reference, copy_of_reference, differences
from specs.driver import carry_out, disagreement, perform
from specs.laws import Snapshot, old_versions_stand
from specs.reference import Mage
from tests.strategies import COMMANDS, draw_command, kinds, runs, texts, verdicts


@final
@attrs.frozen
class Version:
    """A state of the engine, all that could be read of it when it was new, and the reference beside it."""

    snapshot: Snapshot
    mage: Mage

    @property
    def state(self) -> State:
        """The state of the engine."""
        return self.snapshot.state


Versioned: TypeAlias = Version | MultipleResults[Version]
"""What a rule adds to the bundle: a version, or nothing where nothing changed."""


@final
class Versions(RuleBasedStateMachine):
    """Commands on any earlier version; each is compared with the reference, and the version looked at again."""

    versions: Bundle[Version] = Bundle("versions")
    lengths = st.integers(1, 12)

    def __init__(self) -> None:
        super().__init__()
        self.newest = self.version_of("", Mage(""))

    def version_of(self, task: str, mage: Mage) -> Version:
        """Return the first version of a history."""
        return Version(Snapshot.of(start(task)), mage)

    @initialize(target=versions, task=texts)
    def begin(self, task: str) -> Version:
        """Start with any task."""
        self.newest = self.version_of(task, Mage(task))
        assert not differences(self.newest.snapshot.plain, canonical_of_reference(self.newest.mage))
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
            led_to = self.compared(version, draw_command(data.draw, version.state))
            if isinstance(led_to, Version):
                version = led_to
                passed.append(version)
        return multiple(*passed)

    @rule(target=versions, version=versions, kind=st.sampled_from(COMMANDS), data=st.data())
    def try_anything(self, version: Version, kind: str, data: st.DataObject) -> Versioned:
        """Carry out a command of any kind, legal in this phase or not: what is illegal raises."""
        return self.compared(version, draw_command(data.draw, version.state, kind))

    @rule(target=versions, version=versions, other=versions, verdict=verdicts)
    def judge_late(self, version: Version, other: Version, verdict: Verdict) -> Versioned:
        """Answer what was asked in another version."""
        digest = other.state.digest if isinstance(other.state, Unverified) else Digest("")
        return self.compared(version, ApplyVerdict(verdict, digest))

    @rule(target=versions, run=runs)
    def grow_a_run(self, run: tuple[Grow, ...]) -> Versioned:
        """Record so many steps that the tree packs them."""
        return self.compared(self.newest, *run)

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
        return self.compared(version, Revise(summary.label, ""), *again, Compress(text, kind))

    def compared(self, version: Version, *commands: Operation) -> Versioned:
        """Carry out commands on both sides; return what they led to, or nothing where the last was refused."""
        state, mage = version.state, copy_of_reference(version.mage)
        for command in commands:
            edge = carry_out(state, command)
            answer = perform(mage, command)
            assert not disagreement(edge, mage, answer)
            check_change(state, edge.after)
            assert edge.refusal is None or edge.after is state
            state = edge.after
        after = Snapshot.of(state)
        assert not differences(after.plain, canonical_of_reference(mage))
        check(state)
        assert not list(old_versions_stand(version.snapshot))
        assert not differences(version.snapshot.plain, canonical_of_reference(version.mage))
        if state is version.state:
            return multiple()
        self.newest = Version(after, mage)
        return self.newest


def test_every_version_agrees_with_the_reference() -> None:
    """From any earlier version, any command does on the engine what Algorithm 1 with D1 to D18 does."""
    run_state_machine_as_test(Versions, settings=settings(stateful_step_count=40))

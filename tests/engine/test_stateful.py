"""The engine beside the reference, from every version that ever was, one command at a time.

A bundle holds all versions, so a rule draws an old one as easily as the newest: forks, and operations on
what others have long left behind.
"""

from __future__ import annotations

from typing import final

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
    Accept,
    ApplyVerdict,
    Compress,
    Digest,
    Grow,
    Instruct,
    Kind,
    Retext,
    Revise,
    StepId,
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
from tests.strategies import contents, legal_boundaries, runs, texts, verdicts

KINDS: st.SearchStrategy[Kind] = st.sampled_from(("subgoal", "fallback"))
SELDOM = st.integers(0, 9).map(lambda pick: pick == 9)


@final
@attrs.frozen
class Version:
    """A state of the engine, all that could be read of it when it was new, and the reference beside it."""

    snapshot: Snapshot
    mage: Mage


@final
class Versions(RuleBasedStateMachine):
    """Commands on any earlier version; each is compared with the reference, and the version looked at again."""

    versions: Bundle[Version] = Bundle("versions")
    any_version = st.one_of(st.none(), versions)
    """None is the newest, so that histories also get long."""

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

    @rule(target=versions, version=any_version, content=contents)
    def grow(self, version: Version | None, content: tuple[str, str]) -> Version | MultipleResults[Version]:
        """Record a step."""
        return self.compared(version or self.newest, Grow(*content))

    @rule(target=versions, version=any_version, place=st.integers(0, 5))
    def grow_again(self, version: Version | None, place: int) -> Version | MultipleResults[Version]:
        """Walk back into a step that is there, if any follows the step head."""
        version = version or self.newest
        children = version.snapshot.state.tree.step_children(version.snapshot.state.tree.step_head)
        if not children:
            return multiple()
        child = version.snapshot.state.tree.step(children[place % len(children)])
        return self.compared(version, Grow(child.action, child.observation))

    @rule(target=versions, run=runs)
    def grow_a_run(self, run: tuple[Grow, ...]) -> Version | MultipleResults[Version]:
        """Record so many steps that the tree packs them."""
        return self.compared(self.newest, *run)

    @rule(target=versions, version=any_version, text=texts, kind=KINDS)
    def compress(self, version: Version | None, text: str, kind: Kind) -> Version | MultipleResults[Version]:
        """Put a summary in the place of the open segment."""
        return self.compared(version or self.newest, Compress(text, kind))

    @rule(target=versions, version=any_version, text=texts, kind=st.one_of(st.none(), KINDS))
    def retext(
        self, version: Version | None, text: str, kind: Kind | None
    ) -> Version | MultipleResults[Version]:
        """Give the head summary another text."""
        return self.compared(version or self.newest, Retext(text, kind))

    @rule(target=versions, version=any_version, verdict=verdicts)
    def judge(self, version: Version | None, verdict: Verdict) -> Version | MultipleResults[Version]:
        """Answer what is asked in this version."""
        version = version or self.newest
        return self.compared(version, ApplyVerdict(verdict, digest_of(version)))

    @rule(target=versions, version=any_version, other=versions, verdict=verdicts)
    def judge_late(
        self, version: Version | None, other: Version, verdict: Verdict
    ) -> Version | MultipleResults[Version]:
        """Answer what was asked in another version."""
        return self.compared(version or self.newest, ApplyVerdict(verdict, digest_of(other)))

    @rule(target=versions, version=any_version)
    def accept(self, version: Version | None) -> Version | MultipleResults[Version]:
        """Go on without a pass."""
        return self.compared(version or self.newest, Accept())

    @rule(
        target=versions,
        version=any_version,
        place=st.integers(-3, 45),
        astray=SELDOM,
        lesson=st.one_of(st.just(""), texts),
    )
    def revise(
        self, version: Version | None, place: int, astray: bool, lesson: str
    ) -> Version | MultipleResults[Version]:
        """Go back to a boundary, or now and then to what may be none."""
        version = version or self.newest
        legal = legal_boundaries(version.snapshot.state)
        boundary = StepId(place) if astray else legal[place % len(legal)]
        return self.compared(version, Revise(boundary, lesson))

    @rule(target=versions, version=any_version, text=texts, standing=st.booleans())
    def instruct(
        self, version: Version | None, text: str, standing: bool
    ) -> Version | MultipleResults[Version]:
        """Place an instruction."""
        return self.compared(version or self.newest, Instruct(text, standing))

    def compared(self, version: Version, *commands: Operation) -> Version | MultipleResults[Version]:
        """Carry out commands on both sides; return what they led to, or nothing where the last was refused."""
        state, mage = version.snapshot.state, copy_of_reference(version.mage)
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
        if state is version.snapshot.state:
            return multiple()
        self.newest = Version(after, mage)
        return self.newest


def digest_of(version: Version) -> Digest:
    """Return the digest of what is asked in a version; where nothing is, one that nothing has."""
    state = version.snapshot.state
    return state.digest if isinstance(state, Unverified) else Digest("")


def test_every_version_agrees_with_the_reference() -> None:
    """From any earlier version, any command does on the engine what Algorithm 1 with D1 to D18 does."""
    run_state_machine_as_test(Versions, settings=settings(stateful_step_count=60))

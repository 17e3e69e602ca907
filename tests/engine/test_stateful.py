"""The engine beside the reference, from every version that ever was, one command at a time."""

from __future__ import annotations

from typing import final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from mage import Verdict
from mage.engine import ApplyVerdict, Digest, Revise, StepId
from mage.testing import Version, Versioned, verdicts
from specs.conformance import ConformanceMachine
from specs.driver import Reference


@final
class Versions(ConformanceMachine):
    """Commands on any earlier version, the reference beside the engine."""

    implementation = Reference()

    @rule(
        target=ConformanceMachine.versions,
        version=ConformanceMachine.versions,
        verdict=verdicts,
        digest=st.text(max_size=2),
    )
    def answer_nothing(self, version: Version, verdict: Verdict, digest: str) -> Versioned:
        """Answer with what is no digest at all, and so cannot stand in a journal."""
        return self.carried_out(version, ApplyVerdict(verdict, Digest(digest)))

    @rule(
        target=ConformanceMachine.versions,
        version=ConformanceMachine.versions,
        boundary=st.integers(max_value=-1),
    )
    def go_nowhere(self, version: Version, boundary: int) -> Versioned:
        """Go back to what is no step at all."""
        return self.carried_out(version, Revise(StepId(boundary), "lesson"))


def test_every_version_agrees_with_the_reference() -> None:
    """From any earlier version, any command does on the engine what Algorithm 1 with D1 to D18 does."""
    run_state_machine_as_test(Versions, settings=settings(stateful_step_count=40))
    assert Versions.implementation.show(1)  # the reference was asked

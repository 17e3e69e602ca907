"""The stateful test of `mage.testing` with another implementation beside the engine."""

from __future__ import annotations

from mage.engine import Command, Start, State
from mage.testing import Edge, Version, VersionMachine
from specs.conformance.comparison import Disagreement, disagreement
from specs.conformance.implementation import BEFORE_START, Implementation, Outcome, Request


class ConformanceMachine(VersionMachine):
    """Carries out each command on an implementation too: it answers what the engine answers.

    It also still shows a version, after commands went on from it, as it was. To hold yours against the engine:

        from hypothesis.stateful import run_state_machine_as_test
        from specs.conformance import ConformanceMachine, JsonLines

        def test_mine():
            with JsonLines(["./mine"]) as mine:

                class Mine(ConformanceMachine):
                    implementation = mine

                run_state_machine_as_test(Mine)

    `JsonLines` returns when the process has answered, so its start is no part of any example's time.
    """

    @property
    def implementation(self) -> Implementation:
        """The implementation beside the engine: a subclass says which."""
        raise NotImplementedError("a subclass of ConformanceMachine says `implementation = ...`")

    def __init__(self) -> None:
        super().__init__()
        self.reached = 0
        self.numbers: dict[State, int] = {}

    def on_start(self, first: State) -> None:
        """Begin anew on the implementation, and compare its first state."""
        self.implementation.forget()
        self._compare(BEFORE_START, Start(first.tree.task), Outcome(first))

    def on_edge(self, edge: Edge) -> None:
        """Carry out the command on the implementation, and compare the answers.

        Raises:
            Disagreement: it answers otherwise than the engine.
        """
        self._compare(self.numbers[edge.before], edge.command, Outcome.of(edge))

    def look_again(self, version: Version) -> None:
        """See that a version is what it was when it was new, on both sides."""
        super().look_again(version)
        if self.implementation.show(self.numbers[version.state]) != version.form:
            raise AssertionError("L2 old_versions_stand: the implementation shows the state before otherwise")

    def _compare(self, on: int, command: Command, outcome: Outcome) -> None:
        if outcome.refusal is None and outcome.after is not None:
            self.reached += 1
            self.numbers[outcome.after] = self.reached
        answer = self.implementation.apply(Request(on, command))
        if wrong := disagreement(self.implementation, answer, self.reached, outcome):
            raise Disagreement(self.tried, wrong)

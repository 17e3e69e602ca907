"""The stateful test beside an implementation sees what a sequence cannot: old states that an implementation changes."""

from __future__ import annotations

import inspect
import sys
import textwrap
from typing import final

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from mage.engine import Revise, Start
from specs.conformance import (
    Answer,
    ConformanceMachine,
    Disagreement,
    Engine,
    Implementation,
    Reached,
    Request,
    compare,
)
from tests.specs.conformance.faulty import FAULTS, Faulty

QUICK = settings(  # what is found is not shrunk: that it is found is the point here
    max_examples=200,
    stateful_step_count=10,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate],
)


def test_the_engine_beside_itself_holds() -> None:
    """The engine as an implementation agrees with the engine, and was asked."""
    engine = Engine()

    class Beside(ConformanceMachine):
        implementation = engine

    run_state_machine_as_test(Beside, settings=QUICK)
    assert engine.show(1)


@pytest.mark.parametrize("name", ["leaves no instructions behind", "expects no digest", "shows no subgoals"])
def test_a_fault_is_caught(name: str) -> None:
    """A faulty implementation is a disagreement, whose commands, pasted, show it again, in their fewest."""

    class Beside(ConformanceMachine):
        implementation = Faulty(FAULTS[name])

    with pytest.raises(Disagreement) as found:
        run_state_machine_as_test(Beside, settings=QUICK)
    assert isinstance(found.value.commands[0], Start)
    with pytest.raises(Disagreement) as again:
        compare(Faulty(FAULTS[name]), found.value.commands, shrink=False)
    assert again.value.detail == found.value.detail


@final
class ChangesInPlace(Implementation):
    """An implementation whose revise does away with the state it started from: no sequence would show it."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.moved: dict[int, int] = {}

    def apply(self, request: Request) -> Answer:
        answer = self.engine.apply(request)
        if isinstance(request.command, Revise) and isinstance(answer, Reached):
            self.moved[request.on] = answer.state
        return answer

    def show(self, state: int) -> bytes:
        return self.engine.show(self.moved.get(state, state))

    def forget(self) -> None:
        self.engine.forget()
        self.moved.clear()


def test_an_old_version_that_changes_is_noticed() -> None:
    """An implementation that changes a state in place is caught, because old versions are looked at again."""

    class Beside(ConformanceMachine):
        implementation = ChangesInPlace()

    with pytest.raises(AssertionError, match="L2 old_versions_stand"):
        run_state_machine_as_test(Beside, settings=QUICK)


def test_the_example_of_the_machine_runs() -> None:
    """The example in its docstring works as it stands, with mage's own server as the program."""
    source = inspect.getdoc(ConformanceMachine) or ""
    example = textwrap.dedent(
        source[source.index("    from hypothesis.stateful") : source.index("`JsonLines` returns")]
    )
    program = repr([sys.executable, "-m", "specs.conformance.serve"])
    quick = "(Mine, settings=settings(stateful_step_count=3, max_examples=5))"
    names: dict[str, object] = {"settings": settings}
    exec(example.replace('["./mine"]', program).replace("(Mine)", quick), names)
    test_mine = names["test_mine"]
    assert callable(test_mine)
    test_mine()

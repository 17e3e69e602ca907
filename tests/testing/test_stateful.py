"""The stateful test is a base to build on, and sees what a sequence cannot: old versions, one's own invariants."""

from __future__ import annotations

import inspect
import sys
import textwrap
from typing import final

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import mage
import mage.testing
from mage import Command, Revise, Start, replay
from mage.testing import (
    Answer,
    Disagreement,
    Edge,
    Engine,
    Implementation,
    Request,
    VersionMachine,
)
from tests.testing.faulty import FAULTS, Faulty

QUICK = settings(  # what is found is not shrunk: that it is found is the point here
    max_examples=60,
    stateful_step_count=10,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate],
)


def run(machine: type[VersionMachine]) -> None:
    """Run a machine."""
    run_state_machine_as_test(machine, settings=QUICK)


def test_the_engine_alone_holds() -> None:
    """Without anything beside it the machine looks at the engine, and finds nothing."""
    seen: set[str] = set()

    class Alone(VersionMachine):
        def on_edge(self, edge: Edge) -> None:
            seen.add(type(edge.command).__name__)

    run(Alone)
    assert len(seen) == 7


def test_the_engine_beside_itself_holds() -> None:
    """The engine as an implementation agrees with the engine."""

    class Beside(VersionMachine):
        implementation = Engine()

    run(Beside)
    assert Beside.implementation.show(1)


@pytest.mark.parametrize("name", ["leaves no instructions behind", "expects no digest", "shows no subgoals"])
def test_a_fault_is_caught(name: str) -> None:
    """A faulty implementation is a disagreement, whose commands, pasted, show it again."""

    class Beside(VersionMachine):
        implementation = Faulty(FAULTS[name])

    with pytest.raises(Disagreement) as found:
        run(Beside)
    assert isinstance(found.value.commands[0], Start)
    with pytest.raises(Disagreement) as again:
        mage.testing.compare(Faulty(FAULTS[name]), found.value.commands)
    assert again.value.detail == found.value.detail


@final
class ChangesInPlace(Implementation):
    """An implementation whose revise does away with the state it started from: no sequence would show it."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.moved: dict[int, int] = {}

    def apply(self, request: Request) -> Answer:
        answer = self.engine.apply(request)
        if isinstance(request.command, Revise) and isinstance(answer, mage.testing.Reached):
            self.moved[request.on] = answer.state
        return answer

    def show(self, state: int) -> bytes:
        return self.engine.show(self.moved.get(state, state))

    def forget(self) -> None:
        self.engine.forget()
        self.moved.clear()


def test_an_old_version_that_changes_is_noticed() -> None:
    """An implementation that changes a state in place is caught, because old versions are looked at again."""

    class Beside(VersionMachine):
        implementation = ChangesInPlace()

    with pytest.raises(AssertionError, match="L2 old_versions_stand"):
        run(Beside)


def test_what_fails_can_be_pasted() -> None:
    """An invariant of one's own that breaks comes with the commands that led there, the last one included."""

    class Strict(VersionMachine):
        def on_edge(self, edge: Edge) -> None:
            assert len(edge.after.tree.summary_path()) < 3

    with pytest.raises(AssertionError) as broken:
        run(Strict)
    note = next(note for note in broken.value.__notes__ if note.startswith("from mage import *"))
    names: dict[str, list[Command]] = {}
    exec(note, names)
    accepted = [names["commands"][0]]
    for command in names["commands"][1:]:
        if replay([*accepted, command]).value_or(None) is not None:
            accepted.append(command)
    assert len(replay(accepted).unwrap().tree.summary_path()) == 3


def test_the_example_of_the_machine_runs() -> None:
    """The example in its docstring works as it stands, with mage's own server as the program."""
    source = inspect.getdoc(VersionMachine) or ""
    example = textwrap.dedent(
        source[source.index("    from hypothesis import settings") : source.index("What fails")]
    )
    program = repr([sys.executable, "-m", "mage.testing.serve"])
    names: dict[str, object] = {}
    exec(example.replace('["./my-implementation"]', program).replace("=20)", "=3, max_examples=5)"), names)
    test_mine = names["test_mine"]
    assert callable(test_mine)
    test_mine()


def test_the_example_of_the_package_runs() -> None:
    """The property in the package's docstring holds."""
    source = mage.testing.__doc__ or ""
    names: dict[str, object] = {}
    exec(textwrap.dedent(source[source.index("    from hypothesis import given") :]), names)
    property_of_states = names["test_the_task_is_always_shown"]
    assert callable(property_of_states)
    property_of_states()

"""The stateful test is a base to build on, and what fails in it is printed as Python that shows it again."""

from __future__ import annotations

import inspect
import textwrap

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import mage.engine
import mage.testing
from mage.engine import Command, State, apply
from mage.testing import Edge, Version, VersionMachine

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


def noted(error: BaseException) -> dict[str, object]:
    """Run the Python that an exception has as a note; return what it defines."""
    note = next(note for note in error.__notes__ if note.startswith("from mage.engine import *"))
    names: dict[str, object] = {}
    exec(note, names)
    return names


def test_the_engine_alone_holds() -> None:
    """The machine looks at the engine and finds nothing; every operation comes to `on_edge`, each start to `on_start`."""
    seen: set[str] = set()

    class Alone(VersionMachine):
        def on_start(self, first: State) -> None:
            seen.add(type(self.tried[0]).__name__)
            assert first == mage.engine.start(first.tree.task)

        def on_edge(self, edge: Edge) -> None:
            seen.add(type(edge.command).__name__)
            assert self.tried[-1] == edge.command

    run(Alone)
    assert len(seen) == 9


def test_a_version_knows_the_commands_that_made_it() -> None:
    """A version's journal leads to its state from the start, and so does everything that was tried."""

    class Retold(VersionMachine):
        def look_again(self, version: Version) -> None:
            super().look_again(version)
            assert mage.engine.replay(version.journal).unwrap() == version.state
            assert mage.testing.state_after(version.tried) == version.state

    run(Retold)
    assert Retold.look_again is not VersionMachine.look_again


def test_a_failing_edge_is_noted_as_the_state_before_it_and_the_command() -> None:
    """The note of what `on_edge` raises, pasted, makes the very state and command that it was raised about."""
    met: list[Edge] = []

    class Strict(VersionMachine):
        def on_edge(self, edge: Edge) -> None:
            met.append(edge)
            assert len(edge.after.tree.summary_path()) < 3

    with pytest.raises(AssertionError) as broken:
        run(Strict)
    names = noted(broken.value)
    state, command = names["state"], names["command"]
    assert state == met[-1].before
    assert command == met[-1].command
    assert apply(met[-1].before, met[-1].command).unwrap() == met[-1].after


def test_a_failing_version_is_noted_as_its_state() -> None:
    """The note of what is raised about states alone makes the state, after the start as well as later."""

    class Late(VersionMachine):
        def look_again(self, version: Version) -> None:
            assert self.newest.state.tree.next_step < 4

    class AtOnce(VersionMachine):
        def on_start(self, first: State) -> None:
            raise AssertionError(first.tree.task)

    with pytest.raises(AssertionError) as late:
        run(Late)
    assert isinstance(
        noted(late.value)["state"], mage.engine.Active | mage.engine.Unverified | mage.engine.Rejected
    )
    assert "command" not in noted(late.value)
    with pytest.raises(AssertionError) as at_once:
        run(AtOnce)
    assert noted(at_once.value)["state"] == mage.engine.start(str(at_once.value.args[0]))


def test_a_version_that_changes_is_noticed() -> None:
    """A version whose form or hash is another than it was when new is caught."""

    class Forgetful(VersionMachine):
        def look_again(self, version: Version) -> None:
            super().look_again(
                Version(version.state, b"another", version.hash, version.before, version.edges)
            )

    class Rehashed(VersionMachine):
        def look_again(self, version: Version) -> None:
            super().look_again(
                Version(version.state, version.form, version.hash + 1, version.before, version.edges)
            )

    for machine in (Forgetful, Rehashed):
        with pytest.raises(AssertionError, match="L2 old_versions_stand"):
            run(machine)


def test_the_example_of_the_machine_runs() -> None:
    """The example in its docstring works as it stands."""
    source = inspect.getdoc(VersionMachine) or ""
    example = source[source.index("    from mage.testing import Edge") : source.index("An exception")]
    names: dict[str, type[VersionMachine]] = {}
    exec(textwrap.dedent(example), names)
    run(names["Mine"])
    assert "TestMine" in names


def test_the_example_of_the_package_runs() -> None:
    """The property in the package's docstring holds."""
    source = mage.testing.__doc__ or ""
    names: dict[str, object] = {}
    exec(textwrap.dedent(source[source.index("    from hypothesis import given") :]), names)
    property_of_states = names["test_the_task_is_always_shown"]
    assert callable(property_of_states)
    property_of_states()


def test_commands_that_hold_no_start_make_no_state() -> None:
    """What has no start, or two, is refused by name."""
    commands: list[Command] = [mage.engine.Grow("a", "o")]
    with pytest.raises(ValueError, match="none of the commands is a Start"):
        mage.testing.state_after(commands)
    with pytest.raises(ValueError, match="is its Start, not Grow"):
        mage.testing.History.of(commands)
    with pytest.raises(ValueError, match="one Start"):
        mage.testing.History.of([mage.engine.Start("t"), mage.engine.Start("u")])

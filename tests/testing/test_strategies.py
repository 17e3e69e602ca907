"""The strategies reach what they promise: phases, operations, lengths; what fails is printed as Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage.engine import (
    TRANSITIONS,
    Active,
    Command,
    IllegalPhase,
    Rejected,
    Start,
    State,
    Unverified,
    check,
    replay,
    start,
)
from mage.testing import History, carry_out, commands, histories, journals, states
from mage.testing.strategies import OPERATIONS, draw_command, legal_boundaries

Drawn = TypeVar("Drawn")
FEW = st.integers(0, 6)

A_FEW: Callable[..., settings] = lambda number: settings(max_examples=number, derandomize=True, database=None)  # noqa: E731


def named(command: Command) -> str:
    """Return the name of a command's operation, as the table has it."""
    return {"ApplyVerdict": "apply_verdict"}.get(type(command).__name__, type(command).__name__.lower())


@given(journals(), states())
def test_journals_and_states_are_sound(journal: tuple[Command, ...], state: State) -> None:
    """A journal is accepted from its start to its end; a state holds every invariant."""
    assert isinstance(journal[0], Start)
    check(replay(journal).unwrap())
    check(state)


def test_states_are_of_every_phase() -> None:
    """States come in all three phases."""
    seen: Counter[type[State]] = Counter()

    @A_FEW(100)
    @given(states())
    def count(state: State) -> None:
        seen[type(state)] += 1

    count()
    assert min(seen[phase] for phase in (Active, Unverified, Rejected)) >= 5


@given(st.data(), st.integers(0, 20))
def test_histories_are_as_long_as_asked(data: st.DataObject, size: int) -> None:
    """A history has the commands that were asked for, more only where one of them is a run of steps."""
    history = data.draw(histories(st.just(size)))
    assert len(history.edges) >= size
    assert len(history.journal) == len(history.states) <= len(history.edges) + 1
    assert history.states[0] is history.start


@given(states(), st.data())
def test_a_boundary_is_legal_exactly_where_revise_takes_it(state: State, data: st.DataObject) -> None:
    """`legal_boundaries` is what revise takes: each of them, and no other step."""
    from mage.engine import Revise

    legal = legal_boundaries(state)
    boundary = data.draw(st.integers(0, state.tree.next_step))
    assert (carry_out(state, Revise(boundary)).refusal is None) == (boundary in legal)


@given(states(), st.sampled_from(OPERATIONS), st.data())
def test_a_named_operation_is_drawn(state: State, name: str, data: st.DataObject) -> None:
    """A command of the operation asked for is drawn, also where it is not legal."""
    command = draw_command(data.draw, state, name)  # type: ignore[arg-type]
    assert named(command) == name
    edge = carry_out(state, command)
    legal = {row.phase for row in TRANSITIONS if row.operation == name and (row.leads_to or row.refuses)}
    assert isinstance(edge.refusal, IllegalPhase) == (type(state).__name__ not in legal)


@given(st.data())
def test_commands_fit_a_state(data: st.DataObject) -> None:
    """The strategy for what may come next draws commands for the state that it is given."""
    command = data.draw(commands(start("t")))
    assert named(command) in OPERATIONS


def printed(strategy: st.SearchStrategy[Drawn], passes: Callable[[Drawn], bool]) -> tuple[Drawn, Drawn, str]:
    """Return the smallest value that does not pass, what the printed example evaluates to, and what was printed."""
    met: list[Drawn] = []

    @settings(database=None)
    @given(strategy)
    def passing(value: Drawn) -> None:
        met.append(value)
        assert passes(value)

    with pytest.raises(AssertionError) as failed:
        passing()
    (example,) = [note for note in failed.value.__notes__ if "passing(" in note]
    code = example[example.index("passing(") :]
    names: dict[str, object] = {}
    exec("from mage.engine import *\nfrom mage.testing import *", names)
    return met[-1], eval(code, {**names, "passing": lambda value: value}), code


def test_a_failing_state_is_printed_as_the_commands_that_made_it() -> None:
    """The example that Hypothesis prints of a state, pasted, is an equal state; hostile texts do not spoil it."""
    state, again, code = printed(states(FEW), lambda state: isinstance(state, Active))
    assert again == state
    assert code.count("state_after") == 1
    state, again, _ = printed(states(FEW), lambda state: state.tree.task.isprintable())
    assert again == state


def test_a_failing_history_is_printed_as_its_commands() -> None:
    """The example of a history or a journal, pasted, is an equal one, with its refused commands."""
    history, again, _ = printed(
        histories(), lambda history: all(edge.refusal is None for edge in history.edges)
    )
    assert same(again, history)
    assert len(history.tried) > len(history.journal)
    journal, pasted, _ = printed(journals(FEW), lambda journal: len(journal) < 3)
    assert pasted == journal


def same(one: History, other: History) -> bool:
    """Tell whether two histories tried the same and it led to the same; exceptions are never equal."""
    return one.tried == other.tried and one.states == other.states and one.journal == other.journal


@given(histories())
def test_a_history_is_its_commands(history: History) -> None:
    """The history of the commands that were tried is the history, and its `repr` makes it."""
    assert same(History.of(history.tried), history)
    names: dict[str, object] = {}
    exec("from mage.engine import *\nfrom mage.testing import History", names)
    assert same(eval(repr(history), names), history)


@given(states(), st.data())
def test_any_command_is_printed_as_python(state: State, data: st.DataObject) -> None:
    """The `repr` of a command makes an equal command."""
    command = data.draw(commands(state))
    names: dict[str, object] = {}
    exec("from mage.engine import *", names)
    assert eval(repr(command), names) == command

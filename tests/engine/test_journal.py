"""A history as commands: apply, replay, and what a tampered journal is told."""

from __future__ import annotations

import re

import pytest

from mage import Failed, Passed
from mage.engine import (
    Accept,
    Active,
    ApplyVerdict,
    BlankSummary,
    Command,
    Compress,
    Digest,
    EmptyJournal,
    Fold,
    Grow,
    IllegalPhase,
    Instruct,
    RefusedCommand,
    Rejected,
    Retext,
    Revise,
    StaleVerdict,
    Start,
    State,
    StepId,
    UnfoldableRange,
    UnknownName,
    Unverified,
    apply,
    replay,
)

OPERATIONS = (
    Instruct("do"),
    Grow("a", "o"),
    Compress("text"),
    Retext("text"),
    ApplyVerdict(Passed(), Digest("0" * 64)),
    Accept(),
    Revise(0, "lesson"),
    Fold(0, 9, "both", Digest("0" * 64)),
)
LEGAL = {
    Active: (Instruct, Grow, Compress, ApplyVerdict, Revise, Fold),
    Unverified: (Instruct, Grow, Retext, ApplyVerdict, Accept, Revise),
    Rejected: (Retext, ApplyVerdict, Accept, Revise),
}


def after(*commands: Command) -> State:
    """Return the state after commands that are all accepted."""
    state: State | None = None
    for command in commands:
        state = apply(state, command).unwrap()
    assert state is not None
    return state


def pending() -> Unverified:
    """Return a state whose head summary is pending."""
    state = after(Start("task"), Grow("a", "o"), Compress("text"))
    assert isinstance(state, Unverified)
    return state


def test_a_journal_folds_to_its_state() -> None:
    """Replaying is applying one after the other (L8)."""
    digest = pending().digest
    commands = (
        Start("task"),
        Grow("a", "o"),
        Compress("text"),
        ApplyVerdict(Failed("no"), digest),
        Retext("other"),
        Accept(),
        Revise(0, "so"),
        Instruct("do", standing=True),
    )
    assert replay(commands).unwrap() == after(*commands)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: type(operation).__name__)
@pytest.mark.parametrize("phase", [None, Active, Unverified, Rejected])
def test_a_command_is_legal_where_its_operation_is(phase: type | None, operation: Command) -> None:
    """In another phase it raises, before the start all but a start do."""
    states: dict[type | None, State | None] = {
        None: None,
        Active: after(Start("task"), Grow("a", "o")),
        Unverified: pending(),
        Rejected: apply(pending(), ApplyVerdict(Failed("no"), pending().digest)).unwrap(),
    }
    if phase is not None and type(operation) in LEGAL[phase]:
        assert apply(states[phase], operation).swap().value_or(None) in (
            None,
            StaleVerdict(Digest("0" * 64), None),
            StaleVerdict(Digest("0" * 64), pending().digest),
            UnfoldableRange(StepId(0), StepId(9), ()),
        )
        return
    with pytest.raises(IllegalPhase) as caught:
        apply(states[phase], operation)
    name = "_".join(re.findall("[A-Z][a-z]+", type(operation).__name__)).lower()
    assert (caught.value.operation, caught.value.phase) == (name, getattr(phase, "__name__", "nothing"))
    legal = tuple(each.__name__ for each, operations in LEGAL.items() if type(operation) in operations)
    assert caught.value.legal == legal


def test_what_a_command_leaves_out_is_the_usual() -> None:
    """An instruction for the subgoal, a summary of a subgoal, no lesson."""
    assert Instruct("do") == Instruct("do", standing=False)
    assert Compress("text") == Compress("text", "subgoal")
    assert Revise(0) == Revise(0, "")


def test_a_start_comes_once_and_first() -> None:
    """A second start raises."""
    with pytest.raises(IllegalPhase, match="start is not legal in Active; it is legal before a start"):
        apply(after(Start("task")), Start("task"))


def test_an_empty_journal_is_refused() -> None:
    """Not even a start: said so."""
    assert replay([]).failure() == EmptyJournal()
    assert str(EmptyJournal()) == "the journal is empty: it should begin with a start"


def test_a_tampered_journal_is_refused_at_the_tampered_command() -> None:
    """The first refused command is named, by version, kind and reason, and nothing after it is read."""

    def commands() -> list[Command]:
        return [Start("task"), Grow("a", "o"), Compress(" "), Grow("never", "read")]

    refused = replay(commands()).failure()
    assert refused == RefusedCommand(3, Compress(" "), BlankSummary())
    assert str(refused) == "command 3, Compress: the summary's text is blank: say what the steps achieved"


def test_what_a_command_raises_is_a_refusal_of_its_journal() -> None:
    """A journal is data: a command in the wrong phase or with a wrong name does not raise."""
    refused = replay([Start("task"), Accept()]).failure()
    assert isinstance(refused, RefusedCommand)
    assert (refused.version, refused.command) == (2, Accept())
    assert isinstance(refused.reason, IllegalPhase)
    named = replay([Start("task"), Grow("a", "o"), Compress("text", "goal")]).failure()  # type: ignore[arg-type]  # the point
    assert isinstance(named, RefusedCommand)
    assert isinstance(named.reason, UnknownName)


def test_what_is_no_command_is_not_passed_over_in_silence() -> None:
    """What the types exclude raises, and names what was found."""
    with pytest.raises(AssertionError, match="Passed"):
        apply(after(Start("task")), Passed())  # type: ignore[arg-type]  # the point of the test

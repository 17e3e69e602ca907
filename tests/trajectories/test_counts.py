"""What is counted on a history, against a count that looks at the whole tree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import (
    Accept,
    Command,
    Compress,
    Grow,
    IllegalPhase,
    Instruct,
    MageError,
    Retext,
    Revise,
    Start,
    State,
    StepId,
    apply,
)
from mage.trajectories import Counts, counts

COMMANDS = st.one_of(
    st.builds(Grow, st.sampled_from("ab"), st.just("o")),
    st.builds(Compress, st.sampled_from("st"), st.sampled_from(["subgoal", "fallback"])),
    st.builds(Revise, st.integers(0, 4).map(StepId), st.sampled_from(["", "no"])),
    st.just(Accept()),
    st.just(Retext("u")),
    st.just(Instruct("i")),
)


@st.composite
def histories(draw: st.DrawFn) -> list[Command]:
    """Commands of which none is refused."""
    taken: list[Command] = [Start("t")]
    state = apply(None, taken[0]).unwrap()
    for command in draw(st.lists(COMMANDS, max_size=30)):
        try:
            after = apply(state, command).value_or(None)
        except IllegalPhase:
            continue
        if after is not None:
            state = after
            taken.append(command)
    return taken


@given(histories())
def test_counts_agree_with_the_tree(commands: list[Command]) -> None:
    """Every number equals what the finished tree, or the tree before and after each command, shows."""
    found = counts(commands)
    states: list[State] = []
    state: State | None = None
    for command in commands:
        state = apply(state, command).unwrap()
        states.append(state)
    tree = states[-1].tree
    ids = [StepId(step) for step in range(tree.next_step)]
    pairs = list(zip(states, states[1:], commands[1:], strict=False))
    grows = [(before.tree, after.tree) for before, after, command in pairs if isinstance(command, Grow)]
    backs = [(before.tree, after.tree) for before, after, command in pairs if isinstance(command, Revise)]
    assert found == Counts(
        steps=len(ids) - 1,
        merges=sum(before.next_step == after.next_step for before, after in grows),
        revisions=len(backs),
        abandoned=sum(len(set(before.active_path()) - set(after.active_path())) for before, after in backs),
        branch_points=sum(len(tree.step_children(step)) > 1 for step in ids),
        summaries=tree.next_summary - 1,
        max_depth=max(len(each.tree.active_path()) for each in states) - 1,
    )


def test_nothing_counts_nothing() -> None:
    """No commands, and a start alone, count zero."""
    assert counts([]) == counts([Start("t")]) == Counts(0, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    "commands", [[Grow("a", "o")], [Start("t"), Compress("s")], [Start("t"), Revise(StepId(7))]]
)
def test_history_that_does_not_replay_raises(commands: list[Command]) -> None:
    """A refused command is a mistake of the caller, raised as one of mage's own errors."""
    with pytest.raises(MageError):
        counts(commands)


def test_long_chain_is_counted_in_one_pass() -> None:
    """100,000 steps in one chain, and back, are counted."""
    commands: list[Command] = [Start("t"), *(Grow(str(place), "") for place in range(100_000))]
    found = counts([*commands, Revise(StepId(0))])
    assert (found.steps, found.abandoned, found.max_depth) == (100_000, 100_000, 100_000)

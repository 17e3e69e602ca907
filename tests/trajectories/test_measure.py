"""Prompt tokens at each decision."""

from __future__ import annotations

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from mage import view
from mage.engine import (
    Accept,
    Command,
    Compress,
    Grow,
    IllegalPhase,
    Instruct,
    Revise,
    Start,
    apply,
    replay,
)
from mage.render import Meter
from mage.tokens import EstimateCounter
from mage.trajectories.measure import ContextSizes, measure


class Parts:
    """Counts the task, each summary, instruction and step of S as one, and hints as nothing."""

    name = "parts"

    def count(self, text: str) -> int:
        """Count the block that begins a part."""
        return int(text.startswith(("Task: ", "Instruction: ", "Action: ", "[Step ")))


WORDS: Final = Meter(Parts())
RUN: list[Command] = [
    Start("task"),
    Grow("a", "o"),
    Grow("b", "o"),
    Compress("done"),
    Accept(),
    Grow("c", "o"),
    Revise(2, "no"),
    Grow("d", "o"),
]


def test_every_decision_is_measured_before_it_is_made() -> None:
    """The prompt of a step is what was shown before it; what was abandoned counts in the full history only."""
    measured = measure(RUN, WORDS)
    assert measured.sizes == ContextSizes(shown=(1, 2, 2, 2), full=(1, 2, 3, 4))
    assert measured.commands == tuple(RUN)
    assert measured.state == replay(RUN).unwrap()


def test_sums_and_means_are_of_the_prompts() -> None:
    """Mean, largest, totals and the part that is saved."""
    sizes = measure(RUN, WORDS).sizes
    assert (sizes.shown_mean, sizes.shown_max, sizes.shown_total, sizes.full_total) == (1.75, 2, 7, 10)
    assert sizes.reduction == 1 - 7 / 10


def test_no_decision_costs_nothing() -> None:
    """A start alone, or nothing at all, has no prompt."""
    for commands in ([], [Start("task")]):
        sizes = measure(commands, WORDS).sizes
        assert (sizes.shown_mean, sizes.shown_max, sizes.shown_total, sizes.reduction) == (0, 0, 0, 0)


def test_progress_is_told_of_every_command() -> None:
    """The bar moves once a command of the trace, whatever a budget adds."""
    told: list[Command] = []
    measured = measure(RUN, WORDS, budget=1, progress=told.append)
    assert told == RUN
    assert len(measured.commands) > len(RUN)


@given(st.lists(st.tuples(st.text(max_size=400), st.text(max_size=400)), max_size=30), st.integers(1, 400))
def test_the_open_segment_stays_within_the_budget_or_is_one_step(
    contents: list[tuple[str, str]], budget: int
) -> None:
    """No prompt has more than task, summaries, and the budget or the largest step (D12)."""
    meter = Meter(EstimateCounter())
    commands: list[Command] = [Start("task"), *(Grow(*content) for content in contents)]
    measured = measure(commands, meter, budget=budget)
    state = replay(measured.commands).unwrap()
    assert state == measured.state
    assert [each for each in measured.commands if isinstance(each, Grow)] == commands[1:]
    segments: list[int] = [0]
    for command in measured.commands:
        if isinstance(command, Compress):
            segments.append(0)
        elif isinstance(command, Grow):
            segments[-1] += meter.step(command.action, command.observation)
    largest = max((meter.step(*content) for content in contents), default=0)
    assert max(segments) <= max(budget, largest)


STEPS = st.sampled_from([Grow("a", "o"), Grow("b", "o" * 40), Grow("a", "")])
MOVES = STEPS | st.sampled_from(
    [
        Compress("done"),
        Accept(),
        Revise(0, "no"),
        Revise(1, ""),
        Instruct("do"),
        Instruct("always", standing=True),
    ]
)


@given(st.lists(MOVES, max_size=40))
def test_what_is_added_up_is_what_would_be_counted_anew(moves: list[Command]) -> None:
    """Along any history, merges and instructions included, each prompt is the count of its rendered S."""
    meter = Meter(EstimateCounter())
    commands: list[Command] = [Start("task")]
    state = apply(None, commands[0]).unwrap()
    expected = []
    for move in moves:
        try:
            after = apply(state, move).value_or(None)
        except IllegalPhase:
            continue
        if after is None:
            continue
        if isinstance(move, Grow):
            expected.append(meter.count(view(state)))
        commands.append(move)
        state = after
    assert list(measure(commands, meter).sizes.shown) == expected


def test_each_trial_begins_its_full_history_anew() -> None:
    """An agent in its second trial was never shown the first."""
    run: list[Command] = [
        Start("task"),
        Grow("a", "o"),
        Grow("b", "o"),
        Revise(0, "no"),
        Grow("c", "o"),
        Grow("d", "o"),
    ]
    assert measure(run, WORDS).sizes.full == (1, 2, 3, 4)
    assert measure(run, WORDS, trials=True).sizes.full == (1, 2, 1, 2)


def test_a_kept_session_gives_back_its_own_numbers() -> None:
    """What a budget compressed is measured again as it was: before the extract, which the agent had not seen."""
    meter = Meter(EstimateCounter())
    commands: list[Command] = [
        Start("task"),
        *(Grow(f"a{place}", "words " * 9 * place) for place in range(12)),
    ]
    first = measure(commands, meter, budget=60)
    assert len(first.commands) > len(commands)
    assert measure(first.commands, meter).sizes == first.sizes


def test_a_prompt_that_no_grow_follows_is_no_decision() -> None:
    """An extract after which the agent went back instead is not counted."""
    text = "Extract of 1 step (no LLM):"
    run: list[Command] = [
        Start("task"),
        Grow("a", "o"),
        Compress(text, "fallback"),
        Accept(),
        Revise(0, ""),
        Grow("b", "o"),
    ]
    assert measure(run, WORDS).sizes.shown == (1, 1)

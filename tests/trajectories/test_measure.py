"""Prompt tokens at each decision."""

from __future__ import annotations

from typing import Final

from hypothesis import event, given
from hypothesis import strategies as st

from mage import Memory, Policy, view
from mage.chat import canonical
from mage.engine import (
    Accept,
    Command,
    Compress,
    ExecutionState,
    Grow,
    IllegalPhase,
    Instruct,
    Revise,
    Start,
    Step,
    apply,
    replay,
)
from mage.render import Meter
from mage.stores import MemoryStore
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


LONG = st.text(st.sampled_from("ab 1\n"), max_size=400)


@given(st.lists(st.tuples(LONG, LONG), max_size=20), st.integers(1, 2_000))
def test_a_budget_does_what_a_memory_does_at_its_mark(contents: list[tuple[str, str]], mark: int) -> None:
    """One policy for both: the commands are those of a memory without judge and summarizer that was given these steps."""
    counter = EstimateCounter()
    memory = Memory.open(
        MemoryStore(), "x", task="task", policy=Policy(high_water=mark, point_out=False), counter=counter
    )
    for place, (action, observation) in enumerate(contents):
        memory.messages()
        memory.record(f"{place} {action}", observation)
    session = memory.session
    commands: list[Command] = [
        Start("task"),
        *(Grow(f"{place} {action}", seen) for place, (action, seen) in enumerate(contents)),
    ]
    kept = [counter.count(text) for text in around(memory)]
    measured = measure(commands, Meter(counter), budget=mark, beside=sum(kept))
    event(f"compressed: {len(measured.commands) > len(commands)}")
    assert list(measured.commands) == [entry.command for entry in session.history()]


def around(memory: Memory) -> list[str]:
    """Return what a memory puts around S: its words, which stand first, and its tools."""
    return [memory.messages()[0]["content"], *map(canonical, memory.tools())]


@given(st.lists(st.tuples(LONG, LONG), max_size=30), st.integers(1, 400))
def test_no_step_is_covered_before_it_was_shown(contents: list[tuple[str, str]], budget: int) -> None:
    """Each step stands raw in the prompt behind it, whatever the budget, and no trace is changed by one."""
    commands: list[Command] = [Start("task"), *(Grow(*content) for content in contents)]
    newest: list[Step | None] = []
    measured = measure(
        commands,
        Meter(EstimateCounter()),
        budget=budget,
        decided=lambda _, __, shown: newest.append(shown.raw[-1] if shown.raw else None),
    )
    assert replay(measured.commands).unwrap() == measured.state
    assert [each for each in measured.commands if isinstance(each, Grow)] == commands[1:]
    assert all(step is not None for step in newest[1:])


def test_a_step_that_is_longer_than_the_budget_is_shown_cut() -> None:
    """It is shown with both its ends, and so is it counted; its summary is of all of it."""
    commands: list[Command] = [
        Start("task"),
        Grow("read", "begin " + "and on " * 900 + "K-1 and on" + " and on" * 900 + " end"),
        Grow("look", ""),
        Grow("go", ""),
    ]
    seen: list[ExecutionState] = []
    measured = measure(
        commands, Meter(EstimateCounter()), budget=300, decided=lambda _, __, shown: seen.append(shown)
    )
    (step,) = seen[1].raw
    assert (step.observation[:5], step.observation[-3:]) == ("begin", "end")
    assert "characters left out" in step.observation
    assert measured.sizes.shown[1] < 600 < measured.sizes.full[1]
    (extract,) = [each.text for each in measured.commands if isinstance(each, Compress)]
    assert "K-1" in extract


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
    """What a budget compressed is measured again as it was: before the extract, which the agent had not seen (nothing was cut)."""
    meter = Meter(EstimateCounter())
    commands: list[Command] = [
        Start("task"),
        *(Grow(f"a{place}", "words " * 6 * place) for place in range(12)),
    ]
    first = measure(commands, meter, budget=120)
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

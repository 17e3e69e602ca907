"""Tokens are counted block by block, each block once, and the sum is exact."""

from __future__ import annotations

from time import perf_counter

import attrs
import pytest
from hypothesis import given

from mage import ExecutionState, view
from mage.engine import Step, StepId, grow, start
from mage.render import NO_CAPS, Caps, Meter, render
from mage.tokens import ENCODINGS, EstimateCounter, ExactCounter, TokenCounter
from tests.render.states import Move, execution_states, hostile_texts, visited, walks

_COUNTERS: list[TokenCounter] = [EstimateCounter(), *map(ExactCounter, ENCODINGS)]


@attrs.frozen
class _Watched:
    """A counter that keeps what it was asked."""

    asked: list[str] = attrs.field(factory=list)
    name = "watched"

    def count(self, text: str) -> int:
        self.asked.append(text)
        return len(text)


@pytest.mark.parametrize("counter", _COUNTERS, ids=lambda counter: str(counter.name))
@given(shown=execution_states)
def test_the_sum_is_the_count_of_the_whole_text(counter: TokenCounter, shown: ExecutionState) -> None:
    """Exactly, in every encoding, whatever S holds, capped or not."""
    meter = Meter(counter)
    for caps in (NO_CAPS, Caps(lessons=1, text_chars=4)):
        assert meter.count(shown, caps=caps) == counter.count(render(shown, caps=caps))


@pytest.mark.parametrize("counter", _COUNTERS[:2], ids=lambda counter: str(counter.name))
@given(walk=walks)
def test_the_sum_stays_exact_along_a_run(counter: TokenCounter, walk: list[Move]) -> None:
    """One meter for a whole run counts every state as if it were the first."""
    meter = Meter(counter)
    for state in visited("task", walk):
        assert meter.count(view(state)) == counter.count(render(view(state)))


@given(walks)
def test_no_block_is_counted_twice(walk: list[Move]) -> None:
    """Whatever a run does, an old block is looked up."""
    watched = _Watched()
    meter = Meter(watched)
    for state in visited("task", walk):
        meter.count(view(state))
    assert len(watched.asked) == len(set(watched.asked))


def test_a_step_costs_the_counting_of_two_blocks() -> None:
    """The new action and observation are all that is counted after a grow."""
    watched = _Watched()
    meter = Meter(watched)
    state = start("task")
    for number in range(50):
        meter.count(view(state))
        watched.asked.clear()
        state = grow(state, f"a{number}", f"b{number}")
        meter.count(view(state))
        assert watched.asked == [f"Action: a{number}\n", f"Observation: b{number}\n"]


@given(hostile_texts, hostile_texts)
def test_a_step_can_be_counted_alone(action: str, observation: str) -> None:
    """`step` gives what a step adds to the whole."""
    meter = Meter(ExactCounter())
    empty = view(start("task"))
    full = attrs.evolve(empty, raw=(Step(StepId(1), StepId(0), action, observation),))
    assert meter.step(action, observation) == meter.count(full) - meter.count(empty)


def test_a_meter_shows_its_counter() -> None:
    """A report can say how its numbers were counted."""
    counter = EstimateCounter()
    assert Meter(counter).counter is counter


def test_old_blocks_are_not_read_again() -> None:
    """A second count of 5 MB takes a small part of the time of the first: contents are known by their hash."""
    state = start("task")
    for number in range(50):
        state = grow(state, f"a{number}", f"{number} " * 35_000)
    meter = Meter(EstimateCounter())
    began = perf_counter()
    first = meter.count(view(state))
    between = perf_counter()
    assert meter.count(view(state)) == first
    assert (perf_counter() - between) * 20 < between - began

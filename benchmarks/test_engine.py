"""Timings of each operation beside the floor, at 10^3 to 10^6 steps, for pytest-benchmark.

    pytest benchmarks --benchmark-only

Both sides of one operation at one size are one group. `benchmarks.report` is the shorter answer: it takes
both sides in turn and says whether the limits hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import pytest
from returns.result import Failure, Success

from benchmarks import floor as floor_of
from benchmarks.calls import CALLS, LONG, histories
from benchmarks.work import contents, floor_run, journal, run
from mage.engine import Active, replay

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.benchmark(disable_gc=True)

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
ROUNDS: Final = {1_000: 20, 10_000: 8, 100_000: 3, 1_000_000: 2}
SIDES: Final = ("mage", "floor")


@pytest.fixture(autouse=True, scope="module")
def _forget_histories() -> Iterator[None]:
    """Free the histories that the single calls stand on once all are timed."""
    yield
    histories.cache_clear()


def _time(
    benchmark: BenchmarkFixture, target: Callable[..., object], rounds: int, prepare: Callable[[], object]
) -> object:
    """Call `target` so often, each time with the arguments that `prepare` returns, untimed; return the last answer."""
    answer: object = benchmark.pedantic(  # type: ignore[no-untyped-call]  # its annotations are not complete
        target, setup=prepare, rounds=rounds, warmup_rounds=1
    )
    return answer


def _next_step(answer: object) -> int:
    """Return the next step of a history, on either side: a run that did its work took every step."""
    if isinstance(answer, Success):
        answer = answer.unwrap()
    if isinstance(answer, floor_of.Floor):
        return answer.next_step
    assert isinstance(answer, Active)
    return answer.tree.next_step


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("steps", SIZES)
def test_run(benchmark: BenchmarkFixture, steps: int, side: str) -> None:
    """A run: grow, and every 20 steps a compress and a verdict."""
    benchmark.group = f"run of {steps:,} steps"
    target = run if side == "mage" else floor_run
    answer = _time(benchmark, target, ROUNDS[steps], lambda: ((contents(steps),), {}))
    assert _next_step(answer) == steps + 1


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("steps", SIZES)
def test_replay(benchmark: BenchmarkFixture, steps: int, side: str) -> None:
    """A replay of the journal of such a run."""
    benchmark.group = f"replay of {steps:,} steps"
    commands = journal(contents(steps))
    target = replay if side == "mage" else floor_of.replay
    answer = _time(benchmark, target, ROUNDS[steps], lambda: ((commands,), {}))
    assert _next_step(answer) == steps + 1


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("steps", "name"), [(steps, name) for steps in SIZES for name in CALLS])
def test_call(benchmark: BenchmarkFixture, steps: int, name: str, side: str) -> None:
    """One operation after a run of so many steps, 20 more of them open."""
    benchmark.group = f"{name} at {steps:,} steps"
    at = histories(steps)
    call = CALLS[name](at)
    target = call.ours if side == "mage" else call.floor
    answer = _time(benchmark, target, ROUNDS[steps] if name in LONG else 500, at.put_back)
    at.put_back()
    assert not isinstance(answer, Failure), "a refusal was timed instead of the operation"

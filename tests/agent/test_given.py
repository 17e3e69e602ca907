"""What somebody gives an agent for the first time: what is wrong with it is said in words, before anything is done."""

from __future__ import annotations

import asyncio
from typing import Any, Literal, TypeAlias  # Any: what is given here is wrong on purpose

import pytest

from mage.agent import Agent, AsyncAgent, Outcome, Policy, RunFailed, RunFinished, RunStopped
from mage.effects import (
    BadEnvironment,
    Capabilities,
    ChapterRequest,
    Decide,
    Decision,
    JudgeRequest,
    Snapshots,
    SummaryRequest,
    Verdict,
)
from mage.engine import FoldRequest, MageError, Passed
from mage.memory.requests import BadAgent, NotAwaitable
from mage.stores import MemoryStore
from mage.tokens import EstimateCounter
from tests.agent.toys import TASK

Who: TypeAlias = Literal["model", "judge", "summarizer"]


class Lamp:
    """The environment of the docstring."""

    capabilities = Capabilities("replay")

    def reset(self) -> str:
        """Begin in the dark."""
        return "A dark room, a lamp."

    def act(self, action: str) -> str:
        """Light it, or not."""
        return "It is bright." if action == "light the lamp" else "It is dark."


class AwaitedLamp:
    """Its awaited twin."""

    capabilities = Capabilities("replay")

    async def reset(self) -> str:
        """Begin in the dark."""
        return "A dark room, a lamp."

    async def act(self, action: str) -> str:
        """Light it, or not."""
        return Lamp().act(action)


class HalfAwaitedLamp(AwaitedLamp):
    """One whose `act` was forgotten to be awaited."""

    act: Any = Lamp.act


class Still:
    """One that does nothing."""

    capabilities = Capabilities()


class CalledRestore(AwaitedLamp):
    """One whose snapshots were forgotten to be awaited."""

    capabilities = Capabilities(Snapshots(lambda: 0, lambda _: None))


def model(request: Decide) -> Decision:
    """Light the lamp, say so, and end."""
    if request.shown.compressed:
        return Decision.finish("It is lit.")
    lit = any(step.action == "light the lamp" for step in request.shown.raw)
    return Decision.compress("The lamp is lit.") if lit else Decision.act("light the lamp")


async def awaited_model(request: Decide) -> Decision:
    """Decide as `model`."""
    return model(request)


async def awaited_judge(_: JudgeRequest | FoldRequest) -> Verdict:
    """Pass."""
    return Passed()


def run(agent: AsyncAgent) -> Outcome:
    """Run an agent that awaits, in a new store."""
    return asyncio.run(agent.run(MemoryStore(), "lamp", task=TASK))


def test_what_a_newcomer_writes_runs() -> None:
    """The environment of the docstring, a function and a task are an agent, in both twins."""
    assert isinstance(Agent(model=model, environment=Lamp()).run("memory:", "lamp", task=TASK), RunFinished)
    assert isinstance(
        run(AsyncAgent(model=awaited_model, environment=AwaitedLamp(), judge=awaited_judge)), RunFinished
    )


@pytest.mark.parametrize("twin", [Agent, AsyncAgent])
@pytest.mark.parametrize("who", ["model", "judge", "summarizer"])
def test_a_name_is_nobody(twin: Any, who: Who) -> None:
    """The name of a model in place of one is refused when the agent is made; the message says what to give."""
    with pytest.raises(BadAgent, match=f"{who} is a str.*mage.llm.Chat{who.capitalize()}"):
        twin(**{"model": model, "environment": Lamp(), who: "gpt-5-mini"})


@pytest.mark.parametrize("twin", [Agent, AsyncAgent])
def test_no_model_is_refused(twin: Any) -> None:
    """None stands for no judge and no summarizer, and for no model."""
    with pytest.raises(BadAgent, match="model is a NoneType"):
        twin(model=None, environment=Lamp())


@pytest.mark.parametrize("twin", [Agent, AsyncAgent])
def test_a_dictionary_is_no_policy(twin: Any) -> None:
    """Settings in a dict are refused in our words, when the agent is made."""
    with pytest.raises(BadAgent, match=r"policy is a dict.*Policy\("):
        twin(model=model, environment=Lamp(), policy={"max_steps": 1})


@pytest.mark.parametrize("twin", [Agent, AsyncAgent])
@pytest.mark.parametrize("wrong", ["o200k_base", len, EstimateCounter])
def test_what_counts_nothing_is_refused(twin: Any, wrong: Any) -> None:
    """The name of an encoding, a function and a class are no counters; the message says what one has."""
    with pytest.raises(BadAgent, match=r"counter is a .*`name` and a `count`"):
        twin(model=model, environment=Lamp(), counter=wrong)
    assert twin(model=model, environment=Lamp(), counter=EstimateCounter()).counter == EstimateCounter()


@pytest.mark.parametrize("wrong", [3, [3], "print"])
def test_what_is_no_hook_is_refused(wrong: Any) -> None:
    """What cannot be called cannot hear anything; it is told at once, in words, and nothing is run."""
    store = MemoryStore()
    with pytest.raises(
        TypeError, match=r"a hook is called with each event: give a function, not a (int|str)"
    ):
        Agent(model=model, environment=Lamp()).run(store, "lamp", task=TASK, on_event=wrong)
    assert not list(store.journals())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [(Lamp, r"is the class Lamp.*Lamp\(\.\.\.\)"), (Still(), "lacks `reset` and `act`")],
)
def test_what_is_no_environment(wrong: Any, said: str) -> None:
    """A class in place of its object, and what cannot act, are named, and no run is begun."""
    store = MemoryStore()
    with pytest.raises(BadEnvironment, match=said):
        Agent(model=model, environment=wrong).run(store, "lamp", task=TASK)
    assert isinstance(Agent(model=model, environment=Lamp()).run(store, "lamp", task=TASK), RunFinished)


@pytest.mark.parametrize(
    ("wrong", "who"),
    [
        (Lamp(), "environment's reset"),
        (HalfAwaitedLamp(), "environment's act"),
        (CalledRestore(), "environment's take"),
    ],
)
def test_a_world_that_is_called_is_not_awaited(wrong: Any, who: str) -> None:
    """An `AsyncAgent` whose world is not awaited says who is meant and what to do: `async def`, or `Agent`."""
    with pytest.raises(NotAwaitable, match=f"the {who} is awaited here.*or use the twin") as caught:
        run(AsyncAgent(model=awaited_model, environment=wrong))
    assert isinstance(caught.value, MageError)


def test_a_world_that_is_awaited_is_not_called() -> None:
    """An `Agent` whose world is awaited says where that belongs, and leaves no coroutine behind."""
    wrong: Any = AwaitedLamp()
    with pytest.raises(
        BadEnvironment, match="reset returned a coroutine; an `async def` belongs to AsyncAgent"
    ):
        Agent(model=model, environment=wrong).run("memory:", "lamp", task=TASK)


async def _cancelled(_: object) -> Any:
    raise asyncio.CancelledError


async def _waits_for_what_is_cancelled(_: object) -> Any:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


@pytest.mark.parametrize("cancelled", [_cancelled, _waits_for_what_is_cancelled])
@pytest.mark.parametrize("wait", [True, False])
def test_a_judge_that_cancels_itself_is_down(cancelled: Any, *, wait: bool) -> None:
    """A judge whose own work was cancelled is one that gives no verdict: the run ends as its policy says."""
    agent = AsyncAgent(
        model=awaited_model, environment=AwaitedLamp(), judge=cancelled, policy=Policy(wait=wait)
    )
    outcome = run(agent)
    assert isinstance(outcome, RunStopped)
    assert outcome.reason == "judge_down"
    assert "the judge was cancelled, and the run was not" in outcome.detail


def test_a_model_that_cancels_itself_fails() -> None:
    """A model whose own work was cancelled is one that gives no answer."""
    outcome = run(AsyncAgent(model=_cancelled, environment=AwaitedLamp()))
    assert isinstance(outcome, RunFailed)
    assert outcome.reason == "model: dropped"


@pytest.mark.parametrize("wait", [True, False])
def test_a_run_that_is_cancelled_stays_so(*, wait: bool) -> None:
    """A run that is cancelled while its judge thinks is cancelled, whether it waits for it or not."""

    async def cancelling() -> None:
        thinking = asyncio.Event()

        async def never(_: JudgeRequest | FoldRequest) -> Verdict:
            thinking.set()
            await asyncio.Event().wait()
            raise AssertionError("nobody sets that")

        agent = AsyncAgent(
            model=awaited_model, environment=AwaitedLamp(), judge=never, policy=Policy(wait=wait)
        )
        running = asyncio.ensure_future(agent.run(MemoryStore(), "lamp", task=TASK))
        await thinking.wait()
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelling())


def test_a_summarizer_that_cancels_itself_is_reported() -> None:
    """A summarizer whose own work was cancelled leaves the state as it was, and the run goes on."""
    asked: list[SummaryRequest | ChapterRequest] = []

    async def summarizer(request: SummaryRequest | ChapterRequest) -> str:
        asked.append(request)
        raise asyncio.CancelledError

    agent = AsyncAgent(
        model=awaited_model, environment=AwaitedLamp(), summarizer=summarizer, policy=Policy(high_water=1)
    )
    assert isinstance(run(agent), RunFinished)
    assert asked

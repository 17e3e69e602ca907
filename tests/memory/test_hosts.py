"""Hosts that fail: what a memory calls raises, is cancelled, or returns what it must not."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from mage.effects import EffectError, JudgeRequest, NotRestored, Restore, Restored
from mage.engine import ApplyVerdict, Compress, Failed, FoldRequest, Grow, Passed, Start, Verdict
from mage.memory import AsyncMemory, BadAgent, Call, Memory, MemoryBusy, NotAwaitable, Policy, Stopped
from mage.memory.requests import in_background
from mage.session import NotAVerdict
from mage.stores import Head, MemoryStore, Record, StoreUnavailable, UnknownJournal, WrongProcess
from tests.memory.replies import TASK, buy, compress, done, journal, memory, notices, reply, revise

NOT_BROUGHT_BACK = (
    "You have asked for it, so you are back at [Step 0]: 1 step is undone in your history. "
    "The environment could not be brought back to this point. Why, and what was done there and stands:"
)


class Turn:
    """Awaited, it lets the event loop turn once."""

    def __await__(self) -> Generator[None, None, None]:
        """Let it turn."""
        yield


def raising(error: BaseException) -> Callable[[Restore], Restored | NotRestored]:
    """Return a function that brings nothing back."""

    def restore(request: Restore) -> Restored | NotRestored:
        raise error

    return restore


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), EffectError("server", "no")])
def test_a_restore_that_raises_is_told_to_the_model(error: BaseException) -> None:
    """The revise is durable: it is not made again, so what stands in the world must be said, and what was asked for is kept."""
    with Memory.open(MemoryStore(), "m", task=TASK, restore=raising(error)) as kept:
        kept.take(reply(buy("a"), ids=["x"]), perform=done)
        kept.instruct("In oak.")
        left = reply(revise(0, "no"), ids=["y"])
        if isinstance(error, EffectError):
            kept.take(left)
        else:
            with pytest.raises(type(error)):
                kept.take(left)
        kept.take(left)
        shown = kept.messages()
        assert NOT_BROUGHT_BACK in notices(shown)
        assert "Instruction: In oak." in str(shown[-1]["content"])


def test_a_restore_that_is_cancelled_is_told_to_the_model() -> None:
    """The same where the task is cancelled while the world is brought back."""

    async def played() -> list[str]:
        begun = asyncio.Event()

        async def restore(request: Restore) -> Restored | NotRestored:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

        async with await AsyncMemory.open(MemoryStore(), "m", task=TASK, restore=restore) as kept:
            await kept.take(reply(buy("a"), ids=["x"]), perform=done)
            taking = asyncio.ensure_future(kept.take(reply(revise(0, "no"), ids=["y"])))
            await begun.wait()
            taking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await taking
            return notices(await kept.messages())

    assert NOT_BROUGHT_BACK in asyncio.run(played())


def test_a_judge_that_raises_while_the_agent_goes_on_is_asked_anew() -> None:
    """What it raises is heard once, and what is no verdict too; the next call asks again."""
    answers: list[object] = [RuntimeError("no"), "yes", Passed()]

    def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return cast("Verdict", answer)

    with Memory.open(MemoryStore(), "m", task=TASK, judge=judge, policy=Policy(wait=False)) as kept:
        kept.take(reply(buy("a"), compress("A"), ids=["x", "y"]), perform=done)
        end = reply(text="The end.")
        with pytest.raises(RuntimeError):
            kept.take(end)
        with pytest.raises(NotAVerdict):
            kept.take(end)
        assert kept.take(end).finished


def test_a_judge_that_ends_with_its_event_loop_is_no_cancellation_of_the_next() -> None:
    """A memory whose loop was closed while a judge was thinking goes on in the next loop."""
    asked: list[JudgeRequest | FoldRequest] = []

    async def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        asked.append(request)
        if len(asked) == 1:
            await asyncio.Event().wait()
        return Passed()

    async def first() -> AsyncMemory:
        policy = Policy(wait=False)
        kept = await AsyncMemory.open(MemoryStore(), "m", task=TASK, judge=judge, policy=policy)
        await kept.take(reply(buy("a"), compress("A"), ids=["x", "y"]), perform=done)
        await Turn()
        return kept

    async def second(kept: AsyncMemory) -> bool:
        async with kept:
            with pytest.raises(Stopped, match="the judge was cancelled"):
                await kept.messages()
            return (await kept.take(reply(text="The end."))).finished

    assert asyncio.run(second(asyncio.run(first())))
    assert len(asked) == 2


@pytest.mark.parametrize("ids", [None, ["x", "y", "z"]])
def test_a_take_that_raised_is_made_again_and_nothing_is_done_twice(ids: list[str] | None) -> None:
    """Whatever raised, a store, a tool or a judge: with the same reply, also where its calls have no ids."""
    store = MemoryStore()
    faults: list[Exception] = [
        StoreUnavailable("away"),
        RuntimeError("tool"),
        EffectError("server", "judge"),
    ]
    asked: list[str] = []

    def fail(kind: type[Exception]) -> None:
        if faults and isinstance(faults[0], kind):
            raise faults.pop(0)

    def perform(call: Call) -> str:
        asked.append(str(call.arguments["item"]))
        if call.arguments["item"] == "b":
            fail(RuntimeError)
        return done(call)

    def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        fail(EffectError)
        return Passed()

    class Failing:
        """A store that is away when it is first written to."""

        def append(self, name: str, expected: Head, records: Sequence[Record]) -> Head:
            fail(StoreUnavailable)
            return store.append(name, expected, records)

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

    failing: Any = Failing()
    with Memory.open(failing, "m", task=TASK, judge=judge) as kept:
        said = reply(buy("a"), buy("b"), compress("A"), ids=ids)
        for expected in (StoreUnavailable, RuntimeError, Stopped):
            with pytest.raises(expected):
                kept.take(said, perform=perform)
        kept.take(said, perform=perform)
        kept.messages()
        assert asked == ["a", "b", "b"]
        assert [type(command) for command in journal(kept)] == [Start, Grow, Grow, Compress, ApplyVerdict]
        kept.take(said, perform=perform)
        assert len(asked) == (5 if ids is None else 3)


@pytest.mark.parametrize("wrong", ["judge", "summarizer", "restore", "policy", "counter"])
def test_what_cannot_be_used_is_refused_before_anything_is_created(wrong: str) -> None:
    """The refusal names the argument; no session of that name is left behind."""
    store = MemoryStore()
    given: dict[str, Any] = {wrong: 5}
    with pytest.raises(BadAgent, match=f"{wrong} is a int"):
        Memory.open(store, "m", task=TASK, **given)
    with pytest.raises(UnknownJournal):
        Memory.open(store, "m")


@pytest.mark.parametrize("wrong", ["form", "steps"])
def test_a_form_that_there_is_not_is_refused(wrong: str) -> None:
    """In words that name those there are; `tools` does the same."""
    given: dict[str, Any] = {wrong: "mcp"}
    with memory() as kept:
        with pytest.raises(BadAgent, match=f"{wrong} is 'mcp', and must be one of"):
            kept.messages(**given)
        with pytest.raises(BadAgent, match="one of chat, responses, anthropic, mcp"):
            kept.tools(cast("Any", "completions"))


@pytest.mark.parametrize("plain", ["judge", "summarizer", "restore"])
def test_what_is_awaited_must_be_awaitable(plain: str) -> None:
    """A plain function in the twin that awaits is refused by its name."""
    given: dict[str, Any] = {plain: lambda request: None}

    async def played() -> None:
        policy = Policy(high_water=1)
        async with await AsyncMemory.open(MemoryStore(), "m", task=TASK, policy=policy, **given) as kept:
            await kept.record("look", "A room.")
            await kept.messages()
            await kept.record("look again", "A room.")
            await kept.take(reply(revise(0, "no")))

    with pytest.raises(NotAwaitable, match=f"the {plain} is awaited here, but this one returned a NoneType"):
        asyncio.run(played())


def test_a_memory_cannot_be_closed_by_what_it_calls() -> None:
    """What came back could not be recorded any more; afterwards it can, and twice."""
    with memory() as kept:

        def closing(call: Call) -> str:
            kept.close()
            return "bought"

        with pytest.raises(MemoryBusy):
            kept.take(reply(buy("a")), perform=closing)
        kept.close()

    async def played() -> None:
        async with await AsyncMemory.open(MemoryStore(), "m", task=TASK) as kept:

            async def perform(call: Call) -> str:
                await kept.close()
                return "bought"

            with pytest.raises(MemoryBusy):
                await kept.take(reply(buy("a")), perform=perform)

    asyncio.run(played())


def test_a_close_by_another_task_waits_for_the_result() -> None:
    """It is recorded before the store is let go of."""
    store = MemoryStore()

    async def played() -> None:
        kept = await AsyncMemory.open(store, "m", task=TASK)
        closing: list[asyncio.Task[None]] = []

        async def perform(call: Call) -> str:
            closing.append(asyncio.create_task(kept.close()))
            await Turn()
            return "bought"

        await kept.take(reply(buy("a")), perform=perform)
        await closing[0]

    asyncio.run(played())
    with memory(store) as kept:
        assert [type(command) for command in journal(kept)] == [Start, Grow]


class Awaited:
    """A store whose every answer takes a turn of the event loop."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def append(self, name: str, expected: Head, records: Sequence[Record]) -> Head:
        """Write, with a turn before and one behind."""
        await Turn()
        head = self._store.append(name, expected, records)
        await Turn()
        return head

    async def read(self, name: str, after: int, upto: int) -> AsyncIterator[Record]:
        """Read."""
        for record in self._store.read(name, after, upto):
            await Turn()
            yield record

    def __getattr__(self, name: str) -> Any:
        async def answered(*given: Any, **named: Any) -> Any:
            await Turn()
            return getattr(self._store, name)(*given, **named)

        return answered


@pytest.mark.parametrize("ids", [None, ["w", "x", "y", "z"]])
def test_a_take_that_is_cancelled_at_any_await_is_made_again(ids: list[str] | None) -> None:
    """With the same reply: nothing is performed or recorded twice, nothing is lost, and it is nobody else's writing."""

    async def cancelled_at(turns: int) -> bool:
        performed: list[str] = []

        async def perform(call: Call) -> str:
            await Turn()
            performed.append(f"result {len(performed)}")
            return performed[-1]

        async def judge(request: JudgeRequest | FoldRequest) -> Verdict:
            await Turn()
            return Passed()

        store: Any = Awaited(MemoryStore())
        async with await AsyncMemory.open(store, "m", task=TASK, judge=judge) as kept:
            said = reply(buy("a"), buy("b"), buy("a"), compress("All."), ids=ids)
            taking = asyncio.ensure_future(kept.take(said, perform=perform))
            for _ in range(turns):
                await Turn()
            was_over = taking.done()
            taking.cancel()
            await asyncio.wait([taking])
            if not was_over:
                await kept.take(said, perform=perform)
            shown = await kept.messages()
            commands = [entry.command for entry in await kept.session.history()]
        grown = [command.observation for command in commands if isinstance(command, Grow)]
        assert grown == performed == ["result 0", "result 1", "result 2"], turns
        assert not [told for told in notices(shown) if "Somebody else" in told]
        return was_over

    for turns in range(500):
        if asyncio.run(cancelled_at(turns)):
            return
    pytest.fail("it does not end")


def test_a_judge_must_not_use_the_memory_while_it_thinks() -> None:
    """The memory waits for its verdict: it would wait for itself, in a thread or in a task."""
    policy = Policy(wait=False)
    said, end = reply(buy("a"), compress("A"), ids=["x", "y"]), reply(text="The end.")

    def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        kept.messages()
        return Passed()

    with Memory.open(MemoryStore(), "m", task=TASK, judge=judge, policy=policy) as kept:
        kept.take(said, perform=done)
        with pytest.raises(MemoryBusy):
            kept.take(end)

    async def played() -> None:
        async def judge(request: JudgeRequest | FoldRequest) -> Verdict:
            await awaited.messages()
            return Passed()

        async with await AsyncMemory.open(
            MemoryStore(), "m", task=TASK, judge=judge, policy=policy
        ) as awaited:
            await awaited.take(said, perform=done)
            with pytest.raises(MemoryBusy):
                await awaited.take(end)

    asyncio.run(played())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_of_the_process_is_refused_and_does_not_wait() -> None:
    """Also where another thread was in the middle of a call: its lock would never be let go of in the fork."""
    with memory() as kept:

        def perform(call: Call) -> str:
            with ThreadPoolExecutor(1) as elsewhere:  # another thread forks than the one that has the lock
                return str(elsewhere.submit(forked).result())

        def forked() -> int:
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                try:
                    kept.messages()
                except WrongProcess:
                    kept.close()
                    os._exit(0)
                finally:
                    os._exit(1)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        kept.take(reply(buy("a")), perform=perform)
        assert kept.session.state().raw[-1].observation == "0"


def test_tasks_share_a_memory_in_one_event_loop_after_the_other() -> None:
    """Each call waits for the one before it, in the next loop too; every step is there."""

    async def shared(kept: AsyncMemory, *items: str) -> None:
        await asyncio.gather(*[kept.record(item, "ok") for item in items])

    async def first() -> AsyncMemory:
        kept = await AsyncMemory.open(MemoryStore(), "m", task=TASK)
        await shared(kept, "a", "b", "c")
        return kept

    async def second(kept: AsyncMemory) -> list[str]:
        await shared(kept, "d", "e", "f")
        return [step.action for step in kept.session.state().raw]

    assert asyncio.run(second(asyncio.run(first()))) == ["a", "b", "c", "d", "e", "f"]


def test_what_fails_in_the_background_when_nobody_asks_any_more_is_not_logged() -> None:
    """A loop that ends before the verdict leaves no word of an exception that nobody retrieved."""
    said: list[object] = []

    async def failing() -> None:
        raise EffectError("server", "down")

    async def played() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: said.append(context))
        thinking = in_background(failing())
        await Turn()
        await Turn()
        assert thinking.done()
        del thinking
        gc.collect()

    asyncio.run(played())
    assert said == []


@pytest.mark.parametrize("beside", [None, 5, object(), [{1}], float("nan")])
def test_what_cannot_stand_around_s_is_refused(beside: object) -> None:
    """In words that say what can; the memory is as it was."""
    with memory() as kept:
        with pytest.raises(BadAgent, match="a text, JSON, or a list of these"):
            kept.messages(beside=beside)
        assert kept.messages(beside=[{"a": 1}, "text"])


@pytest.mark.parametrize("effect", ["sent", {"is": "Forever"}, {"is": "Reversible"}, 7])
def test_an_effect_that_is_none_beside_another_writer_s_step_is_unknown(effect: object) -> None:
    """Whoever else writes to the session keeps beside a step what they like: the memory goes on."""
    store = MemoryStore()
    with memory(store) as kept:
        kept.session.grow("send", "Sent.", meta={"observed": {"effect": effect}})
        kept.take(reply(revise(0, "do not")))
        assert " Step 1, send: not known whether it can be undone" in str(kept.messages()[-1]["content"])


def test_what_was_decided_before_a_late_fail_is_not_performed() -> None:
    """Where making room finds that a summary has failed and goes back, the calls were decided for another place."""
    heard, performed = threading.Event(), list[str]()

    def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        assert heard.wait(60)
        return Failed("wrong desk")

    def perform(call: Call) -> str:
        performed.append(str(call.arguments["item"]))
        return "seen " * 80

    policy = Policy(wait=False, high_water=100)
    with Memory.open(MemoryStore(), "m", task=TASK, judge=judge, policy=policy) as kept:
        kept.take(reply(buy("a"), compress("A")), perform=perform)
        kept.messages()
        kept.take(reply(buy("b")), perform=perform)
        kept.messages()
        heard.set()
        kept.take(reply(buy("c")), perform=perform)
        assert performed == ["a", "b"]
        assert kept.session.tree.step_head == 0
        assert "Not done, of your last reply" in str(kept.messages())

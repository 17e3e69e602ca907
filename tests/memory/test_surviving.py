"""A memory that dies, and memories that share a session: no result is lost, and none is recorded twice."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.agent import Agent, RunFinished
from mage.cli.change import redact_store
from mage.effects import Decision, EffectError, JudgeRequest
from mage.engine import ApplyVerdict, Failed, FoldRequest, Grow, Passed, Verdict
from mage.memory import AsyncMemory, Call, Memory, Policy, Stopped
from mage.memory.journal import UNCERTAIN
from mage.session import Session
from mage.stores import Head, JournalStore, MemoryStore, Record, UnknownJournal
from mage.testing import ScriptedEnvironment
from tests.memory.replies import (
    TASK,
    Made,
    buy,
    compress,
    done,
    journal,
    judged_by,
    memory,
    notices,
    reply,
    revise,
)

Reply: TypeAlias = dict[str, Any]

ITEMS = st.sampled_from(["oak desk", "chrome chair", "linen chair"])
MADE: st.SearchStrategy[Made] = st.one_of(
    ITEMS.map(buy),
    st.sampled_from(["Desk: oak", "Chair: chrome", "Chair: linen"]).map(compress),
    st.tuples(st.integers(0, 4), st.sampled_from(["", "look first"])).map(lambda given: revise(*given)),
)


@st.composite
def stories(draw: st.DrawFn) -> list[Reply]:
    """Draw replies whose calls have ids of their own, as providers give them."""
    told = draw(st.lists(st.lists(MADE, max_size=4), min_size=1, max_size=6))
    return [
        reply(*made, ids=[f"call_{number}_{place}" for place in range(len(made))])
        for number, made in enumerate(told)
    ]


class Crash(BaseException):
    """The process dies."""


def test_a_memory_without_a_task_says_what_to_do_where_there_is_no_session() -> None:
    """The message itself, and no note below the traceback: many loggers print the message alone."""
    told = "there is no journal 'm': give its task to begin it (task=...); `journals()` lists those that are"
    with pytest.raises(UnknownJournal) as unknown:
        Memory.open(MemoryStore(), "m")
    assert str(unknown.value) == told


@final
class Dying:
    """A store whose process dies before or after one of its writes."""

    def __init__(self, store: MemoryStore, at: int, *, after: bool) -> None:
        self._store = store
        self._left = at
        self._after = after

    def append(self, name: str, expected: Head, records: Sequence[Record]) -> Head:
        """Write, unless this is the write at which the process dies."""
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Crash
        head = self._store.append(name, expected, records)
        if self._left == 0:
            raise Crash
        return head

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def played(kept: Memory, story: Sequence[Reply]) -> list[object]:
    """Play a story, and return the journal; what the model is shown is looked at each time, as a loop does."""
    for each in story:
        kept.messages()
        kept.take(each, perform=done)
    kept.messages()
    return journal(kept)


def same_but_for_the_interrupted_call(found: Sequence[object], expected: Sequence[object]) -> bool:
    """Tell whether two journals are one, but for the observation of a call during which the process died."""

    def plain(command: object) -> object:
        return (
            command.verdict if isinstance(command, ApplyVerdict) else command
        )  # its digest is over the steps

    apart = [
        (one, other)
        for one, other in zip(map(plain, found), map(plain, expected), strict=True)
        if one != other
    ]
    return len(apart) <= 1 and all(
        isinstance(other, Grow) and one == attrs.evolve(other, observation=UNCERTAIN) for one, other in apart
    )


@given(stories(), st.integers(1, 12), st.booleans())
def test_a_reply_that_is_handed_in_again_after_a_crash_ends_in_the_same_journal(
    story: list[Reply], at: int, after: bool
) -> None:
    """Wherever the process dies, with its write done or not: the last reply once more, and all is as if nothing had been.

    A call that was being made is not made again: nobody knows whether it was done, and its step says so.
    """
    store = MemoryStore()
    taken = 0
    dying: Any = Dying(store, at, after=after)
    with memory() as whole:
        expected = played(whole, story)
    try:
        kept = memory(dying)
        for taken, each in enumerate(story):  # noqa: B007  # where it died
            kept.messages()
            kept.take(each, perform=done)
        kept.messages()
    except Crash:
        pass
    with memory(store) as again:
        assert same_but_for_the_interrupted_call(played(again, story[taken:]), expected)


@pytest.mark.parametrize("ids", [None, "ab"])
@pytest.mark.parametrize("is_told_first", [False, True])
def test_a_call_during_which_the_process_dies_is_not_made_twice(ids: str | None, is_told_first: bool) -> None:
    """The model is told once which one it was; a host that hands the reply in again gets a step that nobody knows of."""
    store, performed = MemoryStore(), list[str]()
    said = reply(buy("oak desk"), buy("linen chair"), ids=ids)

    def dying(call: Call) -> str:
        performed.append(call.action)
        if "chair" in call.action:
            raise Crash
        return "bought"

    with pytest.raises(Crash):
        memory(store).take(said, perform=dying)  # nothing is closed: the process is gone
    with memory(store) as again:
        if is_told_first:
            assert "nobody knows whether they were done" in str(notices(again.messages()))
            assert 'buy {"item":"linen chair"}' in str(again.messages()[-1]["content"])
        if ids is not None:
            again.take(said, perform=dying)
            assert performed == ['buy {"item":"oak desk"}', 'buy {"item":"linen chair"}']
            assert [step.observation for step in again.session.state().raw] == ["bought", UNCERTAIN]
        if ids is None and not is_told_first:
            assert "nobody knows whether" in str(notices(again.messages()))
        assert str(again.messages()[-1]["content"]).casefold().count("nobody knows") <= 1
        again.take(reply(buy("lamp"), ids="c"), perform=done)
        assert "nobody knows whether" not in str(notices(again.messages()))
    with memory(store) as later:
        assert ("nobody knows whether" in str(notices(later.messages()))) == (ids is None)


@given(st.lists(MADE, min_size=1, max_size=4), st.integers(0, 3))
def test_a_call_that_the_host_did_not_carry_out_is_no_interrupted_one(made: list[Made], at: int) -> None:
    """Such as one that waits for a person: another process tells nobody of it, and carries it out when asked again."""
    store, performed = MemoryStore(), list[str]()
    said = reply(*made, ids=[f"call_{place}" for place in range(len(made))])

    def perform(call: Call) -> str | None:
        performed.append(call.id)
        return None if call.id == f"call_{at}" else done(call)

    def willing(call: Call) -> str:
        performed.append(call.id)
        return done(call)

    with memory(store) as kept:
        kept.take(said, perform=perform)
    with memory(store) as again:
        assert "nobody knows whether" not in str(notices(again.messages()))
    refused = performed[-1:] == [f"call_{at}"]
    with memory(store) as again:
        before = len(performed)
        again.take(said, perform=willing)
        assert performed[before : before + 1] == ([f"call_{at}"] if refused else [])
        grown = [each.observation for each in journal(again) if isinstance(each, Grow)]
        assert UNCERTAIN not in grown


def test_nothing_is_told_of_an_interrupted_call_behind_an_answer() -> None:
    """The model has read of it and answered; and a call behind an answer takes the answer back."""
    store, said = MemoryStore(), reply(buy("oak desk"), ids="a")

    def dying(call: Call) -> str:
        raise Crash

    with pytest.raises(Crash):
        memory(store).take(said, perform=dying)
    with memory(store) as kept:
        assert "nobody knows whether" in str(notices(kept.messages()))
        assert kept.take(reply(text="It is done.")).finished
    with memory(store) as kept:
        assert kept.answer() == "It is done."
        assert notices(kept.messages()) == []
        with pytest.raises(Crash):
            kept.take(said, perform=dying)
        assert kept.answer() is None
    with memory(store) as kept:
        assert kept.answer() is None
        assert "nobody knows whether" in str(notices(kept.messages()))


@pytest.mark.parametrize("ends", [False, True])
def test_a_redacted_note_still_says_that_there_was_a_call_or_an_answer(ends: bool) -> None:
    """A program that is run again after the answer calls no model, though the answer's text is gone."""
    store = MemoryStore()

    def dying(call: Call) -> str:
        raise Crash

    kept = memory(store)
    with contextlib.suppress(Crash):
        kept.take(reply(text="The key is k-17.")) if ends else kept.take(reply(buy("k-17")), perform=dying)
    assert redact_store(store, None, re.compile("k-17"))
    with memory(store) as again:
        answer = again.answer()
        assert answer is not None and answer.startswith("[redacted ") if ends else answer is None
        assert ("nobody knows whether" in str(notices(again.messages()))) is not ends


@pytest.mark.parametrize("is_over", [False, True])
def test_a_call_whose_note_was_redacted_is_not_made_twice(is_over: bool) -> None:
    """The reply is known by its digest, which the note keeps beside its text; a step settles such a call, too."""
    store, performed = MemoryStore(), list[str]()

    def perform(call: Call) -> str:
        performed.append(call.action)
        if not is_over:
            raise Crash
        return "bought"

    said = reply(buy("k-17"), ids="a")
    with contextlib.suppress(Crash):
        memory(store).take(said, perform=perform)
    assert redact_store(store, None, re.compile("k-17"))
    with memory(store) as again:
        again.take(said, perform=perform)
        assert len(performed) == 1
        (step,) = again.session.state().raw
        assert step.observation == ("bought" if is_over else UNCERTAIN)
        assert "nobody knows whether" not in str(notices(again.messages()))


def test_an_answer_does_not_outlive_a_later_run_of_an_agent() -> None:
    """Also where that run records no command: its answer is another one."""
    store = MemoryStore()
    with memory(store) as kept:
        kept.take(reply(buy("oak desk"), ids="a"), perform=done)
        assert kept.take(reply(text="It is done.")).finished
        assert kept.answer() == "It is done."
        before = journal(kept)
        agent = Agent(
            model=lambda asked: Decision.finish("Nothing to do."), environment=ScriptedEnvironment()
        )
        assert isinstance(agent.run(store, "m"), RunFinished)
        assert kept.answer() is None
        assert journal(kept) == before
    with memory(store) as again:
        assert again.answer() is None


@given(stories())
def test_an_answer_lasts_until_something_is_recorded(story: list[Reply]) -> None:
    """Whatever was done before, in another process too: so a program that is run again asks nobody."""
    store = MemoryStore()
    with memory(store, policy=Policy(judge_finish=False)) as kept:
        played(kept, story)
        assert kept.answer() is None
        is_over = kept.take(reply(text="It is done.")).finished
        assert kept.answer() == ("It is done." if is_over else None)
    with memory(store) as again:
        assert again.answer() == ("It is done." if is_over else None)
        again.messages()
        assert again.answer() == ("It is done." if is_over else None)
        again.instruct("And a lamp.")
        assert again.answer() is None


def test_what_nobody_knows_is_told_in_each_process_until_it_is_settled() -> None:
    """Also where the next process dies as it looks: a compress settles it, and so does the step of the call itself."""
    store = MemoryStore()

    def dying(call: Call) -> str:
        raise Crash

    def told() -> str:
        with memory(store) as kept:
            _, found, said = str(kept.messages()[-1]["content"]).rpartition("\nNotice: ")
            return said if found else ""

    for item in ("oak desk", "linen chair"):
        kept = memory(store)
        kept.messages()
        with pytest.raises(Crash):
            kept.take(reply(buy(item), ids=item[0]), perform=dying)
    assert 'buy {"item":"oak desk"}' in told()
    assert 'buy {"item":"linen chair"}' in told()
    with memory(store) as kept:
        kept.take(reply(buy("lamp"), ids="x"), perform=done)
        kept.take(reply(buy("linen chair"), ids="l"), perform=done)  # the same reply: its step says so
    assert 'buy {"item":"oak desk"}' in told()
    assert "linen chair" not in told()
    with memory(store) as kept:
        kept.take(reply(compress("Desk: oak"), ids="y"))
    assert "nobody knows" not in told()


def test_an_answer_that_lands_behind_another_writers_command_is_none() -> None:
    """It was decided before that command: the next process asks on."""
    store = MemoryStore()
    with memory(store, policy=Policy(judge_finish=False)) as kept, Session.open(store, "m") as other:
        kept.messages()
        kept.session.note(
            "answered", '{"after":1,"answer":"Done."}'
        )  # as a process that dies right there leaves it
        assert kept.answer() == "Done."
        other.refresh()
        other.grow("look", "A new wish.")
        other.note("answered", '{"after":2,"answer":"Done."}')
        assert kept.answer() is None


@given(st.text(), st.sampled_from(["calling", "answered"]))
def test_a_note_of_somebody_elses_is_no_harm(text: str, kind: str) -> None:
    """A host may write notes of its own into the session, of any kind; a memory reads from them what it can."""
    store = MemoryStore()
    with memory(store) as kept, Session.open(store, "m") as other:
        kept.take(reply(buy("a"), ids="a"), perform=done)
        other.refresh()
        other.note(kind, text)
        kept.take(reply(buy("b"), ids="b"), perform=done)
        assert "Somebody else" not in str(notices(kept.messages()))
    with memory(store) as again:
        again.messages()


@given(st.lists(st.tuples(st.integers(0, 2), st.lists(MADE, min_size=1, max_size=3)), max_size=10))
def test_of_memories_that_share_a_session_each_result_is_recorded_once(
    turns: list[tuple[int, list[Made]]],
) -> None:
    """Each knows nothing of what the others wrote since it last looked; every action that was performed is a step."""
    store = MemoryStore()
    sharing = [memory(store) for _ in range(3)]
    performed: list[str] = []

    def perform(call: Call) -> str:
        performed.append(f"{call.action} {len(performed)}")
        return f"result {len(performed)}"

    for number, (who, made) in enumerate(turns):
        ids = [f"call_{number}_{place}" for place in range(len(made))]
        sharing[who].take(reply(*made, ids=ids), perform=perform)
    grown = [command for command in journal(sharing[0]) if isinstance(command, Grow)]
    sharing[0].messages()
    grown = [command for command in journal(sharing[0]) if isinstance(command, Grow)]
    assert [command.observation for command in grown] == [
        f"result {number + 1}" for number in range(len(performed))
    ]


@given(stories())
def test_the_twin_that_is_awaited_does_the_same(story: list[Reply]) -> None:
    """The same replies lead to the same journal, and the model is shown the same."""

    async def awaited() -> tuple[list[object], list[dict[str, Any]]]:
        async def judge(request: JudgeRequest | FoldRequest) -> Verdict:
            return judged_by("chrome")(request)

        async def perform(call: Call) -> str:
            return done(call)

        async with await AsyncMemory.open(MemoryStore(), "m", task=TASK, judge=judge) as kept:
            for each in story:
                await kept.messages()
                await kept.take(each, perform=perform)
            shown = await kept.messages()
            return [entry.command for entry in await kept.session.history()], shown

    with memory() as kept:
        commands = played(kept, story)
        assert asyncio.run(awaited()) == (commands, kept.messages())


def test_a_judge_that_is_down_stops_and_loses_nothing() -> None:
    """The summary stays pending; when the judge is there again the same loop goes on."""
    down = [True]

    def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        if down[0]:
            raise EffectError("unreachable", "nobody there")
        return Passed()

    with Memory.open(MemoryStore(), "m", task=TASK, judge=judge) as kept:
        with pytest.raises(Stopped, match="judge down: the judge gave no verdict: unreachable: nobody there"):
            kept.take(reply(buy("a"), compress("A")), perform=done)
        with pytest.raises(Stopped):
            kept.messages()
        down[0] = False
        assert "[Step 0] A\n" in str(kept.messages()[-1]["content"])


def test_open_steps_that_pass_the_mark_are_compacted_with_what_stands_beside_them() -> None:
    """What the host puts around S counts: with long tools the same steps are compacted sooner."""
    policy = Policy(high_water=2_000)
    long = {"type": "function", "function": {"name": "long", "description": "word " * 1_200}}

    def steps_until_compacted(beside: object) -> int:
        with memory(policy=policy) as kept:
            for number in range(200):
                kept.record(
                    f"look at shelf {number}", "Nothing but dust, and a label that says " + "dust " * 20
                )
                kept.messages(beside=beside)
                if kept.session.state().compressed:
                    return number
        return -1

    assert 0 < steps_until_compacted([long]) < steps_until_compacted("")


def test_a_late_verdict_sends_the_agent_back() -> None:
    """Without waiting, the agent goes on while the judge thinks; what it built on a failed summary is left."""
    answers: list[Callable[[], Verdict]] = [lambda: Failed("wrong", "execution"), Passed]

    def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        return answers.pop(0)()

    with Memory.open(MemoryStore(), "m", task=TASK, judge=judge, policy=Policy(wait=False)) as kept:
        kept.take(reply(buy("a"), compress("A")), perform=done)
        kept.take(reply(buy("b")), perform=done)
        assert not kept.take(reply(text="The end.")).finished
        assert "A summary has failed meanwhile, so the task goes on." in notices(kept.messages())
        kept.take(reply(buy("c"), compress("C")), perform=done)
        assert kept.take(reply(text="The end.")).finished
        assert [summary.text for summary in kept.session.state().compressed] == ["C"]


def test_a_store_of_another_shape_is_what_a_session_takes() -> None:
    """The stand-in of these tests is used as a store: it must not fall behind the protocol."""
    assert not [
        name for name in vars(JournalStore) if not name.startswith("_") and not hasattr(MemoryStore, name)
    ]


@given(st.dictionaries(st.sampled_from(["reply", "call", "thought"]), st.text() | st.integers(), max_size=3))
def test_what_a_host_keeps_beside_a_step_is_no_reply(meta: dict[str, object]) -> None:
    """A reply that is handed in again is known all the same, whatever keys the host uses for its own."""
    with memory() as kept:
        said = reply(buy("a"), ids=["x"])
        kept.take(said, perform=done)
        kept.record("ask the user", "yes", meta=meta)
        kept.take(said, perform=done)
        assert len(kept.session.state().raw) == 2


@given(
    st.lists(st.tuples(st.sampled_from(["x", "y"]), MADE), min_size=1, max_size=4),
    st.integers(1, 6),
    st.booleans(),
)
def test_calls_of_one_reply_with_the_same_id_are_told_apart(
    made: list[tuple[str, Made]], at: int, after: bool
) -> None:
    """Some servers repeat ids; after a crash each call is recorded once all the same."""
    said = reply(*[each for _, each in made], ids=[key for key, _ in made])
    store = MemoryStore()
    dying: Any = Dying(store, at, after=after)
    with memory() as whole:
        expected = played(whole, [said])
    with contextlib.suppress(Crash):
        played(memory(dying), [said])
    with memory(store) as again:
        assert same_but_for_the_interrupted_call(played(again, [said]), expected)

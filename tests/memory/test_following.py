"""A transcript that somebody else keeps: each word and each reply of it is taken once, however it is handed over."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat import AssistantReply, ToolResult, read_reply
from mage.engine import ApplyVerdict, Compress, Grow, Instruct, Start
from mage.memory import AsyncMemory, Memory
from mage.session import OtherTask
from mage.stores import MemoryStore, UnknownJournal, UnknownVersion
from tests.memory.replies import TASK, buy, compress, journal, judged_by, memory, notices, reply, revise
from tests.memory.test_surviving import MADE

Part: TypeAlias = str | AssistantReply | ToolResult


def turn(*calls: Any, text: str = "", key: str = "x") -> list[Part]:
    """Return a reply whose calls to the host's tools were carried out."""
    read = read_reply(reply(*calls, text=text, ids=[f"{key}{place}" for place in range(len(calls))]))
    return [
        read,
        *[ToolResult(call.id, f"{call.arguments} done") for call in read.calls if call.name == "buy"],
    ]


@st.composite
def transcripts(draw: st.DrawFn) -> list[Part]:
    """Draw what a user and a model say, in turns; the ids of calls are their own, as providers give them."""
    told = draw(
        st.lists(st.one_of(st.lists(MADE, min_size=1, max_size=3), st.just("And a lamp.")), max_size=7)
    )
    parts = [[each] if isinstance(each, str) else turn(*each, key=f"c{n}_") for n, each in enumerate(told)]
    return [TASK, *itertools.chain.from_iterable(parts)]


def followed(transcript: Sequence[Part], ends: Sequence[int], *, restarts: bool, shows: bool) -> list[object]:
    """Return the journal after a transcript that was handed over as it grew, and the last time whole.

    As frameworks do, it is handed over where every call has what came back from it.
    """
    store = MemoryStore()
    kept = memory(store)
    whole = [place for place, part in enumerate(transcript) if not isinstance(part, ToolResult)]
    for end in [*[whole[end] for end in sorted(ends) if end < len(whole)], len(transcript)]:
        kept = memory(store) if restarts else kept
        kept.follow(transcript[:end])
        if shows:
            kept.messages()
    return journal(kept)


@given(transcripts(), st.lists(st.integers(1, 8), max_size=4), st.booleans())
def test_however_a_transcript_is_handed_over_the_journal_is_the_same(
    transcript: list[Part], ends: list[int], restarts: bool
) -> None:
    """At once or as it grows, some of it twice, in one process or in several: as if it had been taken once."""
    once = followed(transcript, [], restarts=False, shows=False)
    assert followed(transcript, ends, restarts=restarts, shows=False) == once
    assert sum(isinstance(part, ToolResult) for part in transcript) == sum(
        isinstance(each, Grow) for each in once
    )


@given(transcripts(), st.integers(0, 8))
def test_a_transcript_may_be_shortened_at_its_beginning(transcript: list[Part], cut: int) -> None:
    """Frameworks trim what they keep: what is left and known is passed over all the same."""
    store = MemoryStore()
    kept = memory(store)
    kept.follow(transcript)
    before = journal(kept)
    last = max(
        [place for place, part in enumerate(transcript) if isinstance(part, AssistantReply)], default=0
    )
    kept.follow(transcript[min(cut, last) :])
    assert journal(kept) == before


def test_what_the_user_says_behind_the_task_is_placed() -> None:
    """The task is not placed again; further words are instructions where they were said, blank ones are none."""
    with memory() as kept:
        kept.follow([TASK, *turn(buy("desk")), "And a lamp.", "  ", *turn(compress("Desk."), key="y")])
        assert journal(kept)[1:4] == [
            Grow('buy {"item":"desk"}', '{"item": "desk"} done'),
            Instruct("And a lamp."),
            Compress("Desk."),
        ]


def test_a_new_run_on_the_same_session_goes_on() -> None:
    """It brings a transcript of its own; the same words as before are the run that broke off, other words are new."""
    store = MemoryStore()
    with memory(store) as kept:
        kept.follow([TASK])
        kept.follow([TASK, *turn(buy("desk"))])
    with memory(store) as kept:
        kept.follow([TASK])
        assert [type(each) for each in journal(kept)] == [Start, Grow]
        kept.follow([TASK, *turn(compress("Desk."), key="y")])
        kept.follow([TASK, *turn(compress("Desk."), key="y"), *turn(text="Done.")])
        kept.follow(["And a lamp."])
        assert [type(each) for each in journal(kept)] == [Start, Grow, Compress, ApplyVerdict, Instruct]


def test_words_that_are_said_again_after_the_end_are_a_new_wish() -> None:
    """In the process that saw the end; what was said before it stays what it was."""
    with memory() as kept:
        kept.follow([TASK, *turn(buy("desk")), *turn(text="Done.")])
        kept.follow([TASK])
        assert journal(kept)[-1] == Instruct(TASK)


def test_a_refused_call_is_not_refused_again_with_each_reply() -> None:
    """Nothing is recorded of it, so the journal does not know it: the process does."""
    with memory() as kept:
        first: list[Part] = [TASK, *turn(compress("Nothing."))]
        kept.follow(first)
        assert "You cannot compress now" in str(notices(kept.messages()))
        kept.follow([*first, *turn(buy("desk"), key="y")])
        assert "You cannot" not in str(notices(kept.messages()))


def test_a_transcript_that_departs_from_the_journal_repeats_nothing() -> None:
    """An application that goes on from an older transcript: what both have in common is known, the rest is new."""
    store = MemoryStore()
    common: list[Part] = [TASK, *turn(buy("desk"))]
    with memory(store) as kept:
        kept.follow([*common, *turn(buy("lamp"), key="y")])
    with memory(store) as kept:
        kept.follow([*common, *turn(buy("rug"), key="z")])
        assert [each.action for each in kept.session.state().raw] == [
            'buy {"item":"desk"}',
            'buy {"item":"lamp"}',
            'buy {"item":"rug"}',
        ]


@pytest.mark.parametrize("twin", ["Memory", "AsyncMemory"])
def test_a_transcript_departs_where_it_lacks_what_was_recorded_since(twin: str) -> None:
    """Not where others have written, nor where the last reply is there; a fork at the version takes it up."""
    common: list[Part] = [TASK, *turn(buy("desk"))]
    store = MemoryStore()

    async def told(transcript: list[Part], version: int) -> bool:
        if twin == "Memory":
            with memory(store) as kept:
                return kept.departs(transcript, version)
        async with await AsyncMemory.open(store, "m") as awaited:
            return await awaited.departs(transcript, version)

    with memory(store) as kept:
        kept.follow(common)
        kept.instruct("By somebody else.")
        assert not asyncio.run(told(common, 1))
        kept.follow([*common, *turn(buy("lamp"), key="y")])
        assert not asyncio.run(told([*common, *turn(buy("lamp"), key="y")], 1))
        assert asyncio.run(told(common, 3))
        assert not asyncio.run(told(common, 4))
        with pytest.raises(UnknownVersion):
            asyncio.run(told(common, 5))


def test_a_judge_that_raises_is_asked_again_with_the_same_transcript() -> None:
    """What was taken until then stays; no step is there twice, with ids or without."""
    asked: list[str] = []

    def judge(request: Any) -> Any:
        asked.append(request.text)
        if len(asked) == 1:
            raise RuntimeError
        return judged_by("chrome")(request)

    for key in ("x", ""):
        asked.clear()
        with Memory.open(MemoryStore(), "m", task=TASK, judge=judge) as kept:
            said = reply(buy("desk"), compress("Desk."), ids=["a", "b"] if key else None)
            transcript: list[Part] = [TASK, read_reply(said), ToolResult("a" if key else "", "ok")]
            with pytest.raises(RuntimeError):
                kept.follow(transcript)
            kept.follow(transcript)
            kept.messages()
            assert [type(each) for each in journal(kept)] == [Start, Grow, Compress, ApplyVerdict]


def test_the_twin_follows_too() -> None:
    """The same transcript in both twins gives the same journal."""
    transcript: list[Part] = [
        TASK,
        *turn(buy("chrome chair"), compress("Chair: chrome")),
        "Go on.",
        *turn(revise(0, "no"), key="y"),
    ]

    async def awaited() -> list[object]:
        async def judge(request: Any) -> Any:
            return judged_by("chrome")(request)

        async with await AsyncMemory.open(MemoryStore(), "m", or_task=TASK, judge=judge) as kept:
            await kept.follow(transcript)
            return [entry.command for entry in await kept.session.history()]

    assert asyncio.run(awaited()) == followed(transcript, [], restarts=False, shows=False)


def test_what_is_no_part_of_a_transcript_is_refused() -> None:
    """In one line that names its type; a result whose call is not there any more is passed over."""
    strange: Any = {"role": "user"}
    with memory() as kept:
        kept.follow([ToolResult("gone", "ok"), TASK])
        with pytest.raises(TypeError, match="a dict is no part of a transcript"):
            kept.follow([strange])
        assert journal(kept) == [Start(TASK)]


@pytest.mark.parametrize("twin", ["Memory", "AsyncMemory"])
def test_a_session_may_be_opened_for_whatever_task_it_has(twin: str) -> None:
    """Hosts know what the user said last, not what the session was begun for: `or_task` is for a new one alone."""
    store = MemoryStore()

    async def tasks(**given: Any) -> str:
        if twin == "Memory":
            with Memory.open(store, "m", **given) as kept:
                return kept.session.state().task
        async with await AsyncMemory.open(store, "m", **given) as awaited:
            return awaited.session.state().task

    with pytest.raises(UnknownJournal):
        asyncio.run(tasks())
    assert asyncio.run(tasks(or_task=TASK)) == TASK
    assert asyncio.run(tasks(or_task="And a lamp.")) == TASK
    with pytest.raises(OtherTask):
        asyncio.run(tasks(task="And a lamp."))

"""When a judge is asked, and what comes of its answer, of its silence and of its errors."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from mage import AsyncSession, Failed, FoldRequest, JudgeRequest, Passed, Refused, Session, Verdict
from mage.effects import AsyncJudge, Judge
from mage.engine import Active, Rejected, StaleVerdict, Unverified
from mage.stores import JournalStore, MemoryStore
from mage.testing import ScriptedJudge, ScriptEnded
from tests.session.meddling import Meddling
from tests.session.twins import Twin, both


@both
def test_a_stale_verdict_is_refused(twin: Twin, store: JournalStore) -> None:
    """An answer to an earlier text is refused with what waits now, and recorded nowhere."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("one")
        old = session.judge_request().digest
        session.retext("two")
        version = session.version
        with pytest.raises(Refused) as raised:
            session.judge(Passed(), old)
        assert raised.value.refusal == StaleVerdict(old, session.judge_request().digest)
        assert session.version == version


@both
def test_a_judge_that_raises(twin: Twin, store: JournalStore) -> None:
    """The error reaches the caller as it is; the compress is durable, the session usable, nobody asked again."""
    error = TimeoutError("model")
    judge = ScriptedJudge(error, Passed())
    with twin.open(store, "s", task="t", judge=judge) as session:
        session.grow("a", "o")
        with pytest.raises(TimeoutError) as raised:
            session.compress("s")
        assert raised.value is error
        assert session.version == 3 == store.head("s").version
        session.grow("b", "o")
        session.instruct("i")
        assert len(judge.asked) == 1
        assert isinstance(session.retext("s, and more"), Active)


@both
def test_a_pending_summary_is_judged_on_opening_once(twin: Twin, store: JournalStore) -> None:
    """Reopened with a judge, the open question is put again; with none, or wait=False, it stays; then never more."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("s")
        digest = session.judge_request().digest
        session.grow("b", "o")
    for judge, wait in ((None, True), (ScriptedJudge(), False)):
        with twin.open(store, "s", judge=judge, wait=wait) as session:
            assert isinstance(session.phase, Unverified)
    judge = ScriptedJudge(Failed("no"))
    with twin.open(store, "s", judge=judge) as session:
        assert isinstance(session.phase, Rejected)
    with twin.open(store, "s", judge=judge) as session:
        assert isinstance(session.phase, Rejected)
    assert [request.digest for request in judge.asked] == [digest]


@both
def test_a_judge_that_raises_on_opening(twin: Twin, store: JournalStore) -> None:
    """Opening passes the error on and leaves the summary pending; there is a way in without the judge."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("s")
    with pytest.raises(ScriptEnded):
        twin.open(store, "s", judge=ScriptedJudge())
    with twin.open(store, "s", judge=ScriptedJudge(), wait=False) as session:
        assert isinstance(session.phase, Unverified)
        assert session.version == 3


@both
@pytest.mark.parametrize("first", [Passed(), Failed("first")], ids=["passed", "failed"])
def test_of_two_who_ask_again_one_wins(twin: Twin, store: JournalStore, first: Verdict) -> None:
    """While one reopening session asks, another one is answered: both end with the verdict that came first."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("s")

    def winner(other: Session) -> None:
        other.judge(first)

    judge = Meddling(store, Failed("late"))
    judge.meddle = winner
    with twin.open(store, "s", judge=judge) as session:
        assert session.tree.head_summary.verdict == first
        assert session.head == store.head("s")
        assert session.version == 4
    assert len(judge.script.asked) == 1


@both
def test_who_only_grew_meanwhile_wins_nothing(twin: Twin, store: JournalStore) -> None:
    """Where another session has only grown, the question still stands, and the answer is taken, asked once."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("s")
    judge = Meddling(store, Passed())
    with twin.open(store, "s", judge=judge) as session:
        assert isinstance(session.phase, Active)
        assert session.version == 5
        assert [step.action for step in session.state().raw] == ["b"]
    assert len(judge.script.asked) == 1


@both
def test_a_new_text_meanwhile_is_left_to_whoever_wrote_it(twin: Twin, store: JournalStore) -> None:
    """Where the text was changed while the judge was thinking, its verdict lands nowhere; it is asked no more."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("s")
    judge = Meddling(store, Passed())
    judge.meddle = lambda other: other.retext("other")
    with twin.open(store, "s", judge=judge) as session:
        assert isinstance(session.phase, Unverified)
        assert session.judge_request().text == "other"
    assert len(judge.script.asked) == 1


@both
def test_a_judge_may_read_the_session_that_asks(twin: Twin, store: JournalStore) -> None:
    """No lock is held while the judge thinks, so it can look at what it is asked about."""
    seen: list[str] = []

    def curious(request: JudgeRequest | FoldRequest, /) -> Verdict:
        seen.extend(summary.text for summary in session.state().compressed)
        seen.append(session.judge_request().text)
        return Passed()

    judge: Judge = curious
    with twin.open(store, "s", task="t", judge=judge) as session:
        session.grow("a", "o")
        session.compress("s")
    assert seen == ["s", "s"]


@both
def test_a_judge_that_is_exhausted_is_heard(twin: Twin, store: JournalStore) -> None:
    """A judge that raises StopIteration raises: it does not pass for a verdict, and the summary is pending."""
    answers = iter([Passed()])

    def judge(_: JudgeRequest) -> Verdict:
        return next(answers)

    with twin.open(store, "s", task="t", judge=judge) as session:
        session.grow("a", "o")
        assert isinstance(session.compress("one"), Active)
        session.grow("b", "o")
        with pytest.raises(RuntimeError) as raised:
            session.compress("two")
        assert isinstance(raised.value.__cause__, StopIteration)
        assert isinstance(session.phase, Unverified)
        assert isinstance(session.judge(Passed()), Active)


@both
def test_a_judge_that_raises_keeps_from_opening(twin: Twin, store: JournalStore) -> None:
    """What the judge raises about a summary that was left pending `open` raises; `wait=False` gets in."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("one")
    with pytest.raises(ScriptEnded):
        twin.open(store, "s", judge=ScriptedJudge())
    with twin.open(store, "s", judge=ScriptedJudge(), wait=False) as session:
        assert isinstance(session.phase, Unverified)


def test_a_plain_judge_of_an_awaited_session_is_named() -> None:
    """An AsyncSession says that its judge is to be awaited; the compress stands."""

    async def story() -> None:
        judge = cast("AsyncJudge", ScriptedJudge(Passed()))
        async with await AsyncSession.open(MemoryStore(), "s", task="t", judge=judge) as session:
            await session.grow("a", "o")
            with pytest.raises(TypeError, match="AsyncSession is awaited, but this one returned a Passed"):
                await session.compress("one")
            assert isinstance(session.phase, Unverified)

    asyncio.run(story())

"""A verdict lands on the summary and the text that it was made for, behind whatever came since; or nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from mage import (
    Active,
    ApplyVerdict,
    AsyncSession,
    Conflict,
    Failed,
    JudgeRequest,
    Passed,
    Refused,
    Rejected,
    Session,
    StaleVerdict,
    State,
    Unverified,
    Verdict,
    check,
)
from mage.effects import AsyncJudge, Judge
from mage.session.events import Compressed, Event, Refreshed
from mage.stores import JournalStore, MemoryStore
from mage.testing.effects import ScriptedJudge, ScriptEnded
from tests.session.twins import Twin, both


class Meddling:
    """A judge during whose first thinking another session writes; or the very session that asks, where it is given."""

    def __init__(self, store: JournalStore, *answers: Verdict) -> None:
        self.store = store
        self.script = ScriptedJudge(*answers)
        self.meddle: Callable[[Session], object] = lambda other: other.grow("b", "other")
        self.own: Session | None = None
        self._meddled = False

    def __call__(self, request: JudgeRequest, /) -> Verdict:
        verdict = self.script(request)
        if self._meddled:
            return verdict
        self._meddled = True
        if self.own is not None:
            self.meddle(self.own)
            return verdict
        with Session.open(self.store, "s") as other:
            self.meddle(other)
        return verdict


LEAVING = {
    "retext": lambda other: other.retext("other", wait=False),
    "accept": lambda other: other.accept(),
    "judge": lambda other: other.judge(Failed("other")),
    "revise": lambda other: other.revise(0, "other"),
    "another-summary": lambda other: (
        other.revise(0),
        other.grow("a", "other"),
        other.compress("other", wait=False),
    ),
}
"""What leaves a pending summary or its text, so that an answer about it was overtaken (D5)."""
STAYING = {
    "grow": lambda other: other.grow("b", "other"),
    "instruct": lambda other: other.instruct("other"),
    "revise-open": lambda other: (other.grow("b", "other"), other.revise(1, "other")),
    "all": lambda other: (other.grow("b", "other"), other.instruct("other"), other.grow("c", "other")),
    "same-again": lambda other: (other.retext("other", wait=False), other.retext("s", wait=False)),
}
"""What leaves the question as it was: growing, instructing, dropping what is open, and coming back to the text."""
leaving = pytest.mark.parametrize("meddle", LEAVING.values(), ids=LEAVING)
staying = pytest.mark.parametrize("meddle", STAYING.values(), ids=STAYING)


def ask(session: Session, how: str, judge: Meddling) -> State:
    """Have the summary "s" judged: as part of a compress or a retext, or as somebody who brings a verdict."""
    if how == "compress":
        return session.compress("s")
    if how == "retext":
        session.compress("first", wait=False)
        return session.retext("s")
    session.compress("s", wait=False)
    request = session.judge_request()
    return session.judge(judge(request), request.digest if how == "judge" else None)


ways = pytest.mark.parametrize("how", ["compress", "retext", "judge", "judge-pending"])
named = pytest.mark.parametrize("how", ["compress", "retext", "judge"])  # says which question is answered


@both
@ways
@leaving
def test_a_summary_that_is_left_while_the_judge_thinks(
    twin: Twin, store: JournalStore, how: str, meddle: Callable[[Session], object]
) -> None:
    """Where another session has left the summary or its text: a conflict, and what it did stands as it did it."""
    judge = Meddling(store, Passed())
    judge.meddle = meddle
    with twin.open(store, "s", task="t", judge=judge) as session:
        session.grow("a", "o")
        with pytest.raises(Conflict) as raised:
            ask(session, how, judge)
        at = 4 if how == "retext" else 3
        assert (raised.value.expected.version, raised.value.found) == (at, store.head("s"))
        assert isinstance(session.phase, Unverified)
        assert session.version == at
        session.refresh()
        with Session.open(store, "s", snapshot_every=None) as reopened:
            assert reopened.phase == session.phase
            others = [entry.command for entry in reopened.history(after=at)]
        assert "Passed" not in repr(others)
        check(session.phase)


@both
@ways
@staying
@pytest.mark.parametrize("verdict", [Passed(), Failed("no")], ids=["passed", "failed"])
def test_a_verdict_lands_behind_what_leaves_its_question(
    twin: Twin, store: JournalStore, how: str, meddle: Callable[[Session], object], verdict: Verdict
) -> None:
    """Where another session has only grown, instructed or dropped what is open, the verdict lands behind that."""
    judge = Meddling(store, verdict)
    judge.meddle = meddle
    with twin.open(store, "s", task="t", judge=judge) as session:
        session.grow("a", "o")
        state = ask(session, how, judge)
        assert isinstance(state, Active if verdict == Passed() else Rejected)
        assert session.phase is state
        assert session.tree.head_summary.verdict == verdict
        assert session.head == store.head("s")
        last = session.history()[-1].command
        assert last == ApplyVerdict(verdict, judge.script.asked[0].digest)
        assert len(judge.script.asked) == 1
        with Session.open(store, "s", snapshot_every=None) as reopened:
            assert reopened.phase == state
        check(state)


@ways
@staying
def test_a_verdict_lands_behind_what_its_own_session_did(
    store: JournalStore, how: str, meddle: Callable[[Session], object]
) -> None:
    """So it is where the same session went on while its judge was thinking (D6)."""
    judge = Meddling(store, Passed())
    judge.meddle = meddle
    with Session.open(store, "s", task="t", judge=judge) as session:
        judge.own = session
        session.grow("a", "o")
        assert isinstance(ask(session, how, judge), Active)
        assert session.history()[-1].command == ApplyVerdict(Passed(), judge.script.asked[0].digest)
        assert session.head == store.head("s")


@named
@leaving
def test_a_summary_that_its_own_session_has_left(
    store: JournalStore, how: str, meddle: Callable[[Session], object]
) -> None:
    """Where the same session has left the summary or its text meanwhile, the answer is stale, and changes nothing."""
    judge = Meddling(store, Passed())
    judge.meddle = meddle
    with Session.open(store, "s", task="t", judge=judge) as session:
        judge.own = session
        session.grow("a", "o")
        with pytest.raises(Refused) as raised:
            ask(session, how, judge)
        assert isinstance(raised.value.refusal, StaleVerdict)
        assert raised.value.refusal.digest == judge.script.asked[0].digest
        assert session.head == store.head("s")
        assert "Passed" not in repr([entry.command for entry in session.history()])


@pytest.mark.parametrize("grows", [True, False], ids=["grow", "retext"])
def test_a_task_goes_on_while_the_judge_is_awaited(grows: bool) -> None:
    """Of an awaited session: what another task grows stands before the verdict, a new text makes it stale."""

    async def story() -> None:
        asked, went_on = asyncio.Event(), asyncio.Event()

        async def judge(_: JudgeRequest, /) -> Verdict:
            asked.set()
            await went_on.wait()
            return Passed()

        async def go_on(session: AsyncSession) -> None:
            await asked.wait()
            await (session.grow("b", "o") if grows else session.retext("other", wait=False))
            went_on.set()

        async with await AsyncSession.open(MemoryStore(), "s", task="t", judge=judge) as session:
            await session.grow("a", "o")
            judged, _ = await asyncio.gather(session.compress("s"), go_on(session), return_exceptions=True)
            if grows:
                assert isinstance(judged, Active)
                assert [step.action for step in session.state().raw] == ["b"]
            else:
                assert isinstance(judged, Refused)
                assert isinstance(judged.refusal, StaleVerdict)
                assert session.judge_request().text == "other"

    asyncio.run(story())


@both
def test_a_journal_of_the_same_name_is_another_one(twin: Twin, store: JournalStore) -> None:
    """A verdict does not land in a journal that was created anew under the name, though its question is the same."""

    def recreated(other: Session) -> None:
        store.delete("s", expected=other.head)
        with Session.open(store, "s", task="t") as new:
            new.grow("a", "o")
            new.compress("s")
            new.grow("b", "o")

    judge = Meddling(store, Passed())
    judge.meddle = recreated
    with twin.open(store, "s", task="t", judge=judge) as session:
        session.grow("a", "o")
        with pytest.raises(Conflict):
            session.compress("s")
    with Session.open(store, "s") as found:
        assert isinstance(found.phase, Unverified)


@both
def test_a_verdict_that_is_overtaken_again_and_again(twin: Twin, store: JournalStore) -> None:
    """As often as others are faster, what they wrote is taken and the verdict given again; each time that is told."""
    told: list[Event] = []

    def faster(event: Event) -> None:
        told.append(event)
        if isinstance(event, Compressed | Refreshed) and event.version < 6:
            with Session.open(store, "s") as other:
                other.grow(f"{event.version}", "other")

    with twin.open(store, "s", task="t", on_event=faster) as session:
        session.grow("a", "o")
        session.compress("s")
        assert isinstance(session.judge(Passed()), Active)
        assert [step.action for step in session.state().raw] == ["3", "4", "5"]
    kinds = [type(event).__name__ for event in told[3:]]
    assert kinds == [*["Conflicted", "Refreshed"] * 3, "Judged"]


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

    def curious(request: JudgeRequest, /) -> Verdict:
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

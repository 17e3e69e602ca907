"""A verdict lands on the summary and the text that it was made for, behind whatever came since; or nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mage import AsyncSession, Conflict, Failed, FoldRequest, JudgeRequest, Passed, Refused, Session, Verdict
from mage.engine import Active, ApplyVerdict, Rejected, StaleVerdict, State, Unverified, check
from mage.session.events import Compressed, Event, Refreshed
from mage.stores import JournalStore, MemoryStore
from tests.session.meddling import Meddling
from tests.session.twins import Twin, both

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

        async def judge(_: JudgeRequest | FoldRequest, /) -> Verdict:
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
@leaving
def test_what_was_left_while_opening_asked_is_not_judged(
    twin: Twin, meddle: Callable[[Session], object]
) -> None:
    """Opening asks about a pending summary that somebody leaves meanwhile: it opens all the same, where they stand."""
    store = MemoryStore()
    with Session.open(store, "s", task="t") as first:
        first.grow("a", "o")
        first.compress("s", wait=False)
    judge = Meddling(store, Passed())
    judge.meddle = meddle
    with twin.open(store, "s", judge=judge) as session, Session.open(store, "s", wait=False) as other:
        assert session.head == other.head
        assert session.phase == other.phase

"""What each operation of a session does, says and refuses; on both twins, on each store."""

from __future__ import annotations

import pytest

import mage
import mage.engine
from mage import Conflict, Failed, JudgeRequest, Passed, Refused, Session, view
from mage.engine import (
    Active,
    BlankInstruction,
    BlankSummary,
    EmptySegment,
    Grow,
    IllegalPhase,
    Lesson,
    Rejected,
    StaleVerdict,
    Start,
    StepId,
    UnknownBoundary,
    Unverified,
    inside,
)
from mage.session import NotAVerdict
from mage.stores import (
    BadMeta,
    JournalStore,
    NameTaken,
    UnknownVersion,
)
from mage.testing import ScriptedJudge
from tests.session.twins import Twin, both, plain, ticking


@both
def test_a_story(twin: Twin, store: JournalStore) -> None:
    """The README's story, kept: what was wrong is left, what was right stays, the lesson is told."""
    judge = ScriptedJudge(Passed(), Failed("oak avoids chrome"))
    with twin.open(store, "shop", task="Buy a desk, then a chair.", judge=judge) as session:
        session.grow("buy[oak desk]", "Bought for $310.")
        assert isinstance(session.compress("Desk purchased."), Active)
        session.grow("buy[chrome chair]", "Bought for $129.")
        assert isinstance(session.compress("Chair purchased."), Rejected)
        revised = session.revise(1, "The chrome chair does not fit.")
        assert [step.action for step in revised.abandoned] == ["buy[chrome chair]"]
        shown = session.state()
    assert [summary.text for summary in shown.compressed] == ["Desk purchased."]
    assert shown.raw == ()
    assert shown.hints.lessons == (Lesson(StepId(1), "The chrome chair does not fit."),)
    assert [request.text for request in judge.asked] == ["Desk purchased.", "Chair purchased."]


@both
def test_what_can_be_read(twin: Twin, store: JournalStore) -> None:
    """Name, version, head, phase, tree and S are those of the slot; `now` is all of them at one moment."""
    with twin.open(store, "read", task="t") as session:
        session.grow("a", "o")
        assert (session.name, session.version) == ("read", 2)
        assert session.head == store.head("read") == session.now.head
        assert session.tree is session.phase.tree
        assert session.state() == view(session.phase) == session.now.state()
        assert (session.now.version, session.now.tree, session.now.phase) == (2, session.tree, session.phase)
        assert "'read' at version 2, Active>" in repr(session)
        assert "[Step" not in repr(session)


@both
def test_refusals_are_raised_with_their_value(twin: Twin, store: JournalStore) -> None:
    """What the engine refuses is raised as Refused, carries the engine's value, and records nothing."""
    with twin.open(store, "no", task="t") as session:
        for refused, operation in (
            (EmptySegment(mage.engine.StepId(0)), lambda: session.compress("x")),
            (BlankInstruction(), lambda: session.instruct(" ")),
            (UnknownBoundary(mage.engine.StepId(7), (mage.engine.StepId(0),)), lambda: session.revise(7)),
            (StaleVerdict(mage.engine.Digest("d"), None), lambda: session.judge(Passed(), "d")),
            (StaleVerdict(mage.engine.Digest(""), None), lambda: session.judge(Passed())),
        ):
            with pytest.raises(Refused) as raised:
                operation()
            assert raised.value.refusal == refused
            assert str(raised.value) == str(refused)
        assert session.version == 1 == store.head("no").version


@both
def test_illegal_phases_are_raised_as_the_engine_does(twin: Twin, store: JournalStore) -> None:
    """An operation in a phase where it is not legal raises IllegalPhase, and records nothing."""
    with twin.open(store, "phase", task="t") as session:
        with pytest.raises(IllegalPhase):
            session.accept()
        with pytest.raises(IllegalPhase):
            session.judge_request()
        session.grow("a", "o")
        session.compress("s")
        with pytest.raises(IllegalPhase):
            session.compress("s")
        assert session.version == 3


@both
def test_without_a_judge_a_summary_stays_pending(twin: Twin, store: JournalStore) -> None:
    """Nobody judges: Unverified; the request can be answered from outside, by digest, after more was grown."""
    with twin.open(store, "later", task="t") as session:
        session.grow("a", "o")
        assert isinstance(session.compress("s"), Unverified)
        request = session.judge_request()
        session.grow("b", "o")
        assert isinstance(session.judge(Failed("no"), request.digest), Rejected)
        assert isinstance(session.retext("better"), Unverified)
        assert isinstance(session.accept(), Active)


@both
def test_wait_false_leaves_it_pending(twin: Twin, store: JournalStore) -> None:
    """With `wait=False` the judge is not asked, by compress nor by retext."""
    judge = ScriptedJudge()
    with twin.open(store, "wait", task="t", judge=judge) as session:
        session.grow("a", "o")
        assert isinstance(session.compress("s", wait=False), Unverified)
        assert isinstance(session.retext("r", wait=False), Unverified)
    assert judge.asked == []


@both
def test_retext_is_judged_as_compress_is(twin: Twin, store: JournalStore) -> None:
    """A failed summary gets a new text, which the judge sees; its kind stays."""
    judge = ScriptedJudge(Failed("unclear", "summary"), Passed())
    with twin.open(store, "again", task="t", judge=judge) as session:
        session.grow("a", "o")
        session.compress("s", kind="fallback")
        assert isinstance(session.retext("clear"), Active)
        assert session.tree.head_summary.kind == "fallback"
    requests = [request for request in judge.asked if isinstance(request, JudgeRequest)]
    assert [(request.text, request.kind) for request in requests] == [
        ("s", "fallback"),
        ("clear", "fallback"),
    ]


@both
def test_a_chapter_is_kept_and_can_be_looked_into(twin: Twin, store: JournalStore) -> None:
    """Two finished subgoals become one line, durably; a digest of other lines is refused (D19)."""
    judge = ScriptedJudge(Passed(), Passed(), Passed())
    with twin.open(store, "fold", task="t", judge=judge) as session:
        for text in ("one", "two", "three"):
            session.grow(text, "o")
            session.compress(text)
        request = session.fold_request(0, 2, "both")
        session.fold(0, 2, "both", request.digest)
        with pytest.raises(Refused, match="judge that one"):
            session.fold(0, 3, "all", request.digest)
        with pytest.raises(Refused, match="no run of two or more lines"):
            session.fold_request(0, 1, "half")
        session.fold(0, 3, "all")
        session.grow("four", "o")
        session.compress("four", wait=False)
        with pytest.raises(IllegalPhase):
            session.fold_request(0, 3, "all")
        session.revise(3)
    for snapshot_every in (1, None):
        with twin.open(store, "fold", snapshot_every=snapshot_every) as session:
            assert [line.text for line in session.state().compressed] == ["all"]
            within = inside(session.phase, 0).unwrap()
            assert [line.text for line in within.lines] == ["both", "three"]
            assert session.tree == session.at(session.version).tree


@both
def test_what_changes_nothing_is_not_recorded(twin: Twin, store: JournalStore) -> None:
    """The same instruction, the same text, a revise to where one stands: no record, the same phase (L10)."""
    with twin.open(store, "same", task="t") as session:
        session.instruct("be brief")
        session.grow("a", "o")
        session.compress("s")
        version, phase = session.version, session.phase
        assert session.retext("s") is phase
        assert session.revise(1).state is phase
        session.accept()
        assert session.revise(1).abandoned == ()
        assert session.version == version + 1 == store.head("same").version
        session.revise(0)
        version = session.version
        session.instruct("be brief")
        assert session.version == version


@both
def test_a_walk_stores_nothing_again(twin: Twin, store: JournalStore) -> None:
    """Walking back into a step is a command without payload, and the step comes back whole."""
    with twin.open(store, "walk", task="t") as session:
        session.grow("a", "o" * 1000)
        payload = store.journals()[0].payload
        session.revise(0)
        session.grow("a", "o" * 1000)
        assert store.journals()[0].payload < payload + 300
        assert session.history()[-1].command == Grow("a", "o" * 1000)
        assert session.tree.next_step == 2


@both
def test_history_tells_times_and_meta(twin: Twin, store: JournalStore) -> None:
    """Each command comes back with the time of the injected clock and the meta that it was given."""
    with twin.open(store, "h", task="t", clock=ticking(), salts=plain) as session:
        session.grow("a", "o", meta={"call": "c1", "usage": {"input": 3, "of": [1, None, True, 0.5]}})
        session.compress("s", meta={"model": "\ud800"})
        session.judge(Passed(), meta={"note": "ok"})
        entries = session.history()
        assert [entry.at for entry in entries] == [2, 3, 4, 5]  # it was asked once before, when it was given
        assert [entry.version for entry in entries] == [1, 2, 3, 4]
        assert entries[0].command == Start("t")
        assert [dict(entry.meta) for entry in entries[1:]] == [
            {"call": "c1", "usage": {"input": 3, "of": [1, None, True, 0.5]}},
            {"model": "\ud800"},
            {"note": "ok"},
        ]
        assert session.history(after=2) == entries[2:]
        assert session.history(after=1, upto=3) == entries[1:3]
        assert session.history(after=4) == ()
        with pytest.raises(UnknownVersion):
            session.history(upto=5)
        with pytest.raises(UnknownVersion):
            session.history(after=-1)


@both
def test_meta_must_be_a_json_object_and_leaves_the_time_alone(twin: Twin, store: JournalStore) -> None:
    """Meta that JSON cannot spell, or that says its own time, is refused before anything is written."""
    with twin.open(store, "m", task="t") as session:
        for meta in ({"at": 3}, {"x": object()}, {"x": float("nan")}):
            with pytest.raises(BadMeta):
                session.grow("a", "o", meta=meta)
        assert session.version == 1 == store.head("m").version


@both
def test_a_fork_starts_where_it_says(twin: Twin, store: JournalStore) -> None:
    """`fork(at=v)` shows what version v showed; without `at` it is where the session stands."""
    with twin.open(store, "f", task="t") as session:
        for number in range(4):
            session.grow(f"a{number}", "o")
        for version in range(1, 6):
            with session.fork(f"f{version}", at=version) as fork:
                assert fork.version == version
                assert fork.phase == session.at(version).phase
                assert len(fork.state().raw) == version - 1
        with session.fork("now") as fork:
            assert (fork.head, fork.phase) == (session.head, session.phase)
        for version in (0, 6, -1):
            with pytest.raises(UnknownVersion):
                session.fork("none", at=version)
        with pytest.raises(NameTaken):
            session.fork("now")


@both
def test_at_is_read_only_and_stays(twin: Twin, store: JournalStore) -> None:
    """An earlier version does not change when the session goes on, nor can it be changed."""
    with twin.open(store, "p", task="t") as session:
        session.grow("a", "o")
        past = session.at(2)
        before = (past.version, past.head, past.state(), past.tree)
        session.grow("b", "o")
        session.revise(0, "lesson")
        assert (past.version, past.head, past.state(), past.tree) == before
        assert session.at(2) == past
        assert not hasattr(past, "grow")
        with pytest.raises(UnknownVersion):
            session.at(5)


@both
def test_a_moved_head_is_a_conflict(twin: Twin, store: JournalStore) -> None:
    """Whoever is behind is told, loses nothing, and goes on after a refresh."""
    with twin.open(store, "c", task="t") as one, twin.open(store, "c") as two:
        one.grow("a", "o")
        with pytest.raises(Conflict) as raised:
            two.grow("b", "o")
        assert (raised.value.expected, raised.value.found) == (two.head, one.head)
        assert two.version == 1
        assert two.refresh() == one.head
        assert two.phase == one.phase
        two.grow("b", "o")
        assert one.refresh() == two.head
        assert [step.action for step in one.state().raw] == ["a", "b"]
        assert one.refresh() == two.head


@both
def test_what_is_no_verdict_is_not_taken(twin: Twin, store: JournalStore) -> None:
    """A judge that answers anything else is told so, in both twins alike; the summary is still pending."""
    judge = ScriptedJudge("passed")  # type: ignore[arg-type]
    with twin.open(store, "v", task="t", judge=judge) as session:
        session.grow("a", "o")
        with pytest.raises(NotAVerdict) as raised:
            session.compress("s")
        assert "not str" in str(raised.value)
        with pytest.raises(NotAVerdict):
            session.judge(True)  # type: ignore[arg-type]
        assert isinstance(session.phase, Unverified)
        assert session.version == 3 == store.head("v").version


@both
def test_a_blank_text_is_refused_before_the_judge_is_asked(twin: Twin, store: JournalStore) -> None:
    """A blank summary costs no judge, and a blank feedback leaves the summary pending."""
    judge = ScriptedJudge(Failed(" "))
    with twin.open(store, "b", task="t", judge=judge) as session:
        session.grow("a", "o")
        with pytest.raises(Refused) as raised:
            session.compress(" ")
        assert raised.value.refusal == BlankSummary()
        assert judge.asked == []
        with pytest.raises(Refused):
            session.compress("s")
        assert isinstance(session.phase, Unverified)


def test_the_names_of_both_twins_are_the_same() -> None:
    """What one twin can do the other can, under the same name."""
    names = [
        {name for name in vars(twin) if not name.startswith("_")} for twin in (Session, mage.AsyncSession)
    ]
    assert names[0] == names[1]
    assert "grow" in names[0]


@both
def test_meta_that_is_no_object_is_refused(twin: Twin, store: JournalStore) -> None:
    """Meta that is no mapping, or too deep, is refused when it is given, and nothing is recorded."""
    deep: dict[str, object] = {}
    for _ in range(100):
        deep = {"a": deep}
    with twin.open(store, "s", task="t") as session:
        for meta in (7, "text", [("a", 1)], deep):
            with pytest.raises(BadMeta):
                session.grow("a", "o", meta=meta)  # type: ignore[arg-type]
        assert session.version == 1

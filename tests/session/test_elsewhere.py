"""What broke in neighbours (FIELD.md names the reports), and cannot here. On both twins, on each store."""

from __future__ import annotations

import itertools

import pytest

from mage import Failed, JudgeRequest, Passed, Session, Verdict
from mage.engine import Active, Rejected, Unverified
from mage.stores import BadMeta, JournalStore
from mage.testing import ScriptedJudge
from tests.session.twins import Twin, both


def actions(session: Session) -> list[str]:
    """Return what the agent is shown of its open segment."""
    return [step.action for step in session.state().raw]


@both
def test_a_fork_is_right_after_a_reload_too(twin: Twin, store: JournalStore) -> None:
    """Branches: fork right live, wrong after reload (langgraph#8443)."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("s")
        session.judge(Passed())
        session.grow("b", "o")
        with session.fork("f", at=4) as fork:
            fork.grow("c", "o")
            fork.compress("other")
            live = fork.state()
    with twin.open(store, "f") as fork:
        assert fork.state() == live


@both
def test_an_edit_of_an_old_version_stays_in_its_fork(twin: Twin, store: JournalStore) -> None:
    """Branches: an edit of an old version leaks into the branch it came from (langgraph#8551)."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.grow("b", "o")
        before = (session.head, session.state())
        with session.fork("f", at=2) as fork:
            fork.instruct("only here", standing=True)
            fork.grow("c", "o")
            fork.revise(0, "only here")
        assert (session.refresh(), session.state()) == before
    with twin.open(store, "s") as session:
        assert (session.head, session.state()) == before


@both
def test_sibling_forks_stay_apart(twin: Twin, store: JournalStore) -> None:
    """Branches: sibling forks merge (langgraphjs#2737)."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        with session.fork("one") as one, session.fork("two") as two:
            one.grow("same", "o")
            two.grow("same", "o")
            two.grow("more", "o")
            assert (actions(one), actions(two)) == (["a", "same"], ["a", "same", "more"])
    for name, expected in (("one", 3), ("two", 4), ("s", 2)):
        with twin.open(store, name) as reopened:
            assert reopened.version == expected


@both
def test_from_version_three_is_from_version_three(twin: Twin, store: JournalStore) -> None:
    """Branches: "re-run from here" starts somewhere else (langgraph#8458), off by one (openai-agents#2069)."""
    with twin.open(store, "s", task="t") as session:
        shown = [session.state()]
        for action in "abcd":
            session.grow(action, "o")
            shown.append(session.state())
        for version, state in enumerate(shown, start=1):
            with session.fork(f"f{version}", at=version) as fork:
                assert fork.state() == state
                fork.grow("new", "o")
                assert actions(fork) == [*"abcd"[: version - 1], "new"]


@both
def test_summaries_come_from_the_path(twin: Twin, store: JournalStore) -> None:
    """Branches: the newest compaction is chosen globally, not along the path (cloudflare/agents#2120)."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("first")
        session.accept()
        session.revise(0)
        session.grow("b", "o")
        session.compress("second")
        session.accept()
        session.revise(0)
        session.grow("a", "o")
    with twin.open(store, "s") as session:
        assert session.state().compressed == ()
        session.compress("first again")
        assert [summary.text for summary in session.state().compressed] == ["first again"]


@both
def test_an_older_text_can_be_gone_back_to(twin: Twin, store: JournalStore) -> None:
    """Branches: an older summary is destroyed, so going back is lossy (oh-my-pi#4090)."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("old")
        session.retext("new")
        assert session.at(3).tree.head_summary.text == "old"
        with session.fork("f", at=3) as fork:
            fork.accept()
            assert [summary.text for summary in fork.state().compressed] == ["old"]
        assert session.tree.head_summary.text == "new"


@both
def test_a_rewind_to_the_start_keeps_the_start(twin: Twin, store: JournalStore) -> None:
    """Rollback: the initial state is nulled by a rewind to the start (adk-python#4933)."""
    with twin.open(store, "s", task="the task") as session:
        session.instruct("from the start", standing=True)
        first = session.state()
        session.grow("a", "o")
        session.revise(0)
    with twin.open(store, "s") as session:
        assert (session.state().task, session.state().instructions) == (first.task, first.instructions)
        assert session.state().raw == ()


@both
def test_what_was_revised_is_still_revised_after_a_restart(twin: Twin, store: JournalStore) -> None:
    """Rollback: the head is rewound in memory only, a restart brings the old branch back (oh-my-pi#11663)."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("s")
        session.judge(Failed("wrong"))
        session.revise(0, "not a")
        shown = session.state()
    for _ in range(2):
        with twin.open(store, "s") as session:
            assert session.state() == shown
            assert isinstance(session.phase, Active)
            assert [lesson.text for lesson in session.state().hints.lessons] == ["not a"]


@both
def test_ids_are_never_used_again(twin: Twin, store: JournalStore) -> None:
    """Rollback: ids are reused (burr#181)."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("s")
        session.accept()
        session.revise(0)
    with twin.open(store, "s") as session:
        session.grow("b", "o")
        session.compress("s")
        assert session.tree.step_head == 2
        assert session.tree.summary_head == 2


@both
def test_a_judge_that_always_fails_is_no_dead_end(twin: Twin, store: JournalStore) -> None:
    """Compaction: a judge says failure always (zeph#3383), a gate has no switch (pi-smart-compact#42)."""
    judge = ScriptedJudge(*[Failed("no")] * 3)
    with twin.open(store, "s", task="t", judge=judge) as session:
        session.grow("a", "o")
        assert isinstance(session.compress("s"), Rejected)
        assert isinstance(session.retext("t"), Rejected)
        assert isinstance(session.accept(), Active)
        session.grow("b", "o")
        assert isinstance(session.compress("u", wait=False), Unverified)
        assert isinstance(session.accept(), Active)


@both
def test_a_failing_judge_is_not_asked_on_every_call(twin: Twin, store: JournalStore) -> None:
    """Compaction: a failure aborts the run, then it is retried on every call (openhuman#4461)."""
    judge = ScriptedJudge(ConnectionError())
    with twin.open(store, "s", task="t", judge=judge) as session:
        session.grow("a", "o")
        with pytest.raises(ConnectionError):
            session.compress("s")
        for number in range(5):
            session.grow(f"b{number}", "o")
            session.refresh()
            session.state()
    assert len(judge.asked) == 1


@both
def test_covering_and_hiding_are_one(twin: Twin, store: JournalStore) -> None:
    """Compaction: the exclusion is saved, the summary lost (agent-framework#7744)."""
    judge = ScriptedJudge(ConnectionError())
    with twin.open(store, "s", task="t", judge=judge) as session:
        session.grow("a", "o")
        with pytest.raises(ConnectionError):
            session.compress("s")
    with twin.open(store, "s") as session:
        assert session.state().raw == ()
        assert session.tree.head_summary.text == "s"


@both
def test_one_task_twice_is_two_sessions(twin: Twin, store: JournalStore) -> None:
    """Concurrency: state keyed by the hash of the task, so that a second run resumes the first (swarms#2286)."""
    with twin.open(store, "one", task="same") as one, twin.open(store, "two", task="same") as two:
        one.grow("a", "o")
        assert actions(two) == []
        assert two.version == 1


@both
def test_two_turns_never_append_to_one_parent(twin: Twin, store: JournalStore) -> None:
    """Concurrency: two turns append to one parent (openclaw#98790), two writers to one thread (langgraph#8796)."""
    with twin.open(store, "s", task="t") as one, twin.open(store, "s") as two:
        one.grow("mine", "o")
        with pytest.raises(Exception, match="somebody else has written"):
            two.grow("theirs", "o")
        assert [record.version for record in store.read("s")] == [1, 2]


@both
def test_what_was_restored_can_be_changed_by_nobody(twin: Twin, store: JournalStore) -> None:
    """Data: mutating a restored state mutates the stored one (agent-framework#7683)."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o", meta={"list": [1]})
        entry = session.history()[-1]
        entry.meta["list"].append(2)  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            session.state().raw[0].action = "b"  # type: ignore[misc]
        assert session.history()[-1].meta == {"list": [1]}
        given = {"list": [1]}
        session.grow("b", "o", meta=given)
        given["list"].append(2)
        assert session.history()[-1].meta == {"list": [1]}


@both
def test_what_json_cannot_say_is_refused(twin: Twin, store: JournalStore) -> None:
    """Data: an unknown type silently becomes a dict (langgraph#7066)."""

    class Usage:
        tokens = 3

    with twin.open(store, "s", task="t") as session:
        with pytest.raises(BadMeta):
            session.grow("a", "o", meta={"usage": Usage()})
        assert session.version == 1


@both
def test_opening_writes_nothing(twin: Twin, store: JournalStore) -> None:
    """Data: opening an old file erases it (openai-agents-python#4729)."""
    with twin.open(store, "s", task="t", snapshot_every=2) as session:
        session.grow("a", "o")
        session.grow("b", "o")
    before = (list(store.read("s")), store.journals(), store.snapshot("s"))
    with twin.open(store, "s", snapshot_every=1) as session:
        session.state()
        session.at(2)
        session.history()
        session.refresh()
    assert (list(store.read("s")), store.journals(), store.snapshot("s")) == before


@both
def test_the_unjudgeable_ends_in_both_twins(twin: Twin, store: JournalStore) -> None:
    """Compaction: an answer that cannot be read loops for ever in sync, is bounded in async (PraisonAI#4251)."""
    asked: list[JudgeRequest] = []

    def babbling(request: JudgeRequest, /) -> Verdict:
        asked.append(request)
        return None  # type: ignore[return-value]

    with twin.open(store, "s", task="t", judge=babbling) as session:
        session.grow("a", "o")
        with pytest.raises(Exception, match="not NoneType"):
            session.compress("s")
    assert len(asked) == 1


@both
def test_a_step_costs_a_step(twin: Twin, store: JournalStore) -> None:
    """Growth: history of the square of its length (temporal sdk-python#1890)."""
    with twin.open(store, "s", task="t", snapshot_every=None) as session:
        sizes = []
        for number in range(60):
            session.grow(f"{number:04}", "o" * 400)
            sizes.append(store.journals()[0].payload)
    gaps = {later - earlier for earlier, later in itertools.pairwise(sizes)}
    assert max(gaps) - min(gaps) <= 8
    assert max(gaps) < 600

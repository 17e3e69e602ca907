"""A run, run again over its log: to the same state, byte for byte, and nobody is asked."""

from __future__ import annotations

from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage import Session
from mage.agent import BadRunLog, Policy, RunDiverged, RunFinished, rerun, what_if
from mage.agent.reruns import run_of
from mage.codec import encode_tree
from mage.engine import Instruct
from mage.stores import MemoryStore, UnknownJournal, operation_of, redacted
from tests.agent.recorded import MISTAKES, POLICIES, a_run, interrupted_after
from tests.agent.toys import TASK, Mistake, model_of, parts_of
from tests.agent.twins import NAME, TWINS, left_by, rebuilt

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@settings(max_examples=25, deadline=None)
@given(mistakes=MISTAKES, policy=POLICIES, which=st.integers(0, 1))
def test_a_rerun_comes_to_the_same_state_and_writes_nothing(
    mistakes: dict[int, Mistake], policy: Policy, which: int
) -> None:
    """Of either twin's run, under any policy: state, outcome and totals are those of the run, the store as it was."""
    store = MemoryStore()
    outcome = TWINS[which](parts_of(model_of(4, mistakes), policy), store)
    heads = [(journal.name, journal.head) for journal in store.journals()]
    again = rerun(store, NAME)
    left = left_by(store)
    assert again.same
    assert encode_tree(again.state) == left.tree
    assert (again.outcome, again.totals) == (outcome, outcome.totals)
    assert (again.version, again.unread, again.differs) == (left.journal[-1].version, 0, ())
    assert (again.policy, again.notes) == (policy, len(left.notes))
    assert [(journal.name, journal.head) for journal in store.journals()] == heads


@settings(max_examples=20, deadline=None)
@given(decisions=st.integers(0, 20))
def test_a_rerun_of_what_was_interrupted_ends_where_its_log_does(decisions: int) -> None:
    """It has no outcome, says what would be asked next, and stands where the session does."""
    again = rerun(interrupted_after(decisions), NAME)
    assert again.outcome is None
    assert (again.wanted, again.same, again.unread) == ("decided", True, 0)


def test_what_others_wrote_after_the_end_is_counted() -> None:
    """The run stands where it ended; the commands behind that are somebody else's."""
    store = a_run()
    with Session.open(store, NAME) as session:
        version = session.history()[-1].version
        session.grow("knock", "Nobody.")
    again = rerun(store, NAME)
    assert (again.same, again.version, again.unread) == (True, version, 1)
    assert isinstance(again.outcome, RunFinished)


def test_a_session_that_was_redacted_is_not_what_the_run_makes() -> None:
    """What the log decided and what the session holds differ at the versions whose texts are gone."""
    store = a_run({})
    gone = next(record for record in store.read(NAME) if operation_of(record)[0] == "compress")
    store.replace_parts(NAME, [redacted(gone, [0])])
    again = rerun(store, NAME)
    assert not again.same
    assert again.differs == (gone.version,)


def test_a_run_on_a_session_that_was_there_is_rerun_from_there() -> None:
    """What stood before it began is not the run's; it begins with a world that was brought there."""
    store = MemoryStore()
    with Session.open(store, NAME, task=TASK) as session:
        session.grow("turn 1", "The dial shows 1.")
    TWINS[0](parts_of(model_of(1), Policy(max_steps=1)), store)
    again = rerun(store, NAME)
    assert again.same
    assert what_if(store, NAME).recorded.environment == again.totals.steps + 1


def test_what_is_no_run_is_refused() -> None:
    """No session; a session without a run; a run whose first note is none; each is told apart."""
    store = MemoryStore()
    for read in (rerun, run_of):
        with pytest.raises(UnknownJournal):
            read(store, NAME)
    Session.open(store, NAME, task=TASK).close()
    assert run_of(store, NAME) is None
    with pytest.raises(BadRunLog, match="no agent has run the session"):
        rerun(store, NAME)
    with Session.open(store, NAME) as session:
        session.note("began", "that is no JSON")
    for read in (rerun, run_of):
        with pytest.raises(BadRunLog, match="no JSON object"):
            read(store, NAME)


def test_a_run_that_lost_a_command_is_told_by_its_place() -> None:
    """A run whose journal was put together without a command asks for what the log does not hold, and says where."""
    store = rebuilt(a_run({}), lambda said: None if isinstance(said, Instruct) else said)
    with pytest.raises(RunDiverged, match="version"):
        rerun(store, NAME)


def last_policy(store: MemoryStore) -> Policy | None:
    """Return the policy with which the run of a store goes on."""
    found = run_of(store, NAME)
    return None if found is None else found.last_policy


def test_the_policy_of_a_run_is_the_one_that_it_goes_on_with() -> None:
    """The last that was put in force, also where it was begun with another."""
    store = a_run({}, Policy(max_steps=2))
    assert last_policy(store) == Policy(max_steps=2)
    TWINS[0](parts_of(model_of(4), Policy(max_steps=7)), store)
    assert last_policy(store) == rerun(store, NAME).policy == Policy(max_steps=7)

"""Recording behind whatever is there, without folding what is: the same as a session would, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Command, Grow, Instruct, Passed, Rejected, Revise, Start, State, StepId, apply
from mage.session import Session
from mage.stores import NOTHING, Head, MemoryStore, Record, UnknownJournal, draft, fold, seal, verify
from mage.stores.protocol import record_behind
from mage.testing import journals
from tests.trajectories.samples import records

BEGUN: tuple[Command, ...] = (Start("Keep the garden."), Grow("look", "ice"))
SKATED = Grow("skate", "crack")


def _store(*commands: Command) -> MemoryStore:
    store = MemoryStore()
    store.create("pond", records(commands))
    return store


def _state(store: MemoryStore) -> State:
    return fold(verify(NOTHING, store.read("pond"), store.head("pond")))


def _recorded(*commands: Command, command: Grow | Instruct = SKATED) -> bool:
    """Record a command behind others; tell whether it was. Then the journal folds to what the engine says, else it is as it was."""
    store = _store(*commands)
    before, head = _state(store), store.head("pond")
    found = record_behind(store, "pond", command, {"at": 1})
    assert store.head("pond") == (found or head)
    assert _state(store) == (before if found is None else apply(before, command).unwrap())
    return found is not None


@given(journals(), st.sampled_from([SKATED, Instruct("Hurry."), Grow("", ""), Grow("\ud800", "x")]))
def test_it_records_what_a_session_would_or_nothing(
    journal: tuple[Command, ...], command: Grow | Instruct
) -> None:
    """Behind any history the journal folds to what the engine says; where that cannot be told, it is as it was."""
    assert _recorded(*journal, command=command) or len(journal) > 1


@given(journals())
def test_behind_an_added_step_it_always_records(journal: tuple[Command, ...]) -> None:
    """Whoever records steps one after the other has them recorded without a fold, but for the first behind a going back."""
    state: State | None = None
    for command in journal:
        state = apply(state, command).unwrap()
    if not isinstance(state, Rejected):
        assert _recorded(*journal, Grow("a step", "that is in no other history"))


def test_what_cannot_be_told_is_left_to_a_session() -> None:
    """Behind a going back a step may be there already; behind a failed summary none may be recorded; far notes hide both."""
    assert not _recorded(*BEGUN, SKATED, Revise(StepId(0), ""))
    store = _store(*BEGUN)
    with Session.open(store, "pond") as session:
        for number in range(40):
            session.note("kept", str(number))
    assert record_behind(store, "pond", SKATED, {}) is None


def test_blank_instruction_is_none() -> None:
    """The engine refuses one, so it is not recorded."""
    store = _store(*BEGUN)
    assert record_behind(store, "pond", Instruct(" \n"), {}) == store.head("pond")
    assert store.head("pond").version == 2


def test_there_must_be_a_journal() -> None:
    """Nothing is begun by recording."""
    with pytest.raises(UnknownJournal):
        record_behind(MemoryStore(), "pond", SKATED, {})


def test_threads_lose_nothing() -> None:
    """However many record at once, each step is there once, behind those of the others."""
    store = _store(*BEGUN)
    with ThreadPoolExecutor(8) as threads:
        heads = list(
            threads.map(lambda n: record_behind(store, "pond", Grow(f"step {n}", ""), {}), range(100))
        )
    assert len({head.version for head in heads if head is not None}) == 100
    assert _state(store).tree.next_step == 102


@final
class _Overtaken:
    """A store in which somebody else writes once, right after the head was read."""

    def __init__(self, store: MemoryStore, other: Callable[[], object]) -> None:
        self._store = store
        self._other = [other]

    def head(self, name: str) -> Head:
        head = self._store.head(name)
        if self._other:
            self._other.pop()()
        return head

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


def test_it_looks_again_where_others_were_faster() -> None:
    """A going back that came between is seen: the step is not recorded on a guess."""
    store = _store(*BEGUN, SKATED)
    before = store.head("pond")
    gone = seal(before, draft(_state(store), Revise(StepId(0), ""), {}), lambda: "no secret, no 16")

    def go_back(record: Record = gone) -> None:
        store.append("pond", before, [record])

    assert record_behind(_Overtaken(store, go_back), "pond", SKATED, {}) is None  # type: ignore[arg-type]
    assert store.head("pond") == gone.head


def test_verdicts_leave_the_step_head_where_it_is() -> None:
    """Behind a summary that waits, has passed or was accepted, a step follows at once."""
    store = _store(*BEGUN)
    with Session.open(store, "pond") as session:
        session.compress("Looked.")
        assert record_behind(store, "pond", Grow("a", ""), {}) is not None
        session.refresh()
        session.judge(Passed())
        assert record_behind(store, "pond", Grow("b", ""), {}) is not None

"""The laws at the level of sessions, over random histories: a session is the engine, kept."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage import Refused, Session
from mage.codec import decode_command, encode_command
from mage.engine import ApplyVerdict, Command, Digest, IllegalPhase, Revise, replay
from mage.stores import MemoryStore
from mage.testing import Edge, History, histories, journals
from tests.session.rooms import Rooms
from tests.session.twins import TWINS, Twin, both, perform, plain, ticking

SHORT = histories(st.integers(0, 25))


def carry(session: Session, edge: Edge) -> None:
    """Carry out one command of a history on a session: it does, returns or raises what the engine did."""
    if edge.refusal is None:
        got = perform(session, edge.command)
        assert got == (edge.revised if isinstance(edge.command, Revise) else edge.after)
    else:
        with pytest.raises((Refused, IllegalPhase)) as raised:
            perform(session, edge.command)
        found = raised.value.refusal if isinstance(raised.value, Refused) else raised.value
        assert str(found) == str(edge.refusal)
    assert session.phase == edge.after


@both
@given(history=SHORT)
def test_a_session_is_the_engine(twin: Twin, history: History) -> None:
    """At each step a session does, says and refuses what the engine does; what it records is the journal."""
    store = MemoryStore()
    with twin.open(store, "s", task=history.start.tree.task) as session:
        assert session.phase == history.start
        for edge in history.edges:
            carry(session, edge)
        commands = [entry.command for entry in session.history()]
    assert replay(commands).unwrap() == history.states[-1]
    changed = [
        edge.command for edge in history.edges if edge.refusal is None and edge.after is not edge.before
    ]
    assert commands[1:] == [_as_kept(command) for command in changed]


def _as_kept(command: object) -> object:
    """Return a command with its texts as the tree keeps them (D15)."""
    kept = decode_command(encode_command(command)).unwrap()  # type: ignore[arg-type]
    if isinstance(kept, ApplyVerdict):
        return ApplyVerdict(kept.verdict, Digest(kept.digest))
    return kept


@both
@given(history=SHORT, data=st.data())
@settings(max_examples=10)
def test_reopened_is_live(twin: Twin, rooms: Rooms, history: History, data: st.DataObject) -> None:
    """Closed and opened again at any moments, a session goes on as if it never had been closed."""
    with rooms.room() as reopened:
        store = reopened(None)
        session = twin.open(store, "s", task=history.start.tree.task)
        for edge in history.edges:
            carry(session, edge)
            if data.draw(st.integers(0, 4)) == 4:
                live = (session.head, session.phase)
                session.close()
                store = reopened(store)
                session = twin.open(store, "s")
                assert (session.head, session.phase) == live
        session.close()
        store.close()


@both
@given(history=SHORT, data=st.data())
@settings(max_examples=40)
def test_each_version_is_the_replay_up_to_it(twin: Twin, history: History, data: st.DataObject) -> None:
    """`at(v)` is the fold of the first v commands, whatever snapshots there are."""
    every = data.draw(st.sampled_from((None, 1, 2, 5)))
    with twin.open(MemoryStore(), "s", task=history.start.tree.task, snapshot_every=every) as session:
        for edge in history.edges:
            carry(session, edge)
        commands = [entry.command for entry in session.history()]
        for version in range(1, session.version + 1):
            assert session.at(version).phase == replay(commands[:version]).unwrap()


@both
@given(history=SHORT, later=journals(st.integers(0, 12)), data=st.data())
@settings(max_examples=10)
def test_forked_saved_and_reloaded_is_live(
    twin: Twin, rooms: Rooms, history: History, later: tuple[Command, ...], data: st.DataObject
) -> None:
    """A fork, and a fork of it, go on by themselves; reloaded they are what they were live; nothing leaks."""
    with rooms.room() as reopened:
        store = reopened(None)
        session = twin.open(store, "s", task=history.start.tree.task)
        for edge in history.edges:
            carry(session, edge)
        origin = (session.head, session.phase)
        fork = session.fork("f", at=data.draw(st.integers(1, session.version)))
        _go_on(fork, later)
        of_fork = fork.fork("ff", at=data.draw(st.integers(1, fork.version)))
        _go_on(of_fork, later[::-1])
        _go_on(session, later[:3])
        live = {one.name: (one.head, one.phase) for one in (session, fork, of_fork)}
        for one in (session, fork, of_fork):
            one.close()
        store = reopened(store)
        for name, was in live.items():
            with twin.open(store, name) as one:
                assert (one.head, one.phase) == was
        with twin.open(store, "s") as one:
            past = one.at(origin[0].version)
            assert (past.head, past.phase) == origin
        store.close()


def _go_on(session: Session, commands: tuple[Command, ...]) -> None:
    for command in commands:
        try:
            perform(session, command)  # type: ignore[arg-type]
        except (Refused, IllegalPhase):
            continue


@given(history=SHORT)
def test_both_twins_write_the_same(history: History) -> None:
    """With one clock and one salt the twins write equal records: their heads have one digest."""
    heads = []
    for twin in TWINS:
        with twin.open(
            MemoryStore(), "s", task=history.start.tree.task, clock=ticking(), salts=plain
        ) as session:
            for edge in history.edges:
                carry(session, edge)
            heads.append(session.head)
    assert heads[0] == heads[1]


@both
@given(journal=journals())
@settings(max_examples=25)
def test_others_are_caught_up_with(twin: Twin, journal: tuple[Command, ...]) -> None:
    """A session that only refreshes sees, after each command of another one, what that one sees."""
    store = MemoryStore()
    task = replay(journal[:1]).unwrap().tree.task
    with twin.open(store, "s", task=task) as writer, twin.open(store, "s") as reader:
        for command in journal[1:]:
            perform(writer, command)  # type: ignore[arg-type]
            assert reader.refresh() == writer.head
            assert reader.phase == writer.phase

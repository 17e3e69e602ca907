"""A PgBouncer in transaction mode stands between: no transaction can count on what another one left in its session."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from mage import AsyncSession, Passed, Session
from mage.stores import StoreUnavailable, open_store, redacted
from mage.stores.doctor import examine, kept_at
from mage.stores.postgres import PostgresConnection
from mage.testing.stores import chain, following
from tests.stores.conftest import new_room
from tests.stores.moments import heard
from tests.stores.pgbouncer import BACKENDS, Pooler

pytestmark = pytest.mark.postgres

SESSIONS = 4 * BACKENDS
STEPS = 12
"""More than the executions after which psycopg would prepare a statement."""


@pytest.fixture
def pooled(bouncer: Pooler) -> str:
    """Return the URL of an empty schema behind the pooler."""
    return new_room(bouncer)


def keep_steps(url: str, name: str) -> int:
    """Keep some steps of a session, a summary and a fork of it; return the version."""
    with Session.open(url, name, task="t", judge=lambda _: Passed()) as session:
        for number in range(STEPS):
            session.grow(f"{name} act {number}", "seen")
        session.compress("done")
        session.fork(f"{name} fork").close()
        return session.version


def check_steps(url: str, names: list[str]) -> None:
    """Ask that each session and its fork has all of its steps, and that the doctor finds nothing."""
    for name in names:
        for each in (name, f"{name} fork"):
            with Session.open(url, each) as session:
                assert [step.action for step in session.state().raw] == []
                assert session.tree.head_summary.covers == tuple(range(1, STEPS + 1))
    with kept_at(url) as kept:
        assert examine(kept).findings == ()


def test_the_pooler_gives_no_session_its_own_backend(pooled: str) -> None:
    """What is tried here is what it should be: more clients than backends, and nothing prepared stays."""
    with ThreadPoolExecutor(SESSIONS) as pool:
        clients = list(pool.map(lambda _: psycopg.connect(pooled, autocommit=True), range(SESSIONS)))
    backends = {each.execute("SELECT pg_backend_pid()").fetchone() for each in clients * 3}
    for each in clients:
        each.close()
    assert 1 <= len(backends) <= BACKENDS


def test_a_dozen_sessions_in_turn(pooled: str) -> None:
    """Each opens, writes, forks and closes; the next meets the backend that this one has used."""
    names = [f"session {number}" for number in range(SESSIONS)]
    assert {keep_steps(pooled, name) for name in names} == {STEPS + 3}
    check_steps(pooled, names)


def test_a_dozen_sessions_at_once(pooled: str) -> None:
    """They share a few backends, transaction by transaction."""
    names = [f"session {number}" for number in range(SESSIONS)]
    with ThreadPoolExecutor(SESSIONS) as pool:
        assert set(pool.map(lambda name: keep_steps(pooled, name), names)) == {STEPS + 3}
    check_steps(pooled, names)


def test_a_dozen_awaited_sessions_at_once(pooled: str) -> None:
    """The awaited twin does as well."""

    async def keep(number: int) -> int:
        session = await AsyncSession.open(pooled, f"session {number}", task="t")
        for step in range(STEPS):
            await session.grow(f"act {step}", "seen")
        await session.close()
        return session.version

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*[keep(number) for number in range(SESSIONS)])

    assert asyncio.run(all_of_them()) == [STEPS + 1] * SESSIONS


def test_limits_hold_in_each_transaction(pooled: str) -> None:
    """What a transaction sets is there when it commits, and is gone in the next that meets the backend."""
    found: list[object] = []

    def look(connection: PostgresConnection, _: str) -> None:
        found.extend(
            connection.execute(f"SHOW {name}").fetchone()[0]
            for name in ("lock_timeout", "synchronous_commit", "transaction_isolation")
        )

    store, moments = heard(pooled, patience=7)
    with store:
        moments.once(look, "commit")
        store.create("a", chain(1))
        with psycopg.connect(pooled, autocommit=True) as other:
            found.append(other.execute("SHOW lock_timeout").fetchone())
    assert found == ["7s", "on", "read committed", ("0",)]


def test_a_writer_that_waits_too_long_says_so(pooled: str, bouncer: Pooler) -> None:
    """The limit to waiting is one's own, whoever had the backend before."""
    with open_store(pooled, patience=60) as patient:
        head = patient.create("a", chain(2))
        with open_store(pooled, patience=0.05) as hasty, psycopg.connect(pooled) as other:
            other.execute("SELECT 1 FROM mage_journals FOR UPDATE")
            with pytest.raises(StoreUnavailable, match="another writer"):
                hasty.append("a", head, following(head, "x"))
            other.rollback()
            assert hasty.append("a", head, following(head, "x")).version == 3


def test_backends_that_end_between_transactions_are_not_noticed(pooled: str, bouncer: Pooler) -> None:
    """The pooler has others; the store's connection to the pooler goes on."""
    with open_store(pooled) as store:
        head = store.create("a", chain(2))
        with psycopg.connect(bouncer.server.url, autocommit=True) as server:
            server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename <> 'tester'")
        head = store.append("a", head, following(head, "x"))
        assert store.head("a") == head


def test_texts_are_taken_out_and_room_is_given_back(pooled: str) -> None:
    """What locks tables and writes them anew is a transaction too."""
    with open_store(pooled) as store:
        records = chain(30)
        head = store.create("a", records)
        store.replace_parts("a", [redacted(records[1], [0])])
        store.reclaim()
        assert (store.head("a"), store.redactions("a")) == (head, 1)
        assert next(store.read("a", 1)).parts[0].text.startswith("[redacted")

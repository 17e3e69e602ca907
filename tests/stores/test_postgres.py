"""What only a server can do, or get wrong: connections that are lost, locks, other people's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any, TypeAlias

import psycopg
import pytest

from mage.stores import (
    NOTHING,
    Conflict,
    Head,
    JournalStore,
    OtherRecord,
    StoreUnavailable,
    UnknownSchema,
    open_store,
    redacted,
    verify,
)
from mage.stores.postgres import MIGRATIONS, PostgresConnection, postgres_at
from mage.stores.sql import SqlStore
from mage.testing.stores import chain, following
from tests.stores.conftest import new_room
from tests.stores.moments import Act, Moments, heard
from tests.stores.old_schema import write_schema_1
from tests.stores.postgres import Cluster, cluster

pytestmark = pytest.mark.postgres


@pytest.fixture
def database(server: Cluster) -> str:
    """Return the URL of an empty schema."""
    return new_room(server)


@pytest.fixture
def store(database: str) -> Iterator[SqlStore]:
    """Open a store in an empty schema."""
    opened, _ = heard(database)
    with opened:
        yield opened


def run(url: str, *statements: str) -> list[tuple[object, ...]]:
    """Run statements in a database, as somebody else."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements[:-1]:
            connection.execute(statement.encode())
        found = connection.execute(statements[-1].encode())
        return found.fetchall() if found.description else []


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE mage_records (x int)",),
        ("CREATE TABLE mage_schema (x int)",),
        (
            "CREATE TABLE mage_schema (version bigint)",
            f"INSERT INTO mage_schema VALUES ({len(MIGRATIONS) + 1})",
        ),
    ],
)
def test_tables_of_somebody_else_are_left_as_they_are(database: str, statements: tuple[str, ...]) -> None:
    """Tables that are not mage's, or a newer mage's, are refused, and nothing is made beside them."""
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"
    run(database, *statements, "SELECT 1")
    with pytest.raises(UnknownSchema, match="left as it is"):
        open_store(database)
    assert run(database, tables) == [(1,)]


def test_a_database_can_be_shared_with_others(database: str) -> None:
    """Tables of other names in the same database do not matter, and stay as they are."""
    run(database, "CREATE TABLE journals (x int)", "INSERT INTO journals VALUES (7)", "SELECT 1")
    with open_store(database) as store:
        store.create("a", chain(2))
    assert run(database, "SELECT x FROM journals") == [(7,)]


def test_an_older_schema_is_brought_up_to_date(database: str) -> None:
    """A store of schema 1 is migrated: everything is still there, and what is new works."""
    records = chain(5)
    known = write_schema_1(postgres_at(database, patience=1), records, 3)
    assert run(database, "SELECT version FROM mage_schema") == [(1,)]
    with open_store(database) as store:
        assert list(store.journals()) == known
        assert (tuple(store.read("a")), tuple(store.read("b"))) == (records, records[:3])
        store.keep_snapshot("b", 2, b"x", "d")
        assert store.snapshot("a") is not None
    assert run(database, "SELECT max(version) FROM mage_schema") == [(len(MIGRATIONS),)]


def test_many_open_a_new_room_at_once(database: str) -> None:
    """Of those who open an empty database one makes the tables, and all can use it."""

    def use(number: int) -> int:
        with open_store(database) as store:
            return store.create(f"journal {number}", chain(3)).version

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(use, range(6))) == [3] * 6


def settings_at_a_commit(store: SqlStore, *names: str) -> list[object]:
    """Return what settings are when a write commits."""
    found: list[object] = []

    def look(connection: PostgresConnection, _: str) -> None:
        found.extend(connection.execute(f"SHOW {name}").fetchone()[0] for name in names)

    once(store, "commit", look)
    store.create("settings", chain(1))
    return found


def test_a_commit_is_on_disk(database: str) -> None:
    """Whatever the server's default is, a commit waits for the disk, and nobody waits for ever."""
    store, _ = heard(f"{database}%20-csynchronous_commit%3Doff", patience=7)
    with store:
        names = ("synchronous_commit", "lock_timeout", "idle_in_transaction_session_timeout")
        assert settings_at_a_commit(store, *names) == ["on", "7s", "1min"]


@pytest.mark.parametrize("default", ["serializable", "repeatable\\ read"])
def test_a_server_of_another_isolation_serves_as_well(database: str, default: str) -> None:
    """Whatever the server's default is, a writer that comes second gets a Conflict and no other fault."""
    strict = f"{database}%20-cdefault_transaction_isolation%3D{default.replace(chr(92), '%5C').replace(' ', '%20')}"
    store, _ = heard(strict)
    with store:
        assert settings_at_a_commit(store, "transaction_isolation") == ["read committed"]
        head = store.create("a", chain(1))

        def write(number: int) -> str:
            try:
                store.append("a", head, following(head, f"{number}"))
            except Conflict:
                return "conflict"
            return "written"

        with ThreadPoolExecutor(6) as pool:
            assert sorted(pool.map(write, range(6))) == ["conflict"] * 5 + ["written"]


def lose(connection: PostgresConnection, _: str = "") -> None:
    """Cut a connection, as a network does: neither side is told."""
    connection.driver.pgconn.finish()


Work: TypeAlias = Callable[[], object]


def once(store: SqlStore, moment: str, act: Act) -> None:
    """Let something happen the next time that a connection of the store begins, commits or rolls back."""
    moments = store._database
    assert isinstance(moments, Moments)
    moments.once(act, moment)


def commit_and_lose(connection: PostgresConnection, _: str = "") -> None:
    """Let the commit arrive, and lose the connection before the answer comes."""
    connection.driver.commit()
    connection.driver.pgconn.finish()


def test_a_connection_lost_before_commit_is_made_again(store: SqlStore) -> None:
    """Nothing was written yet, so the append is carried out on a new connection, once."""
    head = store.create("a", chain(2))
    once(store, "begin", lose)
    head = store.append("a", head, following(head, "x"))
    assert (head.version, len(list(store.read("a")))) == (3, 3)


def test_a_commit_whose_answer_is_lost_is_looked_up(store: SqlStore) -> None:
    """The commit arrived, its answer did not: the store looks, finds it written, and says so."""
    head = store.create("a", chain(2))
    once(store, "commit", commit_and_lose)
    head = store.append("a", head, following(head, "x"))
    assert (head.version, len(list(store.read("a")))) == (3, 3)
    once(store, "commit", commit_and_lose)
    assert store.create("b", chain(2)) == store.head("b")
    once(store, "commit", commit_and_lose)
    assert store.fork("a", "c", 2) == store.head("c")
    once(store, "commit", commit_and_lose)
    store.delete("c")
    once(store, "commit", commit_and_lose)
    store.keep_snapshot("a", 2, b"x", "d")
    once(store, "commit", commit_and_lose)
    store.drop_snapshots("a")
    assert (store.snapshot("a"), [info.name for info in store.journals()]) == (None, ["a", "b"])


def test_a_commit_that_did_not_arrive_is_looked_up(store: SqlStore) -> None:
    """The connection was lost and the commit never arrived: the store looks, and says that nothing is written."""
    head = store.create("a", chain(2))
    works: tuple[Work, ...] = (
        lambda: store.append("a", head, following(head, "x")),
        lambda: store.create("b", chain(1)),
        lambda: store.fork("a", "c", 1),
        lambda: store.delete("a"),
    )
    for work in works:
        once(store, "commit", lose)
        with pytest.raises(StoreUnavailable) as caught:
            work()
        assert not caught.value.in_doubt
    assert ([info.name for info in store.journals()], store.head("a")) == (["a"], head)
    assert store.append("a", head, following(head, "x")).version == 3


def test_a_commit_that_is_still_on_its_way_is_waited_for(store: SqlStore, database: str) -> None:
    """The connection was lost, the server commits a moment later: the store does not say that nothing is written."""
    head = store.create("a", chain(2))
    late: list[Thread] = []

    def lose_sight_of_it(connection: PostgresConnection, _: str) -> None:
        late.append(Thread(target=commit_when_someone_waits, args=(connection.driver, database)))
        connection.driver = psycopg.connect(database)
        connection.driver.close()
        late[0].start()

    once(store, "commit", lose_sight_of_it)
    written = store.append("a", head, following(head, "x"))
    late[0].join()
    assert (written.version, store.head("a")) == (3, written)


def commit_when_someone_waits(server_side: psycopg.Connection[Any], database: str) -> None:
    """Commit as soon as another connection waits for a lock, or nobody has for a long time."""
    with psycopg.connect(database, autocommit=True) as watching:
        for _ in range(20_000):
            if watching.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
                break
    server_side.commit()
    server_side.close()


def test_others_write_while_a_commit_is_in_doubt(store: SqlStore, database: str) -> None:
    """What was written is found also behind what others have appended since."""
    head = store.create("a", chain(2))

    def lose_it_and_go_on(connection: PostgresConnection, _: str) -> None:
        commit_and_lose(connection)
        with open_store(database) as other:
            found = other.head("a")
            other.append("a", found, following(found, "of another"))

    once(store, "commit", lose_it_and_go_on)
    mine = store.append("a", head, following(head, "x"))
    assert (mine.version, store.head("a").version) == (3, 4)
    with pytest.raises(Conflict):
        store.append("a", mine, following(mine, "y"))


def test_what_cannot_be_found_out_is_in_doubt() -> None:
    """Where the server is gone with the answer, the error says that it may be written: it is, after a restart."""
    with cluster() as server, heard(server.url)[0] as store:
        head = store.create("a", chain(2))

        def commit_and_crash(connection: PostgresConnection, _: str) -> None:
            commit_and_lose(connection)
            server.stop("immediate")

        once(store, "commit", commit_and_crash)
        with pytest.raises(StoreUnavailable) as caught:
            store.append("a", head, following(head, "x"))
        assert caught.value.in_doubt
        assert "compare the head" in str(caught.value)
        works: tuple[Work, ...] = (lambda: store.head("a"), lambda: append_one(store))
        for work in works:
            with pytest.raises(StoreUnavailable) as caught:
                work()
            assert not caught.value.in_doubt
        server.start()
        assert store.head("a") == following(head, "x")[0].head
        assert append_one(store).version == 4  # connections from before the crash are made again


def append_one(store: JournalStore) -> Head:
    """Append a step behind the head."""
    head = store.head("a")
    return store.append("a", head, following(head, "more"))


@pytest.mark.slow
def test_a_server_that_comes_back_is_used_again() -> None:
    """After a crash and restart everything acknowledged is there, and the same store goes on."""
    with cluster() as server, open_store(server.url) as store:
        head = store.create("a", chain(2))
        for turn in range(3):
            head = store.append("a", head, following(head, f"step {turn}"))
            server.stop("immediate")
            with pytest.raises(StoreUnavailable):
                store.head("a")
            server.start()
            assert store.head("a") == head
        assert len(tuple(verify(NOTHING, store.read("a"), head))) == 5


def test_a_writer_that_waits_too_long_says_so(store: SqlStore, database: str) -> None:
    """Where somebody holds the journal longer than one's patience nothing is written, and it can be tried again."""
    head = store.create("a", chain(2))
    with open_store(database, patience=0.05) as hasty, psycopg.connect(database) as other:
        other.execute("SELECT 1 FROM mage_journals FOR UPDATE")
        with pytest.raises(StoreUnavailable, match="another writer"):
            hasty.append("a", head, following(head, "x"))
        assert hasty.head("a") == head
        other.rollback()
        assert hasty.append("a", head, following(head, "x")).version == 3


def test_a_writer_paused_in_the_middle_holds_up_and_hides_nothing(store: SqlStore, database: str) -> None:
    """While one writer stands before its commit, others read the old head and wait; then they conflict."""
    head = store.create("a", chain(2))
    paused, go_on = Event(), Event()

    def wait(*_: object) -> None:
        paused.set()
        assert go_on.wait(30)

    once(store, "commit", wait)
    with ThreadPoolExecutor(2) as pool, open_store(database) as other:
        first = pool.submit(store.append, "a", head, following(head, "first"))
        assert paused.wait(30)
        second = pool.submit(other.append, "a", head, following(head, "second"))
        assert (other.head("a"), len(list(other.read("a")))) == (head, 2)
        go_on.set()
        written = first.result()
        with pytest.raises(Conflict) as caught:
            second.result()
    assert caught.value.found == written == store.head("a")


def test_two_who_redact_one_record_do_not_undo_each_other(store: SqlStore, database: str) -> None:
    """The second of two, who read the record before the first wrote, is refused: nothing comes back."""
    records = chain(3)
    store.create("a", records)
    paused, go_on = Event(), Event()

    def wait(*_: object) -> None:
        paused.set()
        assert go_on.wait(30)

    once(store, "commit", wait)
    with ThreadPoolExecutor(2) as pool, open_store(database) as other:
        first = pool.submit(store.replace_parts, "a", [redacted(records[1], [0])])
        assert paused.wait(30)
        second = pool.submit(other.replace_parts, "a", [redacted(records[1], [1])])
        go_on.set()
        first.result()
        with pytest.raises(OtherRecord):
            second.result()
    assert tuple(store.read("a", 1, 2)) == (redacted(records[1], [0]),)


def test_errors_show_no_text_of_a_record(store: SqlStore, database: str) -> None:
    """Also what the driver says, further down the chain of causes, is without payload."""
    head = store.create("a", chain(2))
    run(database, "ALTER TABLE mage_records ADD CHECK (version <> 3) NOT VALID", "SELECT 1")
    with pytest.raises(Exception, match="contradict") as caught:
        store.append("a", head, following(head, "the payload"))
    error: BaseException | None = caught.value
    while error is not None:
        assert "the payload" not in str(error)
        error = error.__cause__

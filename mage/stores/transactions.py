"""Transactions on a database: done as a whole or not at all, by connections that no fork of the process shares.

When a connection is lost in the middle, `Transactions` finds out whether the transaction was done.

Connections are kept here and not in a driver's pool: `psycopg_pool` has threads, for which a fork would have to wait, and
both databases need the same. Before a fork, the process waits for transactions and closes idle connections, so that the child
shares none: SQLite in the child would take the parent's locks for its own; a lock inside the library that another thread held
would be held for ever; two processes would speak on one socket. Both processes open new connections when they need them.
Hooks of the host, finalizers and signal handlers may use a store while its process forks, in the thread that forks: that
thread never waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Condition, get_ident
from typing import Any, Final, Protocol, TypeVar, final
from weakref import WeakKeyDictionary, WeakSet

import attrs

from mage.stores.errors import DamagedStore, StoreError, StoreUnavailable, UnknownSchema
from mage.stores.protocol import Home

Answer = TypeVar("Answer")

_LONGEST: Final = 2.0
"""The most seconds that a fork waits for transactions, since some wait for another process that holds the database."""
_KEPT: Final = 5
"""The most idle connections that are kept."""


class Rows(Protocol):
    """The rows of a statement, with values of any type: `mage.stores.sql` checks each before it is used."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    """A connection to a database; `is_lost` once it is broken. In statements `?` stands for each parameter."""

    @property
    def is_lost(self) -> bool: ...
    def execute(self, statement: str, parameters: Sequence[object] = (), /) -> Rows: ...
    def executemany(self, statement: str, parameters: Sequence[Sequence[object]], /) -> object: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def close(self) -> None: ...

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction, which reads one state of the database or, if it writes, the newest."""

    def select_held(self, statement: str, parameters: Sequence[object], *, shared: bool = False) -> Rows:
        """Select rows that no other transaction may change (if shared: delete) until this one ends."""
        ...


class Database(Protocol):
    """The differences between the databases.

    Attributes:
        shown: the URL without a password.
        errors: the base of the driver's errors.
        migrations: the statements of each schema version from 1.
    """

    @property
    def shown(self) -> str: ...
    @property
    def errors(self) -> type[Exception]: ...
    @property
    def migrations(self) -> Sequence[Sequence[str]]: ...
    def connect(self) -> Connection: ...

    def fault_of(self, error: Exception, *, committing: bool = False, lost: bool = False) -> StoreError:
        """Return the store's error for an error of the driver, raised in COMMIT (`committing`) or with the connection `lost`."""
        ...

    def require_place(self) -> None:
        """Raise `StoreUnavailable`, after a COMMIT, unless the files are those that other processes will open."""

    def lock_schema(self, connection: Connection) -> None:
        """Wait until no other process migrates, and keep others from it until the transaction ends."""

    def version(self, connection: Connection) -> int:
        """Return the schema version, 0 for an empty database; raise `UnknownSchema` for any other content."""
        ...

    def set_version(self, connection: Connection, version: int) -> None: ...

    def outlast_writers(self, connection: Connection) -> None:
        """Wait until every transaction that writes now has ended, also one whose connection was lost."""

    def settle(self, connection: Connection) -> None:
        """Finish the opening, in no transaction, once the tables are there."""

    def forget_traces(self, connection: Connection) -> None:
        """Overwrite, in no transaction and where that is cheap, the texts that were just replaced."""

    def reclaim(self, connection: Connection) -> None:
        """Return free room to the system, in no transaction."""


@final
class _Entered:
    """A running transaction; its frame alone refers to it."""

    __slots__ = ("__weakref__",)


@final
class _Gate:
    """Knows the running transactions, and makes new ones wait while the process forks."""

    def __init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._stores: WeakSet[Transactions] = WeakSet()
        self._process = os.getpid()
        self._free = Condition()
        self._inside: WeakKeyDictionary[_Entered, int] = WeakKeyDictionary()
        self._forking: set[int] = set()

    def add(self, store: Transactions) -> None:
        """Close the idle connections of a store whenever this process forks."""
        self.in_child()
        self._stores.add(store)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Carry out a transaction inside: this process does not fork meanwhile, unless that takes too long.

        A transaction is noted before it looks for forks, and a fork is noted before it looks for transactions: of two that
        meet at least one sees the other. So no lock is taken where nothing forks. A transaction that an interrupt keeps from
        leaving is forgotten with its frame.
        """
        self.in_child()
        transaction, thread = _Entered(), get_ident()
        self._inside[transaction] = thread
        if self._forking and thread not in self._forking:
            with self._free:
                del self._inside[transaction]
                self._free.notify_all()
                self._free.wait_for(lambda: not self._forking)
                self._inside[transaction] = thread
        try:
            yield
        finally:
            self._inside.pop(transaction, None)
            if self._forking:
                with self._free:
                    self._free.notify_all()

    def before(self) -> None:
        """Wait for the transactions of other threads, and close idle connections. Hold the lock until `after`."""
        if not self._free.acquire(timeout=_LONGEST):
            return
        thread = get_ident()
        self._forking.add(thread)
        self._free.wait_for(lambda: all(other == thread for other in list(self._inside.values())), _LONGEST)
        if not self._inside:
            for store in list(self._stores):
                store.close_idle()

    def after(self) -> None:
        """Let transactions begin again."""
        thread = get_ident()
        if thread in self._forking:
            self._forking.discard(thread)
            self._free.notify_all()
            self._free.release()

    def in_child(self) -> None:
        """Begin anew in a child, once: transactions, lock and stores are its parent's."""
        if self._process != os.getpid():
            self._begin_anew()


_GATE: Final = _Gate()
in_transaction: Final = _GATE.inside
"""Carries out a block as a transaction: no fork comes between its lines."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_GATE.before, after_in_parent=_GATE.after, after_in_child=_GATE.in_child)


@final
class _Lent:
    """A connection in use. If an interrupt keeps it from being released, it is closed with this object, before Python would."""

    is_back = True

    def __init__(self, store: Transactions, connection: Connection) -> None:
        self._store = store
        self.connection = connection
        self.is_back = False

    def __del__(self) -> None:
        if not self.is_back:
            self._store.drop(self)


@final
@attrs.define
class _Lost(Exception):
    """A connection was lost before COMMIT: nothing was written."""

    fault: StoreError


@final
class Transactions:
    """Carries out work on a database, each piece in its own transaction. Raises the driver's errors as `StoreError`.

    A few idle connections are kept; the one that was used last is used next.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._home = Home(f"the store {database.shown}")
        self._idle: list[Connection] = []
        self._open = True
        _GATE.add(self)

    def read(self, work: Callable[[Connection], Answer]) -> Answer:
        """Return the answer of `work`, which only reads. After a lost connection `work` runs once more, on a new one."""
        return self._twice(work, writes=False)

    def write(self, work: Callable[[Connection], Answer], was_written: Callable[[Answer], bool]) -> Answer:
        """Carry out `work`, and return its answer once its effect is durable.

        A connection that is lost before COMMIT has written nothing, so the work is carried out once more, on a new one. After
        a connection lost during COMMIT the result is in doubt, and the server may still be working on the COMMIT: so the
        store waits until it ends, and `was_written`, called with the answer, tells on a new connection whether the work was
        done. If that fails too, `StoreUnavailable` is raised with `in_doubt`.
        """
        answers: list[Answer] = []

        def noting(connection: Connection) -> Answer:
            answers[:] = [work(connection)]
            return answers[0]

        try:
            return self._twice(noting, writes=True)
        except StoreUnavailable as error:
            if not error.in_doubt:
                raise
            try:
                self._twice(self.database.outlast_writers, writes=True)
                written = was_written(answers[0])
            except StoreError:  # any of them leaves the doubt, and says nothing of the work
                raise error from None
            if written:
                return answers[0]
            if isinstance(error.__cause__, self.database.errors):
                raise self.database.fault_of(error.__cause__) from error
            raise StoreUnavailable(error.reason) from error

    def repeat(self, work: Callable[[Connection], None]) -> None:
        """Carry out work that may be done twice: after a result in doubt, do it again."""

        def again(_: None) -> bool:
            self._twice(work, writes=True)
            return True

        self.write(work, again)

    def outside(self, work: Callable[[Connection], None]) -> None:
        """Carry out work outside of a transaction, never twice."""
        try:
            self._once(work, None)
        except _Lost as lost:
            raise lost.fault from lost

    def close(self) -> None:
        """Close every idle connection; in a fork of the process they are the parent's, and stay open."""
        self._open = False
        if self._home.is_here:
            with in_transaction():
                self.close_idle()

    def close_idle(self) -> None:
        """Close all idle connections."""
        while self._idle:
            try:
                lent = _Lent(self, self._idle.pop())
            except IndexError:  # another thread took the last
                return
            self.drop(lent)

    def drop(self, lent: _Lent) -> None:
        """Close a connection, unless it is another process's. Never raises, since an answer or an error is already returned."""
        lent.is_back = True
        if self._home.is_here:
            with suppress(self.database.errors):
                lent.connection.close()

    def _twice(self, work: Callable[[Connection], Answer], *, writes: bool) -> Answer:
        try:
            return self._once(work, writes)
        except _Lost:
            self.close_idle()  # the others have lost the server too
        try:
            return self._once(work, writes)
        except _Lost as lost:
            raise lost.fault from lost

    def _once(self, work: Callable[[Connection], Answer], writes: bool | None) -> Answer:
        """Carry out work in a transaction that writes or only reads; in none where `writes` is None."""
        self._home.require()
        with in_transaction():
            if not self._open:
                raise StoreUnavailable("it was closed")
            lent: _Lent | None = None
            committing = False
            try:
                lent = self._taken()
                if writes is not None:
                    lent.connection.begin(writes=writes)
                answer = work(lent.connection)
                if writes:
                    self._home.require()  # a signal handler may have forked
                    committing = True
                    lent.connection.commit()
                    self._require_place()
                return answer
            except self.database.errors as error:
                lost = lent is not None and lent.connection.is_lost
                fault = self.database.fault_of(error, committing=committing, lost=lost)
                raise (_Lost(fault) if lost and not committing else fault) from error
            except UnicodeDecodeError as error:  # from a driver that quotes damaged text
                raise DamagedStore(f"it holds names that are not UTF-8 ({error.reason})") from error
            finally:
                if lent is not None and self._home.is_here:
                    self._release(lent)

    def _taken(self) -> _Lent:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self.database.connect()
        return _Lent(self, connection)

    def _require_place(self) -> None:
        """Raise `StoreUnavailable` after a COMMIT to files that are not in their place: it is not acknowledged."""
        try:
            self.database.require_place()
        except StoreUnavailable as elsewhere:
            raise StoreUnavailable(elsewhere.reason, in_doubt=True) from elsewhere

    def _release(self, lent: _Lent) -> None:
        """Roll back what was not committed, and keep the connection if it can be used again. Never raises."""
        try:
            lent.connection.rollback()
        except self.database.errors:  # lost: there is nothing to take back
            self.drop(lent)
            return
        if self._open and len(self._idle) < _KEPT:
            lent.is_back = True  # first, because an idle connection must not be closed
            self._idle.append(lent.connection)
        else:
            self.drop(lent)
        if not self._open:  # the store was closed meanwhile
            self.close_idle()


# -- the schema ------------------------------------------------------------------------------------------


def schema(*, key: str, data: str, room: str = "") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the statements of each schema version from 1, for these types of a key and of bytes.

    `room` is an option of the table of journals. The table of records has a separate key (in SQLite a rowid) beside its
    primary key: rows longer than a fourth of a page would spill out of a table without.
    """
    return (
        (
            f"""CREATE TABLE mage_journals (
                id {key},
                name TEXT NOT NULL UNIQUE,
                parent BIGINT REFERENCES mage_journals (id),
                forked_at BIGINT NOT NULL,
                head BIGINT NOT NULL,
                digest {data} NOT NULL,
                created BIGINT NOT NULL,
                changed BIGINT NOT NULL,
                payload BIGINT NOT NULL,
                grows BIGINT NOT NULL
            ){room}""",
            "CREATE INDEX mage_forks ON mage_journals (parent) WHERE parent IS NOT NULL",
            f"""CREATE TABLE mage_records (
                journal BIGINT NOT NULL REFERENCES mage_journals (id),
                version BIGINT NOT NULL,
                body TEXT NOT NULL,
                parts {data} NOT NULL,
                digest {data} NOT NULL,
                PRIMARY KEY (journal, version)
            )""",
        ),
        (
            f"""CREATE TABLE mage_snapshots (
                journal BIGINT NOT NULL REFERENCES mage_journals (id),
                version BIGINT NOT NULL,
                data {data} NOT NULL,
                digest TEXT NOT NULL,
                PRIMARY KEY (journal, version)
            )""",
            "ALTER TABLE mage_journals ADD COLUMN redactions BIGINT NOT NULL DEFAULT 0",
        ),
    )


def migrate(transactions: Transactions) -> None:
    """Bring a database from any earlier schema version to the newest, in a transaction for each. Nothing is dropped.

    Raises:
        UnknownSchema: the database is no store of mage or one of a newer mage, and is left as it is; or it cannot be read.
        StoreUnavailable: the database cannot be reached, or other processes hold it.
    """
    database = transactions.database
    newest = len(database.migrations)

    def step(connection: Connection) -> int:
        database.lock_schema(connection)
        version = database.version(connection)
        if version < newest:  # else another process has done it meanwhile
            for statement in database.migrations[version]:
                connection.execute(statement)
            version += 1
            database.set_version(connection, version)
        return version

    try:
        version = transactions.read(database.version)
        while version < newest:
            version = transactions.write(step, lambda made: transactions.read(database.version) >= made)
        if version > newest:
            reason = f"its schema has version {version}, and this mage reads up to {newest}: use a newer mage"
            raise UnknownSchema(database.shown, reason)
        transactions.outside(database.settle)
    except DamagedStore as damaged:
        raise UnknownSchema(database.shown, f"it cannot be read: {damaged.reason}") from damaged


def words_of(error: BaseException) -> str:
    """Return the first line of a driver's message, which has no texts of records."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(":") if lines else type(error).__name__

"""Transactions on a database: done as a whole or not at all, by connections that no fork of the process shares.

When a connection is lost in the middle, `Transactions` finds out which of the two it was.

Connections are kept here and not by a driver's own pool: `psycopg_pool` has threads, which a fork would have to wait for,
and both databases need the same. Before a fork, transactions are waited for and idle connections closed, so that the
child shares none: SQLite in the child would take the parent's locks for its own; a lock inside the library that another
thread held would be held for ever; two processes would speak on one socket. Both processes open new connections when they
need them. Hooks of the host, finalizers and signal handlers may use a store while its process forks, in the very thread
that forks: that thread is never held up.
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
"""Seconds that a fork waits for transactions, of which some wait for another process that holds the database."""
_KEPT: Final = 5
"""Idle connections that are kept for later."""


class Rows(Protocol):
    """The rows of a statement, of values of any type: `mage.stores.sql` checks each before it believes it."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    """A connection to a database, `is_lost` once it does not reach it any more. In statements `?` stands for each parameter."""

    @property
    def is_lost(self) -> bool: ...
    def execute(self, statement: str, parameters: Sequence[object] = (), /) -> Rows: ...
    def executemany(self, statement: str, parameters: Sequence[Sequence[object]], /) -> object: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def close(self) -> None: ...

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction, which reads as of one moment or, if it writes, what is newest."""

    def select_held(self, statement: str, parameters: Sequence[object], *, shared: bool = False) -> Rows:
        """Select rows that nobody else may change until the transaction ends; nor, if shared, delete."""
        ...


class Database(Protocol):
    """What differs between the databases.

    Attributes:
        shown: the URL, without any password.
        errors: what the driver raises.
        migrations: for each schema version from 1 its statements.
    """

    @property
    def shown(self) -> str: ...
    @property
    def errors(self) -> type[Exception]: ...
    @property
    def migrations(self) -> Sequence[Sequence[str]]: ...
    def connect(self) -> Connection: ...

    def fault_of(self, error: Exception, *, committing: bool = False, lost: bool = False) -> StoreError:
        """Return the error of a store for one of the driver's, raised in COMMIT (`committing`) or with the connection `lost`."""
        ...

    def require_place(self) -> None:
        """Raise `StoreUnavailable`, after a COMMIT, unless what was written is where others will look for it."""

    def lock_schema(self, connection: Connection) -> None:
        """Wait until no one else migrates; until the transaction ends no one else will."""

    def version(self, connection: Connection) -> int:
        """Return the schema version, 0 where there is nothing yet; raise `UnknownSchema` where there is something else."""
        ...

    def set_version(self, connection: Connection, version: int) -> None: ...

    def outlast_writers(self, connection: Connection) -> None:
        """Wait until every transaction that writes now has ended, also one whose connection was lost."""

    def settle(self, connection: Connection) -> None:
        """Do, in no transaction, what is left to do once the tables are there."""

    def forget_traces(self, connection: Connection) -> None:
        """Overwrite, in no transaction and where that is cheap, what was just replaced."""

    def reclaim(self, connection: Connection) -> None:
        """Give back free room; in no transaction."""


@final
class _Entered:
    """A transaction that is under way, for as long as there is one."""

    __slots__ = ("__weakref__",)


@final
class _Gate:
    """Knows the transactions that are under way, and holds new ones up while the process forks."""

    def __init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._stores: WeakSet[Transactions] = WeakSet()
        self._process = os.getpid()
        self._free = Condition()
        self._inside: WeakKeyDictionary[_Entered, int] = WeakKeyDictionary()
        self._forking: set[int] = set()

    def add(self, store: Transactions) -> None:
        """Let the idle connections of a store be closed before this process forks."""
        self.in_child()
        self._stores.add(store)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Carry out a transaction inside: this process does not fork meanwhile, unless that takes too long.

        It is noted before the forks are looked for, and a fork is noted before the transactions are: of two that
        meet at least one sees the other. So no lock is taken where nothing forks. A transaction that an interrupt
        keeps from leaving is forgotten with its frame.
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
        """Wait for the transactions of other threads, and close what is idle. The lock is held until `after`."""
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
        """Begin anew in a child, once: its parent has those inside, the lock and all stores."""
        if self._process != os.getpid():
            self._begin_anew()


_GATE: Final = _Gate()
in_transaction: Final = _GATE.inside
"""Carries out a block as a transaction: no fork comes between its lines."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_GATE.before, after_in_parent=_GATE.after, after_in_child=_GATE.in_child)


@final
class _Lent:
    """A connection in use, closed with this object if an interrupt keeps it from coming back: Python alone is too late."""

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
    """The connection was lost before COMMIT: nothing was written."""

    fault: StoreError


@final
class Transactions:
    """Carries out pieces of work on a database, each in a transaction of its own. Its errors come out as `StoreError`.

    A few idle connections are kept; the one that was used last is used next.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._home = Home(f"the store {database.shown}")
        self._idle: list[Connection] = []
        self._open = True
        _GATE.add(self)

    def read(self, work: Callable[[Connection], Answer]) -> Answer:
        """Return what `work` reads. Where a connection is lost, `work` runs once more on a new one."""
        return self._twice(work, writes=False)

    def write(self, work: Callable[[Connection], Answer], was_written: Callable[[Answer], bool]) -> Answer:
        """Carry out `work` and return its answer once that is durable.

        A connection that is lost before COMMIT has written nothing, so the work is carried out once more on
        a new one. Lost during COMMIT, it is in doubt, and the server may even be at it still: so we wait until
        it is through, and `was_written`, asked with the answer on a new connection, says whether it is there.
        Where that cannot be found out either, `StoreUnavailable` is raised with `in_doubt`.
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
            except StoreError:  # whatever it is, the doubt is left: it says nothing of what was to be written
                raise error from None
            if written:
                return answers[0]
            if isinstance(error.__cause__, self.database.errors):
                raise self.database.fault_of(error.__cause__) from error
            raise StoreUnavailable(error.reason) from error

    def repeat(self, work: Callable[[Connection], None]) -> None:
        """Carry out work that does no harm when it is done twice: where it is in doubt, do it again."""

        def again(_: None) -> bool:
            self._twice(work, writes=True)
            return True

        self.write(work, again)

    def outside(self, work: Callable[[Connection], None]) -> None:
        """Carry out what needs no transaction, or none around it. It is not done twice."""
        try:
            self._once(work, None)
        except _Lost as lost:
            raise lost.fault from lost

    def close(self) -> None:
        """Close every idle connection; in a fork of the process they are not ours to close."""
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
        """Close a connection, unless it is another process's. Never raises: an answer or an error is on its way already."""
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
        """Carry out work in a transaction that writes, in one that does not, or where `writes` is None in none."""
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
            except UnicodeDecodeError as error:  # a driver raises it where it quotes damaged words
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
        """Look where a COMMIT went: what nobody will find there is not acknowledged."""
        try:
            self.database.require_place()
        except StoreUnavailable as elsewhere:
            raise StoreUnavailable(elsewhere.reason, in_doubt=True) from elsewhere

    def _release(self, lent: _Lent) -> None:
        """Take back what was not committed, and keep the connection if it can be used again. Never raises."""
        try:
            lent.connection.rollback()
        except self.database.errors:  # lost: there is nothing to take back
            self.drop(lent)
            return
        if self._open and len(self._idle) < _KEPT:
            lent.is_back = True  # at first: what is idle must not be closed
            self._idle.append(lent.connection)
        else:
            self.drop(lent)
        if not self._open:  # it was closed meanwhile
            self.close_idle()


# -- the schema ------------------------------------------------------------------------------------------


def schema(*, key: str, data: str, room: str = "") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the statements of each schema version from 1, for these types of a key and of bytes.

    `room` is what the table of journals is made with. The table of records has a key of its own (in SQLite a rowid)
    beside its primary key: rows longer than a fourth of a page would spill out of a table without.
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
    """Bring a database from any earlier schema version to the newest, a transaction each. Nothing is ever dropped.

    Raises:
        UnknownSchema: it is no store of mage, or one of a newer mage, which is left as it is, or it cannot be read.
        StoreUnavailable: it cannot be reached, or others hold it.
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
    """Return the first line of what a driver said, without what was to be written."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(":") if lines else type(error).__name__

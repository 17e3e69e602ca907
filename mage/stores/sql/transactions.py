"""Transactions: done as a whole or not at all, and when a connection is lost in the middle, which of the two."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from mage.stores.errors import StoreError, StoreUnavailable
from mage.stores.processes import Home
from mage.stores.sql.faults import fault_of, is_lost, unreadable
from mage.stores.sql.forks import enter, in_transaction, leave
from mage.stores.sql.schema import Backend

__all__ = ["Transactions"]

Answer = TypeVar("Answer")


@final
class Transactions:
    """Carries out pieces of work on a database, each in a transaction of its own.

    Every error of the database comes out as a `StoreError`.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._home = Home(f"the store {backend.shown}")
        self._open = True

    def read(self, work: Callable[[Connection], Answer]) -> Answer:
        """Return what `work` reads. Where a connection is lost, it is asked once more on a new one."""
        return self._twice(self._backend.engine, work, commits=False)

    def write(self, work: Callable[[Connection], Answer], was_written: Callable[[Answer], bool]) -> Answer:
        """Carry out `work` and return its answer once that is durable.

        A connection that is lost before COMMIT has written nothing, so the work is carried out once more on
        a new one. Lost during COMMIT, it is in doubt, and the server may even be at it still: so we wait until
        it is through, and `was_written`, asked with the answer on a new connection, says whether it is there.

        Raises:
            StoreUnavailable: with `in_doubt` where that cannot be found out either.
        """
        answers: list[Answer] = []

        def noting(connection: Connection) -> Answer:
            answers[:] = [work(connection)]
            return answers[0]

        try:
            return self._twice(self._backend.writer, noting, commits=True)
        except StoreUnavailable as error:
            if not error.in_doubt:
                raise
            try:
                self._twice(self._backend.writer, self._backend.outlast_writers, commits=True)
                written = was_written(answers[0])
            except StoreUnavailable:
                raise error from None
            if written:
                return answers[0]
            raise _undoubted(error) from error

    def repeat(self, work: Callable[[Connection], None]) -> None:
        """Carry out work that does no harm when it is done twice: where it is in doubt, do it again."""

        def again(_: None) -> bool:
            self._twice(self._backend.writer, work, commits=True)
            return True

        self.write(work, again)

    def outside(self, work: Callable[[], None]) -> None:
        """Carry out what needs no transaction, or none around it."""
        self._home.require()
        with in_transaction():
            self._require_open()
            try:
                work()
            except SQLAlchemyError as error:
                raise fault_of(error) from error

    def close(self) -> None:
        """Close every connection that nobody uses; in a fork of the process they are not ours to close."""
        self._open = False
        if self._home.is_here:
            with in_transaction():
                self._backend.engine.dispose()

    def _twice(self, engine: Engine, work: Callable[[Connection], Answer], *, commits: bool) -> Answer:
        try:
            return self._once(engine, work, commits=commits)
        except _Lost:
            pass
        try:
            return self._once(engine, work, commits=commits)
        except _Lost as lost:
            raise lost.fault from lost

    def _once(self, engine: Engine, work: Callable[[Connection], Answer], *, commits: bool) -> Answer:
        self._home.require()
        entered = enter()
        try:
            self._require_open()
            connection = _connected(engine)
            try:
                answer = self._carried_out(connection, work)
                if commits:
                    self._commit(connection)
                return answer
            finally:
                if self._home.is_here:
                    _release(connection, for_good=not self._open)
        finally:
            leave(entered)

    def _require_open(self) -> None:
        self._home.require()
        if not self._open:
            raise StoreUnavailable("it was closed")

    def _carried_out(self, connection: Connection, work: Callable[[Connection], Answer]) -> Answer:
        try:
            return work(connection)
        except SQLAlchemyError as error:
            if is_lost(error):
                raise _Lost(fault_of(error)) from error
            raise fault_of(error) from error
        except UnicodeDecodeError as error:
            raise unreadable(error) from error

    def _commit(self, connection: Connection) -> None:
        """Commit, and look where it went: what nobody will find there is not acknowledged."""
        self._home.require()  # a signal handler may have forked
        try:
            connection.commit()
            self._backend.require_place()
        except SQLAlchemyError as error:
            raise fault_of(error, committing=True) from error
        except StoreUnavailable as elsewhere:
            raise StoreUnavailable(elsewhere.reason, in_doubt=True) from elsewhere


def _connected(engine: Engine) -> Connection:
    try:
        return engine.connect()
    except SQLAlchemyError as error:
        raise fault_of(error) from error
    except UnicodeDecodeError as error:
        raise unreadable(error) from error


@final
class _Lost(Exception):
    """The connection was lost before COMMIT: nothing was written."""

    def __init__(self, fault: StoreError) -> None:
        self.fault = fault
        super().__init__(fault)


def _undoubted(error: StoreUnavailable) -> StoreError:
    """Return what a COMMIT raised, now that it is known that nothing was written."""
    cause = error.__cause__
    return fault_of(cause) if isinstance(cause, SQLAlchemyError) else StoreUnavailable(error.reason)


def _release(connection: Connection, *, for_good: bool) -> None:
    """Close a connection for good, where its store was closed meanwhile, or give a connection back; what was not committed is rolled back. A lost one has nothing to roll back.

    Never raises: it runs where an answer or an error is on its way already.
    """
    if for_good:
        with suppress(SQLAlchemyError):
            connection.invalidate()
    try:
        connection.close()
    except SQLAlchemyError:
        with suppress(SQLAlchemyError):
            connection.invalidate()

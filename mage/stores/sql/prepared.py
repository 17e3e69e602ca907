"""Statements in the words of one database, made once: what a durable step carries out.

SQLAlchemy finds again what it has compiled, but makes a key of the statement, and the parameters in its order,
anew for each execution. For two short statements a step that was a third of all its work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from sqlalchemy import Connection, CursorResult, Engine
from sqlalchemy.sql import ClauseElement

__all__ = ["Prepared"]


@final
class Prepared:
    """A statement that is ready for the driver. Its parameters go there as they are: none may need converting."""

    def __init__(self, statement: ClauseElement, engine: Engine) -> None:
        compiled: Any = statement.compile(dialect=engine.dialect)  # `Compiled` does not tell of positions
        self._words = str(compiled)
        self._order: Sequence[str] | None = compiled.positiontup

    def execute(self, connection: Connection, *rows: Mapping[str, object]) -> CursorResult[Any]:
        """Carry it out for each of these rows of parameters, at least one. What comes back is of the last one's."""
        return connection.exec_driver_sql(self._words, [self._placed(row) for row in rows])

    def _placed(self, row: Mapping[str, object]) -> Any:
        """Return parameters as the driver takes them: by position or by name."""
        return row if self._order is None else tuple(row[name] for name in self._order)

"""Files of results, sorted by what their rows are of: tasks of a domain, or a table of another measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, final

import attrs

from benchmarks.arena.domains.results import BadResults, Row, in_order, is_of_a_task, read_lines

Numbers: TypeAlias = Mapping[str, object]
"""A row of a table that another command has made: its numbers by name."""


@final
@attrs.frozen
class Results:
    """All that stands in some files.

    Attributes:
        tasks: the rows of tasks, the last of each key, in an order that does not hang on the files'.
        tables: the rows of other measures by the name of their table, in the files' order.
    """

    tasks: tuple[Row, ...] = ()
    tables: Mapping[str, Sequence[Numbers]] = attrs.field(factory=dict)


def read_files(paths: Iterable[Path]) -> Results:
    """Return what stands in files of results, of any commands of the arena.

    Raises:
        BadResults: a file is missing, is empty, or a line in it is no row.
    """
    tasks, tables = list[Row](), dict[str, list[Numbers]]()
    for path in paths:
        found = read_lines(path)
        if not found and not path.exists():
            raise BadResults(f"there is no file {path}")
        if not found:
            raise BadResults(f"{path} has no rows")
        for where, row in found:
            if is_of_a_task(row):
                tasks.append(row)
            elif isinstance(row.get("table"), str):
                tables.setdefault(str(row["table"]), []).append(row)
            else:
                raise BadResults(f"{where}: this is no row of the arena's; name another file")
    return Results(tuple(in_order(tasks)), tables)

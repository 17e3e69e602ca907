"""A table as a value, and the same as text for a terminal or as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final, TypeAlias, final

import attrs

from mage.render import printable

Line: TypeAlias = tuple[str, ...]
Place: TypeAlias = tuple[int, int]

_MARKS: Final = {"best": "*", "second": "'"}


@final
@attrs.frozen
class Table:
    """A table.

    Attributes:
        title: what it says, and who acted.
        columns: the names of its columns, the first of which names its lines.
        lines: its cells.
        groups: names over some columns each, after the first column: a name and how many; none for no such line.
        notes: what must be known to read it.
        marked: by line and column, `"best"` or `"second"`.
    """

    title: str
    columns: Line
    lines: tuple[Line, ...]
    groups: tuple[tuple[str, int], ...] = ()
    notes: Line = ()
    marked: Mapping[Place, str] = attrs.field(factory=dict)


def as_text(table: Table) -> str:
    """Return a table as text, its numbers at the right of their columns."""
    body = [
        [f"{cell}{_MARKS.get(table.marked.get((at, place), ''), '')}" for place, cell in enumerate(line)]
        for at, line in enumerate(table.lines)
    ]
    rows = [list(table.columns), *body]
    widths = [max(len(printable(row[at])) for row in rows) for at in range(len(table.columns))]
    lines = [table.title]
    if table.groups:
        lines.append(_grouped(table.groups, widths))
    lines += ["  ".join(_cells(row, widths)).rstrip() for row in rows]
    lines += [f"  {note}" for note in table.notes]
    return "\n".join(map(printable, lines))


def _cells(row: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    first, *others = (printable(cell) for cell in row)
    yield first.ljust(widths[0])
    yield from (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))


def _grouped(groups: Sequence[tuple[str, int]], widths: list[int]) -> str:
    line, at = " " * widths[0], 1
    for name, many in groups:
        room = sum(widths[at : at + many]) + 2 * (many - 1)
        if len(name) > room:  # the last column of the group becomes as wide as its name needs
            widths[at + many - 1] += len(name) - room
            room = len(name)
        line += f"  {name.center(room, '-') if many > 1 else name.rjust(room)}"
        at += many
    return line


def as_html(table: Table) -> str:
    """Return a table as HTML. All of its texts are escaped."""
    head = ""
    if table.groups:
        spans = "".join([f'<th colspan="{many}">{_said(name)}</th>' for name, many in table.groups])
        head = f'<tr class="groups"><td></td>{spans}</tr>\n'
    names = "".join([f'<th scope="col">{_said(name)}</th>' for name in table.columns])
    body = "\n".join([_line(table, at) for at in range(len(table.lines))])
    notes = "".join([f"<p>{_said(note)}</p>\n" for note in table.notes])
    return (
        f'<section>\n<h2>{_said(table.title)}</h2>\n<div class="wide" tabindex="0">\n<table>\n<thead>\n{head}'
        f"<tr>{names}</tr>\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n{notes}</section>\n"
    )


def _line(table: Table, at: int) -> str:
    first, *others = table.lines[at]
    cells = [f'<th scope="row">{_said(first)}</th>']
    for place, cell in enumerate(others, 1):
        mark = table.marked.get((at, place))
        tag = {"best": "b", "second": "u"}.get(mark or "")
        said = _said(cell)
        cells.append(f"<td><{tag}>{said}</{tag}></td>" if tag else f"<td>{said}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _said(text: str) -> str:
    return escape(printable(text))

"""A report as one page of HTML: it loads nothing, runs nothing, and can be read on a phone and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from benchmarks.arena.reports.curves import Figure, as_svg, legend
from benchmarks.arena.reports.table import Table, as_html

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 92rem; padding: 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1rem; margin: 1.6rem 0 .5rem; }
p, ul { font-size: .85rem; margin: .3rem 0; } ul { list-style: none; padding: 0; }
.wide { overflow-x: auto; border-block: 2px solid; }
table { border-collapse: collapse; font-size: .82rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .25rem .55rem; text-align: right; }
th[scope=row], thead tr:last-child th:first-child { text-align: left; background: Canvas; position: sticky; left: 0; }
thead th { border-bottom: 1px solid var(--line); } .groups th { text-align: center; }
tbody th { font-weight: normal; } tbody tr:nth-child(even) > * { background-color: color-mix(in srgb, Canvas 94%, CanvasText); }
svg { width: 100%; max-width: 44rem; height: auto; font-size: 11px; fill: currentColor; } .grid { stroke: var(--line); }
.key { display: inline-block; width: 1.2em; height: .25em; margin-right: .5em; vertical-align: middle; }
@media (max-width: 40rem) { body { padding: .6rem; } th[scope=row] { max-width: 9.5rem; white-space: normal; } }
@media print {
  @page { size: A4 landscape; margin: 10mm; }
  body { max-width: none; padding: 0; font-size: 9pt; } .wide { overflow: visible; }
  table { font-size: 6.5pt; } th, td { padding: .1rem .22rem; } th[scope=row] { white-space: normal; position: static; }
  section { break-inside: avoid; }
}
"""


def page(tables: Sequence[Table], figures: Sequence[Figure], files: Sequence[str]) -> str:
    """Return the page of a report.

    Args:
        tables: in their order; the figures follow the first.
        figures: context against steps.
        files: the names of the files that it is of.
    """
    drawn = [
        f"<section>\n<h2>{escape(each.title)}</h2>\n{as_svg(each)}\n{legend(each)}\n</section>\n"
        for each in figures
    ]
    first, others = tables[:1], tables[1:]
    parts = [*map(as_html, first), *drawn, *map(as_html, others)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Arena: report</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>Arena: report</h1>\n"
        f"<p>{escape(', '.join(files))}</p>\n{''.join(parts)}</body>\n</html>\n"
    )

"""The tables: the paper's layout, who acted in the heading, the same numbers as text and on the page."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from hypothesis import given, settings

from benchmarks.arena.domains.results import in_order
from benchmarks.arena.reports.blocks import blocks
from benchmarks.arena.reports.curves import figures
from benchmarks.arena.reports.files import Results
from benchmarks.arena.reports.page import page
from benchmarks.arena.reports.table import Table, as_html, as_text
from benchmarks.arena.reports.tables import tables
from tests.arena.reports.rows import DOMAINS, MEMORIES, any_rows, row, usage


def results(rows: list[dict[str, Any]], **others: list[dict[str, Any]]) -> Results:
    """Return rows as they come out of files."""
    return Results(tuple(in_order(rows)), others)


def whole(agent: str = "plan") -> list[dict[str, Any]]:
    """Return two tasks of each memory in each domain."""
    return [
        row(
            number,
            float(place % 3 > 0),
            domain,
            memory,
            agent,
            tokens=1000 * (place + 1) + number,
            tokens_by_call=usage(100 * place),
            context=[[1, 10], [5, 30 + place]],
        )
        for place, memory in enumerate(MEMORIES)
        for domain in DOMAINS
        for number in range(2)
    ]


def test_table_1_is_laid_out_as_the_papers() -> None:
    """A line for each system, full history first and MAGE last; Math and Physics apart, with their tokens together."""
    main = tables(results(whole("model")))[0]
    assert [line[0] for line in main.lines] == ["Long Context", "bm25", "MAGE"]
    assert main.groups[:6] == (
        ("Web Shopping", 3),
        ("Travel Planning", 3),
        ("Web Search", 3),
        ("Math", 2),
        ("Physics", 2),
        ("Formal", 1),
    )
    assert main.groups[6:] == (("Average over domains", 3), ("Average over tasks", 3))
    assert main.columns[1:10] == ("SR", "PS", "#tokens") * 3
    assert main.columns[10:15] == ("SR", "PS", "SR", "PS", "#tokens")
    assert main.lines[2][1:4] == ("1.000", "0.500", "2K")
    assert main.marked[1, 1] == main.marked[2, 1] == "best"
    assert main.marked[0, 1] == "second"


def test_the_ablation_takes_one_mechanism_away_at_a_time() -> None:
    """Four lines in the paper's order, and three columns for each domain."""
    ablation = tables(results(whole()))[1]
    assert [line[0] for line in ablation.lines] == [
        "MAGE (Full)",
        "w/o Compress",
        "w/o Maintain",
        "w/o Revise",
    ]
    assert ablation.columns == ("Variant", *("SR", "PS", "#tokens") * 5)
    assert all("mage" not in line[0] for line in ablation.lines)


def test_a_heading_says_who_acted() -> None:
    """Every table of a plan's rows says that no model acted, and marks nothing as best; a model's names the model."""
    for table in tables(results(whole())):
        assert "no model acted: a plan plays every task right by construction" in table.title
        assert not table.marked
    assert all("the model m acted (judge: j" in table.title for table in tables(results(whole("model"))))
    reader = [row(0, 1.0, agent="reader"), row(0, 1.0, agent="context-reader")]
    assert all("no model acted: a scripted reader" in table.title for table in tables(results(reader)))


def test_what_is_no_measurement_says_so_in_every_line_and_wins_nothing() -> None:
    """A line whose figures are plumbing is named so in each table that has it, told why, and is never marked as best."""
    worth = {"figures": "plumbing only: no model wrote what was remembered"}
    rows = [
        row(0, 1.0, memory="mem0", agent="model", memory_system=worth, tokens=1, tokens_by_call=usage(1)),
        row(0, 0.0, memory="bm25", agent="model", memory_system={"figures": "measured"}, tokens=2),
        row(0, 0.5, memory="full-history", agent="model", tokens=2),
    ]
    found = tables(results(rows))
    for table in found:
        assert "mem0 [plumbing only]" in as_text(table)
        assert "mem0 [plumbing only]" in unescape(as_html(table))
        assert "bm25 [" not in as_text(table)
    main = found[0]
    assert "[plumbing only]: no model wrote what was remembered." in main.notes
    at = [line[0] for line in main.lines].index("mem0 [plumbing only]")
    assert main.marked
    assert all(line != at for line, _ in main.marked)


def test_without_full_history_nothing_is_put_beside_it() -> None:
    """The table of differences says so in place of numbers."""
    found = next(
        table for table in tables(results([row(0, 1.0)])) if table.title.startswith("Paired differences")
    )
    assert not found.lines
    assert "no row of full-history" in found.notes[0]


def test_what_tells_series_of_a_memory_apart_is_in_their_labels() -> None:
    """A changed policy has a line of its own; what all series of a memory share is told once, below."""
    changed = row(0, 1.0, settings={"policy": {"high_water": 3000}})
    other = row(0, 1.0, memory="bm25", settings={"caps": {"handed": 9}})
    main = tables(results([row(0, 1.0), changed, other]))[0]
    assert sorted(line[0] for line in main.lines) == ["MAGE", "MAGE (high_water=3000)", "bm25"]
    assert any("bm25: caps handed 9" in note for note in main.notes)


def test_rows_of_the_other_commands_have_tables_of_their_own() -> None:
    """Coverage, the plan follower, the laboratory, and a measure that the report knows nothing of."""
    found = tables(
        results(
            [row(0, 1.0, agent="context-reader", guessed=2, settings={"mistakes": 0.2})],
            coverage=[
                {"table": "coverage", "traces": "t", "system": "s", "far_part": 0.25, "tokens_each": 7.0}
            ],
            follow=[
                {"table": "follow", "environment": "e", "look_ups": True, "memory": "m", "sr": 0.5, "lost": 3}
            ],
            paired=[
                {"table": "paired", "traces": "t", "system": "s", "beside": "b", "far_difference": -0.5},
                {"table": "paired", "environment": "e", "memory": "m", "beside": "b", "sr_difference": 0.125},
            ],
            new=[
                {"table": "new", "name": "a", "x": 1, "same": 5},
                {"table": "new", "name": "b", "y": [1, 2], "same": 5},
            ],
        )
    )
    texts = [as_text(table) for table in found]
    assert [re.split(r"[:,\n]", text)[0] for text in texts] == [
        "Laboratory",
        "Coverage of t",
        "Coverage of t",
        "Plans followed in e",
        "Plans followed in e",
        "Rows of new",
    ]
    for text, number in zip(texts, ("2.0", "0.250", "-0.500", "0.500", "+0.125", "[1, 2]"), strict=True):
        assert number in text
    assert "same: 5." in texts[-1]
    assert all("no model acted" in table.title for table in found[:5])


@settings(deadline=None, max_examples=40)
@given(any_rows())
def test_the_page_has_every_number_of_the_tables_and_obeys_no_text(rows: list[dict[str, Any]]) -> None:
    """Whatever the rows hold, the page has each cell, escaped, and nothing that loads or runs anything."""
    made = tables(results(rows))
    drawn = [each for block in blocks(in_order(rows)) for each in figures(block)]
    text = page(made, drawn, ["<script>a.jsonl"])
    bodies = "".join(re.findall(r"<tbody>(.*?)</tbody>", text, re.DOTALL))
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in re.findall(r"<tr>(.*?)</tr>", bodies)]
    shown = [tuple(unescape(re.sub(r"<[^>]+>", "", cell)) for cell in line) for line in lines]
    assert shown == [line for table in made for line in table.lines]
    assert all(as_text(table) for table in made)
    assert "<script" not in text
    assert "<b>other" not in text
    assert not re.search(r"(src|href)=|url\(|@import", text)


def test_text_and_page_are_of_one_table() -> None:
    """Numbers stand right, groups over their columns; a text is shown and never obeyed."""
    table = Table(
        "a\x1b[2J <b>",
        ("name", "SR", "PS"),
        (("x & y", "1", "22"),),
        (("long group", 2),),
        ("n",),
        {(0, 1): "best"},
    )
    text, markup = as_text(table), as_html(table)
    assert "\x1b" not in text
    assert "x & y" in text
    assert "1*" in text
    assert "x &amp; y" in markup
    assert "<b>1</b>" in markup
    assert '<th colspan="2">long group</th>' in markup
    assert "<b>" not in markup.replace("<b>1</b>", "")

"""specs/README.md as rows of cells, for the tests that hold it to the code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def section(title: str) -> str:
    """Return what stands below a heading of the second level, up to the next one."""
    parts = re.split(
        r"^## (.+)$", (ROOT / "specs" / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return parts[parts.index(title) + 1]


def rows(text: str) -> list[list[str]]:
    """Return the cells of every table row, without headings and rules."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rules = [number for number, line in enumerate(lines) if set(line) <= set("|- ")]
    headings = {number - 1 for number in rules}
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for number, line in enumerate(lines)
        if number not in headings and number not in rules
    ]


def words(texts: Sequence[str]) -> list[str]:
    """Return the texts as one reads them: no line breaks, no trailing dot."""
    return [" ".join(text.split()).removesuffix(".") for text in texts]

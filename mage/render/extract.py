"""A summarizer without a model: it extracts, and says so.

It stands in where a trace has no summaries of its own and nobody can be asked for one (D12). What it
picks depends on the steps alone, so the same trace always gives the same tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from mage.engine import Step

_WORD = re.compile(r"\w{3,}")
_LINE = re.compile(r"[^\r\n]+")
_TITLE = re.compile(r"Extract of \d+ steps? \(no LLM\):$", re.MULTILINE)
_CONSIDERED = 2_000  # characters of one content that are looked at: enough to tell what it is about
_SHOWN = 100  # characters of one extracted line
_PICKED = 3  # lines
_SHARE = 8  # an extract takes at most this part of what it stands for


def extract(steps: Sequence[Step]) -> str:
    """Return a text for a run of steps: how many there are, and their most telling lines.

    A line tells much when its words are frequent in the whole run and were not told yet; lines are given in execution order, cut
    at 100 characters. There are at most three, and they take at most an eighth of what they stand for: only
    over a few short steps does the first line make an extract longer than its steps. It is never blank.
    Cost: O(contents, at most 2,000 characters of each).
    """
    contents = [text[:_CONSIDERED] for step in steps for text in step.content]
    weight = Counter(word for text in contents for word in set(_words(text)))
    lines = dict.fromkeys(line.strip()[:_SHOWN] for text in contents for line in _LINE.findall(text))
    told = _most_telling([line for line in lines if line], weight)
    room = sum(map(len, contents)) // _SHARE
    kept = {line for place, line in enumerate(told) if sum(map(len, told[: place + 1])) <= room}
    count = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    return "\n".join([f"Extract of {count} (no LLM):", *(f"- {line}" for line in lines if line in kept)])


def is_extract(text: str) -> bool:
    """Tell whether a text names itself as one that `extract` made."""
    return _TITLE.match(text) is not None


def _most_telling(lines: list[str], weight: Counter[str]) -> list[str]:
    """Pick line by line; what was told once weighs nothing in the next."""
    told: list[str] = []
    while lines and len(told) < _PICKED:
        best = max(lines, key=lambda line: _score(line, weight))
        told.append(best)
        lines = [line for line in lines if line != best]
        for word in _words(best):
            weight[word] = 0
    return told


def _words(line: str) -> list[str]:
    return _WORD.findall(line.lower())


def _score(line: str, weight: Counter[str]) -> float:
    """Mean weight of the distinct words, less for lines of a word or two."""
    words = set(_words(line))
    return sum(weight[word] for word in words) / (len(words) + 3)

"""A summarizer without a model: it extracts, and says so.

It stands in where a trace has no summaries of its own and nobody can be asked for one (D12). What it
picks depends on the steps alone, so the same trace always gives the same tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from mage.engine import Step
from mage.render.literals import Literal, keyed_words, literals
from mage.tokens import EstimateCounter

_WORD = re.compile(r"\w{3,}")
_LINE = re.compile(r"[^\r\n]+")
_TITLE = re.compile(r"Extract of \d+ steps? \(no LLM\):$", re.MULTILINE)
_CONSIDERED = 2_000  # characters of one content that are looked at for lines: enough to tell what it is about
_SHOWN = 100  # characters of one extracted line
_PICKED = 3  # lines
_VALUES: Final = 4  # values take at most this part of what the extract stands for
_LINES: Final = 32  # lines take at most this part,
_MORE_LINES: Final = 16  # or this one where values leave of theirs
_LABEL: Final = 20  # characters of a label that are shown
_FINE: Final = 512  # an extract that is too long is made shorter by such parts of what it stands for
_NUMBER = re.compile(r"[\d.,:+-]+")
_UNLABELLED: Final = "other"
_ESTIMATE: Final = EstimateCounter()


def extract(steps: Sequence[Step], limit: int | None = None) -> str:
    """Return a text for a run of steps: how many there are, their most telling lines, and their literal values.

    Values (`mage.render.literals`) are what later actions can only copy. They stand under the key or word beside
    which they stood, each once: names, then plain numbers, then single words behind a key, of each the newest first;
    as many as fit a quarter of what the extract stands for. A line tells much when its words are frequent in the whole run and were not told
    yet; lines are given in execution order, cut at 100 characters. There are at most three, and they take at most a
    thirty-second part, a sixteenth where values leave room. Only over a few short steps does the first line make
    an extract longer than its steps. It is never blank.

    Args:
        steps: the steps, in execution order.
        limit: the most tokens that it may have, as `EstimateCounter` counts; the first line stands in any case.

    Cost: O(contents), and past the limit that of building and counting the extract some ten times.
    """
    size = sum(len(text) for step in steps for text in step.content)
    told, values = _lines_of(steps), _values_of(steps)
    title = f"Extract of {'1 step' if len(steps) == 1 else f'{len(steps)} steps'} (no LLM):"

    def sized(room: int) -> str:
        return "\n".join([title, *_within(room, *told, values)])

    text = sized(size)
    if limit is None or _ESTIMATE.count(text) <= limit:
        return text
    fits, too_much = 0, size
    while too_much - fits > 1 + size // _FINE:
        half = (fits + too_much) // 2
        fits, too_much = (half, too_much) if _ESTIMATE.count(sized(half)) <= limit else (fits, half)
    return sized(fits)


def is_extract(text: str) -> bool:
    """Tell whether a text names itself as one that `extract` made."""
    return _TITLE.match(text) is not None


def _within(size: int, lines: Iterable[str], told: Sequence[str], values: Sequence[Literal]) -> Iterable[str]:
    """Yield what an extract of steps of this size holds below its first line."""
    shown = _grouped(values, size // _VALUES)
    room = min(size // _MORE_LINES, size // _VALUES + size // _LINES - len(shown))
    kept = {line for place, line in enumerate(told) if sum(map(len, told[: place + 1])) <= room}
    yield from [f"- {line}" for line in lines if line in kept]
    if shown:
        yield shown


def _values_of(steps: Sequence[Step]) -> list[Literal]:
    """Return each value once, where it stood last: names, then plain numbers, then words, of each the newest first.

    What an action copies is a name far more often than a price or a count, and a word can often be thought up again:
    so these are the first to be left out.
    """
    texts = [text for step in reversed(steps) for text in reversed(step.content)]
    found: dict[str, Literal] = {}
    for each in (each for text in texts for each in literals(text)):
        found.setdefault(each.value, each)
    words = dict.fromkeys(each for text in texts for each in keyed_words(text) if each.value not in found)
    named = sorted(found.values(), key=lambda each: _NUMBER.fullmatch(each.value) is not None)
    return [*named, *words]


def _grouped(values: Iterable[Literal], room: int) -> str:
    """Return the values that fit, each group behind its label; empty where none fits."""
    groups: dict[str, list[str]] = {}
    left = room - len(_spelled({}))
    for value, label in values:
        shown = label[:_LABEL] or _UNLABELLED
        takes = len(value) + 1 if shown in groups else len(_spelled({shown: [value]})) - len(_spelled({})) + 2
        if takes <= left:
            left -= takes
            groups.setdefault(shown, []).append(value)
    return _spelled(groups) if groups else ""


def _spelled(groups: dict[str, list[str]]) -> str:
    return "Values: " + "; ".join([f"{label}: {' '.join(values)}" for label, values in groups.items()])


def _lines_of(steps: Sequence[Step]) -> tuple[list[str], list[str]]:
    """Return the lines of the steps in order, and the most telling of them, the most telling first."""
    contents = [text[:_CONSIDERED] for step in steps for text in step.content]
    weight = Counter(word for text in contents for word in set(_words(text)))
    lines = dict.fromkeys(line.strip()[:_SHOWN] for text in contents for line in _LINE.findall(text))
    return list(lines), _most_telling([line for line in lines if line], weight)


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

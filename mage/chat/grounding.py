"""Which numbers and ids of a summary stand in nothing that it may rely on: a check that costs no model.

A summary may count and add up, so a number that is found nowhere is no proof of a mistake: it is pointed out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mage.engine import JudgeRequest

MOST: Final = 10
"""How many of them are named."""
_WITH_DIGIT = re.compile(r"[^\s,;:/()\[\]{}<>\"'`|=]*\d[^\s,;:/()\[\]{}<>\"'`|=]*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_AROUND: Final = ".:!?-_*#$€£¥%+~/\\"


def unfounded(request: JudgeRequest) -> tuple[str, ...]:
    """Return the numbers and ids of the text that occur in no step, task, instruction, finished part or hint.

    A word with a digit in it is a number or an id; a single digit is taken for a count of the text's own. At most ten.
    Cost: O(size of the request).
    """
    said = dict.fromkeys(word for word in _words(request.text) if len(word) > 1)
    known = set[str]()
    for source in _sources(request):
        known.update(_words(source))
    return tuple([word for word in said if word not in known])[:MOST]


def _words(text: str) -> Iterator[str]:
    for found in _WITH_DIGIT.findall(_THOUSANDS.sub("", text)):
        yield found.strip(_AROUND).casefold()


def _sources(request: JudgeRequest) -> Iterable[str]:
    hints = request.hints
    yield request.task
    yield from request.instructions
    for line in (*request.before, *request.earlier, *hints.subgoals):
        yield line.text
    for step in (*request.steps, *hints.continuations):
        yield from step.content
    for lesson in hints.lessons:
        yield lesson.text

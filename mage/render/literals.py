"""The literal values of a text: ids, numbers, names with digits, e-mail addresses, codes.

A later action can only copy them: nobody can think them up again. So they are what an extract keeps, and what the
coverage of a memory is measured by (`mage.trajectories`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, final

_LONGEST: Final = 100  # characters: nobody copies longer ones by hand, they are contents
_SHORTEST: Final = 3  # below that it is a count
_CODE: Final = 6  # letters of the longest code of capitals
_ESCAPED = re.compile(
    r"\\(?:[nrt]|u[0-9a-f]{4})"
)  # line breaks as JSON spells them are no letters of the next word
_PIECE = re.compile(
    r"(?<![\d\[,])\d{1,3}(?:,\d{3}){1,6}(?:\.\d+)?(?![\w,])"  # thousands; a list of numbers is no such number
    r"|\w(?:[\w.@/#+-]|(?<=\d):(?=\d))*"
)
_AROUND: Final = ".-+#/@"
_LABEL = re.compile(r"""([^\W\d][\w-]*)([\s"'`()\[\]{}:=#$€£]{0,6})\Z""")
_KEYED = re.compile(r'"([^\W\d][\w-]{0,59})"\s{0,4}:\s{0,4}"([^\W\d][\w-]{2,29})"')
_PLAIN: Final = 5  # letters of a word that tells something though only a space stands behind it
_BEFORE: Final = 60  # characters before a value that are looked at for its label


@final
class Literal(NamedTuple):
    """A value as it stands in a text.

    Attributes:
        value: the value, verbatim.
        label: the key or word that it stands beside, of a list the one before it; empty where there is none.
    """

    value: str
    label: str


def literals(text: str) -> Iterator[Literal]:
    """Yield the literal values of a text, in order, as often as they stand there.

    They are words of 3 to 100 characters with a digit or an @, and 3 to 6 capitals. Cost of all: O(length).
    """
    text = _ESCAPED.sub("  ", text)
    label, ended = "", 0
    for found in _PIECE.finditer(text):
        value = found.group().rstrip(_AROUND)
        if not _is_literal(value):
            continue
        label = _label(text[max(ended, found.start() - _BEFORE) : found.start()], label)
        ended = found.start() + len(value)
        yield Literal(value, label)


def keyed_words(text: str) -> Iterator[Literal]:
    """Yield the words that stand alone behind a key of JSON, such as a status or a class, in order. Cost: O(length)."""
    for found in _KEYED.finditer(text):
        yield Literal(found[2], found[1])


def _is_literal(word: str) -> bool:
    if not _SHORTEST <= len(word) <= _LONGEST:
        return False
    if "@" in word or any(map(str.isdigit, word)):
        return True
    return len(word) <= _CODE and word.isascii() and word.isalpha() and word.isupper()


def _label(between: str, last: str) -> str:
    """Return the label of a value behind this; nothing but punctuation goes on with a list."""
    if not re.search(r"\w", between):
        return last if between else ""
    found = _LABEL.search(between)
    if found is None:
        return ""
    word, behind = found.groups()
    return word if behind.strip() or len(word) >= _PLAIN else ""

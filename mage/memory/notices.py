"""How long what the model is told once may be, and how it quotes: briefly, below words of ours, never among them.

A notice stands beside S in the prompt, and nothing summarizes it: one that grew with the run would end the run.
What an environment says of a failure is as foreign as an observation, and may try to pass for words of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mage.chat.parts import cut
from mage.effects import Notice, NoticeKind

LINES: Final = 20
"""Lines of one list."""
QUOTED: Final = 400
"""Characters of one quoted action or reason."""
LONGEST: Final = 1_000
"""Characters of our own words: they name numbers, and a number may be long."""

_BLANK: Final = "\t\xa0\u3000"
"""White space of a line that is not `printable` and does no harm."""


def told_once(kind: NoticeKind, text: str, *said: str) -> Notice:
    """Return a notice in our words, with what others have said below them. Cost: O(length of what is kept)."""
    return Notice(kind, cut(text, LONGEST), few([quoted(each) for each in said], "\n"))


def quoted(text: str) -> str:
    """Return foreign words as they are shown: at most 400 characters, the middle left out openly.

    What a terminal would obey or a reader could not see, such as a mark that turns the direction of a line, is
    spelled out; line breaks stay, as the block that shows them indents each line.
    """
    brief = cut(text.replace("\r\n", "\n"), QUOTED)
    if brief.isprintable():
        return brief
    return "".join(char if char == "\n" or char.isprintable() else _spelled(char) for char in brief)


def _spelled(char: str) -> str:
    return " " if char in _BLANK else f"<U+{ord(char):04X}>"


def few(lines: Sequence[str], separator: str) -> str:
    """Return the first 20 lines of a list as one text, and how many there are more."""
    shown = separator.join(lines[:LINES])
    more = len(lines) - LINES
    return shown if more <= 0 else f"{shown}{separator}and {more} more"

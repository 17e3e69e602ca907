"""How long what the model is told once may be: what it quotes is cut, what it lists is capped.

A notice stands beside S in the prompt, and nothing summarizes it: one that grew with the run would end the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["LONGEST", "cut", "few"]

LINES: Final = 20
"""Lines of one list."""
QUOTED: Final = 200
"""Characters of one quoted action or reason."""
LONGEST: Final = 6_000
"""Characters of one notice, more than 20 lines of a plan take."""


def cut(text: str, longest: int = QUOTED) -> str:
    """Return a text of at most so many characters; what is cut off is marked by `…`."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def few(lines: Sequence[str], separator: str) -> str:
    """Return the first 20 lines of a list as one text, and how many there are more."""
    shown = separator.join(lines[:LINES])
    more = len(lines) - LINES
    return shown if more <= 0 else f"{shown}{separator}and {more} more"

"""Content as part of our text: indented, so that no line of it passes for one of ours; or on one line of its own.

Why nothing in content can be mistaken for words of ours: only they stand at the left margin.

Every line break in content is followed by an indent, so a line that is not indented is ours. "Line break"
is whatever `str.splitlines` breaks at, so that no reader sees a left margin where we see none. The indent
can be taken out again: what is rendered is exactly what was meant.
"""

from __future__ import annotations

import re
from typing import Final

INDENT: Final = " "


def indented(content: str) -> str:
    r"""Return `content` with an indent after every line break; `"\r\n"` is one. Cost: O(length)."""
    # The guard makes a break at the very end count too: splitlines gives no empty last line.
    lines = f"{content}|".splitlines(keepends=True)
    return content if len(lines) == 1 else INDENT.join(lines)[:-1]


_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""What Python takes for printable, and no terminal shows: fillers, blanks, and what only varies others."""


def printable(text: str) -> str:
    """Return a text on one line, in which a terminal obeys nothing and shows everything; a line break is one mark.

    Cost: O(length).
    """
    if is_seen(text):
        return text
    return "".join(char if is_seen(char) else _mark(char) for char in text)


def is_seen(text: str) -> bool:
    """Tell whether a terminal shows every character of a text and obeys none. Cost: O(length)."""
    return text.isprintable() and (text.isascii() or _UNSEEN.search(text) is None)


def _mark(char: str) -> str:
    return "⏎" if char == "\n" else char.encode("unicode_escape").decode("ascii")


def one_line(text: str, width: int) -> str:
    """Return the start of a text on one line of at most `width` characters, as `printable` gives it. Cost: O(width)."""
    safe = printable(text[: 4 * width])
    return safe if len(safe) <= width and len(text) <= 4 * width else safe[: width - 1] + "…"

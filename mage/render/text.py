"""Why nothing in content can be mistaken for words of ours: only they stand at the left margin.

Every line break in content is followed by an indent, so a line that is not indented is ours. "Line break"
is whatever `str.splitlines` breaks at, so that no reader sees a left margin where we see none. The indent
can be taken out again: what is rendered is exactly what was meant.
"""

from __future__ import annotations

from typing import Final

__all__ = ["INDENT", "indented"]

INDENT: Final = " "


def indented(content: str) -> str:
    r"""Return `content` with an indent after every line break; `"\r\n"` is one. Cost: O(length)."""
    # The guard makes a break at the very end count too: splitlines gives no empty last line.
    lines = f"{content}|".splitlines(keepends=True)
    return content if len(lines) == 1 else INDENT.join(lines)[:-1]

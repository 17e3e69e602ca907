"""Server-sent events: from the bytes of a stream to its lines, and from lines to the data of each event.

The client library splits lines as `str.splitlines` does, also at U+2028 and U+0085. Those may stand in a
JSON string, so that a model which writes one would break its own reply. In an event stream CR, LF and both
together end a line, and nothing else does.
"""

from __future__ import annotations

import re
from typing import Final, final

__all__ = ["Events", "Lines"]

_FIELD: Final = "data:"
_LAST: Final = "[DONE]"
_END: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")  # a CR at the end may be half of both


@final
class Lines:
    """The lines of an event stream, from its bytes as they come."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._open: list[bytes] = []

    def take(self, piece: bytes) -> bool:
        """Take the next bytes; tell whether the stream has said that it is at its end. Cost: O(length)."""
        half = bool(self._open) and self._open[-1].endswith(b"\r")
        self._open.append(piece)
        if not half and _END.search(piece) is None:
            return False
        *ended, rest = _END.split(b"".join(self._open))
        self._open = [rest]
        lines = [line.decode(errors="replace") for line in ended]
        self._lines += lines
        return any(map(_is_last, lines))

    def all(self) -> list[str]:
        """Return every line so far that was not drained, the open one too."""
        rest = b"".join(self._open)
        return [*self._lines, rest.removesuffix(b"\r").decode(errors="replace")] if rest else [*self._lines]

    def drain(self) -> list[str]:
        """Return the lines that have ended, and forget them."""
        ended, self._lines = self._lines, []
        return ended


@final
class Events:
    """The data of each event, from the lines of a stream. What broke off within one is dropped, as SSE has it.

    It keeps nothing of comments and of the other fields, however many there are.
    """

    def __init__(self) -> None:
        self._data: list[str] = []
        self._over = False

    def take(self, line: str) -> str | None:
        """Take the next line; return the data of the event that it ends, None where it ends none."""
        self._over = self._over or _is_last(line)
        if self._over:
            return None
        if line.startswith(_FIELD):
            self._data.append(line.removeprefix(_FIELD).removeprefix(" "))
        elif not line and self._data:
            data, self._data = "\n".join(self._data), []
            return data
        return None


def _is_last(line: str) -> bool:
    return line.startswith(_FIELD) and line.removeprefix(_FIELD).strip() == _LAST

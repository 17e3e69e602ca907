"""Server-sent events: from the bytes of a stream to its lines, and from lines to the data of each event.

The client library splits lines as `str.splitlines` does, also at U+2028 and U+0085. Those may stand in a
JSON string, so that a model which writes one would break its own reply. In an event stream CR, LF and both
together end a line, and nothing else does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, final

__all__ = ["Lines", "data_of"]

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
        """Return every line so far, the open one too."""
        rest = b"".join(self._open)
        return [*self._lines, rest.removesuffix(b"\r").decode(errors="replace")] if rest else [*self._lines]


def data_of(lines: Iterable[str]) -> Iterator[str]:
    """Yield the data of each event that an empty line ends; what broke off within one is dropped, as SSE has it."""
    data: list[str] = []
    for line in lines:
        if _is_last(line):
            return
        if line.startswith(_FIELD):
            data.append(line.removeprefix(_FIELD).removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []


def _is_last(line: str) -> bool:
    return line.startswith(_FIELD) and line.removeprefix(_FIELD).strip() == _LAST

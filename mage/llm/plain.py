"""The plain-text mode: `Action[...]`, `Compress[...]`, `Revise[N; lesson]`, `Finish[...]`, for models without tools.

A move begins on a line of its own; where none does, the first that stands within a line is taken. It ends at
the bracket that closes it, which ends its line, so that `Action[click[Buy Now]]` and a text of several lines
are read whole. What stands before is thought. What follows is not read (models like to make up the next
observation), but a second move there is one too many.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias, final

import attrs

from mage.effects import EffectError

__all__ = ["Move", "MoveName", "find_move"]

MoveName: TypeAlias = Literal["act", "compress", "revise", "finish"]

_NAMES: Final[dict[str, MoveName]] = {
    "Action": "act",
    "Compress": "compress",
    "Revise": "revise",
    "Finish": "finish",
}
_ON_A_LINE: Final = re.compile(r"^[ \t*`>-]{0,8}(Action|Compress|Revise|Finish)\[", re.MULTILINE)
_ANYWHERE: Final = re.compile(r"\b(Action|Compress|Revise|Finish)\[")
_LINE_ENDS: Final = re.compile(r"[ \t*`.]{0,8}(?:[\r\n]|\Z)")
_BRACKET: Final = re.compile(r"[\[\]]")
_STEP: Final = re.compile(r"\s*\[?(?:[Ss]tep\s{0,8})?([0-9]{1,9})\]?\s*(?:;(.*))?\Z", re.DOTALL)


@final
@attrs.frozen
class Move:
    """A move that was found in a text.

    Attributes:
        name: which.
        body: what stands between its brackets, without the white space around it.
        before: the text before it.
        step: where to revise to; 0 for another move.
        lesson: what to leave there; empty for another move.
    """

    name: MoveName
    body: str
    before: str
    step: int = 0
    lesson: str = ""


def find_move(text: str) -> Move:
    """Return the one move in a text. Any text. Cost: O(length).

    Raises:
        EffectError: `wrong_schema` where there is none or it is not closed, `too_many_calls` where there are more.
    """
    opened = _ON_A_LINE.search(text) or _ANYWHERE.search(text)
    if opened is None:
        raise EffectError(
            "wrong_schema", "no Action[...], Compress[...], Revise[N; ...] or Finish[...] in the reply"
        )
    end, balanced = _closing(text, opened.end())
    if end is None:
        raise EffectError("wrong_schema", f"{opened[1]}[ is not closed by a bracket at the end of a line")
    if _ON_A_LINE.search(text, end + 1 if balanced else opened.end()):
        raise EffectError("too_many_calls", "more than one move in the reply")
    move = Move(_NAMES[opened[1]], text[opened.end() : end].strip(), text[: opened.start()].strip())
    return _revising(move) if move.name == "revise" else move


def _closing(text: str, start: int) -> tuple[int | None, bool]:
    """Return where the bracket closes that was opened before `start`, and whether those between are balanced.

    Where they are not, it is the last bracket that ends a line.
    """
    depth = 0
    last: int | None = None
    for bracket in _BRACKET.finditer(text, start):
        if bracket[0] == "[":
            depth += 1
            continue
        ends_line = _LINE_ENDS.match(text, bracket.end()) is not None
        if ends_line:
            last = bracket.start()
        if depth:
            depth -= 1
        elif ends_line:
            return last, True
    return last, False


def _revising(move: Move) -> Move:
    found = _STEP.match(move.body)
    if found is None:
        raise EffectError("wrong_schema", "Revise: expected the number of a step, a semicolon and a lesson")
    return attrs.evolve(move, step=int(found[1]), lesson=(found[2] or "").strip())

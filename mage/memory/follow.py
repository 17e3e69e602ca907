"""A transcript that a host keeps: what is new in it is taken, what is known is passed over.

Frameworks keep the transcript themselves and hand it over whole before each call of the model. What a memory has
taken of it is known in this process by its place; in another one, by the replies that the journal names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias, final

import attrs

from mage.chat import AssistantReply, ToolResult
from mage.engine import State, view
from mage.memory.journal import REPLY, Tally
from mage.session import Entry

Transcript: TypeAlias = Iterable[str | AssistantReply | ToolResult]
"""What the user said, what the model replied and what came back from its calls, in order; no system prompt."""


@final
@attrs.frozen
class Turn:
    """A reply in a transcript.

    Attributes:
        reply: what the model replied.
        results: what came back from its calls, by their ids; a call that was not carried out has none.
    """

    reply: AssistantReply
    results: dict[str, str] = attrs.field(factory=dict)


def turns(transcript: Transcript) -> list[str | Turn]:
    """Return a transcript with each result at its reply; results of calls that it does not have are left out.

    Cost: O(size).

    Raises:
        TypeError: a part is none.
    """
    found: list[str | Turn] = []
    calls: dict[str, Turn] = {}
    for part in transcript:
        match part:
            case str():
                found.append(part)
            case AssistantReply():
                turn = Turn(part)
                found.append(turn)
                calls = {call.id: turn for call in part.calls}
            case ToolResult(call, text):
                if call in calls:
                    calls[call].results[call] = text
            case _:
                raise TypeError(
                    f"a {type(part).__name__} is no part of a transcript: a text, an AssistantReply or a ToolResult is"
                )
    return found


def departs(parts: Iterable[str | Turn], since: Iterable[Entry]) -> bool:
    """Tell whether commands came of replies that a transcript does not have. Cost: O(size of both)."""
    known = {part.reply.digest for part in parts if isinstance(part, Turn)}
    return any(REPLY in entry.meta and entry.meta[REPLY] not in known for entry in since)


_SAID: Final = "said "
_END: Final = "end "


def marked(parts: Sequence[str | Turn]) -> list[str]:
    """Return by what each part of a transcript is known again. Cost: O(size)."""
    return [_mark(part) for part in parts]


def _mark(part: str | Turn) -> str:
    if isinstance(part, str):
        return _SAID + part
    return f"{'' if part.reply.calls else _END}{part.reply.digest}"


def begins(marks: Sequence[str], followed: Sequence[str], tally: Tally) -> int:
    """Return the place of the first part that is not known, or not known whole. Cost: O(both lengths).

    Args:
        marks: of the transcript.
        followed: of the transcript that was followed last in this process, as far as it was.
        tally: what the journal says.
    """
    if followed and marks[: len(followed)] == followed:
        return len(followed)
    places = {
        mark.removeprefix(_END): place for place, mark in enumerate(marks) if not mark.startswith(_SAID)
    }
    for mark in reversed(followed):  # the host has shortened or rewritten what came before
        if mark.removeprefix(_END) in places:
            return places[mark.removeprefix(_END)] + 1
    if tally.reply in places:  # whoever recorded it may have died in the middle of it
        return places[tally.reply]
    return max([places[known] + 1 for known in tally.replies if known in places], default=0)


def goes_on(text: str, followed: Sequence[str], state: State) -> bool:
    """Tell whether the first words of a transcript repeat what the agent is at: a run that was broken off is run again."""
    shown = view(state)
    ended = bool(followed) and followed[-1].startswith(_END)
    return not ended and text in (shown.task, *shown.instructions)

"""A transcript that a host keeps: what is new in it is taken, what is known is passed over.

Frameworks keep the transcript themselves and hand it over whole before each call of the model. What a memory has
taken of it is known in this process by its place; in another one, by the replies that the journal names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, final

import attrs

from mage.chat import AssistantReply, read_reply
from mage.effects import Observed
from mage.engine import State, view
from mage.memory.journal import Tally


@final
@attrs.frozen
class Turn:
    """A reply in a transcript, and what came back from its calls.

    Attributes:
        reply: the client's object, or the same as JSON; see `Memory.take`.
        results: by call id, of the calls that were carried out.
    """

    reply: AssistantReply = attrs.field(converter=read_reply)
    results: Mapping[str, str | Observed] = attrs.field(factory=dict)


Transcript: TypeAlias = Sequence[str | Turn]
"""What the user said and what the model replied, in order; no system prompt."""

_SAID: Final = "said "
_END: Final = "end "


def marked(transcript: Transcript) -> list[str]:
    """Return by what each part of a transcript is known again. Cost: O(size)."""
    return [_mark(part) for part in transcript]


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

"""OpenAI chat messages, read into turns: what the agent said and called, and what followed.

Call ids tie a result to its call and are then forgotten: they differ from run to run, and with them in a
step's content no two runs would ever merge (D15). Some recorders use an id more than once in a run, so a
result answers an open call of the latest message that has one with its id, the first of these. A result
that answers no open call is an error, because its call is missing from the trace. A call without a result
has an empty one: so much came back before the recording stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias, final

import attrs

from mage.engine import Grow
from mage.trajectories.fields import Spot, text_at
from mage.trajectories.parts import Call, calls_of, content_text, function_key, id_key
from mage.trajectories.trajectory import Malformed, Steps

__all__ = ["Conversation", "Said", "Turn", "conversation", "joined", "steps_of", "task_of"]

_HOSTS: Final = ("system", "developer", "user")
_RESULTS: Final = ("tool", "function")
_ROLES: Final = (*_HOSTS, "assistant", *_RESULTS)


@final
@attrs.frozen
class Said:
    """A message by anyone but the agent.

    Attributes:
        by: the role; for a result also the tool's name.
        text: its content.
    """

    by: str
    text: str


@final
@attrs.frozen
class Turn:
    """An assistant message and all that follows until the next one.

    Attributes:
        action: its content, then its calls, a line each.
        calls: the calls, in order.
        results: what each call gave, in order of the calls; empty where nothing came.
        after: the messages that follow.
    """

    action: str
    calls: tuple[Call, ...]
    results: tuple[str, ...]
    after: tuple[Said, ...]


@final
@attrs.frozen
class Conversation:
    """The messages before the first assistant message, and the turns."""

    head: tuple[Said, ...]
    turns: tuple[Turn, ...]


def task_of(head: Sequence[Said]) -> str:
    """Return what the agent was told before it first spoke, one text after the other."""
    return "\n\n".join([message.text for message in head if message.text])


def joined(said: Sequence[Said]) -> str:
    """Return messages as one text: one alone as it is, several each under who said it."""
    if len(said) == 1:
        return said[0].text
    return "\n\n".join([f"{message.by}:\n{message.text}" for message in said])


def steps_of(turns: Sequence[Turn], steps: Steps) -> Iterator[Grow]:
    """Yield each turn as a step; for `"tools"` each call with its result, in call order (D11)."""
    for turn in turns:
        if steps == "messages":
            yield Grow(turn.action, joined(turn.after))
        else:
            for call, result in zip(turn.calls, turn.results, strict=True):
                yield Grow(str(call), result)


@final
@attrs.frozen
class _Reply:
    """An assistant message."""

    action: str
    calls: tuple[Call, ...]


@final
@attrs.frozen
class _Answer:
    """The result of a call, and what it names the call by."""

    role: str
    key: str
    text: str


_CallPlace: TypeAlias = tuple[int, int]  # the turn, and the call's place in it


def conversation(messages: Sequence[Spot]) -> Conversation | Malformed:
    """Read a list of chat messages. Cost: O(their size)."""
    head: list[Said] = []
    replies: list[_Reply] = []
    after: list[list[Said]] = []
    results: dict[_CallPlace, str] = {}
    waiting: dict[str, list[_CallPlace]] = {}  # by key; the call that the next result answers is last
    for spot in messages:
        message = _message(spot)
        match message:
            case Malformed():
                return message
            case _Reply():
                for place, call in reversed(list(enumerate(message.calls))):
                    waiting.setdefault(call.key, []).append((len(replies), place))
                replies.append(message)
                after.append([])
            case Said():
                (after[-1] if after else head).append(message)
            case _Answer():
                if not waiting.get(message.key):
                    return Malformed(
                        spot.path, "expected the result of an open call, found one nobody waits for"
                    )
                turn, place = waiting[message.key].pop()
                results[turn, place] = message.text
                after[-1].append(Said(f"{message.role} {replies[turn].calls[place].name}", message.text))
    turns = [
        Turn(
            reply.action,
            reply.calls,
            tuple([results.get((turn, place), "") for place in range(len(reply.calls))]),
            tuple(after[turn]),
        )
        for turn, reply in enumerate(replies)
    ]
    return Conversation(tuple(head), tuple(turns))


def _message(spot: Spot) -> Said | _Reply | _Answer | Malformed:
    role = text_at(spot, "role")
    if isinstance(role, Malformed):
        return role
    if role not in _ROLES:
        return Spot(role, (*spot.path, "role")).expected(f"one of {', '.join(_ROLES)}")
    content = spot.get("content")
    if content is None and role != "assistant":
        return Malformed((*spot.path, "content"), "expected this field, found none")
    text = "" if content is None else content_text(content)
    if isinstance(text, Malformed):
        return text
    if role in _HOSTS:
        return Said(role, text)
    return _reply(spot, text) if role == "assistant" else _answer(spot, role, text)


def _reply(spot: Spot, text: str) -> _Reply | Malformed:
    calls = calls_of(spot)
    if isinstance(calls, Malformed):
        return calls
    refusal = spot.get("refusal")
    refused = refusal.value if refusal is not None and isinstance(refusal.value, str) else ""
    return _Reply("\n".join([part for part in (text, refused, *map(str, calls)) if part]), calls)


def _answer(spot: Spot, role: str, text: str) -> _Answer | Malformed:
    key = id_key(spot, "tool_call_id") if role == "tool" else text_at(spot, "name")
    if isinstance(key, Malformed):
        return key
    return _Answer(role, key if role == "tool" else function_key(key), text)

"""Chat messages, read into turns: what the agent said and called, and what followed.

Any list of objects with a role is read. A role that is not known is an observation by that role. Call ids
tie a result to its call and are then forgotten: they differ from run to run, and with them in a step's
content no two runs would ever merge (D15). Some recorders use an id more than once in a run, so a result
answers an open call of the latest message that has one with its id, the first of these. A further result of
a call that has one stands beside the first. A result that answers no call made before it is an observation
that says so. A call without a result has an empty one: so much came back before the recording stopped.
Whatever of this is unusual is noted.

OpenAI's newer records without a role are read too: a `response` with its `output`, a `function_call`, and a
`function_call_output`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

from mage.engine import Grow
from mage.trajectories.fields import Spot, text_at
from mage.trajectories.oddities import Oddities, shortened
from mage.trajectories.parts import Call, call_of, calls_of, content_text, function_key, key_at, text_of
from mage.trajectories.trajectory import Entry, Made, Malformed, Steps, entry_at

__all__ = [
    "Conversation",
    "Said",
    "Turn",
    "conversation",
    "entries_of",
    "joined",
    "left_out",
    "steps_of",
    "task_of",
]

_HOSTS: Final = ("system", "developer", "user")
_RESULTS: Final = ("tool", "function")
_READ: Final = frozenset(
    {
        *("role", "content", "refusal", "tool_calls", "function_call", "type", "object", "output"),
        *("tool_call_id", "tool_call_ids", "call_id"),
    }
)
"""The fields of a message that are read; of an id only which call it means."""


@final
@attrs.frozen
class Said:
    """A message by anyone but the agent.

    Attributes:
        by: the role, and the name of who has one; for a result the tool's name.
        text: its content.
        kind: `"host"` by a role that is known and has no name, `"result"` of a call, `"loose"` for a result
            of no call, `"other"` by anybody else. Of the last two, the text alone does not tell what it is.
        entry: the record that it is.
    """

    by: str
    text: str
    kind: Literal["host", "result", "loose", "other"] = "host"
    entry: Entry | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def told(self) -> str:
        """The text, under who said it."""
        return f"{self.by}:\n{self.text}"

    @property
    def alone(self) -> str:
        """The text where nothing stands beside it: under who said it only where that must be told."""
        return self.told if self.kind in ("loose", "other") else self.text


@final
@attrs.frozen
class Turn:
    """An assistant message and all that follows until the next one.

    Attributes:
        action: its content, then its calls, a line each.
        calls: the calls, in order.
        results: what each call gave, in order of the calls; none where nothing came, as a rule one.
        after: the messages that follow.
        entry: the record that the message is.
        bare: whether it says nothing beside its calls.
    """

    action: str
    calls: tuple[Call, ...]
    results: tuple[tuple[Said, ...], ...]
    after: tuple[Said, ...]
    entry: Entry
    bare: bool = False


@final
@attrs.frozen
class Conversation:
    """The messages before the first assistant message, and the turns."""

    head: tuple[Said, ...]
    turns: tuple[Turn, ...]


def task_of(head: Sequence[Said]) -> str:
    """Return what the agent was told before it first spoke, one text after the other."""
    return "\n\n".join([message.alone for message in head if message.text])


def joined(said: Sequence[Said]) -> str:
    """Return messages as one text: one alone as it is, several each under who said it."""
    if len(said) == 1:
        return said[0].alone
    return "\n\n".join([message.told for message in said])


def steps_of(turns: Sequence[Turn], steps: Steps, odd: Oddities) -> Iterator[Made]:
    """Yield each turn as a step; for `"tools"` each call with its results, in call order (D11).

    For `"tools"` a result of no call is a step without an action, because no other step could hold it; what
    is left out is noted.
    """
    for turn in turns:
        if steps == "messages":
            yield Made(Grow(turn.action, joined(turn.after)), (turn.entry, *entries_of(turn.after)))
        else:
            yield from _calls(turn, odd)


def left_out(said: Sequence[Said], odd: Oddities) -> None:
    """Note messages that are no step because the steps are tool calls."""
    for message in said:
        if message.entry is not None:
            odd.note(
                f"a message by the role {shortened(message.by)!r}, left out by --steps tools", message.entry
            )


def _calls(turn: Turn, odd: Oddities) -> Iterator[Made]:
    if not turn.bare:
        odd.note("what the agent said, left out by --steps tools", turn.entry)
    left_out([said for said in turn.after if said.kind in ("host", "other")], odd)
    for call, results in zip(turn.calls, turn.results, strict=True):
        texts = "\n\n".join([result.text for result in results])
        yield Made(Grow(call.action, texts), (turn.entry, *entries_of(results)))
    for said in turn.after:
        if said.kind == "loose":
            yield Made(Grow("", said.told), entries_of([said]))


def entries_of(said: Sequence[Said]) -> tuple[Entry, ...]:
    """Return the records that messages are."""
    return tuple([message.entry for message in said if message.entry is not None])


@final
@attrs.frozen
class _Reply:
    """An assistant message."""

    action: str
    calls: tuple[Call, ...]
    bare: bool


@final
@attrs.frozen
class _Answer:
    """The result of a call, what it names the call by, and the tool's name where it says it."""

    role: str
    key: str
    text: str
    name: str = ""


_CallPlace: TypeAlias = tuple[int, int]  # the turn, and the call's place in it


@final
@attrs.define
class _Reader:
    """A conversation that is being read, and the calls that its results may answer."""

    odd: Oddities
    head: list[Said] = attrs.field(factory=list)
    replies: list[tuple[_Reply, Spot]] = attrs.field(factory=list)
    after: list[list[Said]] = attrs.field(factory=list)
    results: dict[_CallPlace, list[Said]] = attrs.field(factory=dict)
    waiting: dict[str, list[_CallPlace]] = attrs.field(factory=dict)  # the next to be answered is last
    answered: dict[str, _CallPlace] = attrs.field(factory=dict)  # the last one that was, by key

    def take(self, message: Said | _Reply | _Answer, spot: Spot) -> None:
        match message:
            case _Reply():
                for place, call in reversed(list(enumerate(message.calls))):
                    self.waiting.setdefault(call.key, []).append((len(self.replies), place))
                self.replies.append((message, spot))
                self.after.append([])
            case Said():
                self._hear(message)
            case _Answer():
                self._answer(message, spot)

    def _hear(self, said: Said) -> None:
        (self.after[-1] if self.after else self.head).append(said)

    def _answer(self, answer: _Answer, spot: Spot) -> None:
        place = self._answered_by(answer, spot)
        entry = entry_at(spot.path)
        if place is None:
            self.odd.note("a result of no call before it, kept as an observation", spot.path)
            by = f"{answer.role} {answer.name}".rstrip()
            self._hear(Said(f"{by} (result of no call)", answer.text, "loose", entry))
            return
        call = self.replies[place[0]][0].calls[place[1]]
        name = answer.name if call.name is None else call.name
        if answer.name not in ("", name):
            self.odd.note(f"a result by the name {shortened(answer.name)!r} of a call by another", spot.path)
        by = answer.role if call.name is None and not name else f"{answer.role} {name}"
        said = Said(by, answer.text, "result", entry)
        self.results.setdefault(place, []).append(said)
        self._hear(said)

    def _answered_by(self, answer: _Answer, spot: Spot) -> _CallPlace | None:
        """Return the call that is answered; one that was answered before only where its id says so."""
        open_calls = self.waiting.get(answer.key)
        if open_calls:
            self.answered[answer.key] = place = open_calls.pop()
            return place
        before = self.answered.get(answer.key) if answer.key else None
        if before is not None:
            self.odd.note("another result of a call that has one, kept beside it", spot.path)
        return before

    def turn(self, number: int) -> Turn:
        reply, spot = self.replies[number]
        results = [tuple(self.results.get((number, place), ())) for place in range(len(reply.calls))]
        for result in results:
            if not result:
                self.odd.note("a tool call without a result", spot.path)
        return Turn(
            reply.action,
            reply.calls,
            tuple(results),
            tuple(self.after[number]),
            entry_at(spot.path),
            reply.bare,
        )


def conversation(messages: Sequence[Spot], odd: Oddities) -> Conversation | Malformed:
    """Read a list of chat messages; `odd` is told what is unusual. Cost: O(their size)."""
    reader = _Reader(odd)
    for spot in messages:
        message = _message(spot, odd)
        if isinstance(message, Malformed):
            return message
        reader.take(message, spot)
    turns = [reader.turn(number) for number in range(len(reader.replies))]
    return Conversation(tuple(reader.head), tuple(turns))


def _message(spot: Spot, odd: Oddities) -> Said | _Reply | _Answer | Malformed:
    if not spot.has("role"):
        newer = _newer(spot, odd)
        if newer is not None:
            return newer
    role = text_at(spot, "role")
    if isinstance(role, Malformed):
        return role
    _note_unread(spot, role, odd)
    if role == "assistant":
        return _reply(spot, odd)
    text, name = text_of(spot, odd), key_at(spot, "name")
    if role in _RESULTS:
        key = function_key(name) if role == "function" else _key_of(spot)
        return _Answer(role, key, text, name)
    if role not in _HOSTS:
        odd.note(f"a message by the role {shortened(role)!r}, kept as an observation", spot.path)
    elif not name.strip():
        return Said(role, text, "host", entry_at(spot.path))
    return Said(f"{role} {name}".rstrip(), text, "other", entry_at(spot.path))


def _newer(spot: Spot, odd: Oddities) -> _Reply | _Answer | None:
    """Read a record that has a type instead of a role."""
    kinds = [found.value for found in (spot.get("object"), spot.get("type")) if found is not None]
    if "response" in kinds and isinstance(output := spot.get("output"), Spot):
        return _response(output, odd)
    if "function_call" in kinds:
        call = call_of(spot, odd)
        return _Reply(call.action, (call,), bare=True)
    if "function_call_output" in kinds:
        return _Answer("tool", key_at(spot, "call_id", "id"), text_of(spot, odd, name="output"))
    return None


def _response(output: Spot, odd: Oddities) -> _Reply:
    """Read all that one response put out as one assistant message."""
    texts: list[str] = []
    calls: list[Call] = []
    items = output.value if isinstance(output.value, list) else [output.value]
    for place, value in enumerate(items):
        item = Spot(value, (*output.path, place))
        kind = item.get("type")
        if kind is not None and kind.value == "function_call":
            calls.append(call_of(item, odd))
        elif item.has("content") and (kind is None or kind.value != "reasoning"):
            texts.append(text_of(item, odd))
        else:
            odd.note("an item of a response that is neither said nor called, left out", item.path)
    return _as_reply(texts, calls)


def _reply(spot: Spot, odd: Oddities) -> _Reply:
    content, refusal = spot.get("content"), spot.get("refusal")
    texts = [content_text(found, odd) for found in (content, refusal) if found is not None]
    return _as_reply(texts, calls_of(spot, odd))


def _as_reply(texts: Sequence[str], calls: Sequence[Call]) -> _Reply:
    said = [text for text in texts if text]
    return _Reply(
        "\n".join([part for part in (*said, *[call.action for call in calls]) if part]),
        tuple(calls),
        not said,
    )


def _key_of(spot: Spot) -> str:
    return key_at(spot, "tool_call_id", "tool_call_ids", "call_id")


def _note_unread(spot: Spot, role: str, odd: Oddities) -> None:
    """Note the fields that go into no step: times, costs, ids, and whatever a recorder added."""
    if not isinstance(spot.value, dict):
        return
    for name, value in spot.value.items():
        if name not in _READ and value not in (None, "", [], {}) and (name != "name" or role == "assistant"):
            odd.note(f"the field {shortened(name)!r} of a message, left out", spot.path)

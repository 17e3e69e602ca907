"""Chat messages, read into turns: the words and calls of the agent, and the messages behind them.

Any list of objects with a role is read. A message by an unknown role is an observation by that role. Call ids
tie a result to its call and are then left out: they differ from run to run, and with them in a step's
content no two runs would ever merge (D15). Some recorders use an id more than once in a run. So a result
answers the first open call with its id, in the latest message that has one. A further result of an answered
call stands beside the first. A result that answers no call before it is an observation that says so. A call
without a result has an empty one: nothing came back before the recording stopped.

OpenAI's newer records without a role are read too: a `response` with its `output`, a `function_call`, and a
`function_call_output`. No message is refused and nothing is lost: a value in no known form stays as its
canonical JSON. `Oddities` notes all that is unusual.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

from mage.chat import BadAction, Content, action_text, canonical, content_of, read_arguments, thoughts_beside
from mage.engine import Grow, Start
from mage.trajectories.trajectory import (
    Entry,
    Made,
    Oddities,
    Spot,
    Steps,
    entry_at,
    meta_of,
    shortened,
)

_HOSTS: Final = ("system", "developer", "user")
_RESULTS: Final = ("tool", "function")
_READ: Final = frozenset(
    {
        *("role", "content", "refusal", "tool_calls", "function_call", "type", "object", "output"),
        *("tool_call_id", "tool_call_ids", "call_id"),
        *("audio", "reasoning", "reasoning_content", "reasoning_details"),
    }
)
"""The fields of a message that are read; an id is read for the call that it names."""
_FLAT_CALL: Final = frozenset({"id", "call_id", "type", "status", "name", "arguments"})


@final
@attrs.frozen
class Call:
    """A tool call.

    Attributes:
        name: the tool's name; None where it has none in a known form, and `arguments` is the whole call.
        arguments: as the trace has them.
        key: the id by which a result names the call.
    """

    name: str | None
    arguments: str
    key: str

    @property
    def action(self) -> str:
        """The action of the step, in the spelling of a live call (`mage.chat.action_text`).

        A live call has no arguments but a JSON object; others stay as the trace has them.
        """
        if self.name is None:
            return self.arguments
        try:
            return action_text(self.name, read_arguments(self.arguments))
        except (BadAction, ValueError, RecursionError):
            return f"{self.name} {self.arguments}"


@final
@attrs.frozen
class Said:
    """A message by anyone but the agent.

    Attributes:
        by: the role, and the name where it has one; for a result the tool's name.
        text: its content.
        kind: `"host"` by a known role without a name, `"result"` of a call, `"loose"` for a result of no call,
            `"other"` by any other role. The text of the last two does not show what they are.
        entry: the record.
        parts: its images, sounds and files, by the digests in their marks.
    """

    by: str
    text: str
    kind: Literal["host", "result", "loose", "other"] = "host"
    entry: Entry | None = attrs.field(default=None, eq=False, repr=False)
    parts: Mapping[str, object] = attrs.field(factory=dict, eq=False, repr=False)

    @property
    def told(self) -> str:
        """The text, under the role and name of its author."""
        return f"{self.by}:\n{self.text}"

    @property
    def alone(self) -> str:
        """The text where it stands alone: under its author only where the text does not show what it is."""
        return self.told if self.kind in ("loose", "other") else self.text


@final
@attrs.frozen
class Turn:
    """An assistant message and all messages until the next one.

    Attributes:
        entry: the record of the message.
        said: its words beside its calls.
        calls: its calls, in order.
        thought: the agent's thought, where the record has it apart from the words.
        parts: its images, sounds and files, by the digests in their marks.
        results: the results of each call, in order of the calls; as a rule one.
        after: the messages behind it.
    """

    entry: Entry
    said: str
    calls: tuple[Call, ...] = ()
    thought: str = ""
    parts: Mapping[str, object] = attrs.field(factory=dict, eq=False, repr=False)
    results: tuple[tuple[Said, ...], ...] = ()
    after: tuple[Said, ...] = ()

    @property
    def action(self) -> str:
        """The words, then the calls, a line each."""
        return "\n".join(filter(None, [self.said, *[call.action for call in self.calls]]))


@final
@attrs.frozen
class Conversation:
    """The messages before the first assistant message, and the turns."""

    head: tuple[Said, ...]
    turns: tuple[Turn, ...]


# -- steps of a conversation ---------------------------------------------------------------------------


def task_of(head: Sequence[Said]) -> str:
    """Return the messages before the agent first spoke, one text after the other."""
    return "\n\n".join([message.alone for message in head if message.text])


def started(head: Sequence[Said]) -> Made:
    """Return the command that begins a history with the messages before the agent first spoke."""
    return Made(Start(task_of(head)), entries_of(head), meta_of("", *[said.parts for said in head]))


def joined(said: Sequence[Said]) -> str:
    """Return messages as one text: several stand each under its author."""
    if len(said) == 1:
        return said[0].alone
    return "\n\n".join([message.told for message in said])


def entries_of(said: Sequence[Said]) -> tuple[Entry, ...]:
    """Return the records of messages."""
    return tuple([message.entry for message in said if message.entry is not None])


def steps_of(turns: Sequence[Turn], steps: Steps, odd: Oddities) -> Iterator[Made]:
    """Yield each turn as a step; for `"tools"` each call with its results, in call order (D11).

    The agent's thought, and for `"tools"` its words beside its calls, go beside its first step, as with a live agent.
    For `"tools"` a result of no call is a step without an action, because no other step could hold it. `odd` notes the
    messages that are left out.
    """
    for turn in turns:
        if steps == "messages":
            meta = meta_of(turn.thought, turn.parts, *[said.parts for said in turn.after])
            yield Made(Grow(turn.action, joined(turn.after)), (turn.entry, *entries_of(turn.after)), meta)
        else:
            yield from _calls(turn, odd)


def left_out(said: Sequence[Said], odd: Oddities) -> None:
    """Note messages that are no step because the steps are tool calls."""
    for message in said:
        if message.entry is not None:
            what = f"a message by the role {shortened(message.by)!r}, left out by --steps tools"
            odd.note(what, message.entry)


def _calls(turn: Turn, odd: Oddities) -> Iterator[Made]:
    if turn.said:
        odd.note("what the agent said, left out by --steps tools", turn.entry)
    left_out([said for said in turn.after if said.kind in ("host", "other")], odd)
    thought, parts = "\n".join(filter(None, [turn.thought, turn.said])), turn.parts
    for call, results in zip(turn.calls, turn.results, strict=True):
        texts = "\n\n".join([result.text for result in results])
        meta = meta_of(thought, parts, *[result.parts for result in results])
        yield Made(Grow(call.action, texts), (turn.entry, *entries_of(results)), meta)
        thought, parts = "", {}
    for said in turn.after:
        if said.kind == "loose":
            yield Made(Grow("", said.told), entries_of([said]), meta_of("", said.parts))


# -- reading messages ----------------------------------------------------------------------------------


@final
@attrs.frozen
class _Answer:
    """The result of a call; `key` names the call, and `name` the tool where the record does."""

    role: str
    key: str
    content: Content
    name: str = ""


_CallPlace: TypeAlias = tuple[int, int]  # the turn, and the call's place in it


@final
@attrs.define
class _Reader:
    """A conversation as far as it is read, and the calls that further results may answer."""

    odd: Oddities
    head: list[Said] = attrs.field(factory=list)
    replies: list[Turn] = attrs.field(factory=list)  # without results and messages behind
    after: list[list[Said]] = attrs.field(factory=list)
    results: dict[_CallPlace, list[Said]] = attrs.field(factory=dict)
    waiting: dict[str, list[_CallPlace]] = attrs.field(
        factory=dict
    )  # by key, the next to be answered is last
    answered: dict[str, _CallPlace] = attrs.field(factory=dict)  # by key, the call that was answered last

    def take(self, message: Said | Turn | _Answer, spot: Spot) -> None:
        match message:
            case Turn():
                for place, call in reversed(list(enumerate(message.calls))):
                    self.waiting.setdefault(call.key, []).append((len(self.replies), place))
                self.replies.append(message)
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
            found = answer.content
            self._hear(Said(f"{by} (result of no call)", found.text, "loose", entry, found.parts))
            return
        call = self.replies[place[0]].calls[place[1]]
        name = answer.name if call.name is None else call.name
        if answer.name not in ("", name):
            self.odd.note(f"a result by the name {shortened(answer.name)!r} of a call by another", spot.path)
        by = answer.role if call.name is None and not name else f"{answer.role} {name}"
        said = Said(by, answer.content.text, "result", entry, answer.content.parts)
        self.results.setdefault(place, []).append(said)
        self._hear(said)

    def _answered_by(self, answer: _Answer, spot: Spot) -> _CallPlace | None:
        """Return the call that a result answers; one that has a result already only where the ids say so."""
        open_calls = self.waiting.get(answer.key)
        if open_calls:
            self.answered[answer.key] = place = open_calls.pop()
            return place
        before = self.answered.get(answer.key) if answer.key else None
        if before is not None:
            self.odd.note("another result of a call that has one, kept beside it", spot.path)
        return before

    def turn(self, number: int) -> Turn:
        reply = self.replies[number]
        results = [tuple(self.results.get((number, place), ())) for place in range(len(reply.calls))]
        for _ in range(results.count(())):
            self.odd.note("a tool call without a result", reply.entry)
        return attrs.evolve(reply, results=tuple(results), after=tuple(self.after[number]))


def conversation(messages: Sequence[Spot], odd: Oddities) -> Conversation:
    """Read a list of chat messages, and note in `odd` what is unusual. Cost: O(their size).

    Raises:
        Malformed: a message has no role.
    """
    reader = _Reader(odd)
    for spot in messages:
        reader.take(_message(spot, odd), spot)
    turns = [reader.turn(number) for number in range(len(reader.replies))]
    return Conversation(tuple(reader.head), tuple(turns))


def _message(spot: Spot, odd: Oddities) -> Said | Turn | _Answer:
    if not spot.has("role"):
        newer = _newer(spot, odd)
        if newer is not None:
            return newer
    role = spot.field("role").text()
    _note_unread(spot, role, odd)
    if role == "assistant":
        found = [content_at(field, odd) for field in map(spot.get, ("content", "refusal")) if field]
        return _reply(spot, [*found, *_spoken(spot)], calls_of(spot, odd), thoughts_of(spot))
    content, name = said_at(spot, odd), key_at(spot, "name")
    text = content.text
    if role in _RESULTS:
        ids = ("tool_call_id", "tool_call_ids", "call_id")
        return _Answer(role, function_key(name) if role == "function" else key_at(spot, *ids), content, name)
    if role not in _HOSTS:
        odd.note(f"a message by the role {shortened(role)!r}, kept as an observation", spot.path)
    elif not name.strip():
        return Said(role, text, "host", entry_at(spot.path), content.parts)
    return Said(f"{role} {name}".rstrip(), text, "other", entry_at(spot.path), content.parts)


def _spoken(message: Spot) -> list[Content]:
    """Return the spoken words of a message: the transcript, and the sound beside it."""
    audio = message.get("audio")
    if audio is None or audio.value is None:
        return []
    return [content_of([{"type": "audio", "audio": audio.value}])]


def thoughts_of(message: Spot) -> str:
    """Return the agent's thought, where a message has it in a separate field."""
    return thoughts_beside(message.value) if isinstance(message.value, dict) else ""


def _newer(spot: Spot, odd: Oddities) -> Turn | _Answer | None:
    """Read a record that has a type instead of a role."""
    kinds = [found.value for found in (spot.get("object"), spot.get("type")) if found is not None]
    output = spot.get("output")
    if "response" in kinds and output is not None:
        return _response(spot, output, odd)
    if "function_call" in kinds:
        return _reply(spot, [], (call_of(spot, odd),))
    if "function_call_output" in kinds:
        return _Answer("tool", key_at(spot, "call_id", "id"), said_at(spot, odd, name="output"))
    return None


def _response(spot: Spot, output: Spot, odd: Oddities) -> Turn:
    """Read all items of one response as one assistant message."""
    found: list[Content] = []
    calls: list[Call] = []
    items = output.value if isinstance(output.value, list) else [output.value]
    for place, value in enumerate(items):
        item = Spot(value, (*output.path, place))
        kind = item.get("type")
        if kind is not None and kind.value == "function_call":
            calls.append(call_of(item, odd))
        elif kind is not None and kind.value == "reasoning" and any(content_of([value]).thoughts):
            found.append(content_of([value]))
        elif item.has("content") and (kind is None or kind.value != "reasoning"):
            found.append(said_at(item, odd))
        else:
            odd.note("an item of a response that is neither said nor called, left out", item.path)
    return _reply(spot, found, calls)


def _reply(spot: Spot, found: Sequence[Content], calls: Sequence[Call], thought: str = "") -> Turn:
    said = "\n".join([content.text for content in found if content.text])
    thoughts = [thought, *[each for content in found for each in content.thoughts]]
    parts = {digest: part for content in found for digest, part in content.parts.items()}
    return Turn(entry_at(spot.path), said, tuple(calls), "\n".join(filter(None, thoughts)), parts)


def _note_unread(spot: Spot, role: str, odd: Oddities) -> None:
    """Note the fields that go into no step: times, costs, ids, and a recorder's additions."""
    if not isinstance(spot.value, dict):
        return
    for name, value in spot.value.items():
        if name not in _READ and value not in (None, "", [], {}) and (name != "name" or role == "assistant"):
            odd.note(f"the field {shortened(name)!r} of a message, left out", spot.path)


# -- the parts of one message --------------------------------------------------------------------------


def said_at(message: Spot, odd: Oddities, *, name: str = "content") -> Content:
    """Return a field that every message has as a rule; empty where it is missing or null."""
    content = message.get(name)
    if content is None or content.value is None:
        odd.note(f"a record without {name}", message.path)
        return Content()
    return content_at(content, odd)


def content_at(content: Spot, odd: Oddities) -> Content:
    """Return the content of a message, by `mage.chat.content_of`, and note what is unusual in it."""
    found = content_of(content.value)
    if found.others:
        what = "a part of a content" if isinstance(content.value, list) else "content"
        for _ in range(found.others):
            odd.note(f"{what} that is no text, kept as JSON", content.path)
    for _ in found.parts:
        odd.note("an image, a sound or a file, kept beside the text, which has a mark of it", content.path)
    return found


def key_at(spot: Spot, *names: str) -> str:
    """Return a call id, under the first of these names that has one.

    It is empty where the recorder wrote none: then the order alone shows which call a result answers.
    """
    values = [found.value for found in map(spot.get, names) if found is not None]
    value = next((value for value in values if value is not None), None)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return "" if value is None else value if isinstance(value, str) else canonical(value)


def function_key(name: str) -> str:
    """Return the key that ties a result of the older `function` role to its call: the function's name."""
    return f"function {name}"


def calls_of(message: Spot, odd: Oddities) -> tuple[Call, ...]:
    """Return an assistant message's tool calls, in order; also the one in the older `function_call`."""
    calls = [call_of(spot, odd) for spot in _listed(message, odd)]
    old = message.get("function_call")
    if old is not None and old.value is not None:
        made = _called(old, old, "arguments", "", odd)
        calls.append(made if made.name is None else Call(made.name, made.arguments, function_key(made.name)))
    return tuple(calls)


def _listed(message: Spot, odd: Oddities) -> list[Spot]:
    listed = message.get("tool_calls")
    if listed is None or listed.value is None:
        return []
    if isinstance(listed.value, list):
        return listed.records
    odd.note("tool calls that are no list", listed.path)
    return [listed]


def call_of(spot: Spot, odd: Oddities) -> Call:
    """Return one tool call: with a `function`, with the newer `custom`, or with its name beside its id."""
    key = key_at(spot, "call_id", "id")
    for kind, given in (("custom", "input"), ("function", "arguments")):
        found = spot.get(kind)
        if found is not None and isinstance(found.value, dict):
            return _called(spot, found, given, key, odd)
    if isinstance(spot.value, dict) and spot.value.keys() <= _FLAT_CALL:
        return _called(spot, spot, "arguments", key, odd)
    return _unknown(spot, key, odd)


def _called(whole: Spot, spot: Spot, given: str, key: str, odd: Oddities) -> Call:
    name, arguments = spot.get("name"), spot.get(given)
    if name is None or not isinstance(name.value, str):
        return _unknown(whole, key, odd)
    value = None if arguments is None else arguments.value
    if value is None:
        return Call(name.value, "", key)
    if not isinstance(value, str):
        return Call(name.value, canonical(value), key)
    if given == "arguments" and not _is_json(value):
        odd.note("a tool call with arguments that are no JSON, kept as written", whole.path)
    return Call(name.value, value, key)


def _unknown(spot: Spot, key: str, odd: Oddities) -> Call:
    odd.note("a tool call in no known form, kept as JSON", spot.path)
    return Call(None, canonical(spot.value), key)


def _is_json(text: str) -> bool:
    """Tell whether arguments are JSON, or empty."""
    try:
        json.loads(text or "{}")
    except (ValueError, RecursionError):
        return False
    return True

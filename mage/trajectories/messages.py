"""Chat messages, read into turns: the words and calls of the agent, and what followed.

Any list of objects with a role is read. A message by an unknown role is an observation by that role. Call ids
tie a result to its call and are then forgotten: they differ from run to run, and with them in a step's
content no two runs would ever merge (D15). Some recorders use an id more than once in a run, so a result
answers an open call of the latest message that has one with its id, the first of these. A further result of
a call that has one stands beside the first. A result that answers no call made before it is an observation
that says so. A call without a result has an empty one: so much came back before the recording stopped.

OpenAI's newer records without a role are read too: a `response` with its `output`, a `function_call`, and a
`function_call_output`. Nothing in a message is refused and nothing is lost: a value in no known form is kept as its
canonical JSON. `Oddities` notes whatever of this is unusual.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

from mage.chat import BadAction, action_text, canonical, read_arguments
from mage.chat.messages import thought_beside
from mage.engine import Grow
from mage.trajectories.trajectory import Entry, Json, Made, Oddities, Spot, Steps, entry_at, shortened

_HOSTS: Final = ("system", "developer", "user")
_RESULTS: Final = ("tool", "function")
_READ: Final = frozenset(
    {
        *("role", "content", "refusal", "tool_calls", "function_call", "type", "object", "output"),
        *("tool_call_id", "tool_call_ids", "call_id"),
    }
)
"""The fields of a message that are read; of an id only which call it means."""
_THOUGHTS: Final = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
"""The fields in which servers give what a model thought; they are read where they hold a text."""
_TEXT_PARTS: Final = ("text", "input_text", "output_text")
_FLAT_CALL: Final = frozenset({"id", "call_id", "type", "status", "name", "arguments"})


@final
@attrs.frozen
class Call:
    """A tool call.

    Attributes:
        name: the tool's name; None where it has none in a known form, and `arguments` is the whole call.
        arguments: as they were written.
        key: the id by which a result names it.
    """

    name: str | None
    arguments: str
    key: str

    @property
    def action(self) -> str:
        """The action of the step, spelled as a live call is (`mage.chat.action_text`).

        Arguments that are no JSON object cannot be a live call's; they stay as they were written.
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
            `"other"` by any other role. The text of the last two alone does not tell what they are.
        entry: the record that it is.
    """

    by: str
    text: str
    kind: Literal["host", "result", "loose", "other"] = "host"
    entry: Entry | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def told(self) -> str:
        """The text, under the role and name of its author."""
        return f"{self.by}:\n{self.text}"

    @property
    def alone(self) -> str:
        """The text where it stands alone: under its author only where the text does not tell what it is."""
        return self.told if self.kind in ("loose", "other") else self.text


@final
@attrs.frozen
class Turn:
    """An assistant message and all that follows until the next one.

    Attributes:
        action: its content, then its calls, a line each.
        calls: the calls, in order.
        results: the results of each call, in order of the calls; as a rule one.
        after: the messages that follow.
        entry: the record that the message is.
        said: its content alone.
        thought: what it thought, in a field of its own.
    """

    action: str
    calls: tuple[Call, ...]
    results: tuple[tuple[Said, ...], ...]
    after: tuple[Said, ...]
    entry: Entry
    said: str = ""
    thought: str = ""


@final
@attrs.frozen
class Conversation:
    """The messages before the first assistant message, and the turns."""

    head: tuple[Said, ...]
    turns: tuple[Turn, ...]


# -- what becomes of a conversation --------------------------------------------------------------------


def task_of(head: Sequence[Said]) -> str:
    """Return the messages before the agent first spoke, one text after the other."""
    return "\n\n".join([message.alone for message in head if message.text])


def joined(said: Sequence[Said]) -> str:
    """Return messages as one text: one alone as it is, several each under its author."""
    if len(said) == 1:
        return said[0].alone
    return "\n\n".join([message.told for message in said])


def entries_of(said: Sequence[Said]) -> tuple[Entry, ...]:
    """Return the records that messages are."""
    return tuple([message.entry for message in said if message.entry is not None])


def steps_of(turns: Sequence[Turn], steps: Steps, odd: Oddities) -> Iterator[Made]:
    """Yield each turn as a step; for `"tools"` each call with its results, in call order (D11).

    For `"tools"` a result of no call is a step without an action, because no other step could hold it; what the agent
    said beside its calls is a thought before the first of them, as it is live. Messages that are left out are noted.
    """
    for turn in turns:
        if steps == "messages":
            entries = (turn.entry, *entries_of(turn.after))
            yield Made(Grow(turn.action, joined(turn.after)), entries, turn.thought)
        else:
            yield from _calls(turn, odd)


def left_out(said: Sequence[Said], odd: Oddities) -> None:
    """Note messages that are no step because the steps are tool calls."""
    for message in said:
        if message.entry is not None:
            what = f"a message by the role {shortened(message.by)!r}, left out by --steps tools"
            odd.note(what, message.entry)


def _calls(turn: Turn, odd: Oddities) -> Iterator[Made]:
    thought = turn.said or turn.thought
    if turn.said and not turn.calls:
        odd.note("what the agent said, left out by --steps tools", turn.entry)
    left_out([said for said in turn.after if said.kind in ("host", "other")], odd)
    for call, results in zip(turn.calls, turn.results, strict=True):
        texts = "\n\n".join([result.text for result in results])
        yield Made(Grow(call.action, texts), (turn.entry, *entries_of(results)), thought)
        thought = ""
    for said in turn.after:
        if said.kind == "loose":
            yield Made(Grow("", said.told), entries_of([said]))


# -- reading messages ----------------------------------------------------------------------------------


@final
@attrs.frozen
class _Reply:
    """An assistant message."""

    action: str
    calls: tuple[Call, ...]
    said: str
    thought: str


@final
@attrs.frozen
class _Answer:
    """The result of a call, the key by which it names the call, and the tool's name where it has one."""

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
        reply, spot = self.replies[number]
        results = [tuple(self.results.get((number, place), ())) for place in range(len(reply.calls))]
        for result in results:
            if not result:
                self.odd.note("a tool call without a result", spot.path)
        after = tuple(self.after[number])
        entry = entry_at(spot.path)
        return Turn(reply.action, reply.calls, tuple(results), after, entry, reply.said, reply.thought)


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


def _message(spot: Spot, odd: Oddities) -> Said | _Reply | _Answer:
    if not spot.has("role"):
        newer = _newer(spot, odd)
        if newer is not None:
            return newer
    role = spot.field("role").text()
    _note_unread(spot, role, odd)
    if role == "assistant":
        texts = [content_text(found, odd) for found in map(spot.get, ("content", "refusal")) if found]
        thought = thought_beside(spot.value) if isinstance(spot.value, dict) else ""
        return _reply(texts, calls_of(spot, odd), thought)
    text, name = text_of(spot, odd), key_at(spot, "name")
    if role in _RESULTS:
        ids = ("tool_call_id", "tool_call_ids", "call_id")
        return _Answer(role, function_key(name) if role == "function" else key_at(spot, *ids), text, name)
    if role not in _HOSTS:
        odd.note(f"a message by the role {shortened(role)!r}, kept as an observation", spot.path)
    elif not name.strip():
        return Said(role, text, "host", entry_at(spot.path))
    return Said(f"{role} {name}".rstrip(), text, "other", entry_at(spot.path))


def _newer(spot: Spot, odd: Oddities) -> _Reply | _Answer | None:
    """Read a record that has a type instead of a role."""
    kinds = [found.value for found in (spot.get("object"), spot.get("type")) if found is not None]
    output = spot.get("output")
    if "response" in kinds and output is not None:
        return _response(output, odd)
    if "function_call" in kinds:
        return _reply([], (call_of(spot, odd),))
    if "function_call_output" in kinds:
        return _Answer("tool", key_at(spot, "call_id", "id"), text_of(spot, odd, name="output"))
    return None


def _response(output: Spot, odd: Oddities) -> _Reply:
    """Read all items of one response as one assistant message."""
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
    return _reply(texts, calls)


def _reply(texts: Sequence[str], calls: Sequence[Call], thought: str = "") -> _Reply:
    said = [text for text in texts if text]
    action = "\n".join([part for part in (*said, *[call.action for call in calls]) if part])
    return _Reply(action, tuple(calls), "\n".join(said), thought)


def _note_unread(spot: Spot, role: str, odd: Oddities) -> None:
    """Note the fields that go into no step: times, costs, ids, and whatever a recorder added."""
    if not isinstance(spot.value, dict):
        return
    read = _READ | _THOUGHTS if role == "assistant" and thought_beside(spot.value) else _READ
    for name, value in spot.value.items():
        if name not in read and value not in (None, "", [], {}) and (name != "name" or role == "assistant"):
            odd.note(f"the field {shortened(name)!r} of a message, left out", spot.path)


# -- the parts of one message --------------------------------------------------------------------------


def text_of(message: Spot, odd: Oddities, *, name: str = "content") -> str:
    """Return the text of a field that every message has as a rule; where it is missing or null, the empty text."""
    content = message.get(name)
    if content is None or content.value is None:
        odd.note(f"a record without {name}", message.path)
        return ""
    return content_text(content, odd)


def content_text(content: Spot, odd: Oddities) -> str:
    """Return a message's content as text: null is empty; of parts each is a line, or more.

    A part that is no text, such as an image, becomes its canonical JSON.
    """
    if content.value is None:
        return ""
    if isinstance(content.value, str):
        return content.value
    if isinstance(content.value, list):
        return "\n".join([_part(part, content, odd) for part in content.value])
    odd.note("content that is no text, kept as JSON", content.path)
    return canonical(content.value)


def _part(part: Json, content: Spot, odd: Oddities) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, dict) and part.get("type") in _TEXT_PARTS else None
    if isinstance(text, str):
        return text
    odd.note("a part of a content that is no text, kept as JSON", content.path)
    return canonical(part)


def key_at(spot: Spot, *names: str) -> str:
    """Return a call id, under the first of these names that has one.

    Where a recorder writes none it is empty: the order alone tells which call a result answers.
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
    """Tell whether arguments can be read; empty ones can."""
    try:
        json.loads(text or "{}")
    except (ValueError, RecursionError):
        return False
    return True

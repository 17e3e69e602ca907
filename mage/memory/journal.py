"""`Tally`: what a session's journal says beside the state; and which parts of a host's transcript are new.

The journal keeps these facts in the meta of the commands, so forks and bundles have them too.

Frameworks keep the transcript themselves and hand it over whole before each call of the model. In one process a
memory knows the recorded parts by their place; another process, by the digests of replies in the journal.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final, TypeAlias, final

import attrs

from mage.chat import BESIDE, NOTED, PARTS, THOUGHT, AssistantReply, ToolResult, note_in
from mage.effects import ActionEffect, Compensable, Irreversible, NoEffect, Observed, Reversible
from mage.engine import (
    Command,
    Compress,
    Grow,
    Instruct,
    Retext,
    Revise,
    State,
    Step,
    StepId,
    SummaryId,
    apply,
    view,
)
from mage.engine.errors import MageError
from mage.memory.requests import Counts
from mage.session import Entry, Noted
from mage.stores.records import is_marker
from mage.tokens import cut

UNCERTAIN: Final = (
    "(Nobody knows: the run was interrupted while this action was performed. It may have happened, or not.)"
)
"""The observation of an action whose outcome is unknown, because a process ended while it was performed."""
OBSERVED: Final = "observed"
"""The key in a step's meta for what the environment said beside the text of the observation."""
RUN: Final = "run"
"""The key in a command's meta that marks it as a command of an agent's run (`mage.agent.log`)."""
CALL: Final = "call"
"""The key in a command's meta for the id of the call that caused the command."""
REPLY: Final = "reply"
"""The key in a command's meta for the digest of the reply that caused the command."""

CALLING: Final = "calling"
"""The kind of the note that a memory writes before the host carries out a call."""
DECLINED: Final = "declined"
"""The kind of the note behind a `CALLING` note where the host did not carry the call out."""
ANSWERED: Final = "answered"
"""The kind of the note with the model's answer; after it a program need not call the model."""
MEMORY_NOTES: Final = (CALLING, ANSWERED, DECLINED)
"""The kinds of the notes of a memory; all others are of an agent's run or of a host."""
_RUNNING: Final = ("began", "decided", "ended")
"""Kinds of the notes of an agent's run (`mage.agent.log`): wherever a run was active, there is one of these."""
LONGEST_NOTED: Final = 500
"""The most characters of an action in a `CALLING` note."""

_DIGEST: Final = re.compile("[0-9a-f]{16}")

_EFFECTS: Final[Mapping[str, type[ActionEffect]]] = {
    kind.__name__: kind for kind in (NoEffect, Reversible, Compensable, Irreversible)
}


NOTED_SO: Final = Observed(NOTED, effect=NoEffect())
"""The observation of a note of the model: nothing was done in the environment."""
LONGEST_THOUGHT: Final = 1_000
"""The most characters of a thought that is shown again; the middle of a longer one is left out openly."""


def is_note(step: Step, effects: Mapping[StepId, ActionEffect]) -> bool:
    """Tell whether a step is a note of the model, for which nothing was done in the environment."""
    return isinstance(effects.get(step.id), NoEffect) and note_in(step.action, step.observation) is not None


@final
@attrs.frozen
class BadEffect(MageError, ValueError):
    """The meta of a step has an `effect` that cannot be read.

    Attributes:
        found: that value, shortened.
    """

    found: str

    def __str__(self) -> str:
        return f"a step's meta holds {self.found} as its effect; there are {', '.join(_EFFECTS)}"


def observed_meta(observed: Observed) -> dict[str, object]:
    """Return an observation as a step's meta, without its text, which the step has itself, and its parts."""
    said: dict[str, object] = {}
    if observed.text == UNCERTAIN:
        said["uncertain"] = True
    if observed.over:
        said["over"] = True
    if observed.instructions:
        said["instructions"] = list(observed.instructions)
    if observed.effect is not None:
        given = {name: value for name, value in attrs.asdict(observed.effect).items() if value != ""}
        said["effect"] = {**given, "is": type(observed.effect).__name__}
    return {OBSERVED: said}


def with_parts(meta: Mapping[str, object], observed: Observed) -> dict[str, object]:
    """Return the meta of a step with the images, sounds and files of its observation beside those of its reply."""
    before = meta.get(PARTS)
    parts = {**(before if isinstance(before, dict) else {}), **observed.parts}
    return {**meta, PARTS: parts} if parts else dict(meta)


def effect_of(command: Command, meta: Mapping[str, object]) -> ActionEffect | None:
    """Return the effect declared in a command's meta; None where there is none, or the command is no `Grow`.

    Raises:
        BadEffect: the effect in the meta cannot be read.
    """
    kept = meta.get(OBSERVED)
    if not isinstance(command, Grow) or not isinstance(kept, dict) or kept.get("effect") is None:
        return None
    document = kept["effect"]
    try:
        fields = dict(document)
        return _EFFECTS[fields.pop("is")](**fields)
    except (TypeError, ValueError, KeyError):
        raise BadEffect(f"{document!r:.80}") from None


def _document(text: str) -> dict[str, str]:
    """Return the texts of a note; empty for another writer's note, which may have any content."""
    try:
        said = json.loads(text)
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in said.items()} if isinstance(said, dict) else {}


def ends_going_back(log: Sequence[Entry | Noted], entries: Sequence[Entry]) -> int:
    """Return the place of the revise that ends a journal; the number of commands where none does. Cost: O(end).

    A note of a memory behind the revise is of a later turn, so the environment was restored, or why not was said.
    """
    place = len(entries)
    behind = takewhile(lambda each: isinstance(each, Noted), reversed(log))
    if any(isinstance(each, Noted) and each.note.kind in MEMORY_NOTES for each in behind):
        return place
    while place > 0 and isinstance(entries[place - 1].command, Instruct):  # placed again after going back
        place -= 1
    if place > 0 and isinstance(entries[place - 1].command, Revise):
        return place - 1
    return len(entries)


@final
class Tally:
    """What a journal says beside its state, updated with each command.

    Attributes:
        counts: the number of revises by boundary, and of rewritten texts by summary (D13).
        effects: by step, the declared effect of its action.
        beside: by step, the provider's data beside its call (`mage.chat.messages`).
        thoughts: by step, the model's thought before it, at most 1,000 characters.
        reply: the digest of the reply that caused the newest such command; empty where there is none.
        calls: by call id, the number of recorded commands of that reply.
        replies: the digests of all replies that caused a command.
        commands: how many commands this memory itself has recorded.
        calling: the calls that an earlier process asked its host to carry out and that nothing has settled: of each the
            digest of its reply, its id and its action, the marker where it was redacted. Its step settles a call, and so
            does the host's refusal; a compress, a revise or an answer settles all.
        answer: the model's last answer; the marker where it was redacted. None where a command, a call or an agent's run
            follows it.

    Args:
        is_lenient: ignore an effect that cannot be read, because other writers may put anything into the meta of
            a step; else `add` refuses it.
    """

    def __init__(self, *, is_lenient: bool = False) -> None:
        self._is_lenient = is_lenient
        self._revisions = dict[StepId, int]()
        self._retexts = dict[SummaryId, int]()
        self.counts = Counts(self._revisions, self._retexts)
        self.effects = dict[StepId, ActionEffect]()
        self.beside = dict[StepId, str]()
        self.thoughts = dict[StepId, str]()
        self.reply = ""
        self.calls = Counter[str]()
        self.replies = set[str]()
        self.commands = 0
        self.calling = dict[tuple[str, str, str], None]()
        self.answer: str | None = None

    def copy(self) -> Tally:
        """Return a tally of its own with the counts, effects, data and thoughts of the steps. Cost: O(their number)."""
        other = Tally(is_lenient=self._is_lenient)
        other._revisions.update(self._revisions)
        other._retexts.update(self._retexts)
        other.effects.update(self.effects)
        other.beside.update(self.beside)
        other.thoughts.update(self.thoughts)
        return other

    def clear(self) -> None:
        """Forget everything: the name belongs to another journal now."""
        self._revisions.clear()
        self._retexts.clear()
        self.effects.clear()
        self.beside.clear()
        self.thoughts.clear()
        self.calls.clear()
        self.replies.clear()
        self.reply = ""
        self.calling.clear()
        self.answer = None

    def add(self, command: Command, meta: Mapping[str, object], after: State) -> None:
        """Count a command that has led to the state `after`. Cost: O(1).

        Raises:
            BadEffect: the effect in its meta cannot be read.
        """
        self._settle(command, meta)
        if isinstance(command, Revise):
            boundary = StepId(command.boundary)
            self._revisions[boundary] = self._revisions.get(boundary, 0) + 1
        elif isinstance(command, Retext):
            summary = after.tree.summary_head
            self._retexts[summary] = self._retexts.get(summary, 0) + 1
        try:
            effect = effect_of(command, meta)
        except BadEffect:
            if not self._is_lenient:
                raise
            effect = None
        if effect is not None:
            self.effects[after.tree.step_head] = effect
        beside = meta.get(BESIDE)
        if isinstance(command, Grow) and isinstance(beside, str):
            self.beside[after.tree.step_head] = beside
        thought = meta.get(THOUGHT)
        if isinstance(command, Grow) and isinstance(thought, str) and thought.strip():
            self.thoughts[after.tree.step_head] = cut(thought.strip(), LONGEST_THOUGHT)
        reply = meta.get(REPLY)
        if isinstance(reply, str) and _DIGEST.fullmatch(reply):  # else another writer has put it there
            if reply != self.reply:
                self.reply = reply
                self.replies.add(reply)
                self.calls.clear()
            self.calls[str(meta.get(CALL, ""))] += 1

    def add_notes(self, log: Iterable[Entry | Noted]) -> None:
        """Read the notes of a memory behind the last command of a journal. Cost: O(length of the log)."""
        for each in log:
            if isinstance(each, Entry):
                self._settle(each.command, each.meta)
            else:
                self._add_note(each)

    def _settle(self, command: Command, meta: Mapping[str, object]) -> None:
        """Take back the answer behind which a command comes, and the calls that it settles: its own; at a boundary, all."""
        self.answer = None
        if isinstance(command, Compress | Revise):
            self.calling.clear()
        elif isinstance(command, Grow):
            made = self.unsettled(str(meta.get(REPLY, "")), str(meta.get(CALL, "")), command.action)
            if made is not None:
                del self.calling[made]

    def unsettled(self, reply: str, call: str, action: str) -> tuple[str, str, str] | None:
        """Return the entry of `calling` for a call; of a redacted action only reply and id are compared."""
        noted = cut(action, LONGEST_NOTED)
        same = (each for each in self.calling if each[:2] == (reply, call))
        return next((each for each in same if each[2] == noted or is_marker(each[2])), None)

    def _add_note(self, noted: Noted) -> None:
        """Read a note. Of a redacted one its kind still counts; one without our texts is another writer's.

        An answer that landed behind another writer's command was decided before it, and is none.
        """
        kind, text = noted.note.kind, noted.note.text
        lost = text if is_marker(text) else None
        said = _document(text)
        if kind == ANSWERED and lost is None and said.get("after") != str(noted.version - 1):
            return
        action, answer = said.get("action", lost), said.get("answer", lost)
        if kind == CALLING and action is not None:
            kept = noted.meta if lost else said
            self.calling[str(kept.get(REPLY, "")), str(kept.get(CALL, "")), action] = None
            self.answer = None
        elif kind == ANSWERED and answer is not None:
            self.calling.clear()
            self.answer = answer
        elif kind == DECLINED and self.calling:
            self.calling.popitem()  # it follows the note of its call
        elif kind in _RUNNING:
            self.answer = None

    def add_all(self, entries: Iterable[Entry], before: State | None) -> State | None:
        """Count the commands that follow the state `before`; return the state after them. Cost: O(replaying them)."""
        state = before
        for entry in entries:
            state = apply(state, entry.command).unwrap()
            self.add(entry.command, entry.meta, state)
        return state


# -- a transcript that a host keeps -------------------------------------------------------------------------


Transcript: TypeAlias = Iterable[str | AssistantReply | ToolResult]
"""The user's texts, the model's replies and the results of their calls, in order; no system prompt."""


@final
@attrs.frozen
class Turn:
    """A reply in a transcript.

    Attributes:
        reply: the model's reply.
        results: by call id, the results of its calls; a call that was not carried out has none.
    """

    reply: AssistantReply
    results: dict[str, str] = attrs.field(factory=dict)


def turns(transcript: Transcript) -> list[str | Turn]:
    """Return a transcript with each result at its reply; results without a call are left out.

    Cost: O(size).

    Raises:
        TypeError: a part is neither a text, nor an `AssistantReply`, nor a `ToolResult`.
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
    """Tell whether a command was caused by a reply that the transcript lacks. Cost: O(size of both)."""
    known = {part.reply.digest for part in parts if isinstance(part, Turn)}
    return any(REPLY in entry.meta and entry.meta[REPLY] not in known for entry in since)


_SAID: Final = "said "
_END: Final = "end "


def marked(parts: Sequence[str | Turn]) -> list[str]:
    """Return for each part of a transcript a mark by which it is recognized later. Cost: O(size)."""
    return [_mark(part) for part in parts]


def _mark(part: str | Turn) -> str:
    if isinstance(part, str):
        return _SAID + part
    return f"{'' if part.reply.calls else _END}{part.reply.digest}"


def begins(marks: Sequence[str], followed: Sequence[str], tally: Tally) -> int:
    """Return the place of the first part that is not recorded, or perhaps only in part. Cost: O(both lengths).

    Args:
        marks: the marks of the transcript.
        followed: the marks of the parts that this process has recorded of the last transcript.
        tally: what the journal says.
    """
    if followed and marks[: len(followed)] == followed:
        return len(followed)
    places = {
        mark.removeprefix(_END): place for place, mark in enumerate(marks) if not mark.startswith(_SAID)
    }
    for mark in reversed(followed):  # the host has shortened or rewritten the parts before it
        if mark.removeprefix(_END) in places:
            return places[mark.removeprefix(_END)] + 1
    if tally.reply in places:  # the process that recorded this reply may have died before its last call
        return places[tally.reply]
    return max([places[known] + 1 for known in tally.replies if known in places], default=0)


def goes_on(text: str, followed: Sequence[str], state: State) -> bool:
    """Tell whether a transcript's first text repeats the task or an instruction in force: it continues a broken run."""
    shown = view(state)
    ended = bool(followed) and followed[-1].startswith(_END)
    return not ended and text in (shown.task, *shown.instructions)

"""`Cursor`: reads the log of a run in order; behind its end it asks the driver and appends the answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutine
from typing import Any, Final, final

import attrs

from mage.agent.log import (
    BadRunLog,
    RunDiverged,
    RunNote,
    decode,
    decode_answer,
    decode_failure,
    encode_answer,
    encode_failure,
    encoded,
    require_sound,
)
from mage.effects import (
    Decision,
    EffectError,
    JudgeRequest,
    Metered,
    NotRestored,
    Observed,
    Restored,
    Verdict,
    metered,
)
from mage.effects.questions import Ask
from mage.engine import Compress, Digest, Failed, Passed, Revise, State
from mage.engine.errors import MageError
from mage.engine.journal import Operation
from mage.engine.nodes import FAULTS
from mage.memory.journal import RUN
from mage.memory.requests import AgentEvent, Request
from mage.session import Entry

# -- the asks of a replay to its driver (mage.agent.agent) -----------------------------------------------------


@final
@attrs.frozen
class Perform(Ask[object]):
    """Send a request to the model, the judge, the summarizer or the environment, and wait for the answer."""

    request: Request


@final
@attrs.frozen
class JudgeLater(Ask[None]):
    """Send a request to the judge, and do not wait for the verdict."""

    request: JudgeRequest


@final
@attrs.frozen
class VerdictOf(Ask[Metered[Verdict] | Verdict | None]):
    """Return the judge's answer to a request; None where the judge has not answered yet and `wait` is False."""

    digest: Digest
    wait: bool


@final
@attrs.frozen
class AppendNote(Ask[bool]):
    """Append a note, durably. Answered by whether unseen commands of other writers stand before it."""

    kind: str
    data: Mapping[str, object]


@final
@attrs.frozen
class Commit(Ask[int]):
    """Give a command to the session, durably. Answered by its version. Raises `Conflict` if others came first."""

    command: Operation
    meta: Mapping[str, object]


@final
@attrs.frozen
class Found:
    """The changes of a session since a version.

    Attributes:
        entries: the commands of all writers after that version.
        state: the state at that version, if texts were redacted since; else None.
    """

    entries: tuple[Entry, ...] = ()
    state: State | None = None


@final
@attrs.frozen
class Refresh(Ask[Found]):
    """Return the changes after a version. Raises `Conflict` where the name belongs to another journal now."""

    after: int


@final
@attrs.frozen
class TellHooks(Ask[None]):
    """Call the hooks with an event."""

    event: AgentEvent


# -- answers -----------------------------------------------------------------------------------------------------

_ANSWERS: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = {
    "decided": ("the model", (Decision,)),
    "judged": ("the judge", (Passed, Failed)),
    "verdict": ("the judge", (Passed, Failed)),
    "summarized": ("the summarizer", (str,)),
    "chapter": ("the summarizer", (str,)),
    "started": ("the environment", (Observed,)),
    "act_failed": ("the environment", (Observed,)),
    "restored": ("the environment", (Restored, NotRestored)),
}


@final
@attrs.define
class BadAnswer(MageError, TypeError):
    """A model, judge, summarizer or environment answered with a value of the wrong type. The answer was not recorded.

    Attributes:
        kind: the kind of the note that would have recorded the answer.
        found: the name of the type of the answer.
    """

    kind: str
    found: str

    def __str__(self) -> str:
        who, wanted = _ANSWERS[self.kind]
        named = " or ".join(each.__name__ for each in wanted)
        hint = "; an `async def` belongs to AsyncAgent" if self.found == "coroutine" else ""
        return f"{who} should answer {named}, and answered {self.found}{hint}"


def expected(kind: str, answer: object) -> Any:  # Any: its type follows from `kind`
    """Return an answer, if it is of the right type.

    Raises:
        BadAnswer: the answer has another type. A coroutine is closed, as it is never awaited here.
    """
    _, types = _ANSWERS[kind]
    if isinstance(answer, types) and _is_whole(answer):
        return answer
    if iscoroutine(answer):
        answer.close()
    raise BadAnswer(kind, type(answer).__name__)


def _is_whole(answer: object) -> bool:
    """Tell whether the fields of an answer have the right types too, where its class does not check them."""
    match answer:
        case Decision(then=Compress(text)):
            return _are(text, str)
        case Decision(then=Revise(boundary, lesson)):
            return _are(boundary, int) and _are(lesson, str)
        case Failed(feedback, fault, boundary):
            return _are(feedback, str) and fault in FAULTS and (boundary is None or type(boundary) is int)
        case _:
            return True


def _are(value: object, kind: type) -> bool:
    return isinstance(value, kind)


def _as_decoded(
    kind: str,
    answer: object,
    document: Mapping[str, object],
    decoding: Callable[[str, Mapping[str, object]], object],
) -> Any:  # Any: its type follows from `kind`
    """Return a value as decoded from the log, so that a resumed run reads exactly the same value.

    Raises:
        BadAnswer: the value cannot be encoded, or not decoded again.
    """
    try:
        return decoding(kind, json.loads(encoded(document)))
    except (BadRunLog, TypeError, ValueError, RecursionError):  # the last three: JSON has no such value
        raise BadAnswer(kind, type(answer).__name__) from None


def recorded_answer(note: RunNote) -> Metered[Any]:  # Any: the type of its value follows from the kind
    """Return the answer of a note.

    Raises:
        EffectError: the note has this error instead of an answer.
    """
    failure = decode_failure(note.data)
    if failure is not None:
        raise failure
    return decode_answer(note.kind, note.data)


# -- the log, read in order ----------------------------------------------------------------------------------------


@final
class LogEnds(Exception):
    """The log has ended, and the run must not go live: raised when a run is run again offline."""


@final
class Cursor:
    """The log of a run, and the place that the program has reached in it.

    Args:
        log: notes and commands in order.
        live: False to stop where the log ends.

    Attributes:
        live: whether the run may go live where the log ends.
        others: commands of other writers before this place that the program has not read yet.
        is_behind_others: whether a note was appended behind such commands that are not in `others`.
        resumed: answers of the environment to restores of resumed runs, of which the model was not told yet.
    """

    def __init__(self, log: Sequence[RunNote | Entry], *, live: bool) -> None:
        self.live = live
        self.others: list[Entry] = []
        self.is_behind_others = False
        self.resumed: list[Restored | NotRestored] = []
        self._log = log
        self._place = 0
        self._sound = 0  # the notes before this place were checked
        notes = (place for place in range(len(log), 0, -1) if isinstance(log[place - 1], RunNote))
        self._end = next(notes, 0)

    @property
    def has_ended(self) -> bool:
        """Whether the place is behind the last note."""
        return self._place >= self._end

    @property
    def is_overtaken(self) -> bool:
        """Whether the session has commands of other writers that the program has not read."""
        return self.is_behind_others or bool(self.others)

    def peek(self) -> RunNote | Entry | None:
        """Return the next note or command of the run; None where the log has ended.

        Raises:
            BadRunLog: the next note cannot be read.
        """
        while self._place < len(self._log):
            each = self._log[self._place]
            if isinstance(each, Entry):
                if RUN in each.meta:
                    return each
                self.others.append(each)
            else:
                if self._sound <= self._place:
                    require_sound(each)
                    self._sound = self._place + 1
                if each.kind != "resumed":
                    return each
                self.resumed.append(decode("resumed", each.data))
            self._place += 1
        return None

    def is_next(self, kind: str) -> bool:
        """Tell whether the next record is a note of this kind."""
        each = self.peek()
        return isinstance(each, RunNote) and each.kind == kind

    def next(self, kind: str) -> RunNote | None:
        """Take the next record, which must be a note of this kind; None where the run goes live.

        Raises:
            RunDiverged: the next record is another one.
            LogEnds: the log has ended, and the run must not go live.
        """
        if self.goes_live(kind):
            return None
        if not self.is_next(kind):
            raise self.diverged(kind)
        return self.take()

    def take(self) -> RunNote:
        """Take the next record, which the caller knows to be a note."""
        each = self.peek()
        assert isinstance(each, RunNote)
        self._place += 1
        return each

    def next_command(self, kind: type[Operation]) -> Entry | None:
        """Take the next record if it is a command of this kind, else None. `RunDiverged` behind unread commands."""
        each = self.peek()
        if not isinstance(each, Entry) or type(each.command) is not kind:
            return None
        if self.others:  # a command is recorded directly behind the head for which the program made it
            raise self.diverged(kind.__name__)
        self._place += 1
        return each

    def goes_live(self, kind: str) -> bool:
        """Tell whether the log has ended, where the program asks for a note of this kind.

        Raises:
            LogEnds: the log has ended, and the run must not go live.
        """
        if self.peek() is not None:
            return False
        if not self.live:
            raise LogEnds(kind)
        return True

    def diverged(self, asked: str, found: str | None = None) -> RunDiverged:
        """Return the error for an ask that the next record does not answer; with `found`, that the last one did not."""
        place = min(self._place - (found is not None), len(self._log) - 1)
        each = self._log[place]
        named = each.kind if isinstance(each, RunNote) else type(each.command).__name__
        return RunDiverged(each.version, asked, found or named)

    async def append(self, kind: str, data: Mapping[str, object]) -> None:
        """Append a note at the end of the journal."""
        self.is_behind_others |= await AppendNote(kind, data)

    async def append_failure(self, kind: str, error: EffectError) -> None:
        """Append the error of a question without an answer.

        Raises:
            BadAnswer: a field of the error is of a wrong type, so a resumed run could not read the note.
        """
        document = encode_failure(error)
        _as_decoded(kind, error, document, lambda _, read: decode_failure(read))
        await self.append(kind, document)

    # Any, in both: the type of the value follows from `kind`
    async def append_answer(self, kind: str, answer: Metered[Any]) -> Metered[Any]:
        """Append an answer and return it as decoded from the log, so that a resumed run sees exactly the same value.

        Raises:
            BadAnswer: the answer is of a wrong type, or cannot be encoded and decoded again; nothing is appended.
        """
        expected(kind, answer.value)
        document = encode_answer(kind, answer)
        as_read: Metered[Any] = _as_decoded(kind, answer.value, document, decode_answer)
        await self.append(kind, document)
        return as_read

    async def answer(self, request: Request, kind: str) -> Metered[Any]:
        """Return the answer to a request: from the log, or a new one, which is appended.

        Raises:
            EffectError: the recorded or the new answer is this error.
        """
        note = self.next(kind)
        if note is not None:
            return recorded_answer(note)
        try:
            answer = await Perform(request)
        except EffectError as error:
            await self.append_failure(kind, error)
            raise
        return await self.append_answer(kind, metered(answer))

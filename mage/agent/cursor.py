"""The log of a run, read in order: what was answered; and behind its end, what is asked of the driver and appended."""

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
from mage.effects.program import Ask
from mage.engine import Compress, Digest, Failed, Passed, Revise, State
from mage.engine.errors import MageError
from mage.engine.journal import Operation
from mage.engine.nodes import FAULTS
from mage.memory.journal import RUN
from mage.memory.requests import AgentEvent, Request
from mage.session import Entry

# -- what a replay asks of its driver (mage.agent.agent) -------------------------------------------------------


@final
@attrs.frozen
class Perform(Ask[object]):
    """Put a request to the model, the judge, the summarizer or the environment, and wait."""

    request: Request


@final
@attrs.frozen
class JudgeLater(Ask[None]):
    """Put a request to the judge, and do not wait."""

    request: JudgeRequest


@final
@attrs.frozen
class VerdictOf(Ask[Metered[Verdict] | Verdict | None]):
    """Return the judge's answer to a request; None while it thinks, if `wait` is False."""

    digest: Digest
    wait: bool


@final
@attrs.frozen
class AppendNote(Ask[bool]):
    """Append a note, durably. Answered by whether commands of other writers came before it, unseen."""

    kind: str
    data: Mapping[str, object]


@final
@attrs.frozen
class Commit(Ask[int]):
    """Give a command to the session, durably. Answered by its version. Raises `Conflict` where another writer came first."""

    command: Operation
    meta: Mapping[str, object]


@final
@attrs.frozen
class Found:
    """What has changed in a session.

    Attributes:
        entries: the commands after the version that was named, of whatever writer.
        state: at that version, where texts were redacted since; else None.
    """

    entries: tuple[Entry, ...] = ()
    state: State | None = None


@final
@attrs.frozen
class Refresh(Ask[Found]):
    """Return what has changed after a version. Raises `Conflict` where another journal has the name by now."""

    after: int


@final
@attrs.frozen
class TellHooks(Ask[None]):
    """Pass an event to the hooks."""

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
    """A model, judge, summarizer or environment answered with a value of the wrong type. Nothing of it was recorded.

    Attributes:
        kind: of the note that would have recorded the answer.
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
    """Return an answer that is of the right type.

    Raises:
        BadAnswer: it is not. A coroutine is closed: an `async def` returned it, and nothing awaits it here.
    """
    _, types = _ANSWERS[kind]
    if isinstance(answer, types) and _is_whole(answer):
        return answer
    if iscoroutine(answer):
        answer.close()
    raise BadAnswer(kind, type(answer).__name__)


def _is_whole(answer: object) -> bool:
    """Tell whether the parts of an answer are of the right types too, where its class does not check them."""
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
    """Return a value as a resumed run will read it.

    Raises:
        BadAnswer: a resumed run could not read it.
    """
    try:
        return decoding(kind, json.loads(encoded(document)))
    except (BadRunLog, TypeError, ValueError, RecursionError):  # the last three: JSON has no such value
        raise BadAnswer(kind, type(answer).__name__) from None


def recorded_answer(note: RunNote) -> Metered[Any]:  # Any: what it holds follows from the kind
    """Return the answer of a note.

    Raises:
        EffectError: the note says why there was none.
    """
    failure = decode_failure(note.data)
    if failure is not None:
        raise failure
    return decode_answer(note.kind, note.data)


# -- the log, read in order ----------------------------------------------------------------------------------------


@final
class LogEnds(Exception):
    """The log has ended, and the run must not go live: raised where a run is run again offline."""


@final
class Cursor:
    """The log of a run, and the place up to which the program has come.

    Args:
        log: notes and commands in order.
        live: False to stop where the log ends.

    Attributes:
        live: whether the run may go on where the log ends.
        others: commands of other writers that were passed, and not taken yet.
        is_behind_others: whether a note was appended behind such commands that are not in `others`.
        resumed: what the environment answered whenever the run was resumed, and the model was not told of yet.
    """

    def __init__(self, log: Sequence[RunNote | Entry], *, live: bool) -> None:
        self.live = live
        self.others: list[Entry] = []
        self.is_behind_others = False
        self.resumed: list[Restored | NotRestored] = []
        self._log = log
        self._place = 0
        self._sound = 0  # up to there notes were checked
        notes = (place for place in range(len(log), 0, -1) if isinstance(log[place - 1], RunNote))
        self._end = next(notes, 0)

    @property
    def has_ended(self) -> bool:
        """Whether every note was passed."""
        return self._place >= self._end

    @property
    def is_overtaken(self) -> bool:
        """Whether the session has commands of other writers that the program has not seen."""
        return self.is_behind_others or bool(self.others)

    def peek(self) -> RunNote | Entry | None:
        """Return the next note or command of the run; None where the log has ended.

        Raises:
            BadRunLog: it cannot be read.
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
        """Tell whether the next is a note of this kind."""
        each = self.peek()
        return isinstance(each, RunNote) and each.kind == kind

    def next(self, kind: str) -> RunNote | None:
        """Take the next, which must be a note of this kind; None where the run goes live.

        Raises:
            RunDiverged: it is something else.
            LogEnds: the log has ended, and the run must not go live.
        """
        if self.goes_live(kind):
            return None
        if not self.is_next(kind):
            raise self.diverged(kind)
        return self.take()

    def take(self) -> RunNote:
        """Take the next, which is a note."""
        each = self.peek()
        assert isinstance(each, RunNote)
        self._place += 1
        return each

    def next_command(self, kind: type[Operation]) -> Entry | None:
        """Take the next, if it is a command of this kind that was given where the program stands."""
        each = self.peek()
        if not isinstance(each, Entry) or type(each.command) is not kind:
            return None
        if self.others:  # a command is recorded behind exactly the head that it was made for
            raise self.diverged(kind.__name__)
        self._place += 1
        return each

    def goes_live(self, kind: str) -> bool:
        """Tell whether the log has ended, where the program asks for a note of this kind.

        Raises:
            LogEnds: it has, and the run must not go live.
        """
        if self.peek() is not None:
            return False
        if not self.live:
            raise LogEnds(kind)
        return True

    def diverged(self, asked: str, found: str | None = None) -> RunDiverged:
        """Return the error for an ask that the next does not answer, or that the last one, `found`, did not."""
        place = min(self._place - (found is not None), len(self._log) - 1)
        each = self._log[place]
        named = each.kind if isinstance(each, RunNote) else type(each.command).__name__
        return RunDiverged(each.version, asked, found or named)

    async def append(self, kind: str, data: Mapping[str, object]) -> None:
        """Append a note, behind whatever is there."""
        self.is_behind_others |= await AppendNote(kind, data)

    async def append_failure(self, kind: str, error: EffectError) -> None:
        """Append why there is no answer.

        Raises:
            BadAnswer: a resumed run could not read it, because a part of the error is of a wrong type.
        """
        document = encode_failure(error)
        _as_decoded(kind, error, document, lambda _, read: decode_failure(read))
        await self.append(kind, document)

    # Any, in both: what an answer holds follows from `kind`
    async def append_answer(self, kind: str, answer: Metered[Any]) -> Metered[Any]:
        """Append an answer and return it as decoded from the log, so that a resumed run sees exactly the same value.

        Raises:
            BadAnswer: the answer is of a wrong type, or does not survive encoding; nothing is appended.
        """
        expected(kind, answer.value)
        document = encode_answer(kind, answer)
        as_read: Metered[Any] = _as_decoded(kind, answer.value, document, decode_answer)
        await self.append(kind, document)
        return as_read

    async def answer(self, request: Request, kind: str) -> Metered[Any]:
        """Return the answer to a request: that of the log, or a new one, which is appended.

        Raises:
            EffectError: there was none then, or is none now.
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

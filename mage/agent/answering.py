"""An answer: from the tape, or asked for and noted before anybody sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from inspect import iscoroutine
from typing import Any, Final, final

from mage.agent.performing import Perform
from mage.agent.reel import Reel
from mage.agent.spelling import failure_document, failure_of, metered_document, metered_of
from mage.agent.tape import BadTape, TapeEntry, encoded
from mage.effects import Decision, EffectError, Metered, NotRestored, Observed, Restored, metered
from mage.engine import Compress, Failed, Passed, Revise
from mage.engine.errors import MageError
from mage.engine.nodes import FAULTS
from mage.memory.requests import Request

__all__ = ["BadAnswer", "answered", "expected", "failed", "played", "told"]

_ANSWERS: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = {
    "decided": ("the model", (Decision,)),
    "judged": ("the judge", (Passed, Failed)),
    "verdict": ("the judge", (Passed, Failed)),
    "summarized": ("the summarizer", (str,)),
    "started": ("the environment", (Observed,)),
    "act_failed": ("the environment", (Observed,)),
    "restored": ("the environment", (Restored, NotRestored)),
}


@final
class BadAnswer(MageError, TypeError):
    """Somebody answered something else than what was asked for. Nothing was recorded of it.

    Attributes:
        kind: of the entry that the answer would have been on the tape.
        found: the name of the type of the answer.
    """

    def __init__(self, kind: str, found: str) -> None:
        self.kind = kind
        self.found = found
        super().__init__(kind, found)

    def __str__(self) -> str:
        who, wanted = _ANSWERS[self.kind]
        named = " or ".join(each.__name__ for each in wanted)
        hint = "; an `async def` belongs to AsyncAgent" if self.found == "coroutine" else ""
        return f"{who} should answer {named}, and answered {self.found}{hint}"


async def answered(reel: Reel, request: Request, kind: str) -> Metered[Any]:
    """Return the answer to a request, which the tape holds as an entry of this kind.

    Raises:
        EffectError: there was none then, or is none now.
    """
    entry = reel.next(kind)
    if entry is not None:
        return played(kind, entry)
    try:
        answer = await Perform(request)
    except EffectError as error:
        await failed(reel, kind, error)
        raise
    return await told(reel, kind, metered(answer))


def played(kind: str, entry: TapeEntry) -> Metered[Any]:
    """Return the answer of an entry, or raise why there is none."""
    failure = failure_of(entry.data)
    if failure is not None:
        raise failure
    return metered_of(kind, entry.data)


async def told(reel: Reel, kind: str, answer: Metered[Any]) -> Metered[Any]:
    """Note an answer, and return it as a resumed run will read it; what cannot be read again is not noted.

    Raises:
        BadAnswer: it is not what was asked for.
    """
    expected(kind, answer.value)
    document = metered_document(kind, answer)
    as_read: Metered[Any] = _read_again(kind, answer.value, document, metered_of)
    await reel.note(kind, document)
    return as_read


def _read_again(
    kind: str,
    answer: object,
    document: Mapping[str, Any],
    reading: Callable[[str, Mapping[str, Any]], object],
) -> Any:  # Any: its type follows from `kind`
    """Return what a resumed run will read where this document is noted.

    Raises:
        BadAnswer: it could not read it.
    """
    try:
        return reading(kind, json.loads(encoded(document)))
    except (BadTape, TypeError, ValueError, RecursionError):  # the last three: JSON has no such value
        raise BadAnswer(kind, type(answer).__name__) from None


def expected(kind: str, answer: object) -> Any:  # Any: its type follows from `kind`
    """Return an answer that is of the type that was asked for.

    Raises:
        BadAnswer: it is not. A coroutine is closed: it came from an `async def` that nobody awaits here.
    """
    _, types = _ANSWERS[kind]
    if isinstance(answer, types) and _is_whole(answer):
        return answer
    if iscoroutine(answer):
        answer.close()
    raise BadAnswer(kind, type(answer).__name__)


def _is_whole(answer: object) -> bool:
    """Tell whether what is inside is of the right type too, where its class does not look."""
    match answer:
        case Decision(then=Compress(text)):
            return _are(text, str)
        case Decision(then=Revise(boundary, lesson)):
            return _are(boundary, int) and _are(lesson, str)
        case Failed(feedback, fault):
            return _are(feedback, str) and fault in FAULTS
        case _:
            return True


def _are(value: object, kind: type) -> bool:
    return isinstance(value, kind)


async def failed(reel: Reel, kind: str, error: EffectError) -> None:
    """Note why there is no answer.

    Raises:
        BadAnswer: nobody could read that again, because what it says is of a wrong type.
    """
    document = failure_document(error)
    _read_again(kind, error, document, lambda _, read: failure_of(read))
    await reel.note(kind, document)

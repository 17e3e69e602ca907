"""An answer: from the tape, or asked for and noted before anybody sees it."""

from __future__ import annotations

import json
from typing import Any

from mage.agent.asks import Request
from mage.agent.performing import Perform
from mage.agent.reel import Reel
from mage.agent.spelling import failure_document, failure_of, metered_document, metered_of
from mage.agent.tape import TapeEntry, encoded
from mage.effects import EffectError, Metered, metered
from mage.session.asks import Program, ask

__all__ = ["answered", "failed", "played", "told"]


def answered(reel: Reel, request: Request, kind: str) -> Program[Metered[Any]]:
    """Return the answer to a request, which the tape holds as an entry of this kind.

    Raises:
        EffectError: there was none then, or is none now.
    """
    entry = reel.next(kind)
    if entry is not None:
        return played(kind, entry)
    try:
        answer = yield from ask(Perform(request))
    except EffectError as error:
        yield from failed(reel, kind, error)
        raise
    return (yield from told(reel, kind, metered(answer)))


def played(kind: str, entry: TapeEntry) -> Metered[Any]:
    """Return the answer of an entry, or raise why there is none."""
    failure = failure_of(entry.data)
    if failure is not None:
        raise failure
    return metered_of(kind, entry.data)


def told(reel: Reel, kind: str, answer: Metered[Any]) -> Program[Metered[Any]]:
    """Note an answer, and return it as a resumed run will read it; what cannot be read again is not noted."""
    document = metered_document(kind, answer)
    as_read = metered_of(kind, json.loads(encoded(document)))
    yield from reel.note(kind, document)
    return as_read


def failed(reel: Reel, kind: str, error: EffectError) -> Program[None]:
    """Note why there is no answer."""
    yield from reel.note(kind, failure_document(error))

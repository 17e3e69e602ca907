"""How long one call may take, and how large its reply may be: bounds on the whole, whatever a server does.

A timeout of a single read bounds no reply: a server that sends a byte now and then keeps a reader for ever. So
a call has a deadline, which counts all of it: every connection, header, body and repetition. It is looked at
before each operation on a socket (`mage.llm.wire`), whose own timeout is never longer than what is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, final

import attrs
import httpcore2
import openai

from mage.effects import EffectError

__all__ = ["Bounds", "GaveUp", "begun", "calling", "left", "within"]


@final
class GaveUp(openai.OpenAIError):
    """A call is given up, whatever the client would still try; the SDK passes its own errors on as they are.

    Attributes:
        error: what it comes to.
    """

    def __init__(self, error: EffectError) -> None:
        self.error = error
        super().__init__(str(error))


@final
@attrs.frozen
class Bounds:
    """What a reply may take.

    Attributes:
        deadline: seconds for a whole call.
        largest: bytes of one reply, when it is no longer compressed.
        clock: gives seconds, from any beginning.
    """

    deadline: float
    largest: int
    clock: Callable[[], float] = time.monotonic


@final
@attrs.define
class _Calling:
    """One call, of which the client may make several requests.

    Attributes:
        bounds: those of the client that makes it; None until it has made its first request.
        end: when it is given up.
    """

    bounds: Bounds | None = None
    end: float = 0.0


_CALLING: Final[ContextVar[_Calling | None]] = ContextVar("mage_llm_calling", default=None)


@contextmanager
def calling() -> Iterator[None]:
    """Hold what is requested within for one call with one deadline."""
    token = _CALLING.set(_Calling())
    try:
        yield
    finally:
        _CALLING.reset(token)


def begun(bounds: Bounds) -> None:
    """Let the time of the call that makes a request run; the first request of a call counts.

    Raises:
        GaveUp: it is over.
    """
    call = _CALLING.get()
    if call is not None and call.bounds is None:
        call.bounds = bounds
        call.end = bounds.clock() + bounds.deadline
    left()


def left() -> float | None:
    """Return the seconds that are left to the call; None where nobody counts.

    Raises:
        GaveUp: it is over.
    """
    call = _CALLING.get()
    if call is None or call.bounds is None:
        return None
    seconds = call.end - call.bounds.clock()
    if seconds <= 0:
        allowed = f"{call.bounds.deadline:g} s"
        raise GaveUp(EffectError("timeout", f"the reply was not whole within {allowed}, and was given up"))
    return seconds


@contextmanager
def within(timeout: float | None) -> Iterator[float | None]:
    """Give the timeout of one operation: what is asked for, but no more than what is left.

    Raises:
        GaveUp: nothing is left, before it or when it has timed out.
    """
    rest = left()
    try:
        yield timeout if rest is None else rest if timeout is None else min(timeout, rest)
    except httpcore2.TimeoutException:
        left()
        raise

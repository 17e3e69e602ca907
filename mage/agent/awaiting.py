"""What an `AsyncAgent` is given to be awaited, and what it makes of one who cancels itself."""

from __future__ import annotations

from asyncio import CancelledError, current_task
from collections.abc import Awaitable
from inspect import isawaitable
from typing import TypeVar, final

from mage.effects import EffectError
from mage.engine.errors import MageError

__all__ = ["NotAwaitable", "answer_of", "awaitable"]

Answer = TypeVar("Answer")


@final
class NotAwaitable(MageError, TypeError):
    """An `AsyncAgent` was given somebody who is called and not awaited. Nothing was recorded of the answer.

    Attributes:
        who: in words.
        found: the name of the type of the answer.
    """

    def __init__(self, who: str, found: str) -> None:
        self.who = who
        self.found = found
        super().__init__(who, found)

    def __str__(self) -> str:
        return (
            f"the {self.who} of an AsyncAgent is awaited, but this one returned a {self.found}:"
            " make it an `async def`, or use Agent"
        )


def awaitable(who: str, answer: Awaitable[Answer]) -> Awaitable[Answer]:
    """Return what somebody gave to be awaited.

    Raises:
        NotAwaitable: it is no awaitable, because the plain twin was given.
    """
    if not isawaitable(answer):
        raise NotAwaitable(who, type(answer).__name__)
    return answer


async def answer_of(who: str, answer: Awaitable[Answer]) -> Answer:
    """Await an answer to a question, which changes nothing and may be asked again.

    Raises:
        EffectError: it was cancelled by itself. A run that nobody has cancelled must not look as if somebody had.
        NotAwaitable: it is no awaitable.
    """
    try:
        return await awaitable(who, answer)
    except CancelledError as error:
        task = current_task()
        if task is None or task.cancelling():  # the run is cancelled, and with it what it waits for
            raise
        raise EffectError("dropped", f"the {who} was cancelled, and the run was not") from error

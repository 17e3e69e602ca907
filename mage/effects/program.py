"""Programs: coroutines that ask, and two drivers that answer, one by calling and one by awaiting.

A *program* performs nothing. It awaits asks, which are frozen values, and the driver sends it their answers; so one
program serves a class and its awaitable twin, and a test reads as a script of asks and answers. A program may await
only asks. A forgotten `await` is an error of mypy (`unused-awaitable`, `unused-coroutine`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, TypeAlias, TypeVar

import attrs

from mage.engine.errors import MageError

Answer = TypeVar("Answer")


@attrs.frozen
class Ask(Generic[Answer]):
    """A request of a program to its driver; awaiting an ask returns its `Answer`."""

    def __await__(self) -> Generator[Ask[Any], Any, Answer]:
        """Hand the ask to the driver, and return the answer that it sends."""
        answer: Answer = yield self
        return answer


Program: TypeAlias = Coroutine[Ask[Any], Any, Answer]
"""A coroutine that awaits asks and returns an `Answer`. `Any`, because each ask has an answer of its own type."""


def drive(program: Program[Answer], answering: Callable[[Any], object]) -> Answer:
    """Run a program to its end, each ask answered by a call.

    `answering` takes the asks of this program, which have several types; hence `Any`.
    A `MageError` of `answering` is thrown into the program; any other exception is raised from here, and the program
    is closed. A `StopIteration` becomes the cause of a `RuntimeError`, as in `asyncio`.
    """
    try:
        asked = program.send(None)
        while True:
            try:
                got = answering(asked)
            except MageError as error:
                asked = program.throw(error)
            except StopIteration as error:  # raised by `answering`: not the end of the program
                raise RuntimeError("what a program asked for raised StopIteration") from error
            else:
                asked = program.send(got)
    except StopIteration as stop:
        result: Answer = stop.value
        return result
    finally:
        program.close()


async def drive_awaited(program: Program[Answer], answering: Callable[[Any], Awaitable[object]]) -> Answer:
    """Run a program to its end, each ask answered by an await. See `drive`."""
    try:
        asked = program.send(None)
        while True:
            try:
                got = await answering(asked)
            except MageError as error:
                asked = program.throw(error)
            else:
                asked = program.send(got)
    except StopIteration as stop:
        result: Answer = stop.value
        return result
    finally:
        program.close()

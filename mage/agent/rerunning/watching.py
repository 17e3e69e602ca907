"""A program that is watched: what it asks and what it is answered is told, and nothing is changed."""

from __future__ import annotations

from typing import Any, Protocol, cast

from mage.effects import EffectError
from mage.effects.program import Ask, Program
from mage.memory.outcomes import Outcome
from mage.memory.requests import Overtaken

__all__ = ["Watcher", "watched"]


class Watcher(Protocol):
    """Hears what a program of the agent asks."""

    def asks(self, asked: Ask[Any], /) -> None:
        """Hear what is asked, before it is answered."""
        ...

    def answered(self, asked: Ask[Any], answer: object, /) -> None:
        """Hear the answer: a value, or the `EffectError` or `Overtaken` that was raised in its place."""
        ...


async def watched(program: Program[Outcome], watcher: Watcher) -> Outcome:
    """Pass on what a program asks, and tell a watcher."""
    try:
        asked = program.send(None)
        while True:
            watcher.asks(asked)
            try:
                answer = await asked
            except (EffectError, Overtaken) as error:
                watcher.answered(asked, error)
                asked = program.throw(error)
            else:
                watcher.answered(asked, answer)
                asked = program.send(answer)
    except StopIteration as stop:
        return cast("Outcome", stop.value)
    finally:
        program.close()

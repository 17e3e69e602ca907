"""What the program that restores a world asks of its environment, and who answers: a call, or an await."""

from __future__ import annotations

from inspect import iscoroutine
from typing import Any, cast, final

import attrs

from mage.agent.environment import (
    AsyncEnvironment,
    AsyncSnapshots,
    BadEnvironment,
    Environment,
    Snapshots,
    has_snapshots,
)
from mage.effects import Observed
from mage.effects.program import Ask
from mage.memory.guards import awaitable

__all__ = ["Perform", "PutBack", "Reset", "TakeSnapshot", "answer", "answer_awaited"]


@final
@attrs.frozen
class Reset(Ask[Observed]):
    """Be as at the start of the task."""


@final
@attrs.frozen
class Perform(Ask[Observed]):
    """Perform an action, new or again, or the inverse of one."""

    action: str


@final
@attrs.frozen
class TakeSnapshot(Ask[object]):
    """What is the world now?"""


@final
@attrs.frozen
class PutBack(Ask[None]):
    """Become what the world was when this snapshot was taken."""

    snapshot: object


def answer(environment: Environment, asked: Ask[Any]) -> object:
    """Answer what is asked of an environment."""
    match asked:
        case Reset():
            return _observed(environment.reset(), "reset")
        case Perform(action):
            return _observed(environment.act(action), "act")
        case TakeSnapshot() if has_snapshots(environment):
            return cast("Snapshots", environment).snapshot()
        case PutBack(snapshot) if has_snapshots(environment):
            cast("Snapshots", environment).restore(snapshot)
            return None
        case _:
            raise TypeError(f"this environment answers no {type(asked).__name__}")


async def answer_awaited(environment: AsyncEnvironment, asked: Ask[Any]) -> object:
    """Answer what is asked of an environment, awaiting it."""
    match asked:
        case Reset():
            return _observed(await awaitable("world's reset", environment.reset()), "reset")
        case Perform(action):
            return _observed(await awaitable("world's act", environment.act(action)), "act")
        case TakeSnapshot() if has_snapshots(environment):
            return await awaitable("world's snapshot", cast("AsyncSnapshots", environment).snapshot())
        case PutBack(snapshot) if has_snapshots(environment):
            await awaitable("world's restore", cast("AsyncSnapshots", environment).restore(snapshot))
            return None
        case _:
            raise TypeError(f"this environment answers no {type(asked).__name__}")


def _observed(given: object, by: str) -> Observed:
    if isinstance(given, str):
        return Observed(given)
    if isinstance(given, Observed):
        return given
    hint = "return a str, or an Observed"
    if iscoroutine(given):
        given.close()  # of an `async def` that nobody awaits here
        hint = "an `async def` belongs to AsyncAgent"
    raise BadEnvironment(f"{by} returned a {type(given).__name__}; {hint}")

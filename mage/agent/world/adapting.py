"""A world made of an environment: what the agent asks, answered by what users implement (D14)."""

from __future__ import annotations

from typing import Final, final

from mage.agent.environment import (
    RESTORINGS,
    AsyncEnvironment,
    BadEnvironment,
    Environment,
    foreseen,
    has_snapshots,
)
from mage.agent.world.asks import answer, answer_awaited
from mage.agent.world.program import Restorer
from mage.effects import Act, Begin, NotRestored, Observed, Restore, Restored, WorldEffect
from mage.effects.program import Ask, drive, drive_awaited

__all__ = ["KEEP", "AsyncEnvironmentWorld", "EnvironmentWorld"]

KEEP: Final = 64
"""How many snapshots a world keeps, if nobody says otherwise."""


@final
class EnvironmentWorld:
    """A `World` over an `Environment`. For one run at a time.

    `restore` does nothing where nothing that had an effect was done since. Else it takes the deepest kept
    snapshot on the path, or a reset, and performs what is missing of the path again; each observation that
    comes back differently is reported as a `Divergence`, by every answer that still rests on it. A world that
    knows neither is undone by the inverses of the plan, all or none. What cannot be done is `NotRestored`, and
    stays so until the world begins again.

    Args:
        environment: the world, as users implement it.
        keep: how many snapshots are kept in memory; one is taken before each action of a world restored so.

    Raises:
        BadEnvironment: it is a class, lacks `reset` or `act`, or says `restoring = "snapshot"` and has no snapshots, or
            something unknown.
    """

    def __init__(self, environment: Environment, *, keep: int = KEEP) -> None:
        _check(environment)
        self._environment = environment
        self._restorer = Restorer(environment.restoring, keep, self.foresees)

    @property
    def environment(self) -> Environment:
        """What it was made of."""
        return self._environment

    @property
    def repeatable(self) -> bool:
        """Whether the world of any path can be brought back."""
        return self._environment.restoring != "none"

    def foresees(self, action: str) -> WorldEffect | None:
        """Return what an action would do, None where nobody knows (`mage.agent.environment.Foresees`).

        Raises:
            BadEnvironment: the environment says something else.
        """
        return foreseen(self._environment, action)

    def begin(self, _request: Begin, /) -> Observed:
        """Reset the environment, and return what it shows."""
        return drive(self._restorer.begin(), self._answer)

    def act(self, request: Act, /) -> Observed:
        """Perform an action. Cost: the environment's, and a snapshot where it has them."""
        return drive(self._restorer.act(request.action), self._answer)

    def restore(self, request: Restore, /) -> Restored | NotRestored:
        """Become what the world was. Cost: O(contents of the path), and as many actions as are missing."""
        return drive(self._restorer.restore(request), self._answer)

    def _answer(self, asked: Ask[object]) -> object:
        return answer(self._environment, asked)


@final
class AsyncEnvironmentWorld:
    """An `AsyncWorld` over an `AsyncEnvironment`. See `EnvironmentWorld`."""

    def __init__(self, environment: AsyncEnvironment, *, keep: int = KEEP) -> None:
        _check(environment)
        self._environment = environment
        self._restorer = Restorer(environment.restoring, keep, self.foresees)

    @property
    def environment(self) -> AsyncEnvironment:
        """What it was made of."""
        return self._environment

    @property
    def repeatable(self) -> bool:
        """Whether the world of any path can be brought back."""
        return self._environment.restoring != "none"

    def foresees(self, action: str) -> WorldEffect | None:
        """Return what an action would do, None where nobody knows (`mage.agent.environment.Foresees`).

        Raises:
            BadEnvironment: the environment says something else.
        """
        return foreseen(self._environment, action)

    async def begin(self, _request: Begin, /) -> Observed:
        """See `EnvironmentWorld.begin`."""
        return await drive_awaited(self._restorer.begin(), self._answer)

    async def act(self, request: Act, /) -> Observed:
        """See `EnvironmentWorld.act`."""
        return await drive_awaited(self._restorer.act(request.action), self._answer)

    async def restore(self, request: Restore, /) -> Restored | NotRestored:
        """See `EnvironmentWorld.restore`."""
        return await drive_awaited(self._restorer.restore(request), self._answer)

    async def _answer(self, asked: Ask[object]) -> object:
        return await answer_awaited(self._environment, asked)


def _check(environment: Environment | AsyncEnvironment) -> None:
    if isinstance(environment, type):
        made = environment.__name__
        raise BadEnvironment(f"the world is the class {made}, and must be one of its objects: {made}(...)")
    name, restoring = type(environment).__name__, getattr(environment, "restoring", None)
    lacking = [each for each in ("reset", "act") if not callable(getattr(environment, each, None))]
    if lacking:
        raise BadEnvironment(f"{name} is no environment: it lacks `{'` and `'.join(lacking)}`")
    if restoring is None:
        raise BadEnvironment(
            f'{name} does not say how it is restored: give it `restoring = "replay"`, if after `reset` the same'
            f" actions do the same; else one of {', '.join(RESTORINGS)}"
        )
    if restoring not in RESTORINGS:
        raise BadEnvironment(f"{name}.restoring is {restoring!r}; it must be one of {', '.join(RESTORINGS)}")
    if restoring == "snapshot" and not has_snapshots(environment):
        raise BadEnvironment(f"{name} is restored by snapshots, but lacks `snapshot` or `restore`")

"""Models, worlds, judges and summarizers from a script, and recordings of real ones, for tests of what asks them.

    model = ScriptedModel(Decision.act("look"), TimeoutError(), Decision.finish("done"))
    world = ScriptedWorld("a lamp", opening="a dark room")
    judge = ScriptedJudge(Passed(), Failed("the chair does not fit"))
    Agent(model=model, world=world, judge=judge).run("memory:", "test", task="Buy a chair")
    assert [request.shown.raw for request in model.asked] == [...]

What awaits takes `model.awaited`, `world.awaited`. What was recorded once can be a script: `Scripted(*recording.answers)`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Generic, TypeAlias, TypeVar, cast, final

from mage.effects import (
    Act,
    AsyncWorld,
    Begin,
    Decide,
    Decision,
    Foresight,
    Metered,
    NotRestored,
    Observed,
    Restore,
    Restored,
    SummaryRequest,
    World,
    WorldEffect,
    foresight_of,
)
from mage.engine import JudgeRequest, Verdict

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@final
class ScriptEnded(AssertionError):
    """More was asked than the script answers."""


@final
class Scripted(Generic[Request, Answer]):
    """Gives the answers of a script in order, and remembers what it was asked. An exception in it is raised.

    Attributes:
        asked: every request so far, the one that found the script at its end included.
    """

    def __init__(self, *answers: Answer | Exception) -> None:
        self.asked: list[Request] = []
        self._answers = list(answers)

    @property
    def left(self) -> int:
        """How many answers were not asked for."""
        return len(self._answers)

    def __call__(self, request: Request, /) -> Answer:
        """Return the next answer, or raise it.

        Raises:
            ScriptEnded: there is none.
        """
        self.asked.append(request)
        if not self._answers:
            raise ScriptEnded(f"asked {len(self.asked)} times, more than the script answers")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def awaited(self, request: Request, /) -> Answer:
        """Return the next answer, or raise it, where an awaitable twin is wanted."""
        return self(request)


ScriptedJudge: TypeAlias = Scripted[JudgeRequest, Verdict]
ScriptedSummarizer: TypeAlias = Scripted[SummaryRequest, str]
ScriptedModel: TypeAlias = Scripted[Decide, Decision | Metered[Decision]]
_Restoring: TypeAlias = Restored | NotRestored


@final
class ScriptedWorld:
    """A `World` from a script: each action is answered by the next observation, whatever it is.

    Attributes:
        asked: every request so far, in order.
        repeatable: whether it says that it can always be brought back.
        foresees: what it says beforehand that an action would do.

    Args:
        observations: of the actions, in order; an exception in it is raised.
        opening: what it shows first.
        restored: what each restoring comes to, in order; when these are used up, `Restored("replay")`.
        repeatable: see above.
        foreseen: by action, what it says beforehand; of all others nothing.
    """

    def __init__(
        self,
        *observations: Observed | str | Exception,
        opening: Observed | str = "",
        restored: Iterable[_Restoring | Exception] = (),
        repeatable: bool = True,
        foreseen: Mapping[str, WorldEffect] | None = None,
    ) -> None:
        self.asked: list[Begin | Act | Restore] = []
        self.repeatable = repeatable
        self.foresees: Foresight = dict(foreseen or {}).get
        self._opening = _observed(opening)
        self._observations: Scripted[Act, Observed | str] = Scripted(*observations)
        self._restored: Scripted[Restore, _Restoring] = Scripted(*restored)

    @property
    def left(self) -> int:
        """How many observations were not asked for."""
        return self._observations.left

    @property
    def actions(self) -> list[str]:
        """The actions that were asked for, in order."""
        return [request.action for request in self._observations.asked]

    @property
    def awaited(self) -> AsyncWorld:
        """The same script, where a world is awaited."""
        return _AwaitedWorld(self)

    def begin(self, request: Begin, /) -> Observed:
        """Return the opening."""
        self.asked.append(request)
        return self._opening

    def act(self, request: Act, /) -> Observed:
        """Return the next observation, or raise it.

        Raises:
            ScriptEnded: there is none.
        """
        self.asked.append(request)
        return _observed(self._observations(request))

    def restore(self, request: Restore, /) -> Restored | NotRestored:
        """Return what the next restoring comes to, or raise it."""
        self.asked.append(request)
        return self._restored(request) if self._restored.left else Restored("replay")


@final
class Recording(Generic[Request, Answer]):
    """Asks somebody real, and keeps what was asked and answered.

    Attributes:
        asked: every request so far, in order.
        answers: what came of each: an answer, or the exception that was raised.
    """

    def __init__(self, answering: Callable[[Request], Answer | Awaitable[Answer]]) -> None:
        self.asked: list[Request] = []
        self.answers: list[Answer | Exception] = []
        self._answering = answering

    def __call__(self, request: Request, /) -> Answer:
        """Ask, and keep the answer, or what is raised."""
        self.asked.append(request)
        with _Keeping(self.answers):
            answer = cast("Answer", self._answering(request))  # of somebody who is called
        self.answers.append(answer)
        return answer

    async def awaited(self, request: Request, /) -> Answer:
        """Ask somebody who is awaited, and keep the answer, or what is raised."""
        self.asked.append(request)
        with _Keeping(self.answers):
            answer = await cast("Awaitable[Answer]", self._answering(request))
        self.answers.append(answer)
        return answer


@final
class _Keeping(Generic[Answer]):
    """Keeps the exception that leaves it; it is raised all the same."""

    def __init__(self, answers: list[Answer | Exception]) -> None:
        self._answers = answers

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            self._answers.append(error)


@final
class RecordingWorld:
    """A `World` that asks another, and keeps what was asked and answered.

    Attributes:
        begins, acts, restores: the recordings of what was asked.
    """

    def __init__(self, world: World) -> None:
        self.begins: Recording[Begin, Observed] = Recording(world.begin)
        self.acts: Recording[Act, Observed] = Recording(world.act)
        self.restores: Recording[Restore, _Restoring] = Recording(world.restore)
        self._world = world

    @property
    def repeatable(self) -> bool:
        """What the other says."""
        return self._world.repeatable

    @property
    def foresees(self) -> Foresight:
        """What the other says beforehand."""
        return foresight_of(self._world)

    @property
    def actions(self) -> list[str]:
        """The actions that were asked for, in order."""
        return [request.action for request in self.acts.asked]

    @property
    def awaited(self) -> AsyncWorld:
        """The same, where a world is awaited."""
        return _AwaitedWorld(self)

    def begin(self, request: Begin, /) -> Observed:
        """Ask the other, and keep what comes back."""
        return self.begins(request)

    def act(self, request: Act, /) -> Observed:
        """Ask the other, and keep what comes back."""
        return self.acts(request)

    def restore(self, request: Restore, /) -> Restored | NotRestored:
        """Ask the other, and keep what comes back."""
        return self.restores(request)


@final
class _AwaitedWorld:
    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def repeatable(self) -> bool:
        return self._world.repeatable

    @property
    def foresees(self) -> Foresight:
        return foresight_of(self._world)

    async def begin(self, request: Begin, /) -> Observed:
        return self._world.begin(request)

    async def act(self, request: Act, /) -> Observed:
        return self._world.act(request)

    async def restore(self, request: Restore, /) -> Restored | NotRestored:
        return self._world.restore(request)


def _observed(given: Observed | str) -> Observed:
    return Observed(given) if isinstance(given, str) else given

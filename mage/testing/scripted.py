"""Models, environments, judges and summarizers from a script, and recordings of real ones, for tests of what asks them.

    model = ScriptedModel(Decision.act("look"), TimeoutError(), Decision.finish("done"))
    environment = ScriptedEnvironment("a lamp", opening="a dark room")
    judge = ScriptedJudge(Passed(), Failed("the chair does not fit"))
    Agent(model=model, environment=environment, judge=judge).run("memory:", "test", task="Buy a chair")
    assert [request.shown.raw for request in model.asked] == [...]

What awaits takes `model.awaited`, `environment.awaited`. What was recorded once can be a script: `Scripted(*recording.answers)`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar, cast, final

from mage.effects import (
    RESET,
    ActionEffect,
    AsyncEnvironment,
    Capabilities,
    CustomRestore,
    Decide,
    Decision,
    Environment,
    Metered,
    NotRestored,
    Observed,
    Restore,
    Restored,
    SummaryRequest,
    Tool,
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


@final
class ScriptedEnvironment:
    """An `Environment` from a script: each action is answered by the next observation, whatever it is.

    Attributes:
        asked: every request so far, in order: `RESET` for a reset, an action as its text, a `Restore`.
        capabilities: see the arguments.

    Args:
        observations: of the actions, in order; an exception in it is raised.
        opening: what it shows first.
        restored: what each restoring comes to, in order; when these are used up, `Restored("replay")`.
        repeatable: whether it says that it can always be brought back.
        foreseen: by action, what it says beforehand; of all others nothing.
        tools: its tools.
        manual: its manual.
    """

    def __init__(
        self,
        *observations: Observed | str | Exception,
        opening: Observed | str = "",
        restored: Iterable[Restored | NotRestored | Exception] = (),
        repeatable: bool = True,
        foreseen: Mapping[str, ActionEffect] | None = None,
        tools: Iterable[Tool] = (),
        manual: str = "",
    ) -> None:
        self.asked: list[str | Restore] = []
        self.capabilities = Capabilities(
            CustomRestore(self._restore, repeatable),
            foresees=dict(foreseen or {}).get,
            tools=tools,
            manual=manual,
        )
        self._opening = opening
        self._observations: Scripted[str, Observed | str] = Scripted(*observations)
        self._restored: Scripted[Restore, Restored | NotRestored] = Scripted(*restored)

    @property
    def left(self) -> int:
        """How many observations were not asked for."""
        return self._observations.left

    @property
    def actions(self) -> list[str]:
        """The actions that were asked for, in order."""
        return self._observations.asked

    @property
    def awaited(self) -> AsyncEnvironment:
        """The same script, where an environment is awaited."""
        return AwaitedEnvironment(self)

    def reset(self) -> Observed | str:
        """Return the opening."""
        self.asked.append(RESET)
        return self._opening

    def act(self, action: str, /) -> Observed | str:
        """Return the next observation, or raise it.

        Raises:
            ScriptEnded: there is none.
        """
        self.asked.append(action)
        return self._observations(action)

    def _restore(self, request: Restore, /) -> Restored | NotRestored:
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
class RecordingEnvironment:
    """An `Environment` that asks another, and keeps what was asked and answered.

    Attributes:
        resets, acts, restores: the recordings of what was asked; of restores those by `CustomRestore`, or what was
            put back of `Snapshots`.
        capabilities: those of the other.
    """

    def __init__(self, environment: Environment) -> None:
        self.resets: Recording[str, Observed | str] = Recording(lambda _reset: environment.reset())
        self.acts: Recording[str, Observed | str] = Recording(environment.act)
        self.restores: Recording[Any, Any] = Recording(lambda _request: None)  # Any: see `Snapshots.put_back`
        self.capabilities = environment.capabilities.around(self._recorded)

    def _recorded(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        if name not in ("restore", "put_back"):
            return operation
        self.restores = Recording(operation)
        return self.restores

    @property
    def actions(self) -> list[str]:
        """The actions that were asked for, in order."""
        return self.acts.asked

    @property
    def awaited(self) -> AsyncEnvironment:
        """The same, where an environment is awaited."""
        return AwaitedEnvironment(self)

    def reset(self) -> Observed | str:
        """Ask the other, and keep what comes back."""
        return self.resets(RESET)

    def act(self, action: str, /) -> Observed | str:
        """Ask the other, and keep what comes back."""
        return self.acts(action)


@final
class AwaitedEnvironment:
    """An `Environment` as an `AsyncEnvironment` that never really waits."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.capabilities = environment.capabilities.around(_awaited)

    async def reset(self) -> Observed | str:
        """See `Environment`."""
        return self._environment.reset()

    async def act(self, action: str, /) -> Observed | str:
        """See `Environment`."""
        return self._environment.act(action)


def _awaited(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    async def awaited(*given: object) -> object:
        return operation(*given)

    return operation if name == "foresees" else awaited

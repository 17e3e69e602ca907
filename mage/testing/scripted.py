"""Scripted models, environments, judges and summarizers, and recordings of real ones, for tests of programs that ask them.

    model = ScriptedModel(Decision.act("look"), TimeoutError(), Decision.finish("done"))
    environment = ScriptedEnvironment("a lamp", opening="a dark room")
    judge = ScriptedJudge(Passed(), Failed("the chair does not fit"))
    Agent(model=model, environment=environment, judge=judge).run("memory:", "test", task="Buy a chair")
    assert [request.shown.raw for request in model.asked] == [...]

Code that awaits takes `model.awaited`, `environment.awaited`. A recording can be a script: `Scripted(*recording.answers)`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeAlias, TypeVar, cast, final

from mage.effects import (
    RESET,
    ActionEffect,
    AsyncEnvironment,
    Capabilities,
    ChapterRequest,
    CustomRestore,
    Decide,
    Decision,
    Environment,
    FoldRequest,
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
    """A request came after the last answer of the script."""


@final
class Scripted(Generic[Request, Answer]):
    """Returns the answers of a script in order, and keeps the requests. An exception in the script is raised.

    Attributes:
        asked: every request so far, also one for which no answer was left.
    """

    def __init__(self, *answers: Answer | Exception) -> None:
        self.asked: list[Request] = []
        self._answers = list(answers)

    @property
    def left(self) -> int:
        """The number of answers that are left."""
        return len(self._answers)

    def __call__(self, request: Request, /) -> Answer:
        """Return the next answer, or raise it.

        Raises:
            ScriptEnded: no answer is left.
        """
        self.asked.append(request)
        if not self._answers:
            raise ScriptEnded(f"asked {len(self.asked)} times, more than the script answers")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def awaited(self, request: Request, /) -> Answer:
        """Return the next answer, or raise it; for code that awaits."""
        return self(request)


ScriptedJudge: TypeAlias = Scripted[JudgeRequest | FoldRequest, Verdict]
ScriptedSummarizer: TypeAlias = Scripted[SummaryRequest | ChapterRequest, str]
ScriptedModel: TypeAlias = Scripted[Decide, Decision | Metered[Decision]]


@final
class ScriptedEnvironment:
    """An `Environment` from a script: any action returns the next observation.

    Attributes:
        asked: every request so far, in order: `RESET`, the text of an action, or a `Restore`.
        capabilities: see the arguments.

    Args:
        observations: those of the actions, in order; an exception among them is raised.
        opening: the first observation.
        restored: the results of restoring, in order; after the last, `Restored("replay")`.
        repeatable: whether the environment says that it can go to the end of any path.
        foreseen: the foreseen effects, by action.
        tools: the tools.
        manual: the manual.
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
        """The number of observations that are left."""
        return self._observations.left

    @property
    def actions(self) -> list[str]:
        """The actions that were asked for, in order."""
        return self._observations.asked

    @property
    def awaited(self) -> AsyncEnvironment:
        """The same script as an `AsyncEnvironment`."""
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
    """Calls a function, and keeps the requests and answers.

    Attributes:
        asked: every request so far, in order.
        answers: the answer to each, or the exception that was raised.
    """

    def __init__(self, answering: Callable[[Request], Answer | Awaitable[Answer]]) -> None:
        self.asked: list[Request] = []
        self.answers: list[Answer | Exception] = []
        self._answering = answering

    def __call__(self, request: Request, /) -> Answer:
        """Call the function, and keep its answer or exception."""
        with self._kept(request):
            answer = cast("Answer", self._answering(request))
            self.answers.append(answer)
        return answer

    async def awaited(self, request: Request, /) -> Answer:
        """Await the function, and keep its answer or exception."""
        with self._kept(request):
            answer = await cast("Awaitable[Answer]", self._answering(request))
            self.answers.append(answer)
        return answer

    @contextmanager
    def _kept(self, request: Request) -> Iterator[None]:
        self.asked.append(request)
        try:
            yield
        except Exception as error:  # from a user's code: it is kept, and raised again
            self.answers.append(error)
            raise


@final
class RecordingEnvironment:
    """An `Environment` around a real one, which keeps requests and answers.

    Attributes:
        resets, acts, restores: the recordings, by operation; those in `restores` are calls of a `CustomRestore` or of
            `Snapshots.put_back`.
        capabilities: those of the real environment.
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
        """The same as an `AsyncEnvironment`."""
        return AwaitedEnvironment(self)

    def reset(self) -> Observed | str:
        """Reset the real environment, and keep its answer."""
        return self.resets(RESET)

    def act(self, action: str, /) -> Observed | str:
        """Act in the real environment, and keep its answer."""
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

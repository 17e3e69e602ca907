"""What an agent or a memory is given: checked when it is made; what it awaits, when that answers."""

from __future__ import annotations

import json
from asyncio import CancelledError, Task, create_task, current_task
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from inspect import isawaitable
from threading import Thread
from types import TracebackType
from typing import Any, Final, Generic, Never, TypeVar, final

import attrs

from mage.effects import (
    ChapterRequest,
    EffectError,
    Metered,
    NotRestored,
    Restored,
    SummaryRequest,
    Verdict,
    metered,
)
from mage.engine import Failed, Passed
from mage.engine.errors import MageError
from mage.memory.policy import Policy
from mage.memory.requests import AgentHook, heard_by
from mage.render.extract import extract
from mage.session import NotAVerdict
from mage.tokens import TokenCounter, default_counter

# -- in place of what was not given -------------------------------------------------------------------------


_NO_CHAPTERS: Final = "an extract is no chapter: a summarizer writes those"


def extracted(request: SummaryRequest | ChapterRequest, /) -> str:
    """Return the values and the most telling lines of the steps (`mage.render.extract`); the text says that it is an extract.

    It stays within the request's limit as `mage.tokens.EstimateCounter` counts.

    Raises:
        EffectError: a chapter is asked for. What later work needs of finished subgoals no extract can tell.
    """
    if isinstance(request, ChapterRequest):
        raise EffectError("unreachable", _NO_CHAPTERS)
    return extract(request.steps, request.limit)


async def extracted_awaited(request: SummaryRequest | ChapterRequest, /) -> str:
    """Return what `extracted` does, where a summarizer is awaited."""
    return extracted(request)


# -- checks -------------------------------------------------------------------------------------------------


@final
class BadAgent(MageError, TypeError):
    """An agent was given something that cannot be what it stands for; the message says what."""


def asked(_agent: object, field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Refuse a model, judge or summarizer that cannot be called; None stands for none where there may be none.

    Raises:
        BadAgent: it cannot be called.
    """
    if given is not None or field.default is not None:
        require_asked(field.name, given)


def policy(_agent: object, _field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Refuse a policy that is none.

    Raises:
        BadAgent: it is none.
    """
    require_policy(given)


def counter(_agent: object, _field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Refuse what counts no tokens; None stands for what is installed.

    Raises:
        BadAgent: it has no name, or does not count.
    """
    require_counter(given)


def require_asked(who: str, given: object) -> None:
    """Do nothing if this can be a model, judge, summarizer or `restore`.

    Raises:
        BadAgent: it cannot be called.
    """
    if not callable(given):
        ours = "" if who == "restore" else f", or mage.llm.Chat{who.capitalize()}"
        raise BadAgent(
            f"{who} is a {type(given).__name__}, and must be called with a request: give a function{ours}"
        )


def require_one_of(what: str, given: object, known: Sequence[str]) -> None:
    """Do nothing if this is one of the known words.

    Raises:
        BadAgent: it is not.
    """
    if given not in known:
        raise BadAgent(f"{what} is {given!r:.80}, and must be one of {', '.join(known)}")


def require_counter(given: object) -> None:
    """Do nothing if this counts tokens, or is None, which stands for what is installed.

    Raises:
        BadAgent: it has no name, or does not count.
    """
    counts = isinstance(getattr(given, "name", None), str) and callable(getattr(given, "count", None))
    if given is not None and (isinstance(given, type) or not counts):
        raise BadAgent(
            f"counter is a {type(given).__name__}, and must have a `name` and a `count`: mage.tokens.ExactCounter()"
        )


def require_policy(given: object) -> None:
    """Do nothing if this is a policy, or None, which stands for the one that is in force.

    Raises:
        BadAgent: it is neither.
    """
    if given is not None and not isinstance(given, Policy):
        raise BadAgent(f"policy is a {type(given).__name__}, and must be a Policy: Policy(max_steps=50)")


def require_json_object(what: str, given: Mapping[str, object] | None) -> None:
    """Refuse a mapping that JSON does not give back as it is; None stands for no mapping.

    Raises:
        BadAgent: it is no such mapping.
    """
    try:
        is_json = given is None or json.loads(json.dumps(dict(given), allow_nan=False)) == given
    except (TypeError, ValueError, RecursionError):
        is_json = False
    if not is_json:
        raise BadAgent(
            f"{what} must be a JSON object: a dict of text to text, numbers, true, false, null, lists and dicts"
        )


def require_parts(
    asked: Mapping[str, object],
    policy: Policy | None,
    counter: TokenCounter | None,
    on_event: AgentHook | Iterable[AgentHook],
) -> tuple[Policy, TokenCounter, tuple[AgentHook, ...]]:
    """Return policy, counter and hooks as they are in force: without a judge each summary is accepted openly.

    Raises:
        BadAgent: one of them is none.
        TypeError: a hook is none.
    """
    for who, given in asked.items():
        if given is not None:
            require_asked(who, given)
    require_policy(policy)
    require_counter(counter)
    chosen = policy or Policy()
    if asked["judge"] is None:
        chosen = attrs.evolve(chosen, maintain=False)
    return chosen, counter or default_counter(), heard_by(on_event)


Answer = TypeVar("Answer")


@final
class NotAwaitable(MageError, TypeError):
    """An `AsyncAgent` or `AsyncMemory` was given a function that is not awaited. Nothing was recorded of its answer.

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
            f"the {self.who} is awaited here, but this one returned a {self.found}:"
            " make it an `async def`, or use the twin that is not awaited"
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


def verdict_of(answer: object) -> Metered[Verdict]:
    """Return what a judge answered.

    Raises:
        NotAVerdict: it is none.
    """
    found: Metered[Any] = metered(answer)
    if not isinstance(found.value, Passed | Failed):
        raise NotAVerdict(type(found.value).__name__)
    return found


def text_of(answer: object) -> Metered[str]:
    """Return what a summarizer answered.

    Raises:
        TypeError: it is no text.
    """
    found: Metered[Any] = metered(answer)
    if not isinstance(found.value, str):
        raise TypeError(f"a summarizer returns a text, not a {type(found.value).__name__}")
    return found


def restored_of(answer: object) -> Restored | NotRestored:
    """Return what `restore` answered.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(answer, Restored | NotRestored):
        raise TypeError(
            f"`restore` returned a {type(answer).__name__}, and must return Restored or NotRestored"
        )
    return answer


def dropped() -> Never:
    """Say of a judge that it was cancelled by itself.

    Raises:
        EffectError: always.
    """
    raise EffectError("dropped", "the judge was cancelled, and the memory was not")


def in_background(question: Coroutine[Any, Any, Answer]) -> Task[Answer]:
    """Ask while others go on. What it raises is for whoever waits for it, and is not logged where nobody does."""
    task = create_task(question)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task


# -- a judge in a thread of its own -------------------------------------------------------------------------


Request = TypeVar("Request")


def thought_about(request: Request, judge: Callable[[Request], Answer]) -> Future[Answer]:
    """Ask a judge in a thread, and return where its answer will be, or what it raises.

    The thread is a daemon: a program that ends does not wait for it, as it would for one of a pool.
    """
    future: Future[Answer] = Future()

    def think() -> None:
        with _Kept(future):
            future.set_result(judge(request))

    Thread(target=think, name="mage-judge", daemon=True).start()
    return future


@final
class _Kept(Generic[Answer]):
    """Keeps what is raised, for whoever asks for the result."""

    def __init__(self, future: Future[Answer]) -> None:
        self._future = future

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> bool:
        if error is not None:
            self._future.set_exception(error)
        return True

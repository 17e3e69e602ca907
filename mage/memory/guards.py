"""Checks of the parts of an agent or a memory (judge, summarizer, policy, hooks), and of the answers of these parts."""

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

# -- defaults -----------------------------------------------------------------------------------------------


_NO_CHAPTERS: Final = "an extract is no chapter: a summarizer writes those"


def extracted(request: SummaryRequest | ChapterRequest, /) -> str:
    """Return an extract of the steps: values and the most telling lines (`mage.render.extract`), marked as an extract.

    The extract stays within the request's limit, counted in tokens by `mage.tokens.EstimateCounter`.

    Raises:
        EffectError: the request is for a chapter. No extract can tell what later work needs of finished subgoals.
    """
    if isinstance(request, ChapterRequest):
        raise EffectError("unreachable", _NO_CHAPTERS)
    return extract(request.steps, request.limit)


async def extracted_awaited(request: SummaryRequest | ChapterRequest, /) -> str:
    """Return what `extracted` returns: its awaited twin."""
    return extracted(request)


# -- checks -------------------------------------------------------------------------------------------------


@final
class BadAgent(MageError, TypeError):
    """A part of an agent or a memory has the wrong type or value; the message says which part."""


def asked(_agent: object, field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Refuse a model, judge or summarizer that cannot be called; None is allowed where None is the default.

    Raises:
        BadAgent: the part cannot be called.
    """
    if given is not None or field.default is not None:
        require_asked(field.name, given)


def policy(_agent: object, _field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Refuse a value that is neither a `Policy` nor None.

    Raises:
        BadAgent: the value is neither.
    """
    require_policy(given)


def counter(_agent: object, _field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Refuse a value that is no token counter; None stands for the default counter.

    Raises:
        BadAgent: the value has no `name` or no `count`.
    """
    require_counter(given)


def require_asked(who: str, given: object) -> None:
    """Require that a model, judge, summarizer or `restore` can be called.

    Raises:
        BadAgent: the value cannot be called.
    """
    if not callable(given):
        ours = "" if who == "restore" else f", or mage.llm.Chat{who.capitalize()}"
        raise BadAgent(
            f"{who} is a {type(given).__name__}, and must be called with a request: give a function{ours}"
        )


def require_one_of(what: str, given: object, known: Sequence[str]) -> None:
    """Require that a value is one of the known words.

    Raises:
        BadAgent: the value is none of these words.
    """
    if given not in known:
        raise BadAgent(f"{what} is {given!r:.80}, and must be one of {', '.join(known)}")


def require_counter(given: object) -> None:
    """Require a token counter, or None, which stands for the default counter.

    Raises:
        BadAgent: the value has no `name` or no `count`.
    """
    counts = isinstance(getattr(given, "name", None), str) and callable(getattr(given, "count", None))
    if given is not None and (isinstance(given, type) or not counts):
        raise BadAgent(
            f"counter is a {type(given).__name__}, and must have a `name` and a `count`: mage.tokens.ExactCounter()"
        )


def require_policy(given: object) -> None:
    """Require a `Policy`, or None, which stands for the policy in force.

    Raises:
        BadAgent: the value is neither.
    """
    if given is not None and not isinstance(given, Policy):
        raise BadAgent(f"policy is a {type(given).__name__}, and must be a Policy: Policy(max_steps=50)")


def require_json_object(what: str, given: Mapping[str, object] | None) -> None:
    """Require a mapping that is the same after a round trip through JSON, or None.

    Raises:
        BadAgent: the value is no such mapping.
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
    """Return policy, counter and hooks with defaults filled in; without a judge `Policy.maintain` is False.

    Raises:
        BadAgent: a part has the wrong type.
        TypeError: a hook cannot be called, or is an `async def`.
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
    """An `AsyncAgent` or `AsyncMemory` has a part that returned no awaitable. Its answer was not recorded.

    Attributes:
        who: the part in words, such as `"judge"`.
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
    """Return an answer that can be awaited.

    Raises:
        NotAwaitable: the answer cannot be awaited, because the part is a plain function.
    """
    if not isawaitable(answer):
        raise NotAwaitable(who, type(answer).__name__)
    return answer


async def answer_of(who: str, answer: Awaitable[Answer]) -> Answer:
    """Await the answer to a question that changes nothing and may be asked again.

    Raises:
        EffectError: the part was cancelled, and the run was not, so the run must not look cancelled.
        NotAwaitable: the answer cannot be awaited.
    """
    try:
        return await awaitable(who, answer)
    except CancelledError as error:
        task = current_task()
        if task is None or task.cancelling():  # the run itself is cancelled
            raise
        raise EffectError("dropped", f"the {who} was cancelled, and the run was not") from error


def verdict_of(answer: object) -> Metered[Verdict]:
    """Return a judge's answer as a verdict with its usage.

    Raises:
        NotAVerdict: the answer is neither `Passed` nor `Failed`.
    """
    found: Metered[Any] = metered(answer)
    if not isinstance(found.value, Passed | Failed):
        raise NotAVerdict(type(found.value).__name__)
    return found


def text_of(answer: object) -> Metered[str]:
    """Return a summarizer's answer as a text with its usage.

    Raises:
        TypeError: the answer is no text.
    """
    found: Metered[Any] = metered(answer)
    if not isinstance(found.value, str):
        raise TypeError(f"a summarizer returns a text, not a {type(found.value).__name__}")
    return found


def restored_of(answer: object) -> Restored | NotRestored:
    """Return the answer of `restore`.

    Raises:
        TypeError: the answer is neither `Restored` nor `NotRestored`.
    """
    if not isinstance(answer, Restored | NotRestored):
        raise TypeError(
            f"`restore` returned a {type(answer).__name__}, and must return Restored or NotRestored"
        )
    return answer


def dropped() -> Never:
    """Report that the judge was cancelled, and the memory was not.

    Raises:
        EffectError: always.
    """
    raise EffectError("dropped", "the judge was cancelled, and the memory was not")


def in_background(question: Coroutine[Any, Any, Answer]) -> Task[Answer]:
    """Ask in a task of its own, which keeps an exception for code that awaits it; asyncio does not log it."""
    task = create_task(question)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task


# -- a judge in a thread of its own -------------------------------------------------------------------------


Request = TypeVar("Request")


def thought_about(request: Request, judge: Callable[[Request], Answer]) -> Future[Answer]:
    """Ask a judge in a thread, and return a future of its answer or exception.

    The thread is a daemon: a program that ends does not wait for it, as it would for a thread of a pool.
    """
    future: Future[Answer] = Future()

    def think() -> None:
        with _Kept(future):
            future.set_result(judge(request))

    Thread(target=think, name="mage-judge", daemon=True).start()
    return future


@final
class _Kept(Generic[Answer]):
    """Keeps an exception in the future, to be raised by `Future.result`."""

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

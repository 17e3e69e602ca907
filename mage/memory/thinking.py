"""A judge that thinks while the agent goes on (D6), where nothing is awaited: in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from types import TracebackType
from typing import Generic, TypeVar, final

Request = TypeVar("Request")
Answer = TypeVar("Answer")


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

"""A run that is cancelled, or interrupted from the keyboard, while a request is out, resumes to the same end."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from typing import Any, Final

import attrs
import pytest

from mage.agent import Outcome
from mage.codec import encode_tree
from tests.agent.over_http.lives import POLICY, TWINS, Life, Place, Twin, awaiting, unbroken
from tests.agent.over_http.mind import KINDS
from tests.agent.over_http.provider import HEALTHY, Provider
from tests.agent.over_http.test_model_faults import WHOLE
from tests.agent.twins import left_by
from tests.llm.server import Answer, ScriptedServer, Silent

CALLED: Final[Twin] = TWINS[0]
LIFE: Final = Life(stream=False)
STREAMED: Final = Life(stream=True)
PLACES: Final = [
    pytest.param(place, marks=[] if place in (0, 3, 4) else [pytest.mark.slow]) for place in range(WHOLE)
]
"""The requests; those of the first three places are to the model, the writer and the judge."""


def interrupting(place: int, interrupt: Callable[[], object]) -> Provider:
    """Return a provider that interrupts whoever sends the request at this place, and never answers it."""

    def on_request(number: int) -> Answer | None:
        if number != place:
            return None
        interrupt()
        return Silent()

    return Provider(HEALTHY, on_request)


def press_the_keys() -> None:
    """Send this process what a terminal sends at Ctrl-C, to the thread that waits for the reply."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


def check_it_resumes(twin: Twin, place: Place, life: Life, first: Provider, at: int) -> None:
    """Fail unless the interrupted run, run again, ends as the unbroken one, at no more than its price."""
    assert len(first.seen) == at + 1, "nothing is sent after an interruption"
    second = Provider()
    with ScriptedServer(answering=second) as server:
        outcome: Outcome = twin(server.url, place, life, POLICY)
    whole = unbroken()
    left = left_by(place.store)
    assert encode_tree(left.state) == whole.left.tree
    assert left.commands == whole.left.commands
    assert place.ground.value == whole.dial
    assert len(first.seen) + len(second.seen) == WHOLE + 1
    assert second.seen[0] == first.seen[-1], "the question that was not answered is put again"
    totals = outcome.totals
    assert attrs.evolve(outcome, totals=whole.outcome.totals) == whole.outcome
    assert totals.tokens == {kind: first.billed[kind] + second.billed[kind] for kind in KINDS}


@pytest.mark.parametrize("life", [LIFE, STREAMED], ids=["whole", "streamed"])
@pytest.mark.parametrize("at", PLACES)
def test_an_interrupt_from_the_keyboard(at: int, life: Life) -> None:
    """It comes out of `run`, leaves what was done, and the next `run` goes on."""
    place, provider = Place(), interrupting(at, press_the_keys)
    with ScriptedServer(answering=provider) as server, pytest.raises(KeyboardInterrupt):
        CALLED(server.url, place, life, POLICY)
    check_it_resumes(CALLED, place, life, provider, at)


@pytest.mark.parametrize("life", [LIFE, STREAMED], ids=["whole", "streamed"])
@pytest.mark.parametrize("at", PLACES)
def test_a_cancellation(at: int, life: Life) -> None:
    """It comes out of the awaited `run`, leaves what was done, and the next `run` goes on."""
    place = Place()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    def cancel() -> None:
        ((loop, task),) = running
        loop.call_soon_threadsafe(task.cancel)

    provider = interrupting(at, cancel)

    async def cancelled(url: str) -> None:
        task = asyncio.ensure_future(awaiting(url, place, life, POLICY))
        running.append((asyncio.get_running_loop(), task))
        await task

    with ScriptedServer(answering=provider) as server, pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled(server.url))
    check_it_resumes(TWINS[1], place, life, provider, at)

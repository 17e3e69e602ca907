"""One test-suite for both twins: an `AsyncAgent` behind the face of an `Agent`, and all that a run leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeAlias, TypeVar, final

import attrs
import pytest

from mage import Session
from mage.agent import Agent, AgentHook, AsyncAgent, Outcome
from mage.agent.cursor import LogEnds, TellHooks
from mage.agent.log import RunNote, find_run, is_of_a_run, note_of
from mage.agent.loop import program
from mage.agent.replay import Replay
from mage.agent.reruns import watched
from mage.codec import encode_tree
from mage.effects.questions import Ask, drive
from mage.engine import Command, State
from mage.memory.state import Run
from mage.render import Meter
from mage.session import Entry, Noted
from mage.stores import (
    NOTHING,
    AsyncJournalStore,
    JournalStore,
    MemoryStore,
    Note,
    Record,
    command_of,
    draft,
    fold,
    meta_of,
    seal,
)
from mage.testing import AwaitedEnvironment
from mage.tokens import EstimateCounter
from tests.agent.toys import TASK, Parts

Answer = TypeVar("Answer")
Request = TypeVar("Request")
NAME: Final = "s"


def constant() -> int:
    """Return the time: always the same."""
    return 0


def plain() -> str:
    """Return a salt: always the same, so that equal records have equal digests."""
    return "salt" * 4


def _awaitable(call: Callable[[Request], Answer]) -> Callable[[Request], Awaitable[Answer]]:
    async def awaited(request: Request) -> Answer:
        return call(request)

    for name in ("prompt_text", "mode"):  # what a model says of itself
        said = getattr(call, name, None)
        if said is not None:
            awaited.__dict__[name] = said
    return awaited


def called_agent(parts: Parts) -> Agent:
    """Return the agent that calls."""
    return Agent(
        model=parts.model,
        environment=parts.environment,
        judge=parts.judge,
        summarizer=parts.summarizer,
        policy=parts.policy,
        counter=EstimateCounter(),
    )


def awaited_agent(parts: Parts) -> AsyncAgent:
    """Return the agent that awaits, of the same parts."""
    return AsyncAgent(
        model=_awaitable(parts.model),
        environment=AwaitedEnvironment(parts.environment),
        judge=None if parts.judge is None else _awaitable(parts.judge),
        summarizer=None if parts.summarizer is None else _awaitable(parts.summarizer),
        policy=parts.policy,
        counter=EstimateCounter(),
    )


AnyStore: TypeAlias = JournalStore | AsyncJournalStore


def _run_called(
    parts: Parts,
    store: JournalStore,
    name: str = NAME,
    *,
    task: str | None = TASK,
    anew: bool = False,
    on_event: Iterable[AgentHook] = (),
) -> Outcome:
    agent = called_agent(parts)
    return agent.run(store, name, task=task, anew=anew, on_event=on_event, clock=constant, salts=plain)


def _run_awaited(
    parts: Parts,
    store: AnyStore,
    name: str = NAME,
    *,
    task: str | None = TASK,
    anew: bool = False,
    on_event: Iterable[AgentHook] = (),
) -> Outcome:
    agent = awaited_agent(parts)
    return asyncio.run(
        agent.run(store, name, task=task, anew=anew, on_event=on_event, clock=constant, salts=plain)
    )


Running: TypeAlias = Callable[..., Outcome]
TWINS: Final[tuple[Running, ...]] = (_run_called, _run_awaited)
both: Final = pytest.mark.parametrize("run", TWINS, ids=["Agent", "AsyncAgent"])
"""Runs a test on both twins."""


@final
@attrs.frozen
class Left:
    """What a run has left behind."""

    state: State
    journal: tuple[Entry, ...]
    notes: tuple[RunNote, ...]

    @property
    def tree(self) -> bytes:
        """The bytes of the tree."""
        return encode_tree(self.state)

    @property
    def commands(self) -> list[Command]:
        """The commands of the journal."""
        return [entry.command for entry in self.journal]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the notes."""
        return [note.kind for note in self.notes]


def notes_of(store: JournalStore, name: str = NAME) -> tuple[RunNote, ...]:
    """Return the notes of a session's run, `began` first."""
    with Session.open(store, name, wait=False) as session:
        log = session.log()
    return tuple([note_of(each) for each in log if isinstance(each, Noted) and is_of_a_run(each)])


def rebuilt(store: JournalStore, change: Callable[[Command | Note], Command | Note | None]) -> MemoryStore:
    """Return a store with the same session, made of changed commands and notes; where one becomes None, it is left out."""
    head, state = NOTHING, None
    records: list[Record] = []
    for record in store.read(NAME):
        said = change(command_of(state, record))
        if said is not None:
            records.append(seal(head, draft(state, said, meta_of(record)), plain))
            state, head = fold(records[-1:], state), records[-1].head
    other = MemoryStore()
    other.create(NAME, records)
    return other


def left_by(store: JournalStore, name: str = NAME) -> Left:
    """Return what the run of this name has left behind."""
    with Session.open(store, name, wait=False) as session:
        return Left(session.phase, session.history(), notes_of(store, name))


def rerun(
    store: JournalStore, name: str = NAME, *, repeatable: bool = True, asked: list[Ask[Any]] | None = None
) -> tuple[Replay, Outcome | None]:
    """Run a run again, asking nobody: return where that ends, and the outcome if it came to one.

    What its program asks is added to `asked`.
    """
    with Session.open(store, name, wait=False) as session:
        found = find_run(session.log())
    assert found is not None
    replay = Replay(found, policy=None, repeatable=repeatable, live=False)
    try:
        run = Run(Meter(found.counter), found.overhead)
        return replay, drive(
            replay.run(watched(program(run), _Heard([] if asked is None else asked))), _nobody
        )
    except LogEnds:
        return replay, None


@final
class _Heard:
    """Keeps the asks of a program."""

    def __init__(self, asked: list[Ask[Any]]) -> None:
        self._asked = asked

    def asks(self, asked: Ask[Any], /) -> None:
        """See `Watcher`."""
        self._asked.append(asked)

    def answered(self, asked: Ask[Any], answer: object, /) -> None:
        """See `Watcher`."""


def _nobody(asked: Ask[Any]) -> object:
    if isinstance(asked, TellHooks):
        return None
    raise AssertionError(f"asked for {asked} offline")

"""One test-suite for both twins: an `AsyncAgent` behind the face of an `Agent`, and all that a run leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeAlias, TypeVar, cast, final

import attrs
import pytest

from mage import Session
from mage.agent import Agent, AgentHook, AsyncAgent, Outcome, tape_name
from mage.agent.durable import Durable
from mage.agent.loop import program
from mage.agent.opening import begun, recorded, tape_entries
from mage.agent.performing import TellHooks
from mage.agent.reel import TapeEnds
from mage.agent.tape import TapeEntry
from mage.codec import encode_tree
from mage.effects.program import Ask, Program, drive
from mage.engine import Command, MageError, State
from mage.memory.state import Run
from mage.render import Meter
from mage.session import Entry
from mage.stores import AsyncJournalStore, JournalStore
from mage.testing import AwaitedEnvironment
from mage.tokens import EstimateCounter
from tests.agent.toys import TASK, Parts

__all__ = [
    "TWINS",
    "Left",
    "Running",
    "awaited_agent",
    "both",
    "called_agent",
    "constant",
    "entries_of",
    "left_by",
    "plain",
    "rerun",
]

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

    said = getattr(call, "prompt_text", None)
    if said is not None:  # what a model says of itself
        awaited.__dict__["prompt_text"] = said
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
    on_event: Iterable[AgentHook] = (),
) -> Outcome:
    agent = called_agent(parts)
    return agent.run(store, name, task=task, on_event=on_event, clock=constant, salts=plain)


def _run_awaited(
    parts: Parts,
    store: AnyStore,
    name: str = NAME,
    *,
    task: str | None = TASK,
    on_event: Iterable[AgentHook] = (),
) -> Outcome:
    agent = awaited_agent(parts)
    return asyncio.run(agent.run(store, name, task=task, on_event=on_event, clock=constant, salts=plain))


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
    tape: tuple[TapeEntry, ...]

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
        """The kinds of the entries of the tape."""
        return [entry.kind for entry in self.tape]


def entries_of(store: JournalStore, name: str = NAME) -> tuple[TapeEntry, ...]:
    """Return the entries of a run's tape."""
    with Session.open(store, tape_name(name), salts=plain) as tape:
        return tuple(tape_entries(tape.name, tape.tree.task, tape.state().raw))


def left_by(store: JournalStore, name: str = NAME) -> Left:
    """Return what the run of this name has left behind."""
    with Session.open(store, name, wait=False) as session:
        return Left(session.phase, session.history(), entries_of(store, name))


def rerun(
    store: JournalStore, name: str = NAME, *, repeatable: bool = True, asked: list[Ask[Any]] | None = None
) -> tuple[Durable, Outcome | None]:
    """Run a run again, asking nobody: return where that ends, and the outcome if it came to one.

    What its program asks is added to `asked`.
    """
    with Session.open(store, name, wait=False) as session:
        entries = entries_of(store, name)
        first = begun(tape_name(name), entries)
        before = session.history(upto=first.version) if first.version > 1 else ()
        after = session.history(after=first.version)
        found = recorded(first, session.at(first.version).phase, before, after, entries)
    durable = Durable(found, policy=None, repeatable=repeatable, live=False)
    try:
        run = Run(Meter(first.counter), first.overhead)
        return durable, drive(durable.run(_heard(program(run), [] if asked is None else asked)), _nobody)
    except TapeEnds:
        return durable, None


async def _heard(asking: Program[Outcome], asked: list[Ask[Any]]) -> Outcome:
    """Return the same program, whose asks are kept."""
    try:
        what = asking.send(None)
        while True:
            asked.append(what)
            try:
                answer = await what
            except MageError as error:
                what = asking.throw(error)
            else:
                what = asking.send(answer)
    except StopIteration as stop:
        return cast("Outcome", stop.value)


def _nobody(asked: Ask[Any]) -> object:
    if isinstance(asked, TellHooks):
        return None
    raise AssertionError(f"asked for {asked} offline")

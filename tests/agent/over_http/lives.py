"""A run over real HTTP in one or more lives, by both twins: each life has a provider and clients of its own.

    ran = lived(Life(Fault("judge", Silent())), Life())
    assert ran.outcomes == (RunStopped("judge_down", ...), RunFinished(...))

The twins must come to the same: outcomes, state, journal, notes, and what the servers were sent, to the byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias, final

import attrs

from mage.agent import Agent, AsyncAgent, Outcome, Policy
from mage.effects import Usage
from mage.engine import Tree
from mage.llm import (
    AsyncChatJudge,
    AsyncChatModel,
    AsyncChatSummarizer,
    ChatJudge,
    ChatModel,
    ChatSummarizer,
    async_client,
    client,
)
from mage.memory.policy import KindOfCall
from mage.stores import JournalStore, MemoryStore
from mage.testing import AwaitedEnvironment
from mage.tokens import EstimateCounter
from tests.agent.over_http.mind import KINDS, is_meant
from tests.agent.over_http.provider import HEALTHY, Fault, Provider, check_billed
from tests.agent.toys import TASK, Ground, world_of
from tests.agent.twins import NAME, Left, constant, left_by, plain
from tests.llm.server import ScriptedServer, Silent
from tests.llm.twins import KEY

POLICY: Final = Policy(exhausted="stop")


@final
@attrs.frozen
class Life:
    """One life of a run.

    Attributes:
        fault: what goes wrong in it.
        retries: how often the client asks again by itself.
        stream: whether replies come in pieces.
    """

    fault: Fault = HEALTHY
    retries: int = 0
    stream: bool = False

    @property
    def client(self) -> dict[str, Any]:
        """How a client of this life is made."""
        patience = 1.5 if isinstance(self.fault.answer, Silent) else 30.0
        environment = {"OPENAI_API_KEY": KEY}
        return {"environment": environment, "max_retries": self.retries, "timeout": patience}


@final
@attrs.frozen
class Place:
    """What outlives a process: the store, and what is out there."""

    store: JournalStore = attrs.field(factory=MemoryStore)
    ground: Ground = attrs.field(factory=Ground)


Twin: TypeAlias = Callable[[str, Place, Life, Policy], Outcome]


def _called(url: str, place: Place, life: Life, policy: Policy) -> Outcome:
    with client(base_url=url, **life.client) as ours:
        agent = Agent(
            model=ChatModel(ours, "model", stream=life.stream),
            environment=world_of(place.ground),
            judge=ChatJudge(ours, "judge", stream=life.stream),
            summarizer=ChatSummarizer(ours, "summarizer", stream=life.stream),
            policy=policy,
            counter=EstimateCounter(),
        )
        return agent.run(place.store, NAME, task=TASK, clock=constant, salts=plain)


def _awaited(url: str, place: Place, life: Life, policy: Policy) -> Outcome:
    return asyncio.run(awaiting(url, place, life, policy))


async def awaiting(url: str, place: Place, life: Life, policy: Policy) -> Outcome:
    """Run the agent that awaits."""
    async with async_client(base_url=url, **life.client) as ours:
        agent = AsyncAgent(
            model=AsyncChatModel(ours, "model", stream=life.stream),
            environment=AwaitedEnvironment(world_of(place.ground)),
            judge=AsyncChatJudge(ours, "judge", stream=life.stream),
            summarizer=AsyncChatSummarizer(ours, "summarizer", stream=life.stream),
            policy=policy,
            counter=EstimateCounter(),
        )
        return await agent.run(place.store, NAME, task=TASK, clock=constant, salts=plain)


TWINS: Final[tuple[Twin, ...]] = (_called, _awaited)


@final
@attrs.frozen
class Ran:
    """What came of a run.

    Attributes:
        outcomes: how each life ended.
        left: what is left behind: state, journal and notes.
        seen: the bodies that the server of each life was sent.
        billed: what all of them charged, by kind of call.
        dial: what the dial shows.
    """

    outcomes: tuple[Outcome, ...]
    left: Left
    seen: tuple[Sequence[dict[str, Any]], ...]
    billed: dict[KindOfCall, Usage]
    dial: int

    @property
    def outcome(self) -> Outcome:
        """How the last life ended."""
        return self.outcomes[-1]

    def count(self, kind: str, life: int = 0) -> int:
        """Return how many requests of a kind the server of a life has had."""
        return sum(body["model"] == kind for body in self.seen[life])


def lived(*lives: Life, policy: Policy = POLICY) -> Ran:
    """Live these lives one after the other, by both twins, and return what both have come to.

    Checked of each: the totals are what was billed, and every text of a summary is one that somebody has meant.
    """
    called, awaited = (_lived(twin, lives, policy) for twin in TWINS)
    assert called == awaited
    assert called.left.tree == awaited.left.tree
    check_billed(called.outcome.totals.tokens, called.billed)
    _check_texts(called.left.state.tree)
    return called


@cache
def unbroken(policy: Policy = POLICY) -> Ran:
    """Return the run in which nothing goes wrong."""
    return lived(Life(), policy=policy)


def _lived(twin: Twin, lives: Sequence[Life], policy: Policy) -> Ran:
    place = Place()
    providers = [Provider(life.fault) for life in lives]
    outcomes: list[Outcome] = []
    for life, provider in zip(lives, providers, strict=True):
        with ScriptedServer(answering=provider) as server:
            outcomes.append(twin(server.url, place, life, policy))
        assert {request.authorization for request in server.requests} <= {f"Bearer {KEY}"}
    billed: dict[KindOfCall, Usage] = dict.fromkeys(KINDS, Usage(calls=0))
    for kind in KINDS:
        billed[kind] = sum((one.billed[kind] for one in providers), Usage(calls=0))
    seen = tuple(one.seen for one in providers)
    return Ran(tuple(outcomes), left_by(place.store), seen, billed, place.ground.value)


def _check_texts(tree: Tree) -> None:
    for summary in tree.summaries():
        covered = [tree.step(step) for step in summary.covers]
        assert is_meant(summary.text, covered), "rubbish was stored as a summary"

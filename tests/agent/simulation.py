"""Deterministic simulation: a seed gives a run in which everything fails, is killed, and is resumed.

    python -m tests.agent.simulation SEED

After each life of a process everything is looked at: the journal replays with all invariants on each edge, the
run over it leads to the same state, nothing that was acknowledged is missing, the counts say what was done,
and no action was performed twice in silence.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from random import Random
from typing import Any, Final, cast, final

from mage.agent import Outcome, Policy, RunFailed, RunFinished, RunStopped, Totals
from mage.codec import encode_tree
from mage.effects import RESET, Decide, Usage
from mage.effects.questions import Ask
from mage.engine import Command, Compress, Grow, Revise, State, apply, check, check_change
from mage.memory.journal import RUN, UNCERTAIN
from mage.memory.requests import Effect
from mage.session import Entry
from mage.stores import Head, MemoryStore, Record, Snapshot, StoreError, UnknownJournal
from tests.agent.interrupting import Interrupted, one_turn
from tests.agent.simulating import (
    Chance,
    Faults,
    FaultyEnvironment,
    FaultyStore,
    Wild,
    policy_by,
    write_from_outside,
)
from tests.agent.toys import TASK, Ground, Mistake, Parts, world_of
from tests.agent.twins import NAME, Left, awaited_agent, called_agent, constant, left_by, plain, rerun
from tests.agent.ways import RestoredBy

LIVES: Final = 8
TURNS: Final = 600
"""More than any policy here lets a run take: a run that asks its model more often would never end."""
MISTAKES: Final[tuple[Mistake | None, ...]] = (None, "wrong", "noticed", "vague", "batch")


@final
class _Awaited:
    """A faulty store that is awaited, without threads."""

    def __init__(self, store: FaultyStore) -> None:
        self._store = store

    async def create(self, name: str, records: Iterable[Record]) -> Head:
        await one_turn()
        return self._store.create(name, records)

    async def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        await one_turn()
        return self._store.append(name, expected, records)

    async def read(self, name: str, after: int = 0, upto: int | None = None) -> AsyncIterator[Record]:
        for record in self._store.read(name, after, upto):
            yield record

    async def head(self, name: str) -> Head:
        return self._store.inner.head(name)

    async def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
        return self._store.inner.snapshot(name, upto)

    async def drop_snapshots(self, name: str) -> None:
        self._store.inner.drop_snapshots(name)

    async def redactions(self, name: str) -> int:
        return self._store.inner.redactions(name)

    async def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> None:
        self._store.inner.keep_snapshot(name, version, data, digest, redactions=redactions)


@final
class Simulation:
    """All of one seed.

    Attributes:
        story: what happened, a line for each life.
        outcome: how the run ended last; None where no life came to an end.
        lives: how many there were.
    """

    def __init__(self, seed: int) -> None:
        rng = Random(seed)
        self.story: list[str] = []
        self.outcome: Outcome | None = None
        self.lives = 0
        self.performed: list[str] = []
        self._rng = rng
        self._chance = Chance(rng)
        self._store = MemoryStore()
        self._faulty = FaultyStore(self._store, self._chance)
        self._ground = Ground()
        ways: tuple[RestoredBy, ...] = ("replay", "replay", "snapshot", "inverses")
        self._restoring: RestoredBy = rng.choice(ways)
        self._padding = " And so on." * rng.choice((0, 5))
        self._goals = rng.randrange(1, 4)
        drawn: dict[int, Mistake | None] = {goal: rng.choice(MISTAKES) for goal in range(self._goals)}
        self._mistakes: dict[int, Mistake] = {goal: made for goal, made in drawn.items() if made is not None}
        self._policy: Policy | None = policy_by(rng)
        self._policies: list[Policy] = []
        self._shown: list[Decide] = []
        self._decided = 0
        self._edges: list[tuple[Command, State]] = []

    def run(self) -> None:
        """Live, die, and live again; look at everything each time.

        Raises:
            AssertionError, MageError: something does not hold.
        """
        for life in range(LIVES):
            self._chance.faults = Faults.by(self._rng) if life < LIVES - 1 else Faults()
            self.lives += 1
            ended = self._live()
            self.story.append(f"{self.lives} {self._said(ended)}")
            self._look(ended)
            if isinstance(ended, RunFinished) and self._rng.random() < 0.7:
                break
            self._between()
        assert self.outcome is not None, "no life came to an end, not even the last, in which nothing fails"

    def left(self) -> Left:
        """Return what is left behind."""
        return left_by(self._store)

    def _said(self, ended: Outcome | str) -> str:
        faults = self._chance.faults
        said = ended if isinstance(ended, str) else f"{type(ended).__name__} {getattr(ended, 'reason', '')}"
        return f"{said} {faults}"

    def _between(self) -> None:
        if self._rng.random() < 0.3:
            self._policy = self._rng.choice((None, policy_by(self._rng)))
        if self._rng.random() < 0.2 and NAME in self._faulty.kept:
            write_from_outside(self._store, self._rng)

    # -- one life ----------------------------------------------------------------------------------------

    def _live(self) -> Outcome | str:
        """Live once, and return how the run ended, or why it did not."""
        wild = Wild(self._chance, self._goals, self._mistakes)
        environment = FaultyEnvironment(
            world_of(self._ground, self._restoring, padding=self._padding), self._chance, self.performed
        )
        judged = self._rng.random() < 0.95
        parts = Parts(
            wild.model,
            environment,
            wild.judge if judged else None,
            wild.summarizer if self._rng.random() < 0.8 else None,
            self._policy,
        )
        waits = judged and self._policy is not None and self._policy.wait
        try:
            ended = self._call(parts) if waits and self._rng.random() < 0.5 else self._await(parts)
        except Interrupted:
            return "died"
        except StoreError as error:
            return f"not opened: {type(error).__name__}"
        finally:
            assert len(wild.asked) <= TURNS, f"asked the model {len(wild.asked)} times"
            self._shown[self._decided :] = wild.asked
        if not (isinstance(ended, RunFailed) and ended.part == "store"):
            self.outcome = ended
        return ended

    def _call(self, parts: Parts) -> Outcome:
        agent = called_agent(parts)
        return agent.run(cast("Any", self._faulty), NAME, task=TASK, clock=constant, salts=plain)

    def _await(self, parts: Parts) -> Outcome:
        agent = awaited_agent(parts)
        store = cast("Any", _Awaited(self._faulty))
        cancelled = self._rng.random() < 0.5

        async def lived() -> Outcome:
            task = asyncio.current_task()
            if cancelled and task is not None:
                self._chance.die = task.cancel
            return await agent.run(store, NAME, task=TASK, clock=constant, salts=plain)

        before = self._chance.die
        try:
            return asyncio.run(lived())
        except asyncio.CancelledError:
            raise Interrupted from None
        finally:
            self._chance.die = before

    # -- looking -----------------------------------------------------------------------------------------

    def _look(self, ended: Outcome | str) -> None:
        for name, kept in self._faulty.kept.items():
            assert self._store.head(name).version >= kept, f"{name} has lost what was acknowledged"
        try:
            left = left_by(self._store)
        except UnknownJournal:
            return
        if not left.notes:
            return
        self._edges_hold(left.commands)
        self._run_follows(left, ended)
        self._nothing_is_done_twice(left)
        if not isinstance(ended, str):
            self._within_limits(left, ended)
            if not (isinstance(ended, RunFailed) and ended.part == "store"):
                _counted(left, ended.totals)

    def _edges_hold(self, commands: list[Command]) -> None:
        """Every command of the journal, once: what was there stays, and each edge keeps all invariants."""
        known = [command for command, _ in self._edges]
        assert commands[: len(known)] == known, "the journal has changed what it said"
        state: State | None = self._edges[-1][1] if self._edges else None
        for command in commands[len(known) :]:
            before, state = state, apply(state, command).unwrap()
            if before is not None:
                check_change(before, state)
            self._edges.append((command, state))
        check(self._edges[-1][1])

    def _run_follows(self, left: Left, ended: Outcome | str) -> None:
        """Run again offline, the program comes to where its own last command has led, and to the same outcome."""
        asked: list[Ask[Any]] = []
        replay, outcome = rerun(self._store, repeatable=self._restoring != "inverses", asked=asked)
        shown = [
            each.request for each in asked if isinstance(each, Effect) and isinstance(each.request, Decide)
        ]
        self._decided = left.kinds.count("decided")
        assert shown[: self._decided] == self._shown[: self._decided], "the model was shown something else"
        done = [entry for entry in left.journal if entry.version <= replay.version]
        rest = left.journal[len(done) :]
        assert not any(RUN in entry.meta for entry in rest), "the run does not lead to all that was done"
        assert encode_tree(replay.state) == encode_tree(self._edges[len(done) - 1][1])
        if isinstance(ended, RunFinished | RunStopped):
            assert outcome == ended

    def _nothing_is_done_twice(self, left: Left) -> None:
        certain, doubtful = _performed(left)
        assert certain <= len(self.performed), "a step says more than was done"
        if self._restoring == "inverses":
            assert len(self.performed) <= certain + doubtful + 1, "an action was performed twice in silence"
        assert doubtful <= self._chance.endings

    def _within_limits(self, left: Left, ended: Outcome) -> None:
        self._policies = [Policy.of(entry.data) for entry in left.notes if entry.kind == "policy"]
        self._policies.append(Policy.of(left.notes[0].data["policy"]))
        if isinstance(ended, RunStopped) and ended.reason == "max_steps":
            most = max(policy.max_steps or 0 for policy in self._policies)
            assert ended.totals.steps <= most + 4, (
                "it went on after its limit"
            )  # three in a reply, and a reset


def _performed(left: Left) -> tuple[int, int]:
    """Return how many actions are said to be done, and of how many nobody knows."""
    grown = [entry for entry in left.journal if RUN in entry.meta and isinstance(entry.command, Grow)]
    seen = [
        command.observation
        for entry in grown
        if isinstance(command := entry.command, Grow) and command.action != RESET
    ]
    intended = False
    for entry in left.notes:
        if intended and "observation" in entry.data:  # overtaken; else it was the step of a reset
            seen.append(entry.data["observation"])
        intended = entry.kind == "acting" or (intended and entry.kind == "resumed")
    doubtful = sum(observation == UNCERTAIN for observation in seen)
    return len(seen) - doubtful, doubtful


def _counted(left: Left, totals: Totals) -> None:
    """The totals are what commands and notes say, however often the run was interrupted."""
    own = [entry for entry in left.journal if RUN in entry.meta]
    assert totals.steps == _number(own, Grow)
    assert totals.summaries == _number(own, Compress)
    assert totals.revisions == _number(own, Revise)
    for kind, entries in (
        ("model", ("decided",)),
        ("judge", ("judged", "verdict")),
        ("summarizer", ("summarized", "chapter")),
    ):
        said = [
            entry.data.get("failed", entry.data).get("usage", {})
            for entry in left.notes
            if entry.kind in entries
        ]
        usages = [Usage(**usage) for usage in said]
        assert totals.tokens[cast("Any", kind)] == sum(usages, Usage(calls=0)), kind


def _number(entries: list[Entry], kind: type[Command]) -> int:
    return sum(type(entry.command) is kind for entry in entries)


def simulate(seed: int, lives: Callable[[Simulation], object] = Simulation.run) -> Simulation:
    """Run one seed; what does not hold is raised, and names the seed."""
    simulation = Simulation(seed)
    with _Naming(seed):
        lives(simulation)
    return simulation


@final
class _Naming:
    """Adds to what leaves it how to replay the seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> None:
        if error is not None:
            error.add_note(f"replay it with: python -m tests.agent.simulation {self._seed}")


def main() -> None:
    """Replay the seeds of the command line, and print what happened."""
    for seed in map(int, sys.argv[1:]):
        simulation = Simulation(seed)
        try:
            simulation.run()
        finally:
            print(f"seed {seed}", *simulation.story, sep="\n  ")


if __name__ == "__main__":
    main()

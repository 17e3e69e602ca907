"""A follower of recorded plans, which may use a value only where its memory shows it.

No model acts. The actions of a recorded run are taken one by one in its environment, which acts for real and scores the
end by its own rule. Of an action, the follower knows all but its values: those must stand in its prompt. One that does
not is looked up again by the read-only call that gave it first, which is a step more and needs its own values; or it is
lost, and what stands in its place is `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, Protocol, TypeAlias, final

import attrs

from benchmarks.arena.systems import FullHistory, Kept, Nothing, Product, System, Window
from benchmarks.arena.traces import Act, Run
from mage.tokens import TokenCounter
from mage.trajectories import Need

_WITHOUT_OPEN: Final = (FullHistory, Window, Nothing)
UNKNOWN: Final = "UNKNOWN"
"""What stands in an action in place of a value that was lost."""
_NOTHING: Final = Need(frozenset())
Kind: TypeAlias = Literal["call", "said", "heard"]
"""Of an act: a call that the environment answers; words of the agent, and what the user said to them; or what the user
said before the agent did anything, for which nothing is decided."""


@lru_cache(maxsize=100_000)
def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def has_words(value: str, text: str) -> bool:
    """Tell whether words, in small letters, stand in a text, in whatever letters and however spaced."""
    return value in _folded(text)


class BadFile(Exception):
    """A file is not what the follower needs; the message says which, and why."""

    def __init__(self, reason: str) -> None:
        """Say why."""
        super().__init__(reason)
        self.reason = reason


class World(Protocol):
    """An environment at the start of a task."""

    def act(self, action: str) -> str:
        """Carry out a call and return what came back; a call that makes no sense comes back as an error in words."""
        ...

    def score(self) -> float:
        """Return the score of the environment's own rule, from 0 to 1, which is a pass."""
        ...


@final
@attrs.frozen
class Plan:
    """A recorded run that can be followed.

    Attributes:
        run: its acts with what came back when it was recorded, and the values that each can only have from earlier ones.
        kinds: of each act.
        again: by value, the place of the read-only call that gave it first; values that cannot be looked up are not in it.
        world: makes its environment anew.
        spoiled: returns an action without the values that are lost.
        holds: tells whether a value stands in a text.
    """

    run: Run
    kinds: tuple[Kind, ...]
    again: Mapping[str, int]
    world: Callable[[], World]
    spoiled: Callable[[str, Collection[str]], str]
    holds: Callable[[str, str], bool]


@final
@attrs.frozen
class Followed:
    """What became of a plan under a memory.

    Attributes:
        score: of the environment's own rule.
        prompts: that were shown, one before each step that the agent decided on.
        tokens: of all prompts, beside what is sent whatever the memory holds.
        sent: tokens of all that is sent, the task and the words and tools of a memory included.
        looked_up: steps that looked something up again.
        lost: by place of the call, the values that it was carried out without.
        unsaid: values that the agent's words had to do without.
    """

    score: float
    prompts: int
    tokens: int
    sent: int
    looked_up: int
    lost: tuple[tuple[int, str], ...]
    unsaid: int

    @property
    def passed(self) -> bool:
        """Whether the environment's own rule is met."""
        return self.score >= 1.0


@final
class InOneRun:
    """A memory at work in one run: what it shows and what that costs.

    The open steps of every system that has any are those of the product at its mark, after the steps that this very
    system was told of.
    """

    def __init__(self, system: System | None, run: Run, room: int, counter: TokenCounter) -> None:
        """Begin.

        Args:
            system: the memory; None for the product.
            run: the run, of which the oracle alone reads more than the task.
            room: tokens of open steps that the product's mark leaves room for.
            counter: counts tokens.
        """
        has_open = not isinstance(system, _WITHOUT_OPEN)
        self._marked = Product(run, room, counter) if has_open else None
        self._open: list[int] = []
        self._now: Sequence[str] = ()
        self._steps = 0
        self._counter = counter
        self._counted: dict[str, int] = {}
        self._task, self._frame, self._beside = run.task, counter.count(run.task), 0
        self._kept: Kept | None = None if system is None else system.begin(run, self._open)
        if self._kept is None and self._marked is not None:
            self._frame, self._beside = self._marked.frame, sum(map(self._count, self._marked.show()))
        self.prompts = 0
        self.tokens = 0

    @property
    def sent(self) -> int:
        """Tokens of all that was sent."""
        return self.tokens + self.prompts * self._frame

    def show(self) -> Sequence[str]:
        """Return the texts of a prompt, the task among them, and count it."""
        self._mark()
        texts = self._now if self._kept is None else self._kept.show()
        self.prompts += 1
        self.tokens += sum(map(self._count, texts)) - self._beside
        return [self._task, *texts]

    def take(self, action: str, observation: str) -> None:
        """Tell the memory of a step."""
        self._mark()
        for each in (self._kept, self._marked):
            if each is not None:
                each.take(action, observation)
        self._steps += 1

    def _mark(self) -> None:
        """Let the product close its steps where it is time, once before each step."""
        if self._marked is not None and len(self._open) == self._steps:
            self._now = self._marked.show()
            self._open.append(len(self._marked.state.raw))

    def _count(self, text: str) -> int:
        if text not in self._counted:
            self._counted[text] = self._counter.count(text)
        return self._counted[text]


def follow(
    plan: Plan,
    system: System | None,
    *,
    look_ups: bool,
    room: int,
    counter: TokenCounter,
    before: Sequence[Run] = (),
) -> Followed:
    """Follow a plan under a memory.

    Args:
        plan: the plan.
        system: the memory; None for the product.
        look_ups: whether a missing value may be looked up again.
        room: tokens of open steps that the product's mark leaves room for.
        counter: counts tokens.
        before: runs of others that are in the memory already, as they were recorded.

    Cost: that of the environment, and a prompt for each step.
    """
    earlier = tuple([attrs.evolve(act, need=_NOTHING) for run in before for act in run.acts])
    memory = InOneRun(system, attrs.evolve(plan.run, acts=(*earlier, *plan.run.acts)), room, counter)
    for act in earlier:
        memory.take(act.action, act.observation)
    following = _Following(plan, memory, plan.world(), look_ups)
    for place, kind in enumerate(plan.kinds):
        following.step(place, kind)
    return following.followed()


@final
@attrs.define
class _Following:
    """A plan that is being followed."""

    plan: Plan
    memory: InOneRun
    world: World
    look_ups: bool
    looked_up: int = 0
    unsaid: int = 0
    lost: list[tuple[int, str]] = attrs.field(factory=list)

    def step(self, place: int, kind: Kind) -> None:
        """Take the act at a place, as far as its values are known."""
        act = self.plan.run.acts[place]
        if kind == "heard":
            self.memory.take(act.action, act.observation)
            return
        prompt = self.memory.show()
        missing = self._missing(act, prompt)
        if kind == "said":  # nobody looks anything up for a word
            self.unsaid += len(missing)
            self.memory.take(self.plan.spoiled(act.action, missing), act.observation)
            return
        if missing and self.look_ups:
            missing = self._look_up(place, missing, prompt)
        self.lost.extend([(place, value) for value in sorted(missing)])
        self._act(self.plan.spoiled(act.action, missing) if missing else act.action)

    def _act(self, action: str) -> None:
        self.memory.take(action, self.world.act(action))

    def _missing(self, act: Act, prompt: Sequence[str]) -> frozenset[str]:
        """Return the values of an act that stand nowhere in a prompt."""
        holds = self.plan.holds
        return frozenset(
            [value for value in act.need.values if not any(holds(value, text) for text in prompt)]
        )

    def _look_up(self, place: int, missing: frozenset[str], prompt: Sequence[str]) -> frozenset[str]:
        """Look up what an act misses, each call once, and return what its last prompt still misses."""
        act, tried = self.plan.run.acts[place], set[int]()
        while (call := self._next(place, missing, tried, prompt)) is not None:
            tried.add(call)
            self.looked_up += 1
            self._act(self.plan.run.acts[call].action)
            prompt = self.memory.show()
            missing = self._missing(act, prompt)
        return missing

    def _next(self, place: int, missing: Iterable[str], tried: set[int], prompt: Sequence[str]) -> int | None:
        """Return the first call, not tried yet, all of whose own values are known, on the way to what is missing."""
        waiting, seen = sorted(missing, reverse=True), set(tried)
        while waiting:
            call = self.plan.again.get(waiting.pop())
            if call is None or call >= place or call in seen:
                continue
            seen.add(call)
            needed = self._missing(self.plan.run.acts[call], prompt)
            if not needed:
                return call
            waiting.extend(sorted(needed, reverse=True))
        return None

    def followed(self) -> Followed:
        """Return what became of it."""
        memory = self.memory
        return Followed(
            self.world.score(),
            memory.prompts,
            memory.tokens,
            memory.sent,
            self.looked_up,
            tuple(self.lost),
            self.unsaid,
        )

"""The context reader as an agent of the runner: how it errs, and how its judge does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, final

import attrs

from benchmarks.arena.domains.judging import TruthJudge
from benchmarks.arena.domains.prompted import ReaderModel
from benchmarks.arena.domains.reader import ContextReader, Recall, all_of_it
from benchmarks.arena.domains.recall import CURVES
from benchmarks.arena.domains.shopping.rules import Browsing, ShopRules
from benchmarks.arena.domains.world import World
from mage.agent import Agent, Policy
from mage.effects import Model
from mage.tokens import TokenCounter

DOMAIN: Final = "shopping"
"""The one whose prompts it can read."""


@final
@attrs.frozen
class BadHabits(Exception):
    """A reader cannot be made; the message says why."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@final
@attrs.frozen
class Habits:
    """How a context reader errs. The shares are those of the laboratory, from 0 to 1.

    Attributes:
        mistakes: of purchases that it gets wrong, whatever it knows.
        loss: of its summaries that lose their fact.
        misses: of wrong purchases that its judge passes.
        alarms: of right purchases that its judge fails.
        recall: a name of `recall.CURVES`; empty where all that is shown is noticed.
    """

    mistakes: float = 0.1
    loss: float = 0.0
    misses: float = 0.1
    alarms: float = 0.05
    recall: str = ""

    @classmethod
    def of(cls, text: str) -> Habits:
        """Return habits with some changes, as a JSON object.

        Raises:
            BadHabits: a change names none of them, or gives a value that cannot be.
        """
        changes: dict[str, object] = json.loads(text)
        for name, value in changes.items():
            _check(name, value, tuple(each.name for each in attrs.fields(cls)))
        return cls(**changes)  # type: ignore[arg-type]  # each was looked at

    def reads(self, counter: TokenCounter) -> Recall:
        """Return what share of earlier purchases is noticed in a text. Cost: that of counting its tokens."""
        return along(self.recall, 1.0, counter)


def along(recall: str, strength: float, counter: TokenCounter) -> Recall:
    """Return what share is noticed in a text by a curve, of whose fall a part is applied; everything without a name."""
    if not recall:
        return all_of_it
    curve = CURVES[recall].weakened(strength)
    return lambda text: curve.share(counter.count(text))


def _check(name: str, value: object, names: tuple[str, ...]) -> None:
    if name not in names:
        raise BadHabits(f"there is no {name!r} in a reader: it has {', '.join(names)}")
    if name == "recall":
        if value not in ("", *CURVES):
            raise BadHabits(f"no curve is called {value!r}: there are {', '.join(CURVES)}")
    elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadHabits(f"{name} must be a number from 0 to 1, and not {value!r}")


def reader_agent(
    habits: Habits,
    dice: tuple[object, ...],
    rules: ShopRules,
    policy: Policy,
    counter: TokenCounter,
    around: Callable[[Model], Model] = lambda model: model,
) -> Agent:
    """Return an agent that plays a shop by what its prompts say.

    Args:
        habits: how it errs.
        dice: names its draws, and those of its judge.
        rules: of the shop.
        policy: of the agent. Where it maintains, a judge that looks at the shop is asked.
        counter: counts tokens.
        around: what stands between the agent and the reader.
    """
    world = World[Browsing](rules)
    reader = ContextReader(
        *dice,
        mistakes=habits.mistakes,
        loss=habits.loss,
        compresses=policy.compress
        or policy.maintain,  # who keeps every step and asks no judge has no use for it
        recall=habits.reads(counter),
    )
    judge = TruthJudge(world, rules, counter, *dice, misses=habits.misses, alarms=habits.alarms)
    return Agent(
        model=around(ReaderModel(reader, counter)),
        environment=world,
        judge=judge if policy.maintain else None,
        policy=policy,
        counter=counter,
    )

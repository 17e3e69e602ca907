"""Judges, measured: of the purchases of the shop, each labelled right or wrong, which does a judge fail?

The cases are what Maintain asks in a run of the context reader, who errs at a seeded rate. A judge sees each as an
agent's judge would: before, instructions, steps, text. So judges, and prompts for them, can be held beside each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, final

import attrs

from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.judging import TruthJudge, expected
from benchmarks.arena.domains.prompted import ReaderModel
from benchmarks.arena.domains.reader import ContextReader
from benchmarks.arena.domains.registry import SizeName, domain
from benchmarks.arena.domains.running import AROUND
from benchmarks.arena.domains.shopping.rules import Browsing, ShopRules
from benchmarks.arena.domains.world import World
from mage.agent import Agent, Policy
from mage.effects import EffectError, FoldRequest, Judge, JudgeRequest, Metered, Usage, Verdict, metered
from mage.engine import Failed, Passed
from mage.stores import MemoryStore
from mage.tokens import default_counter

MISTAKES: Final = 0.4
"""The share of purchases that the reader gets wrong: enough of both kinds."""


@final
@attrs.frozen
class Case:
    """One question to a judge, with what is true.

    Attributes:
        task: the task that it comes from.
        subtask: which purchase, from 0 on.
        request: the question.
        is_right: whether what was bought is what the rules ask for.
    """

    task: str
    subtask: int
    request: JudgeRequest = attrs.field(repr=False)
    is_right: bool


def cases(seed: int, tasks: int, size: SizeName = "full", mistakes: float = MISTAKES) -> list[Case]:
    """Return the questions of so many tasks, in order. A purchase for which nothing is right is left out."""
    return [case for number in range(tasks) for case in _of_task(seed, number, size, mistakes)]


def _of_task(seed: int, number: int, size: SizeName, mistakes: float) -> list[Case]:
    task = domain("shopping", size).task(seed, number)
    rules = task.rules
    assert isinstance(rules, ShopRules)  # it is a shop
    world, counter, dice = World[Browsing](rules), default_counter(), (seed, number)
    knows = TruthJudge(world, rules, counter, *dice, misses=0.0, alarms=0.0)
    found: list[Case] = []

    def judge(request: JudgeRequest | FoldRequest, /) -> Metered[Verdict]:
        closed = world.standing.closed
        verdict = knows(request)
        is_known = bool(closed) and expected(rules, closed) is not None
        if isinstance(request, JudgeRequest) and request.kind == "subgoal" and is_known:
            is_right = isinstance(verdict.value, Passed)
            found.append(Case(task.id, len(closed) - 1, request, is_right))
        return verdict

    reader = ContextReader(*dice, mistakes=mistakes, loss=0.0, compresses=True)
    steps = rules.cap * len(rules.instructions) * AROUND
    agent = Agent(
        model=ReaderModel(reader, counter),
        environment=world,
        judge=judge,
        policy=Policy(max_steps=steps),
        counter=counter,
    )
    agent.run(MemoryStore(), task.id, task=task.text)
    return found


# -- judges that know nothing ---------------------------------------------------------------------------


def passes_all(_request: JudgeRequest | FoldRequest, /) -> Verdict:
    """Pass whatever is claimed: no Maintain."""
    return Passed()


def coin(*names: object) -> Judge:
    """Return a judge that fails every other summary, by a seeded coin."""
    dice = draws("coin", *names)

    def judge(_request: JudgeRequest | FoldRequest, /) -> Verdict:
        return Failed("Tails.") if dice.random() < 0.5 else Passed()

    return judge


# -- what a judge is worth --------------------------------------------------------------------------------


@final
@attrs.frozen
class Worth:
    """What a judge has done with cases.

    Attributes:
        name: of the judge.
        wrong: cases that are wrong.
        found: those of them that it failed.
        right: cases that are right.
        alarms: those of them that it failed.
        unanswered: cases for which it gave no verdict; they count as passed, as nothing is undone.
        blamed_text: of `found`, those of which it blamed the text and not what was done.
        usage: what it took.
    """

    name: str
    wrong: int = 0
    found: int = 0
    right: int = 0
    alarms: int = 0
    unanswered: int = 0
    blamed_text: int = 0
    usage: Usage = attrs.field(factory=lambda: Usage(calls=0))

    @property
    def recall(self) -> float:
        """The share of wrong purchases that were found; 0 where there is none."""
        return self.found / self.wrong if self.wrong else 0.0

    @property
    def precision(self) -> float:
        """The share of its fails that were wrong purchases; 0 where it failed none."""
        failed = self.found + self.alarms
        return self.found / failed if failed else 0.0

    def document(self) -> dict[str, object]:
        """Return it as JSON, with half the width of the 95 % interval beside each share (Wilson)."""
        said = attrs.asdict(self, filter=lambda field, _: field.name != "usage")
        return {
            **said,
            "recall": self.recall,
            "recall_half_width": wilson(self.found, self.wrong),
            "precision": self.precision,
            "precision_half_width": wilson(self.found, self.found + self.alarms),
            "alarm_rate": self.alarms / self.right if self.right else 0.0,
            "tokens": self.usage.total,
        }


def wilson(hits: int, count: int) -> float:
    """Return half the width of Wilson's 95 % interval of a share; 0.5, which says nothing, where there is no case."""
    if not count:
        return 0.5
    share, z = hits / count, 1.96
    spread = (share * (1 - share) / count + z * z / (4 * count * count)) ** 0.5
    return float(z * spread / (1 + z * z / count))


def measured(name: str, judge: Judge, asked: Iterable[Case]) -> Worth:
    """Return what a judge does with cases, each asked once. Nothing that it raises as an `EffectError` stops it."""
    worth = Worth(name)
    for case in asked:
        worth = _with(worth, case, judge)
    return worth


def _with(worth: Worth, case: Case, judge: Judge) -> Worth:
    try:
        answer: Metered[Verdict] = metered(judge(case.request))
    except EffectError as error:
        answer = Metered(Passed(), error.usage)
        worth = attrs.evolve(worth, unanswered=worth.unanswered + 1)
    has_failed = isinstance(answer.value, Failed)
    blames_text = isinstance(answer.value, Failed) and answer.value.fault == "summary"
    usage = worth.usage + answer.usage
    if case.is_right:
        return attrs.evolve(worth, right=worth.right + 1, alarms=worth.alarms + has_failed, usage=usage)
    return attrs.evolve(
        worth,
        wrong=worth.wrong + 1,
        found=worth.found + has_failed,
        blamed_text=worth.blamed_text + blames_text,
        usage=usage,
    )


def as_table(found: Sequence[Worth]) -> str:
    """Return a line for each judge."""
    head = f"{'judge':<24}{'recall':>14}{'precision':>14}{'alarms':>10}{'text':>6}{'none':>6}{'tokens':>12}"
    lines = [head]
    for each in found:
        recall = f"{each.recall:.2f} ±{wilson(each.found, each.wrong):.2f}"
        precision = f"{each.precision:.2f} ±{wilson(each.found, each.found + each.alarms):.2f}"
        alarms = f"{each.alarms}/{each.right}"
        lines.append(
            f"{each.name:<24}{recall:>14}{precision:>14}{alarms:>10}{each.blamed_text:>6}{each.unanswered:>6}"
            f"{each.usage.total:>12,}"
        )
    return "\n".join(lines)

"""Judges, measured: of questions of which it is known whether something is wrong, which does a judge fail?

The questions are those that Maintain asks in a run of the context reader in the shop, who errs at a seeded rate, or of
a run that people have labelled (`who_and_when`). A judge sees each as an agent's judge would: before, instructions,
steps, text. So judges, and prompts for them, can be held beside each other.
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
from mage.engine import Failed, Passed, StepId
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
        subtask: which purchase, or which segment of a run, from 0 on.
        request: the question.
        is_right: whether what was done in it is right: what was bought is what the rules ask for.
        mistake: the step with which it became wrong; None where nothing is.
    """

    task: str
    subtask: int
    request: JudgeRequest = attrs.field(repr=False)
    is_right: bool
    mistake: StepId | None = None

    @property
    def boundary(self) -> StepId | None:
        """The last boundary before the mistake, to which an agent should go back; None where nothing is wrong."""
        if self.mistake is None:
            return None
        known = [*self.request.boundaries, self.begin]
        return max([each for each in known if each < self.mistake], default=self.begin)

    @property
    def begin(self) -> StepId:
        """Where the steps in question begin: to which an agent goes back if the judge names no boundary."""
        return self.request.steps[0].parent if self.request.steps else StepId(0)


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
            mistake = None if is_right else request.steps[-1].id  # the purchase itself
            found.append(Case(task.id, len(closed) - 1, request, is_right, mistake))
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
        blamed_text: of `found`, those of which it blamed the text and not what was done: the agent stays where it is.
        placed: of `found`, those after which the agent goes back to the last boundary before the mistake.
        too_far: of `found`, those after which it goes back further, and does right work again.
        usage: what it took.
    """

    name: str
    wrong: int = 0
    found: int = 0
    right: int = 0
    alarms: int = 0
    unanswered: int = 0
    blamed_text: int = 0
    placed: int = 0
    too_far: int = 0
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


@final
@attrs.frozen
class Answer:
    """What a judge has said of a case.

    Attributes:
        case: the question.
        verdict: its answer; None where it gave none, which counts as passed: nothing is undone.
        usage: what it took.
    """

    case: Case
    verdict: Verdict | None
    usage: Usage

    @property
    def failed(self) -> Failed | None:
        """Its verdict where it failed the case."""
        return self.verdict if isinstance(self.verdict, Failed) else None


def ask(judge: Judge, asked: Iterable[Case]) -> list[Answer]:
    """Return what a judge says of cases, each asked once. Nothing that it raises as an `EffectError` stops it."""
    return [_answer(judge, case) for case in asked]


def _answer(judge: Judge, case: Case) -> Answer:
    try:
        said: Metered[Verdict] = metered(judge(case.request))
    except EffectError as error:
        return Answer(case, None, error.usage)
    return Answer(case, said.value, said.usage)


def measured(name: str, judge: Judge, asked: Iterable[Case]) -> Worth:
    """Return what a judge does with cases, each asked once. Nothing that it raises as an `EffectError` stops it."""
    return worth_of(name, ask(judge, asked))


def worth_of(name: str, answers: Iterable[Answer]) -> Worth:
    """Return what answers come to."""
    worth = Worth(name)
    for each in answers:
        worth = _with(worth, each)
    return worth


def _with(worth: Worth, answer: Answer) -> Worth:
    failed, case = answer.failed, answer.case
    worth = attrs.evolve(
        worth, unanswered=worth.unanswered + (answer.verdict is None), usage=worth.usage + answer.usage
    )
    if case.is_right:
        return attrs.evolve(worth, right=worth.right + 1, alarms=worth.alarms + (failed is not None))
    worth = attrs.evolve(worth, wrong=worth.wrong + 1)
    if failed is None:
        return worth
    worth = attrs.evolve(worth, found=worth.found + 1)
    if failed.fault == "summary":
        return attrs.evolve(worth, blamed_text=worth.blamed_text + 1)
    back, right = case.begin if failed.boundary is None else failed.boundary, case.boundary
    assert right is not None  # the case is wrong
    return attrs.evolve(worth, placed=worth.placed + (back == right), too_far=worth.too_far + (back < right))


def as_table(found: Sequence[Worth]) -> str:
    """Return a line for each judge."""
    wide = max([24, *[len(each.name) + 2 for each in found]])
    head = (
        f"{'judge':<{wide}}{'recall':>14}{'precision':>14}{'alarms':>10}{'placed':>10}{'too far':>9}{'text':>6}{'none':>6}"
        f"{'tokens':>12}"
    )
    lines = [head]
    for each in found:
        recall = f"{each.recall:.2f} ±{wilson(each.found, each.wrong):.2f}"
        precision = f"{each.precision:.2f} ±{wilson(each.found, each.found + each.alarms):.2f}"
        alarms, placed = f"{each.alarms}/{each.right}", f"{each.placed}/{each.found}"
        lines.append(
            f"{each.name:<{wide}}{recall:>14}{precision:>14}{alarms:>10}{placed:>10}{each.too_far:>9}{each.blamed_text:>6}"
            f"{each.unanswered:>6}{each.usage.total:>12,}"
        )
    return "\n".join(lines)

"""What a judge's revisions cost and mend: the context reader plays the shop with a judge, and without one.

The reader errs as often after a fail as before, and reads no lesson: so what is mended is what the judge finds, and
how often the same wrong purchase is made again is chance. With a model that plays (`run --agent model --sessions`),
the same count says whether lessons are heeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias, final  # Any: each domain has a state of its own

import attrs

from benchmarks.arena.coverage import draw, interval
from benchmarks.arena.domains.judging import TruthJudge, expected
from benchmarks.arena.domains.prompted import ReaderModel
from benchmarks.arena.domains.reader import ContextReader
from benchmarks.arena.domains.registry import SizeName, domain
from benchmarks.arena.domains.running import AROUND
from benchmarks.arena.domains.scoring import mean
from benchmarks.arena.domains.shopping.rules import Browsing, ShopRules
from benchmarks.arena.domains.world import Standing, World, stand, step
from mage import Session
from mage.agent import Agent, Policy
from mage.chat import note_in
from mage.effects import RESET, Judge
from mage.engine import Grow, Revise, Start, State, StepId, apply
from mage.session import Entry, Noted
from mage.stores import MemoryStore
from mage.tokens import default_counter

MISTAKES: Final = 0.2
"""The share of purchases that the reader gets wrong."""
_SEED: Final = 1

Making: TypeAlias = Callable[[World[Browsing], ShopRules, int], Judge | None]
"""Makes the judge of a task, by its world, its rules and its number; None for no judge."""


@final
@attrs.frozen
class Undone:
    """A purchase that going back has undone.

    Attributes:
        subtask: which, from 0.
        code: what was bought.
        wrong: whether it was wrong.
        again: whether the next purchase for the subtask was the same; None where there was none.
    """

    subtask: int
    code: str
    wrong: bool
    again: bool | None = None


@final
@attrs.frozen
class Trial:
    """One task with a judge.

    Attributes:
        sr, ps: of the path at the end.
        steps: all that were made, those that were undone too.
        tokens: of the reader's prompts and of the judge's.
        revisions: how often the reader went back.
        undone: the purchases that this has undone.
    """

    sr: float
    ps: float
    steps: int
    tokens: int
    revisions: int
    undone: tuple[Undone, ...]


def tried(seed: int, number: int, size: SizeName, making: Making, mistakes: float = MISTAKES) -> Trial:
    """Return what comes of a task; the reader's draws are the same with every judge."""
    task = domain("shopping", size).task(seed, number)
    rules = task.rules
    assert isinstance(rules, ShopRules)  # it is a shop
    world, counter = World[Browsing](rules), default_counter()
    judge = making(world, rules, number)
    agent = Agent(
        model=ReaderModel(ContextReader(seed, number, mistakes=mistakes, loss=0.0, compresses=True), counter),
        environment=world,
        judge=judge,
        policy=Policy(maintain=judge is not None, max_steps=rules.cap * len(rules.instructions) * AROUND),
        counter=counter,
    )
    store = MemoryStore()
    outcome = agent.run(store, task.id, task=task.text)
    with Session.open(store, task.id) as session:
        undone = tuple(undone_in(rules, session.log()))
    score, totals = task.mark(world.standing.closed).score, outcome.totals
    return Trial(score.sr, score.ps, totals.steps, totals.usage.total, totals.revisions, undone)


def knowing(seed: int, misses: float = 0.0, alarms: float = 0.0) -> Making:
    """Return what makes a judge that looks at the world, and errs at these rates."""

    def make(world: World[Browsing], rules: ShopRules, number: int) -> Judge:
        return TruthJudge(world, rules, default_counter(), seed, number, misses=misses, alarms=alarms)

    return make


def undone_in(rules: ShopRules, log: Iterable[Entry | Noted]) -> Iterator[Undone]:
    """Yield the purchases that a run in the shop has undone, those that are made anew last of all.

    Cost: O(log).
    """
    known: dict[StepId, Standing[Any]] = {}
    waiting: dict[int, Undone] = {}
    state: State | None = None
    for each in log:
        if not isinstance(each, Entry):
            continue
        before = None if state is None else state.tree.step_head
        state = apply(state, each.command).unwrap()
        head = state.tree.step_head
        if isinstance(each.command, Start):
            known[head] = stand(rules)
        elif isinstance(each.command, Revise) and before is not None:
            yield from [one for one in waiting.values() if one.subtask >= len(known[head].closed)]
            waiting = {one.subtask: one for one in _lost(rules, known[before], known[head])}
        elif isinstance(each.command, Grow):
            made = state.tree.step(head)
            old = known[made.parent]
            acts = made.action != RESET and note_in(made.action, made.observation) is None
            known[head] = step(rules, old, made.action)[0] if acts else old
            place = len(old.closed)
            if len(known[head].closed) > place and place in waiting:
                code = dict(known[head].closed[place].answer).get("code", "")
                one = waiting.pop(place)
                yield attrs.evolve(one, again=code == one.code)
    yield from waiting.values()


def _lost(rules: ShopRules, before: Standing[Any], after: Standing[Any]) -> Iterator[Undone]:
    for place in range(len(after.closed), len(before.closed)):
        right = expected(rules, before.closed[: place + 1])
        code = dict(before.closed[place].answer).get("code", "")
        yield Undone(place, code, right is not None and right.code != code)


# -- what it comes to ---------------------------------------------------------------------------------------


@final
@attrs.frozen
class Mending:
    """What the revisions of one judge come to, beside the same tasks without a judge.

    Attributes:
        name: of the judge.
        trials: with it, task by task.
        without: without one, the same tasks.
    """

    name: str
    trials: tuple[Trial, ...]
    without: tuple[Trial, ...]

    def document(self) -> dict[str, object]:
        """Return it as JSON: means of a task, and what each differs by from no judge, with 95 % intervals by pairs."""
        said: dict[str, object] = {"name": self.name, "tasks": len(self.trials)}
        for name in ("sr", "ps", "steps", "tokens"):
            pairs = [
                (float(getattr(one, name)), float(getattr(other, name)))
                for one, other in zip(self.trials, self.without, strict=True)
            ]
            more = [one - other for one, other in pairs]
            said |= {name: mean(one for one, _ in pairs), f"{name}_more": mean(more)}
            said[f"{name}_more_interval"] = _interval(more)
        return {
            **said,
            "revisions": mean(float(trial.revisions) for trial in self.trials),
            **counts_of([one for trial in self.trials for one in trial.undone]),
        }


def counts_of(undone: Sequence[Undone]) -> dict[str, int]:
    """Return how many purchases were undone, wrong and right, and how many of the wrong ones were made again."""
    wrong = [one for one in undone if one.wrong]
    return {
        "undone_wrong": len(wrong),
        "undone_right": len(undone) - len(wrong),
        "bought_anew": sum(one.again is not None for one in wrong),
        "same_again": sum(one.again is True for one in wrong),
    }


@final
@attrs.frozen
class _Task:
    """A task, which is drawn anew alone."""

    group: str


def _interval(values: Sequence[float]) -> list[float]:
    if len(set(values)) <= 1:
        return [mean(values)] * 2
    drawn = draw([_Task(str(place)) for place in range(len(values))], _SEED)
    return list(interval(drawn.means(values)) or ())


def mended(
    judges: dict[str, Making], seed: int, tasks: int, size: SizeName, mistakes: float = MISTAKES
) -> list[Mending]:
    """Return what the revisions of each judge come to, on the same tasks."""

    def all_of(making: Making) -> tuple[Trial, ...]:
        return tuple([tried(seed, number, size, making, mistakes) for number in range(tasks)])

    without = all_of(lambda _world, _rules, _number: None)
    return [Mending(name, all_of(making), without) for name, making in judges.items()]


def as_lines(found: Sequence[Mending]) -> Iterator[str]:
    """Yield a table, a line for each judge."""
    wide = max([24, *[len(each.name) + 2 for each in found]])
    yield (
        f"{'judge':<{wide}}{'SR':>6}{'more than none':>24}{'PS':>7}{'more':>8}{'steps more':>12}{'tokens more':>13}"
        f"{'back':>6}{'undone wrong, right':>21}{'same again':>12}"
    )
    for each in found:
        said: dict[str, Any] = each.document()  # Any: its numbers are known by name
        low, high = said["sr_more_interval"]
        more = f"{said['sr_more']:+.2f} [{low:+.2f}, {high:+.2f}]"
        undone = f"{said['undone_wrong']}, {said['undone_right']}"
        yield (
            f"{each.name:<{wide}}{said['sr']:>6.2f}{more:>24}{said['ps']:>7.2f}{said['ps_more']:>+8.2f}"
            f"{said['steps_more']:>+12.1f}{said['tokens_more']:>+13,.0f}{said['revisions']:>6.1f}{undone:>21}"
            f"{said['same_again']:>6}/{said['bought_anew']:<5}"
        )

"""The shop as a laboratory: the context reader under several memories, and what decides how it does.

Nothing here says how well a model would do. The reader does what the rules say with what stands in its prompt, so each
number follows from how often it errs, how often the judge does, how often a summary loses its fact, and which of its
facts a memory shows. All rows of a task share their draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, final

import attrs

from benchmarks.arena.domains.cart import Carted, Shop
from benchmarks.arena.domains.fetching import shown_by
from benchmarks.arena.domains.habits import along
from benchmarks.arena.domains.judging import JudgedShop, TruthJudge
from benchmarks.arena.domains.prompted import ReaderModel, Sight
from benchmarks.arena.domains.reader import ContextReader
from benchmarks.arena.domains.recall import CURVES
from benchmarks.arena.domains.registry import SizeName, domain
from benchmarks.arena.domains.running import AROUND, Row, failed
from benchmarks.arena.domains.shopping.rules import Browsing, ShopRules
from benchmarks.arena.domains.sweeps import Conditions
from benchmarks.arena.domains.task import Task
from benchmarks.arena.domains.world import World
from benchmarks.arena.systems import text_of
from mage import Session, __version__
from mage.agent import Agent, Outcome, outcome_document
from mage.effects import RESET, Usage
from mage.engine import Tree
from mage.stores import MemoryStore
from mage.tokens import TokenCounter, default_counter


@lru_cache(maxsize=64)
def _task(size: SizeName, seed: int, number: int) -> Task:
    """Return a task, which is a value: all series of a process share it."""
    return domain("shopping", size).task(seed, number)


@final
class _Counting:
    """A counter that counts a short text once: the same observations stand in the prompts of all series."""

    def __init__(self, counter: TokenCounter) -> None:
        self.name = counter.name
        self._counter = counter
        self._short = lru_cache(maxsize=20_000)(counter.count)

    def count(self, text: str) -> int:
        return self._short(text) if len(text) <= _SHORT else self._counter.count(text)


_SHORT: Final = 2_000
"""Characters of a text that may be kept."""


@lru_cache(maxsize=1)
def _counter() -> TokenCounter:
    return _Counting(default_counter())


def run_conditions(conditions: Conditions, number: int) -> Row:
    """Return the row of a task. Nothing that goes wrong in it is raised."""
    try:
        return run_reader(conditions, number)
    except Exception as error:  # one task that fails must not stop the others, whatever it is
        return failed(conditions, number, f"{type(error).__name__}: {error}")


def run_reader(conditions: Conditions, number: int, sight: Sight = str) -> Row:
    """Return the row of a task."""
    counter = _counter()
    task = _task(conditions.size, conditions.seed, number)
    rules = task.rules
    assert isinstance(rules, ShopRules)  # it is a shop
    made, dice = conditions.setup, (conditions.seed, number)
    world = World[Browsing](rules)
    reader = ContextReader(
        *dice,
        mistakes=conditions.mistakes,
        loss=1.0 if made.forgets else conditions.loss,
        compresses=made.compresses,
        recall=along(conditions.recall, conditions.strength, counter),
    )
    thrown = (*dice, *([conditions.throw] if conditions.throw else []))
    judge = TruthJudge(world, rules, counter, *thrown, misses=conditions.misses, alarms=conditions.alarms)
    watched = JudgedShop(world, judge, task.text) if made.watched and conditions.judge else None
    shop: Shop = watched or world
    steps = rules.cap * len(rules.instructions) * AROUND
    agent = Agent(
        model=shown_by(conditions, ReaderModel(reader, counter, sight), rules, counter, number),
        environment=Carted(shop, world, rules) if conditions.cart else shop,
        judge=judge if conditions.judge and made.policy.maintain else None,
        policy=attrs.evolve(made.policy, max_steps=steps),
        counter=counter,
    )
    store = MemoryStore()
    outcome = agent.run(store, task.id, task=task.text)
    with Session.open(store, task.id) as session:
        trace = _trace(session.tree, rules.instructions, counter)
    marked = task.mark(world.standing.closed)
    spent = Usage(calls=0) if watched is None else watched.spent
    return {
        "settings": conditions.document(),
        "number": number,
        "task": task.id,
        **attrs.asdict(marked.score, filter=lambda _, value: value is not None),
        "right": list(marked.right),
        "bought": [dict(each.answer).get("code") for each in world.standing.closed],
        "stopped_by_cap": sum(each.ending == "cap" for each in world.standing.closed) / len(marked.right),
        "guessed": reader.guessed,
        "trace": trace,
        **_totals(outcome, spent),
        "origin": _origin(conditions, counter),
        "version": __version__,
    }


def _origin(conditions: Conditions, counter: TokenCounter) -> Row:
    """Say where each number comes from."""
    return {
        "scores": "where the world stood at the end",
        "tokens": f"no model was asked: what prompts and replies would have taken, counted here ({counter.name})",
        "trace": f"the path on which the agent stood at the end, counted here ({counter.name})",
        "tasks": f"generated here, seed {conditions.seed}",
        **_assumed(conditions),
    }


def _assumed(conditions: Conditions) -> Row:
    """Say where a curve of recall comes from, and what a row with one is."""
    if not conditions.recall:
        return {}
    said = (
        f"assumed: {conditions.recall} ({CURVES[conditions.recall].source}), strength {conditions.strength}"
    )
    return {"recall": f"{said}; a sensitivity analysis, which is evidence of nothing"}


def _trace(tree: Tree, instructions: Sequence[str], counter: TokenCounter) -> Row:
    """Say how long the path is on which the agent stood at the end, with all instructions of the task."""
    made = [tree.step(each) for each in tree.active_path() if each]
    texts = [text_of(each.action, each.observation) for each in made if each.action != RESET]
    return {"steps": len(texts), "tokens": counter.count("\n".join([*instructions, *texts]))}


def _totals(outcome: Outcome, beside: Usage) -> Row:
    said, totals = outcome_document(outcome), outcome.totals
    judged = totals.tokens["judge"] + beside
    return {
        "outcome": said["outcome"],
        "reason": said["reason"],
        "steps": totals.steps,
        "summaries": totals.summaries,
        "revisions": totals.revisions,
        "tokens": totals.usage.total + beside.total,
        "tokens_by_call": {"model": totals.tokens["model"].document, "judge": judged.document},
    }


def jobs(conditions: Iterable[Conditions], tasks: int) -> Iterator[tuple[Conditions, int]]:
    """Yield what is to be run: each series, task by task."""
    for each in conditions:
        yield from ((each, number) for number in range(tasks))

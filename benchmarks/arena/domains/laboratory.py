"""The shop as a laboratory: the context reader under several memories, and what decides how it does.

Nothing here says how well a model would do. The reader does what the rules say with what stands in its prompt, so each
number follows from how often it errs, how often the judge does, how often a summary loses its fact, and which of its
facts a memory shows. All rows of a task share their draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias, final

import attrs

from benchmarks.arena.domains.judging import JudgedShop, TruthJudge
from benchmarks.arena.domains.reader import ContextReader
from benchmarks.arena.domains.registry import VERSION, SizeName, domain
from benchmarks.arena.domains.running import AROUND, Row, failed
from benchmarks.arena.domains.shopping.rules import Browsing, ShopRules
from benchmarks.arena.domains.world import World
from mage import __version__
from mage.agent import Agent, Outcome, Policy, outcome_document
from mage.chat import decide_messages, system_prompt, written
from mage.effects import Decide, Decision, Metered, Usage
from mage.stores import MemoryStore
from mage.tokens import TokenCounter, default_counter

_EVERYTHING: Final = Policy(compress=False, maintain=False, revise=False)


@final
@attrs.frozen
class Setup:
    """How a memory is made here.

    Attributes:
        policy: of the agent.
        window: how many of the newest steps are shown; None for all that the policy shows.
        compresses: whether the reader writes a summary after each product.
        forgets: whether no summary says a fact.
        watched: whether the shop is watched by the judge, in place of the agent's own Maintain.
    """

    policy: Policy
    window: int | None = None
    compresses: bool = True
    forgets: bool = False
    watched: bool = False


MEMORIES: Final = {
    "full-history": Setup(_EVERYTHING, compresses=False),
    "full-history-judged": Setup(_EVERYTHING, compresses=False, watched=True),
    "mage": Setup(Policy()),
    "mage-without-compress": Setup(Policy(compress=False)),
    "mage-without-maintain": Setup(Policy(maintain=False)),
    "mage-without-revise": Setup(Policy(revise=False)),
    "no-memory-judged": Setup(Policy(), forgets=True),
    "no-memory": Setup(Policy(maintain=False), forgets=True),
    "window-20": Setup(_EVERYTHING, window=20, compresses=False),
    "window-40": Setup(_EVERYTHING, window=40, compresses=False),
}


@final
@attrs.frozen
class Conditions:
    """One series of the laboratory.

    Attributes:
        memory: one of `MEMORIES`.
        mistakes: the share of purchases that the reader gets wrong, whatever it knows.
        misses: the share of wrong purchases that the judge passes.
        alarms: the share of right ones that it fails. With misses, half each is a coin.
        judge: whether there is one.
        loss: the share of summaries that lose their fact.
        seed: of the tasks and of all draws.
        size: of the tasks.
    """

    memory: str
    mistakes: float = 0.1
    misses: float = 0.1
    alarms: float = 0.05
    judge: bool = True
    loss: float = 0.0
    seed: int = 0
    size: SizeName = "full"

    def document(self) -> dict[str, object]:
        """Return as JSON all that a row depends on."""
        return {"domain": "shopping", "agent": "context-reader", "tasks": VERSION, **attrs.asdict(self)}


# -- what is swept ------------------------------------------------------------------------------------

MISTAKES: Final = (0.0, 0.1, 0.2)
LOSSES: Final = (0.05, 0.1, 0.2)
_JUDGES: Final = ((0.0, 0.0), (0.3, 0.05), (0.6, 0.05), (0.1, 0.0), (0.1, 0.3), (0.5, 0.5))
"""Misses and false alarms, beside those of `Conditions`: one that never errs, and a coin at the end."""
_JUDGED: Final = ("full-history-judged", "mage")


def sweep(seed: int, size: SizeName = "full") -> tuple[Conditions, ...]:
    """Return all series, in the order of the table."""
    found = [Conditions(memory, mistakes) for mistakes in MISTAKES for memory in MEMORIES]
    found += [Conditions(memory, misses=m, alarms=a) for m, a in _JUDGES for memory in _JUDGED]
    found += [Conditions("mage", judge=False)]
    found += [
        Conditions(memory, loss=loss) for memory in ("mage", "mage-without-maintain") for loss in LOSSES
    ]
    return tuple(attrs.evolve(each, seed=seed, size=size) for each in found)


# -- one task -----------------------------------------------------------------------------------------

Sight: TypeAlias = Callable[[str], str]
"""What becomes of the text of a prompt before the reader has it; tests take facts out with it."""


@final
class ReaderModel:
    """A model, to an agent: a context reader behind the prompt that a model would be sent, in plain text."""

    def __init__(
        self, reader: ContextReader, counter: TokenCounter, window: int | None, sight: Sight
    ) -> None:
        self._reader = reader
        self._count = lru_cache(maxsize=20_000)(counter.count)
        self._window = window
        self._sight = sight

    def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Render the prompt, and return what its reader decides. Tokens are counted message by message."""
        if self._window is not None:
            raw = request.shown.raw[-self._window :]
            request = attrs.evolve(request, shown=attrs.evolve(request.shown, raw=raw))
        said = prompt_of(request)
        decision = self._reader(self._sight("\n".join(said)))
        reply = "".join(each.text for each in decision.actions) or str(getattr(decision.then, "text", ""))
        return Metered(
            decision, Usage(sum(map(self._count, said)), self._count(reply), estimated=1), "reader", ""
        )


def prompt_of(request: Decide) -> tuple[str, ...]:
    """Return the texts of the messages that ask for a decision in the mode without tool calls."""
    system = system_prompt("text", tools=request.tools, manual=request.manual, rules=request.rules)
    chat = written(decide_messages(request, system=system, mode="text", tools=request.tools), "chat")
    return tuple(each["content"] for each in chat)


def run_conditions(conditions: Conditions, number: int) -> Row:
    """Return the row of a task. Nothing that goes wrong in it is raised."""
    try:
        return run_reader(conditions, number)
    except Exception as error:  # one task that fails must not stop the others, whatever it is
        return failed(conditions, number, f"{type(error).__name__}: {error}")


def run_reader(conditions: Conditions, number: int, sight: Sight = str) -> Row:
    """Return the row of a task."""
    counter = default_counter()
    task = domain("shopping", conditions.size).task(conditions.seed, number)
    rules = task.rules
    assert isinstance(rules, ShopRules)  # it is a shop
    made, dice = MEMORIES[conditions.memory], (conditions.seed, number)
    world = World[Browsing](rules)
    reader = ContextReader(
        *dice,
        mistakes=conditions.mistakes,
        loss=1.0 if made.forgets else conditions.loss,
        compresses=made.compresses,
    )
    judge = TruthJudge(world, rules, counter, *dice, misses=conditions.misses, alarms=conditions.alarms)
    shop = JudgedShop(world, judge, task.text) if made.watched else None
    steps = rules.cap * len(rules.instructions) * AROUND
    agent = Agent(
        model=ReaderModel(reader, counter, made.window, sight),
        environment=world if shop is None else shop,
        judge=judge if conditions.judge and made.policy.maintain else None,
        policy=attrs.evolve(made.policy, max_steps=steps),
        counter=counter,
    )
    outcome = agent.run(MemoryStore(), task.id, task=task.text)
    marked = task.mark(world.standing.closed)
    spent = Usage(calls=0) if shop is None else shop.spent
    return {
        "settings": conditions.document(),
        "number": number,
        "task": task.id,
        **attrs.asdict(marked.score, filter=lambda _, value: value is not None),
        "right": list(marked.right),
        "bought": [dict(each.answer).get("code") for each in world.standing.closed],
        "stopped_by_cap": sum(each.ending == "cap" for each in world.standing.closed) / len(marked.right),
        "guessed": reader.guessed,
        **_totals(outcome, spent),
        "origin": {
            "scores": "where the world stood at the end",
            "tokens": f"no model was asked: what prompts and replies would have taken, counted here ({counter.name})",
            "tasks": f"generated here, seed {conditions.seed}",
        },
        "version": __version__,
    }


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


def jobs(conditions: tuple[Conditions, ...], tasks: int) -> Iterator[tuple[Conditions, int]]:
    """Yield what is to be run: each series, task by task."""
    for each in conditions:
        yield from ((each, number) for number in range(tasks))

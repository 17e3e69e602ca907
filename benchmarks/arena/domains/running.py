"""One task, run by this project's agent, and the row that comes of it.

A row depends on the settings and on what the server answers; on no clock, and on nothing that other tasks did. A run
that was stopped or has failed is worth what was handed in on its path; one that could not be run at all is worth 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeAlias

import attrs

from benchmarks.arena.domains.decisions import POINTS, context_of, decisions, steps_on
from benchmarks.arena.domains.habits import Habits, reader_agent
from benchmarks.arena.domains.memories import beside, policy_of
from benchmarks.arena.domains.planning import PlanModel
from benchmarks.arena.domains.registry import domain
from benchmarks.arena.domains.scoring import NOTHING, Score
from benchmarks.arena.domains.settings import Documented, Settings
from benchmarks.arena.domains.shopping.rules import ShopRules
from benchmarks.arena.domains.task import Marked, Task
from benchmarks.arena.domains.world import Standing, World, played, stand, step
from benchmarks.arena.retrieval.joined import Joined, Needs
from mage import Session, __version__
from mage.agent import Agent, Outcome, outcome_document
from mage.effects import Model
from mage.engine import Tree
from mage.stores import JournalStore, MemoryStore, open_store
from mage.tokens import TokenCounter, default_counter

Row: TypeAlias = dict[str, object]

AROUND: Final = 3
"""A run may take so many times the steps that all subtasks together may take: for what is left behind by going back."""
_LONGEST: Final = 300
"""Characters of a detail, and of an answer: one of nine megabytes has been seen."""


def run_task(settings: Settings, number: int) -> Row:
    """Return the row of a task. Nothing that goes wrong in it is raised."""
    try:
        return _ran(settings, number)
    except Exception as error:  # one task that fails must not stop the others, whatever it is
        return failed(settings, number, f"{type(error).__name__}: {error}")


def failed(settings: Documented, number: int, detail: str) -> Row:
    """Return the row of a task that came to nothing: worth 0, and counted."""
    said: Row = {"settings": settings.document(), "number": number, "outcome": "failed", "reason": "error"}
    return {**said, "detail": detail[:_LONGEST], **_scores(NOTHING), "stopped_by_cap": 0.0}


def _ran(settings: Settings, number: int) -> Row:
    counter = default_counter()
    tasks = domain(settings.domain, settings.size, settings.data, settings.rows)
    task = tasks.task(settings.seed, number)
    steps = task.rules.cap * len(task.rules.instructions) * AROUND
    with ExitStack() as stack:
        store: JournalStore = MemoryStore()
        if settings.sessions is not None:
            store = stack.enter_context(open_store(settings.session_file(task.id)))
        agent = _agent(settings, number, task, counter, steps, stack)
        joined = _joined(settings, task, agent.model, counter, stack)
        if joined is not None:
            agent = attrs.evolve(agent, model=joined.model)
        outcome = agent.run(store, task.id, task=task.text)
        with Session.open(store, task.id) as session:
            actions = tuple(path_of(session.tree))
            context = context_of(decisions(session.log()), session.tree)
    row = {**_row(settings, number, task, outcome, actions, counter), "context": context}
    return row if joined is None else _with_memory(row, joined, acted=settings.agent)


def _joined(
    settings: Settings, task: Task, model: Model, counter: TokenCounter, stack: ExitStack
) -> Joined | None:
    """Return the memory system beside the agent, where one is named that is not its own."""
    chosen = beside(settings.memory)
    if chosen is None:
        return None
    account = None if settings.sessions is None else Path(f"{settings.session_file(task.id)}.memory.jsonl")
    needs = Needs(
        settings.caps,
        settings.memory_model or settings.model,
        settings.memory_url or settings.base_url,
        settings.seed,
        account,
    )
    return Joined(model, chosen, needs, task.rules, counter, stack)


def _with_memory(row: Row, joined: Joined, *, acted: str) -> Row:
    """Return a row with what the memory system did, whose tokens count as all others do."""
    taken, kinds, total = joined.usage(), row["tokens_by_call"], row["tokens"]
    assert isinstance(kinds, dict)  # as `_row` made them
    acted = acted if any(each["calls"] for each in kinds.values()) else "nobody"
    assert isinstance(total, int)
    said = {**kinds, "memory": taken.document} if taken.calls else kinds
    return {
        **row,
        "tokens": total + taken.total,
        "tokens_by_call": said,
        "memory_system": joined.document(acted=acted),
    }


def _agent(
    settings: Settings, number: int, task: Task, counter: TokenCounter, steps: int, stack: ExitStack
) -> Agent:
    policy = policy_of(settings.memory, settings.policy, steps)
    if settings.agent == "reader":
        assert isinstance(task.rules, ShopRules)  # no other domain is asked for with a reader
        return reader_agent(Habits.of(settings.reader), (settings.seed, number), task.rules, policy, counter)
    world = World(task.rules)
    if settings.agent == "plan":
        return Agent(model=PlanModel(task, counter), environment=world, policy=policy, counter=counter)
    # a plan needs no client
    from mage.llm import ChatJudge, ChatModel, ChatSummarizer, Sampling, client  # noqa: PLC0415  # a plan needs no client

    ours = stack.enter_context(client(base_url=settings.base_url))
    sampling: Sampling = {} if settings.temperature is None else {"temperature": settings.temperature}
    return Agent(
        model=ChatModel(ours, settings.model, mode=settings.mode, **sampling),
        environment=world,
        judge=ChatJudge(ours, settings.judge or settings.model, **sampling),
        summarizer=ChatSummarizer(ours, settings.model, **sampling),
        policy=policy,
        counter=counter,
    )


def path_of(tree: Tree) -> Iterator[str]:
    """Yield the actions of the path that an agent stands on, in their order: what it left behind does not count."""
    for made in steps_on(tree):
        yield made.action


# -- the row -------------------------------------------------------------------------------------------


def _row(
    settings: Settings,
    number: int,
    task: Task,
    outcome: Outcome,
    actions: tuple[str, ...],
    counter: TokenCounter,
) -> Row:
    standing = played(task.rules, actions)
    marked: Marked = task.mark(standing.closed)
    said = outcome_document(outcome)
    totals = outcome.totals
    return {
        "settings": settings.document(),
        "number": number,
        "task": task.id,
        "outcome": said["outcome"],
        "reason": said["reason"],
        "detail": str(said.get("detail", ""))[:_LONGEST],
        **_scores(marked.score),
        "right": list(marked.right),
        "answers": [[[slot, text[:_LONGEST]] for slot, text in each.answer] for each in standing.closed],
        "endings": [each.ending for each in standing.closed],
        "stopped_by_cap": sum(each.ending == "cap" for each in standing.closed) / len(marked.right),
        "caps": {"subtask": task.rules.cap, "steps": task.rules.cap * len(task.rules.instructions) * AROUND},
        "steps": totals.steps,
        "summaries": totals.summaries,
        "revisions": totals.revisions,
        "tokens": totals.usage.total,
        "tokens_by_call": said["tokens"],
        "tokens_by_model": said["models"],
        "trace": {"steps": len(actions), "tokens": counter.count(trace_text(task, actions))},
        "origin": _origin(settings, counter),
        "version": __version__,
    }


def _scores(score: Score) -> Row:
    return {name: value for name, value in attrs.asdict(score).items() if value is not None}


def _origin(settings: Settings, counter: TokenCounter) -> Row:
    """Say where each number comes from."""
    tasks = f"generated here, seed {settings.seed}" + (", from the user's data" if settings.data else "")
    if settings.rows is not None:
        tasks = "rows of a file of the user's, in MemoryArena's public schema, which nobody here has seen"
    tokens = f"as the server counted them; where it did not, which `estimated` counts, counted here ({counter.name})"
    if settings.agent != "model":
        tokens = f"no model was asked: what its prompts would have taken, counted here ({counter.name})"
    return {
        "scores": "the actions of the path on which the agent stood at the end, played in a new world",
        "tokens": tokens,
        "trace": f"actions, observations and instructions of that path, counted here ({counter.name})",
        "context": f"{tokens}: at most {POINTS} of the prompts on that path, the longest of each stretch",
        "tasks": tasks,
    }


def trace_text(task: Task, actions: tuple[str, ...]) -> str:
    """Return the whole interaction as text, as the paper measures the length of a trace."""
    standing: Standing[object] = stand(task.rules)
    lines = [*task.rules.instructions[:1]]
    for action in actions:
        standing, seen = step(task.rules, standing, action)
        lines += [f"Action: {action}", f"Observation: {seen.text}", *seen.instructions]
    return "\n".join(lines)

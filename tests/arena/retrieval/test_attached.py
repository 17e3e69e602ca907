"""A memory system beside the agent: what it hears and when, what the model is shown, what is counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena.domains.memories import MEMORIES
from benchmarks.arena.domains.planning import PlanModel
from benchmarks.arena.domains.registry import NAMES
from benchmarks.arena.domains.task import Task
from benchmarks.arena.domains.world import World
from benchmarks.arena.retrieval.attached import (
    CUT,
    RETRIEVED,
    ByRules,
    Caps,
    Part,
    Remembering,
    WriteRefused,
    beside,
    longest,
    steps_of,
    summed,
    trace_of,
    usage_of,
    windowed,
    wrapped,
)
from benchmarks.arena.retrieval.chunks import Chunks, bm25, drawn, pieces
from mage.agent import Agent, Outcome, RunFailed, RunFinished
from mage.chat import note_action
from mage.effects import Decide, Decision, Metered, Model, Usage
from mage.engine import Step, StepId
from mage.stores import MemoryStore
from mage.tokens import default_counter
from tests.arena.domains.cases import SMALL

COUNTER = default_counter()


@final
class Told:
    """A system that keeps what it is told, and says how much that is."""

    def __init__(self, refuses: bool = False, fails: bool = False) -> None:
        self.heard: list[str] = []
        self.asked: list[tuple[int, str]] = []
        self._refuses = refuses
        self._fails = fails

    def add_chunk(self, chunk: str, /) -> None:
        self.heard.append(chunk)
        if self._refuses:
            raise WriteRefused("too long for this shelf")
        if self._fails:
            raise OSError("the shelf broke")

    def wrap_user_prompt(self, question: str, /) -> str:
        self.asked.append((len(self.heard), question))
        return wrapped([f"{len(self.heard)} traces are kept."] if self.heard else [], question)


@final
class Watched:
    """A model that plays a plan and keeps every question."""

    def __init__(self, task: Task) -> None:
        self.requests: list[Decide] = []
        self._plan = PlanModel(task, COUNTER)

    def __call__(self, request: Decide, /) -> Metered[Decision]:
        self.requests.append(request)
        return self._plan(request)


def ran(task: Task, model: Model, store: MemoryStore | None = None) -> Outcome:
    policy = attrs.evolve(MEMORIES["full-history"], max_steps=1000)
    agent = Agent(model=model, environment=World(task.rules), policy=policy, counter=COUNTER)
    return agent.run(store or MemoryStore(), "run", task=task.text)


def attached(task: Task, model: Model, memory: Any, **more: Any) -> Remembering:
    return Remembering(model, memory, ByRules(task.rules), COUNTER, **more)


@pytest.mark.parametrize("name", NAMES)
def test_each_subtask_is_written_once_when_the_next_one_has_come(name: str) -> None:
    """The traces are those of the plan's parts, in their order, whole; that of the last subtask nobody needs."""
    task = SMALL[name].task(3, 0)
    memory, model = Told(), Watched(task)
    between = attached(task, model, memory)
    assert isinstance(ran(task, between), RunFinished)
    assert len(memory.heard) == len(task.plan) - 1
    for trace, part, instruction in zip(memory.heard, task.plan, task.rules.instructions, strict=False):
        assert trace.startswith("Instruction: " + instruction.replace("\n", "\n ") + "\n")
        made = [line.removeprefix("Action: ") for line in trace.split("\n") if line.startswith("Action: ")]
        assert made == list(part.actions)
        assert trace.count("\nObservation: ") == len(made)
    assert summed(between.book)["writes"] == len(memory.heard)


def test_before_each_action_it_is_asked_with_the_open_trace() -> None:
    """One question for each step, with what was written before it and nothing of what is closed in the query."""
    task = SMALL["shopping"].task(3, 0)
    memory, model = Told(), Watched(task)
    between = attached(task, model, memory)
    ran(task, between)
    actions = [action for part in task.plan for action in part.actions]
    assert len(memory.asked) == len(actions) + 1  # and once more before it says that it is done
    assert summed(between.book)["retrievals"] == len(memory.asked)
    place = 0
    for written, part in enumerate(task.plan):
        for made in range(len(part.actions)):
            heard, question = memory.asked[place]
            assert heard == written
            assert question.startswith("Instruction: " + task.rules.instructions[written].split("\n")[0])
            assert question.count("\nAction: ") == made
            place += 1


def test_the_model_is_shown_the_open_subtask_and_what_came_back() -> None:
    """Of the closed ones neither steps nor instructions are shown; what is remembered stands in a notice."""
    task = SMALL["shopping"].task(3, 0)
    memory, model = Told(), Watched(task)
    ran(task, attached(task, model, memory))
    for request in model.requests:
        assert len(request.shown.instructions) == 1
        written = task.rules.instructions.index(request.shown.instructions[0])
        assert request.nudge == ""
        assert request.opened <= len(request.shown.raw) <= len(task.plan[written].actions)
        told = [notice.said for notice in request.notices if notice.text == RETRIEVED]
        assert told == ([f"{written} traces are kept."] if written else [])
    full = Watched(task)
    ran(task, full)
    assert len(model.requests) == len(full.requests)  # the same plan, with other prompts
    assert model.requests[-1].shown != full.requests[-1].shown


def test_a_text_beyond_the_cap_is_cut_and_counted() -> None:
    """Of what a system is handed the end is kept, of what it gives back the beginning; the account says how often."""
    task = SMALL["shopping"].task(3, 0)
    memory = Told()
    between = attached(task, Watched(task), memory, caps=Caps(handed=50, shown=3))
    assert isinstance(ran(task, between), RunFinished)
    said = summed(between.book)
    assert said["writes_cut"] == len(memory.heard) > 0
    for trace in memory.heard:
        assert trace.startswith(CUT)
        assert COUNTER.count(trace.removeprefix(CUT)) <= 50
        assert trace.endswith("\n")
    assert isinstance(said["retrievals_cut"], int)
    assert said["retrievals_cut"] > 0


def test_a_refused_write_is_counted_and_the_run_goes_on() -> None:
    """A system that takes nothing is a row with as many refusals as subtasks."""
    task = SMALL["shopping"].task(3, 0)
    between = attached(task, Watched(task), Told(refuses=True))
    assert isinstance(ran(task, between), RunFinished)
    said = summed(between.book)
    assert said["writes"] == said["writes_refused"] == len(task.plan) - 1
    assert said["refused_because"] == "too long for this shelf"


def test_a_system_that_fails_fails_the_run_in_words() -> None:
    """What another's package raises becomes the run's failure, and is not raised at whoever runs it."""
    task = SMALL["shopping"].task(3, 0)
    outcome = ran(task, attached(task, Watched(task), Told(fails=True), name="the shelf"))
    assert isinstance(outcome, RunFailed)
    assert "the shelf failed at a write: OSError: the shelf broke" in outcome.detail


def test_what_a_system_spends_is_in_the_account_once() -> None:
    """The tokens of its own models come to what they were, also where a second process fills the system anew."""
    task = SMALL["shopping"].task(3, 0)
    taken = 0

    @final
    class Costly:
        def add_chunk(self, chunk: str, /) -> None:
            nonlocal taken
            taken += 100

        def wrap_user_prompt(self, question: str, /) -> str:
            nonlocal taken
            taken += 7
            return question

    def spent() -> Usage:
        return Usage(taken, calls=taken)

    first = attached(task, Watched(task), Costly(), spent=spent)
    ran(task, first)
    assert usage_of(first.book).prompt == taken
    before = dict(first.book)
    ran(task, attached(task, Watched(task), Costly(), spent=spent, book=first.book))
    assert first.book == before


def test_a_resumed_run_fills_the_system_from_its_steps() -> None:
    """A process dies after some steps; the next one writes what is closed once more and asks on where it was."""
    task = SMALL["shopping"].task(3, 0)
    whole, memory = Told(), Told()
    ran(task, attached(task, Watched(task), whole))
    store, plan = MemoryStore(), Watched(task)
    made = 0

    def dies(request: Decide, /) -> Metered[Decision]:
        nonlocal made
        made += 1
        if made == len(task.plan[0].actions) + 4:
            raise KeyboardInterrupt
        return plan(request)

    with pytest.raises(KeyboardInterrupt):
        ran(task, attached(task, dies, Told()), store)
    assert isinstance(ran(task, attached(task, plan, memory), store), RunFinished)
    assert memory.heard == whole.heard
    assert memory.asked == whole.asked[-len(memory.asked) :]
    assert len(memory.asked) == len(whole.asked) - len(task.plan[0].actions) - 2  # a summary is no action


# -- texts ----------------------------------------------------------------------------------------------


TEXTS = st.text(st.sampled_from("ab :\nAction:Note"), max_size=30)


@given(TEXTS, st.lists(st.tuples(TEXTS, TEXTS), max_size=5))
def test_a_trace_comes_apart_into_its_steps(instruction: str, made: list[tuple[str, str]]) -> None:
    """Whatever stands in a step, no line of it is taken for the beginning of another."""
    steps = tuple(Step(StepId(at + 1), StepId(at), *each) for at, each in enumerate(made))
    trace = trace_of(Part(instruction, steps))
    assert "".join(steps_of(trace)) == trace
    assert len(steps_of(trace)) == 1 + len(steps)


def test_a_note_stands_in_a_trace_as_a_note() -> None:
    """What the model wrote down for itself is a piece of its own."""
    step = Step(StepId(1), StepId(0), note_action("left: 5"), "Noted.")
    assert "left: 5" in trace_of(Part("Buy.", (step,)))


@given(st.lists(st.text(min_size=1), max_size=4), st.text(min_size=1))
def test_what_is_beside_a_question_has_not_the_question(remembered: list[str], question: str) -> None:
    """A question that nothing is remembered of is itself, and nothing is beside it."""
    prompt = wrapped(remembered, question)
    assert question in prompt
    if not remembered:
        assert beside(prompt, question) == ""


@given(st.integers(0, 200), st.integers(0, 200))
def test_the_longest_that_fits_is_found(most: int, limit: int) -> None:
    """It is the limit, or all."""
    assert longest(most, lambda size: size <= limit) == min(most, limit)


# -- systems of our own -----------------------------------------------------------------------------------


@given(st.text(min_size=1), st.integers(1, 9))
def test_pieces_come_to_the_text(text: str, size: int) -> None:
    """Nothing is lost between chunks of so many characters, and none is longer."""
    found = pieces(text, size)
    assert "".join(found) == text
    assert all(len(piece) <= size for piece in found)
    assert pieces(text, "subtask") == [text]


@given(st.lists(st.text(st.sampled_from("abc "), min_size=1), min_size=1, max_size=6), st.integers(0, 8))
@settings(deadline=None)
def test_chunks_at_random_are_k_of_them_and_the_same_again(chunks: list[str], k: int) -> None:
    """The draw depends on the seed, the chunks and the question, and on nothing else."""

    def asked(seed: int) -> str:
        memory = Chunks(drawn(seed), size="subtask", k=k)
        for chunk in chunks:
            memory.add_chunk(chunk)
        return memory.wrap_user_prompt("?")

    assert asked(1) == asked(1)
    picked: Sequence[str] = [] if k == 0 else asked(1).split("\n")[:-2]
    assert len("".join(picked)) <= sum(map(len, chunks))


def test_bm25_finds_the_chunk_that_shares_the_words() -> None:
    """Of three traces the one with the query's words comes back, whole."""
    pytest.importorskip("bm25s")
    memory = Chunks(bm25, size="subtask", k=1)
    for colour in ("red", "green", "blue"):
        memory.add_chunk(f"Instruction: Buy a chair.\nAction: buy\nObservation: A {colour} one.\n")
    assert "green" in beside(memory.wrap_user_prompt("What goes with green?"), "What goes with green?")


def test_a_window_shows_the_newest_steps() -> None:
    """Never more than so many, and always the newest."""
    task = SMALL["shopping"].task(3, 0)
    model = Watched(task)
    assert isinstance(ran(task, windowed(model, 3)), RunFinished)
    assert max(len(request.shown.raw) for request in model.requests) == 3

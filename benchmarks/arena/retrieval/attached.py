"""A memory system beside this project's agent: what it hears of a run, and what the model is shown in place of it.

The paper's protocol, the same for every system. It is empty when a task begins. Once the next instruction has come, the
trace of the finished subtask is written to it. Before each action it is asked, with the trace of the open subtask as the
query. The model is shown the task, the open subtask and what came back, and nothing else of what was done.

The system hangs between agent and model, under a policy that keeps every step: so any model of `mage.agent` plays, runs
are kept and resumed as ever, and a system that died with its process is filled anew from the steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias, final

import attrs

from benchmarks.arena.domains.world import Rules, stand, step
from mage.chat import note_in
from mage.effects import RESET, Decide, Decision, EffectError, Metered, Model, Notice, Usage
from mage.engine import Step
from mage.tokens import TokenCounter

RETRIEVED: Final = "This was retrieved from your memory of earlier subtasks:"
"""The words of the notice under which the model is shown what came back; what came back is indented below."""
CUT: Final = "[...]\n"
"""Stands where a text was cut."""


class Remembers(Protocol):
    """A memory system: MemoryArena's interface."""

    def add_chunk(self, chunk: str, /) -> None:
        """Take in the trace of a finished subtask.

        Raises:
            WriteRefused: it does not take this text; the run goes on without it.
        """
        ...

    def wrap_user_prompt(self, question: str, /) -> str:
        """Return the question with what is remembered of it around it; the bare question where that is nothing."""
        ...


@final
@attrs.frozen
class WriteRefused(Exception):
    """A system does not take a text; the message says why."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def wrapped(remembered: Sequence[str], question: str) -> str:
    """Return a question below what is remembered of it."""
    if not remembered:
        return question
    return "\n".join([*[text.strip("\n") for text in remembered], "", question])


def beside(prompt: str, question: str) -> str:
    """Return what a wrapped question holds beside the question, which the model is shown anyway."""
    return prompt.replace(question, "", 1).strip()


# -- traces ---------------------------------------------------------------------------------------------


@final
@attrs.frozen
class Part:
    """A subtask, as far as it was played.

    Attributes:
        instruction: what it asks for.
        steps: what was done.
    """

    instruction: str
    steps: tuple[Step, ...] = ()


def trace_of(part: Part) -> str:
    """Return a subtask as text: every line of ours is at the left margin, and the further lines of a text are not."""
    lines = [f"Instruction: {part.instruction}"]
    for each in part.steps:
        noted = note_in(each.action, each.observation)
        if noted is not None:
            lines.append(f"Note: {noted}")
        elif each.action != RESET:
            lines += [f"Action: {each.action}", f"Observation: {each.observation}"]
    return "".join(each.replace("\n", "\n ") + "\n" for each in lines)


_NEXT: Final = re.compile(r"^(?=Action: |Note: )", re.MULTILINE)


def steps_of(trace: str) -> list[str]:
    """Return a trace in pieces of a step each, the first of which is the instruction."""
    return [piece for piece in _NEXT.split(trace) if piece]


Parting: TypeAlias = Callable[[Sequence[Step]], Sequence[Part]]
"""Divides the steps of a path into subtasks. The last one is open: the next instruction has not come."""


@final
class ByRules:
    """Divides steps by playing them once more: the rules of a world say where an instruction comes.

    Cost: a call plays the steps that were not played by the last one; where the path has changed, all.
    """

    def __init__(self, rules: Rules[Any]) -> None:  # Any: each domain has a state of its own
        self._rules = rules
        self._begin()

    def _begin(self) -> None:
        self._standing = stand(self._rules)
        self._seen: list[Step] = []
        self._parts = [Part(self._rules.instructions[0])]

    def __call__(self, path: Sequence[Step], /) -> Sequence[Part]:
        """Return the subtasks, the open one last."""
        if list(path[: len(self._seen)]) != self._seen:
            self._begin()
        for each in path[len(self._seen) :]:
            self._take(each)
        return tuple(self._parts)

    def _take(self, each: Step) -> None:
        self._seen.append(each)
        last = self._parts[-1]
        self._parts[-1] = attrs.evolve(last, steps=(*last.steps, each))
        if each.action == RESET or note_in(each.action, each.observation) is not None:
            return
        self._standing, seen = step(self._rules, self._standing, each.action)
        self._parts += [Part(instruction) for instruction in seen.instructions]


# -- caps and account -------------------------------------------------------------------------------------

Query: TypeAlias = Literal["trace", "instruction"]
QUERIES: Final[tuple[Query, ...]] = ("trace", "instruction")


@final
@attrs.frozen
class Caps:
    """What a run allows, the same for every system.

    Attributes:
        handed: tokens of one text that a system is handed, a trace or a query; of a longer one the end is kept.
        shown: tokens of what comes back that the model is shown; of more the beginning is kept.
        query: what a system is asked with: the trace of the open subtask, or its instruction alone.
    """

    handed: int = 16_000
    shown: int = 8_000
    query: Query = "trace"


Moment: TypeAlias = tuple[Literal["write", "ask"], int]
"""A write of a subtask, by its number; or a question, by the number of steps before it."""


@final
@attrs.frozen
class Entry:
    """What came of one write or question.

    Attributes:
        tokens: of the text that a system took in, or of what the model was shown.
        cut: whether there was more than the cap allows.
        refused: why a write was not taken; empty where it was.
        usage: tokens of the models that the system has asked.
    """

    tokens: int
    cut: bool = False
    refused: str = ""
    usage: Usage = attrs.field(factory=lambda: Usage(calls=0))


Book: TypeAlias = dict[Moment, Entry]
"""The account of a run: once for each moment, however often a run was interrupted."""


def summed(book: Mapping[Moment, Entry]) -> dict[str, object]:
    """Return as JSON what an account comes to."""
    wrote = [entry for (what, _), entry in book.items() if what == "write"]
    asked = [entry for (what, _), entry in book.items() if what == "ask"]
    refused = [entry.refused for entry in wrote if entry.refused]
    return {
        "writes": len(wrote),
        "writes_cut": sum(entry.cut for entry in wrote),
        "writes_refused": len(refused),
        **({"refused_because": refused[0]} if refused else {}),
        "retrievals": len(asked),
        "retrievals_cut": sum(entry.cut for entry in asked),
        "retrieved_tokens": sum(entry.tokens for entry in asked),
    }


def usage_of(book: Mapping[Moment, Entry]) -> Usage:
    """Return what the models have taken that a system has asked."""
    return sum((entry.usage for entry in book.values()), Usage(calls=0))


# -- between agent and model --------------------------------------------------------------------------------


def _nothing() -> Usage:
    return Usage(calls=0)


@final
class Remembering:
    """A model, to an agent that keeps every step: it lets a memory system choose what another model is shown.

    Attributes:
        book: the account.
    """

    def __init__(
        self,
        model: Model,
        memory: Remembers,
        parting: Parting,
        counter: TokenCounter,
        *,
        caps: Caps | None = None,
        spent: Callable[[], Usage] = _nothing,
        book: Book | None = None,
        name: str = "the memory",
    ) -> None:
        """Put a system between.

        Args:
            model: decides.
            memory: an empty system.
            parting: divides a path into subtasks.
            counter: counts tokens.
            caps: what is allowed.
            spent: returns what the system's own models have taken so far.
            book: the account of the run so far; a mapping that is kept elsewhere, where the run is.
            name: of the system, in errors.
        """
        self.book: Book = {} if book is None else book
        self._model = model
        self._memory = memory
        self._parting = parting
        self._counter = counter
        self._caps = Caps() if caps is None else caps
        self._spent = spent
        self._name = name
        self._written = 0
        self._asked: tuple[int, str] | None = None

    def __call__(self, request: Decide, /) -> Decision | Metered[Decision]:
        """Return the decision of the model, which is shown the open subtask and what is remembered.

        Raises:
            EffectError: the model has none; or the memory system has failed.
        """
        parts = self._parting(request.shown.raw)
        for part in parts[self._written : -1]:
            self._write(part)
        text = self._retrieved(parts[-1], len(request.shown.raw))
        return self._model(seeing(request, parts, text))

    def _write(self, part: Part) -> None:
        moment: Moment = ("write", self._written)
        text, is_cut = self._handed(trace_of(part))
        before, refused = self._spent(), ""
        try:
            self._memory.add_chunk(text)
        except WriteRefused as error:
            refused = error.reason
        except Exception as error:  # whatever another's package raises: the run fails, in words
            raise self._failed("a write", error) from error
        self._written += 1
        tokens = 0 if refused else self._counter.count(text)
        self._enter(moment, Entry(tokens, is_cut, refused, less(self._spent(), before)))

    def _retrieved(self, part: Part, place: int) -> str:
        """Return what is remembered before an action. The same place is not asked twice: the query would be the same."""
        if self._asked is None or self._asked[0] != place:
            self._asked = place, self._ask(part, place)
        return self._asked[1]

    def _ask(self, part: Part, place: int) -> str:
        query = trace_of(part) if self._caps.query == "trace" else f"Instruction: {part.instruction}\n"
        question, _ = self._handed(query)
        before = self._spent()
        try:
            prompt = self._memory.wrap_user_prompt(question)
        except Exception as error:  # as above
            raise self._failed("a question", error) from error
        text, is_cut = self._kept(beside(prompt, question))
        self._enter(("ask", place), Entry(self._counter.count(text), is_cut, "", less(self._spent(), before)))
        return text

    def _handed(self, text: str) -> tuple[str, bool]:
        """Return the end of a text, where it is longer than the cap, and whether it is: what a subtask comes to is last."""
        limit = self._caps.handed
        fitting = longest(len(text), lambda size: self._counter.count(text[len(text) - size :]) <= limit)
        return (text, False) if fitting == len(text) else (CUT + text[len(text) - fitting :], True)

    def _kept(self, text: str) -> tuple[str, bool]:
        """Return the beginning of a text, where it is longer than the cap, and whether it is: the best comes first."""
        fitting = longest(len(text), lambda size: self._counter.count(text[:size]) <= self._caps.shown)
        return (text, False) if fitting == len(text) else (f"{text[:fitting]}\n{CUT}", True)

    def _enter(self, moment: Moment, entry: Entry) -> None:
        if moment not in self.book:  # what a resumed run does once more was paid before
            self.book[moment] = entry

    def _failed(self, what: str, error: Exception) -> EffectError:
        if isinstance(error, EffectError):
            return error
        return EffectError("server", f"{self._name} failed at {what}: {type(error).__name__}: {error}")


def seeing(request: Decide, parts: Sequence[Part], remembered: str) -> Decide:
    """Return a question in which the open subtask is all that was done, and what is remembered is told beside it."""
    opened = parts[-1]
    before = [step for part in parts[:-1] for step in part.steps]
    hints = request.shown.hints
    if before:
        hints = attrs.evolve(hints, boundary=before[-1].id)
    shown = attrs.evolve(
        request.shown, instructions=(opened.instruction,), compressed=(), raw=opened.steps, hints=hints
    )
    told = (Notice("environment", RETRIEVED, remembered),) if remembered else ()
    return attrs.evolve(
        request,
        shown=shown,
        notices=(*request.notices, *told),
        opened=min(request.opened, len(opened.steps)),
        nudge="",  # nothing that is over is open here
    )


def windowed(model: Model, steps: int) -> Model:
    """Return a model that is shown the newest steps alone, and every instruction."""

    def decide(request: Decide, /) -> Decision | Metered[Decision]:
        shown = attrs.evolve(request.shown, raw=request.shown.raw[-steps:])
        return model(attrs.evolve(request, shown=shown, nudge=""))

    return decide


def less(after: Usage, before: Usage) -> Usage:
    """Return what was taken between two counts."""
    fields = attrs.asdict(before)
    return Usage(**{name: max(0, count - fields[name]) for name, count in attrs.asdict(after).items()})


def longest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest size up to `most` that fits; 0 where none does. Cost: O(log(most)) tries."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low

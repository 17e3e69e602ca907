"""The engine with one fault at a time, behind what is compared: what a wrong implementation would do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from hashlib import sha256
from io import BufferedIOBase
from typing import Final, TypeVar, cast, final

import attrs

from mage import Failed
from mage.engine import ApplyVerdict, Command, Compress, Grow, Instruct, Revise, State, Unverified
from mage.testing import canonical
from mage.testing.machine import Canonical, spelled
from specs.conformance import (
    BEFORE_START,
    Answer,
    Detail,
    Implementation,
    Reached,
    Refused,
    Request,
    UnknownState,
    answer_of,
    outcome_of,
)
from specs.conformance.serve import serve

Same = TypeVar("Same")


def _same(value: Same) -> Same:
    return value


def _as_told(state: State | None, command: Command) -> Command:
    return command


@final
@attrs.frozen
class Fault:
    """What is done wrong.

    Attributes:
        fewest: how many commands show it at least, the start included.
        command: changes a command before the engine sees it.
        answer: changes an answer.
        form: changes the plain form of every state.
        spell: changes how forms are written.
    """

    fewest: int
    command: Callable[[State | None, Command], Command] = _as_told
    answer: Callable[[Answer], Answer] = _same
    form: Callable[[Canonical], Canonical] = _same
    spell: Callable[[bytes], bytes] = _same


@final
class Faulty(Implementation):
    """The engine with a fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.states: list[State] = []

    def apply(self, request: Request) -> Answer:
        before = None if request.on == BEFORE_START else self._state(request.on)
        outcome = outcome_of(before, self.fault.command(before, request.command))
        if outcome.after is not None and outcome.refusal is None:
            self.states.append(outcome.after)
        answer = answer_of(outcome, len(self.states))
        if isinstance(answer, Reached):
            answer = attrs.evolve(answer, fingerprint=sha256(self.show(answer.state)).hexdigest())
        return self.fault.answer(answer)

    def show(self, state: int) -> bytes:
        return self.fault.spell(spelled(self.fault.form(canonical(self._state(state)))))

    def forget(self) -> None:
        self.states.clear()

    def _state(self, number: int) -> State:
        if not 0 < number <= len(self.states):
            raise UnknownState(number)
        return self.states[number - 1]


def _strips(state: State | None, command: Command) -> Command:
    return Grow(command.action.strip(), command.observation) if isinstance(command, Grow) else command


def _takes_any_answer(state: State | None, command: Command) -> Command:
    if isinstance(command, ApplyVerdict) and isinstance(state, Unverified):
        return ApplyVerdict(command.verdict, state.digest)
    return command


def _blames_the_text(state: State | None, command: Command) -> Command:
    if isinstance(command, ApplyVerdict) and isinstance(command.verdict, Failed):
        return ApplyVerdict(Failed(command.verdict.feedback, "summary"), command.digest)
    return command


def _blames_no_step(state: State | None, command: Command) -> Command:
    if isinstance(command, ApplyVerdict) and isinstance(command.verdict, Failed):
        return ApplyVerdict(Failed(command.verdict.feedback, command.verdict.fault), command.digest)
    return command


def _never_falls_back(state: State | None, command: Command) -> Command:
    return Compress(command.text) if isinstance(command, Compress) else command


def _forgets_standing(state: State | None, command: Command) -> Command:
    return Instruct(command.text) if isinstance(command, Instruct) else command


def _goes_back_to_the_root(state: State | None, command: Command) -> Command:
    return Revise(0, command.lesson) if isinstance(command, Revise) else command


def _turns_round(answer: Answer) -> Answer:
    if isinstance(answer, Reached) and answer.abandoned is not None:
        return attrs.evolve(answer, abandoned=answer.abandoned[::-1])
    return answer


def _leaves_no_instructions(answer: Answer) -> Answer:
    if isinstance(answer, Reached) and answer.instructions is not None:
        return attrs.evolve(answer, instructions=())
    return answer


def _refuses(name: str, detail: Detail) -> Callable[[Answer], Answer]:
    """Say this with every refusal of that name."""

    def say(answer: Answer) -> Answer:
        if isinstance(answer, Refused) and answer.refusal == name:
            return attrs.evolve(answer, detail=detail)
        return answer

    return say


def _without(part: str, empty: object = ()) -> Callable[[Canonical], Canonical]:
    """Leave a part of every form empty."""
    return lambda form: {**form, part: empty}


def _only_first_lesson(form: Canonical) -> Canonical:
    lessons = form["lessons here"]
    assert isinstance(lessons, tuple)
    return {**form, "lessons here": lessons[:1]}


FAULTS: Final[dict[str, Fault]] = {
    "strips actions": Fault(2, command=_strips),
    "takes any answer": Fault(4, command=_takes_any_answer),
    "blames the text": Fault(4, command=_blames_the_text),
    "blames no step": Fault(4, command=_blames_no_step),
    "never falls back": Fault(3, command=_never_falls_back),
    "forgets what stands": Fault(2, command=_forgets_standing),
    "always goes back to the root": Fault(2, command=_goes_back_to_the_root),
    "abandons in path order": Fault(4, answer=_turns_round),
    "leaves no instructions behind": Fault(4, answer=_leaves_no_instructions),
    "numbers from 0": Fault(
        1,
        answer=lambda answer: (
            attrs.evolve(answer, state=answer.state - 1) if isinstance(answer, Reached) else answer
        ),
    ),
    "the empty segment names no boundary": Fault(2, answer=_refuses("EmptySegment", None)),
    "nothing is legal": Fault(2, answer=_refuses("UnknownBoundary", ())),
    "no line can be folded": Fault(5, answer=_refuses("UnfoldableRange", ())),
    "expects no digest": Fault(4, answer=_refuses("StaleVerdict", None)),
    "shows one lesson": Fault(3, form=_only_first_lesson),
    "shows no continuations": Fault(3, form=_without("continuations")),
    "shows no subgoals": Fault(4, form=_without("subgoals")),
    "keeps no chapters": Fault(8, form=_without("chapters")),
    "asks nobody": Fault(3, form=_without("asked", None)),
    "escapes in capitals": Fault(1, spell=lambda line: line.replace(b"\\ud", b"\\uD")),
    "spaces": Fault(1, spell=lambda line: line.replace(b":", b": ", 1)),
}
"""Faults by what the implementation then does."""


def main(name: str) -> None:
    """Serve the engine with a fault on standard input and output, until the input ends."""
    source, target = cast("BufferedIOBase", sys.stdin.buffer), cast("BufferedIOBase", sys.stdout.buffer)
    serve(Faulty(FAULTS[name]), source, target)


if __name__ == "__main__":
    main(sys.argv[1])

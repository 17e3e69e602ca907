"""The engine and another implementation over one sequence of commands, answer by answer, and the fewest that differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast, final

from mage.codec.strict_json import read_json, short
from mage.engine import (
    Active,
    ApplyVerdict,
    Command,
    Failed,
    Fold,
    Revise,
    State,
    Unverified,
    Verdict,
    fold_request,
    judge_request,
    view,
)
from mage.testing.machine import Canonical, canonical_json, differences
from mage.testing.strategies import legal_boundaries, script
from specs.conformance.implementation import (
    Answer,
    Implementation,
    Outcome,
    Reached,
    Request,
    answer_of,
    outcome_of,
)


@final
class Disagreement(AssertionError):
    """An implementation does not do what the engine does.

    Attributes:
        commands: what was tried, refused commands included; the last one shows the difference.
        detail: how the two differ, in a few lines.
    """

    def __init__(self, commands: Sequence[Command], detail: str) -> None:
        self.commands = tuple(commands)
        self.detail = detail
        super().__init__(self.commands, detail)

    def __str__(self) -> str:
        return f"{self.detail}\nafter\n{script(self.commands)}"


def compare(
    implementation: Implementation, commands: Iterable[Command], *, shrink: bool = True
) -> tuple[State, ...]:
    """Carry out commands on the engine and on an implementation, and compare answer by answer.

    Each command goes on from the state that the last accepted one led to, the first from before the start.
    Compared are the number and the fingerprint of each state, the name of each refusal and what it says,
    and what each revise leaves behind.

    Args:
        implementation: held against the engine; the states that it had are forgotten.
        commands: what to try, a `Start` first, refused commands among them.
        shrink: whether a difference that is found is made small: parts of the commands are left out, large
            ones first, as long as some difference is left. It costs a few comparisons a command.

    Returns:
        The engine's states, in order of acceptance.
        Cost: that of the commands on both sides, and O(size of its tree) a state.

    Raises:
        Disagreement: an answer is another than the engine's. Whatever the implementation raises.
    """
    try:
        return _compared(implementation, tuple(commands))
    except Disagreement as met:
        found = met
    fewest = _shrunk(implementation, found) if shrink else found
    raise Disagreement(
        fewest.commands, fewest.detail
    )  # from one place: Hypothesis tells failures apart by it


def _compared(implementation: Implementation, tried: tuple[Command, ...]) -> tuple[State, ...]:
    requests: list[Request] = []
    numbered: list[tuple[int, Outcome]] = []
    states: list[State] = []
    for command in tried:
        requests.append(Request(len(states), command))
        outcome = outcome_of(states[-1] if states else None, command)
        if outcome.after is not None and outcome.refusal is None:
            states.append(outcome.after)
        numbered.append((len(states), outcome))
    implementation.forget()
    # The answers are read one by one, so that a process can go on while the engine's are worked out.
    answers = implementation.apply_many(requests)
    for place, ((number, outcome), answer) in enumerate(zip(numbered, answers, strict=True)):
        if wrong := disagreement(implementation, answer, number, outcome):
            raise Disagreement(tried[: place + 1], wrong)
    return tuple(states)


def _shrunk(implementation: Implementation, found: Disagreement) -> Disagreement:
    """Return a disagreement over as few of the commands as can be found.

    A verdict that answered its question goes on answering, a revise goes on going as many summaries up, a fold
    on folding lines as far up, or the topmost: so it goes on where Hypothesis, which draws each command to fit the
    state before it, no longer can.
    """
    size = len(found.commands) // 2
    while size:
        before, place = len(found.commands), 0
        while place < len(found.commands):
            aimed = _aimed(found.commands)
            fewer = _difference(implementation, _aimed_commands([*aimed[:place], *aimed[place + size :]]))
            found, place = (found, place + size) if fewer is None else (fewer, place)
        size = size if size <= 3 and len(found.commands) < before else size // 2
    return found


def _difference(implementation: Implementation, commands: list[Command]) -> Disagreement | None:
    try:
        _compared(implementation, tuple(commands))
    except Disagreement as found:
        return found
    return None


_Aim: TypeAlias = tuple[int, ...] | None
"""What a command aimed at, counted from the newest: for a revise or the boundary of a verdict that answered what
was pending, how many boundaries up; for a fold with the right digest, how many lines of C up its ends stand.
"""
_Aimed: TypeAlias = tuple[Command, _Aim]


def _aimed(commands: Sequence[Command]) -> list[_Aimed]:
    aimed: list[_Aimed] = []
    state: State | None = None
    for command in commands:
        aimed.append((command, None if state is None else _aim(command, state)))
        state = outcome_of(state, command).after
    return aimed


def _aim(command: Command, state: State) -> _Aim:
    match command:
        case Revise():
            return _places([command.boundary], legal_boundaries(state))
        case ApplyVerdict() if isinstance(state, Unverified) and command.digest == state.digest:
            named = command.verdict.boundary if isinstance(command.verdict, Failed) else None
            return (() if named is None else _places([named], judge_request(state).boundaries)) or ()
        case Fold() if isinstance(state, Active):
            lines = view(state).compressed
            request = fold_request(state, command.first, command.last, command.text).value_or(None)
            if request is None or request.digest != command.digest:
                return None
            first = _places([command.first], [line.label for line in lines])
            last = _places([command.last], [line.boundary for line in lines])
            return None if first is None or last is None else (*first, *last)
        case _:
            return None


def _places(named: Sequence[int], found: Sequence[int]) -> _Aim:
    """Return where each stands, counted from the end; None where one is not there."""
    newest = found[::-1]
    return tuple([newest.index(each) for each in named]) if set(named) <= set(newest) else None


def _aimed_commands(aimed: Iterable[_Aimed]) -> list[Command]:
    """Return the commands, each with the digest, the boundary or the lines that it now has to name."""
    commands: list[Command] = []
    state: State | None = None
    for command, aim in aimed:
        commands.append(command if aim is None or state is None else _aimed_anew(command, aim, state))
        state = outcome_of(state, commands[-1]).after
    return commands


def _aimed_anew(command: Command, aim: tuple[int, ...], state: State) -> Command:
    match command:
        case Revise():
            legal = legal_boundaries(state)[::-1]
            return Revise(legal[aim[0]], command.lesson) if aim[0] < len(legal) else command
        case ApplyVerdict() if isinstance(state, Unverified):
            return ApplyVerdict(_blaming(command.verdict, aim, state), state.digest)
        case Fold() if isinstance(state, Active):
            return _folding(command, aim, state)
        case _:
            return command


def _blaming(verdict: Verdict, aim: tuple[int, ...], state: Unverified) -> Verdict:
    if not isinstance(verdict, Failed) or not aim:
        return verdict
    boundaries = judge_request(state).boundaries[::-1]
    return Failed(verdict.feedback, verdict.fault, boundaries[min(aim[0], len(boundaries) - 1)])


def _folding(command: Fold, aim: tuple[int, ...], state: Active) -> Command:
    lines = view(state).compressed[::-1]
    if len(lines) < 2:
        return command
    first, last = lines[min(aim[0], len(lines) - 1)].label, lines[min(aim[1], len(lines) - 2)].boundary
    request = fold_request(state, first, last, command.text).value_or(None)
    return command if request is None else Fold(first, last, command.text, request.digest)


def disagreement(implementation: Implementation, answer: Answer, number: int, outcome: Outcome) -> str:
    """Return how an answer differs from the engine's, and nothing where it does not.

    Where only fingerprints differ, the implementation is asked to show its state.

    Args:
        implementation: what has answered.
        answer: its answer.
        number: the number of the engine's state after the command.
        outcome: what the command led to on the engine.
    """
    expected = answer_of(outcome, number)
    if answer == expected:
        return ""
    if not isinstance(answer, Reached) or not isinstance(expected, Reached) or outcome.after is None:
        return f"the engine {_in_words(expected)}, the implementation {_in_words(answer)}"
    for part in ("state", "abandoned", "instructions"):
        ours, theirs = getattr(expected, part), getattr(answer, part)
        if ours != theirs:
            return f"{part}: the engine answers {ours!r}, the implementation {theirs!r}"
    return _other_form(canonical_json(outcome.after), implementation.show(answer.state))


def _in_words(answer: Answer) -> str:
    if isinstance(answer, Reached):
        return f"reaches state {answer.state}"
    detail = "" if answer.detail is None else f" ({answer.detail!r})"
    return f"refuses with {answer.refusal}{detail}"


def _other_form(ours: bytes, theirs: bytes) -> str:
    """Return how two canonical JSON texts differ whose fingerprints do."""
    if ours == theirs:
        return "the states are the same to the byte; the implementation's fingerprint is not their SHA-256"
    document = read_json(theirs)
    if not isinstance(document, dict):
        return f"the implementation shows what is no JSON object: {short(repr(theirs))}"
    wrong = differences(cast("Canonical", read_json(ours)), cast("Canonical", document), "the implementation")
    if wrong:
        return wrong
    at = next(place for place in range(len(ours) + 1) if ours[place : place + 1] != theirs[place : place + 1])
    spelled = f"the engine {ours[at : at + 20]!r}, the implementation {theirs[at : at + 20]!r}"
    return f"the forms say the same and are spelled otherwise: at byte {at} {spelled}"

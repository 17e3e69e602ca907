"""A world with a dial, who acts in it, and who judges that: all deterministic, all functions of what they are asked.

The task is to turn the dial by 3, and to mark that complete, several times over. The model makes the mistakes
that it is told to make, each where no lesson stands; so it survives being interrupted, and it is taught.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias, final

import attrs

from mage import Failed, JudgeRequest, Passed, Verdict
from mage.agent import Policy
from mage.agent.restore import Restorable
from mage.effects import (
    ActionEffect,
    Capabilities,
    ChapterRequest,
    Compensable,
    Decide,
    Decision,
    EffectError,
    Environment,
    Irreversible,
    Judge,
    Metered,
    Model,
    NoEffect,
    Observed,
    Reversible,
    Summarizer,
    SummaryRequest,
    Usage,
)
from mage.engine import Chapter, FoldRequest, Line, Step
from tests.agent.ways import RestoredBy, restored_by

TASK: Final = "Turn the dial by 3, again and again."
GOAL: Final = 3
Mistake: TypeAlias = Literal["wrong", "noticed", "vague", "batch"]
"""Turn too far and claim it is right; turn too far and notice; claim nothing that can be judged; act thrice at once."""

_TURN: Final = re.compile(r"turn (-?\d+)")
_REACHED: Final = re.compile(r"Reached (\d+) goals")
_CLAIM: Final = re.compile(r"[Tt]urned by (-?\d+)")


@final
@attrs.define
class Ground:
    """What is out there, and stays when a process dies.

    Attributes:
        value: what the dial shows.
        performed: the actions that the world has carried out, replayed ones and inverses included.
        resets: how often it was reset.
    """

    value: int = 0
    performed: list[str] = attrs.field(factory=list)
    resets: int = 0


class Dial:
    """The environment. `turn N` can be undone, `look` does nothing, `hit` declares nothing, `jam` cannot be done."""

    def __init__(
        self, ground: Ground | None = None, restoring: RestoredBy = "replay", *, padding: str = ""
    ) -> None:
        self.ground = Ground() if ground is None else ground
        self.capabilities = Capabilities(restored_by(restoring, self))
        self._padding = padding

    def reset(self) -> Observed | str:
        self.ground.value = 0
        self.ground.resets += 1
        return Observed(self._shown(), instructions=("Bring it to 3.",))

    def act(self, action: str) -> Observed | str:
        if action == "jam":
            raise EffectError("environment", "it is jammed")
        ground = self.ground
        ground.performed.append(action)
        found = _TURN.fullmatch(action)
        ground.value += int(found[1]) if found else action == "hit"
        if action == "mutter":
            return "Nobody answers."
        # the next subtask comes with what ends one
        asked = (f"Bring it to {ground.value + GOAL}.",) if found and ground.value % GOAL == 0 else ()
        return Observed(self._shown(), over=action == "stop", instructions=asked, effect=_effect(action))

    def save(self) -> int:
        return self.ground.value

    def load(self, snapshot: int) -> None:
        self.ground.value = snapshot

    def _shown(self) -> str:
        return f"The dial shows {self.ground.value}.{self._padding}"


def _effect(action: str) -> ActionEffect | None:
    found = _TURN.fullmatch(action)
    if found:
        return Reversible(f"turn {-int(found[1])}")
    known: dict[str, ActionEffect] = {
        "look": NoEffect(),
        "paint": Compensable("wash it"),
        "break": Irreversible("it broke"),
    }
    return known.get(action)


def world_of(ground: Ground, restoring: RestoredBy = "replay", *, padding: str = "") -> Restorable:
    """Return the world of a new process on what is out there."""
    return Restorable(Dial(ground, restoring, padding=padding))


def turned(steps: Iterable[Step]) -> int:
    """Return by how much the dial was turned by these steps."""
    return sum(int(found[1]) for step in steps if (found := _TURN.fullmatch(step.action)))


def model_of(goals: int, mistakes: Mapping[int, Mistake] | None = None) -> Model:
    """Return the model that reaches so many goals, and makes these mistakes on the way, by number of the goal."""
    made: Mapping[int, Mistake] = mistakes or {}

    def model(request: Decide, /) -> Metered[Decision]:
        decision = _decided(request, goals, made)
        return Metered(decision, Usage(100, 10), "toy-model", "toy-prompt")

    return model


def _decided(request: Decide, goals: int, made: Mapping[int, Mistake]) -> Decision:
    shown = request.shown
    done = reached(shown.compressed)
    if done == goals:
        return Decision.finish(f"The dial shows {GOAL * goals}.", thought="enough")
    progress = turned(shown.raw)
    for line in reversed(shown.compressed):
        if isinstance(line, Chapter) or line.kind == "subgoal":
            break
        found = _CLAIM.search(line.text)
        progress += int(found[1]) if found else 0
    return _next(progress, None if shown.hints.lessons else made.get(done), request)


def reached(lines: Iterable[Line]) -> int:
    """Return how many goals these lines of C say were reached; a chapter says it in its text."""
    return sum(
        _number(_REACHED.search(line.text)) if isinstance(line, Chapter) else line.kind == "subgoal"
        for line in lines
    )


def _number(found: re.Match[str] | None) -> int:
    return 0 if found is None else int(found[1])


def _next(progress: int, mistake: Mistake | None, request: Decide) -> Decision:
    claim = Decision.compress(f"Turned by {GOAL}.")
    match mistake:
        case "wrong":
            return claim if progress > GOAL else Decision.act("turn 2" if progress == 2 else "turn 1")
        case "noticed" if progress > GOAL:
            if not request.boundaries:  # going back is switched off
                return claim
            return Decision.revise(request.boundaries[-1], "Not 5 at once.")
        case "noticed":
            return Decision.act("turn 5" if progress == 1 else "turn 1", thought="faster")
        case "vague" if progress >= GOAL:
            return Decision.compress("Something was done.")
        case "batch" if progress == 0 and all(notice.kind != "refused" for notice in request.notices):
            acted = Decision.act("look", "turn 1", "turn 2")
            return attrs.evolve(acted, then=claim.then)
        case _:
            return claim if progress >= GOAL else Decision.act("turn 1")


def judge(request: JudgeRequest | FoldRequest, /) -> Metered[Verdict]:
    """Judge by the actions alone: by how much was the dial turned? And a chapter by how many goals its lines reached."""
    return Metered(_verdict(request), Usage(50, 5), "toy-judge", "toy-prompt")


def _verdict(request: JudgeRequest | FoldRequest) -> Verdict:
    if isinstance(request, FoldRequest):
        wrong = Failed(f"They reached {reached(request.lines)}.", "summary")
        return Passed() if request.text == f"Reached {reached(request.lines)} goals." else wrong
    total, found = turned(request.steps), _CLAIM.search(request.text)
    if found is None:
        return Failed("Say by how much it was turned.", "summary")
    if request.kind == "subgoal" and total != GOAL:
        return Failed(f"It was turned by {total}, not by {GOAL}.")
    if int(found[1]) != total:
        return Failed(f"It was turned by {total}.", "summary")
    return Passed()


def summarizer(request: SummaryRequest | ChapterRequest, /) -> Metered[str]:
    """Say by how much the dial was turned; of finished subgoals, how many goals were reached."""
    if isinstance(request, ChapterRequest):
        return Metered(f"Reached {reached(request.lines)} goals.", Usage(40, 4), "toy-summarizer")
    return Metered(f"Turned by {turned(request.steps)}.", Usage(40, 4), "toy-summarizer")


@final
@attrs.frozen
class Parts:
    """What an agent is made of."""

    model: Model
    environment: Environment
    judge: Judge | None = judge
    summarizer: Summarizer | None = summarizer
    policy: Policy | None = None


def parts_of(
    model: Model,
    policy: Policy | None = None,
    *,
    ground: Ground | None = None,
    restoring: RestoredBy = "replay",
    padding: str = "",
) -> Parts:
    """Return what an agent in the world of the dial is made of."""
    world = world_of(Ground() if ground is None else ground, restoring, padding=padding)
    return Parts(model, world, policy=policy)

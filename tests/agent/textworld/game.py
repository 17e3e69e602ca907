"""A real game that nobody here wrote: TextWorld's cooking challenge, 50 steps, in which a dish burns for good.

The recipe is in the kitchen's cookbook; four ingredients are fetched, cooked each in its own way, cut, and
eaten. An ingredient cooked twice is burned, one cooked on the wrong appliance is spoilt, and either loses the
game at once. The same actions after a reset come back with the same text, to the byte.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, final

import attrs

from mage.effects import (
    RESET,
    Capabilities,
    ChapterRequest,
    Decide,
    Decision,
    EffectError,
    Observed,
    SummaryRequest,
)
from mage.engine import Chapter, ExecutionState, Failed, FoldRequest, JudgeRequest, Passed, Verdict

SEED: Final = 2
SETTINGS: Final[Mapping[str, object]] = {
    "recipe": 4,
    "take": 4,
    "go": 9,
    "open": True,
    "cook": True,
    "cut": True,
    "drop": False,
    "recipe_seed": 2,
    "split": "train",
}
TASK: Final = (
    "You are hungry. Read the cookbook in the kitchen, fetch the ingredients, cook and cut each as the recipe"
    " says, prepare the meal and eat it. What is cooked twice, or on the wrong appliance, is spoilt for good."
)
MISTAKES: Final[Mapping[str, tuple[str, ...]]] = {
    "cook carrot with BBQ": ("cook carrot with BBQ", "cook carrot with BBQ"),
    "cook red onion with stove": ("cook red onion with oven",),
}
"""What loses the game: for an action of the walkthrough what is done in its place. Burned, and wrongly cooked."""
LOST: Final = "*** You lost! ***"


def absent() -> str | None:
    """Return why the game cannot be played here, None where it can."""
    missing = [name for name in ("textworld", "jericho") if find_spec(name) is None]
    return f"{' and '.join(missing)} not installed (dependency group `worlds`)" if missing else None


@final
@attrs.frozen
class Game:
    """A compiled game.

    Attributes:
        file: what a Z-machine runs.
        walkthrough: the actions that win it.
    """

    file: Path
    walkthrough: tuple[str, ...]


def generate(folder: Path) -> Game:
    """Generate the game, always the same one, and compile it into a folder. Takes some five seconds."""
    textworld = importlib.import_module("textworld")
    generator = importlib.import_module("textworld.generator")
    cooking = importlib.import_module("textworld.challenges.tw_cooking.cooking")
    options = textworld.GameOptions()
    options.seeds = SEED
    options.path = str(folder / "dinner.z8")
    made = cooking.make(dict(SETTINGS), options)
    file = Path(generator.compile_game(made, options))
    return Game(file, tuple(made.metadata["walkthrough"]))


@final
class CookingGame:
    """The game as an `Environment`: restored by a reset and the actions of the path.

    Attributes:
        won: whether the meal was eaten.
        lost: whether an ingredient was spoilt.
        played: how many actions were performed, those performed again included.
    """

    capabilities: Final = Capabilities(
        "replay",
        manual="Actions are sentences: look, inventory, go north, open fridge, take carrot, cook carrot with BBQ,"
        " slice carrot with knife, drop knife, examine cookbook, prepare meal, eat meal.",
    )

    def __init__(self, game: Game) -> None:
        textworld = importlib.import_module("textworld")
        wanted = textworld.EnvInfos(feedback=True, won=True, lost=True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*is not fully supported")
            self._machine: Any = textworld.start(str(game.file), wanted)  # Any: TextWorld has no types
        self.won = self.lost = False
        self.played = 0

    def reset(self) -> Observed:
        with warnings.catch_warnings():
            # Jericho knows the scores of famous games only; TextWorld counts its own.
            warnings.filterwarnings("ignore", message=".*is not fully supported")
            shown = str(self._machine.reset().feedback)
        self.won = self.lost = False
        return Observed(_without_banner(shown))

    def act(self, action: str) -> Observed:
        if self.won or self.lost:
            raise EffectError("environment", "the game is over")
        self.played += 1
        state, _, _ = self._machine.step(action)
        self.won, self.lost = bool(state.won), bool(state.lost)
        return Observed(str(state.feedback), over=self.won or self.lost)

    def state(self) -> bytes:
        """Return what the machine is: its memory, its stack (not the dead words below it) and registers, to the byte."""
        machine = self._machine
        while hasattr(machine, "_wrapped_env"):
            machine = machine._wrapped_env
        memory, stack, *registers = machine._jericho.get_state()
        live = stack[2 * registers[1] :]  # it grows downwards, in words
        return bytes(memory.tobytes() + live.tobytes() + repr(registers).encode())

    def close(self) -> None:
        """End the machine."""
        self._machine.close()


def _without_banner(shown: str) -> str:
    """Leave out the picture of the title: it is 2,000 characters that say nothing."""
    return shown[shown.index("You are hungry!") :]


@final
@attrs.frozen
class Subgoal:
    """A part of the walkthrough.

    Attributes:
        name: what it is for.
        actions: what achieves it.
    """

    name: str
    actions: tuple[str, ...]


def subgoals(walkthrough: Sequence[str]) -> tuple[Subgoal, ...]:
    """Divide a walkthrough: read the recipe, fetch the ingredients, cook each of them, cut them all, eat."""
    cooked = [at for at, action in enumerate(walkthrough) if action.startswith("cook ")]
    names = {
        walkthrough.index("examine cookbook"): "The recipe is read",
        max(at for at in range(cooked[0]) if walkthrough[at].startswith("take ")): "All ingredients fetched",
        **{at: f"Done: {walkthrough[at]}" for at in cooked},
        max(at for at, action in enumerate(walkthrough) if action == "drop knife"): "All ingredients cut",
        len(walkthrough) - 1: "The meal is eaten",
    }
    starts = [0, *(at + 1 for at in names)]
    return tuple(
        Subgoal(name, tuple(walkthrough[start : end + 1]))
        for start, (end, name) in zip(starts, names.items(), strict=False)
    )


def mistaken(actions: Sequence[str]) -> Iterator[str]:
    """Yield the actions with each mistake in the place of what it goes wrong at."""
    for action in actions:
        yield from MISTAKES.get(action, (action,))


@final
class Cook:
    """A model from a script: follows the walkthrough, makes every mistake once, and heeds lessons.

    It is a function of what it is shown, so it goes on wherever it stands: C tells which subgoal it is at, R
    how far it is, a lesson that the mistake was made here before.

    Args:
        walkthrough: the actions that win.
        careful: makes no mistake at all.
    """

    def __init__(self, walkthrough: Sequence[str], *, careful: bool = False) -> None:
        self._subgoals = subgoals(walkthrough)
        self._careful = careful

    def __call__(self, request: Decide, /) -> Decision:
        shown = request.shown
        steps = [step for step in shown.raw if step.action != RESET]
        taken = [step for step in steps if step.id > shown.boundary]
        if any(LOST in summary.text for summary in shown.compressed):
            return Decision.finish("The game is lost.")
        done, before = self._progress(shown, len(steps) - len(taken))
        if done == len(self._subgoals):
            return Decision.finish("The meal is eaten.")
        subgoal = self._subgoals[done]
        heeding = self._careful or bool(shown.hints.lessons)
        actions = subgoal.actions if heeding else tuple(mistaken(subgoal.actions))
        if taken and LOST in taken[-1].observation:
            return Decision.compress(f"{subgoal.name}, but: {LOST}")
        if before + len(taken) == len(actions):
            return Decision.compress(f"{subgoal.name}.")
        return Decision.act(actions[before + len(taken)])

    def _progress(self, shown: ExecutionState, settled: int) -> tuple[int, int]:
        """Return how many subgoals are done, and how many actions of the present one the fallbacks stand for.

        Where steps are shown in place of summaries (D18), it follows from how many are `settled`.
        """
        if not shown.compressed:
            ends = accumulate(len(subgoal.actions) for subgoal in self._subgoals)
            return sum(end <= settled for end in ends), 0
        done = before = 0
        for line in shown.compressed:
            if isinstance(line, Chapter):
                done += actions_in(line.text)
            elif line.kind == "fallback":
                before += actions_in(line.text)
            else:
                done, before = done + 1, 0
        return done, before


def summarize(request: SummaryRequest | ChapterRequest, /) -> str:
    """Write the text of a fallback: how many actions it stands for. And of a chapter: how many subgoals."""
    if isinstance(request, ChapterRequest):
        lines = [actions_in(line.text) if isinstance(line, Chapter) else 1 for line in request.lines]
        return f"{sum(lines)} subgoals were reached."
    return f"{sum(step.action != RESET for step in request.steps)} actions were performed."


def actions_in(text: str) -> int:
    """Return how many actions, or subgoals, a text of `summarize` stands for."""
    return int(text.split(maxsplit=1)[0])


def judge(request: JudgeRequest | FoldRequest, /) -> Verdict:
    """Read the steps, and fail a summary of steps in which an ingredient was spoilt, with the action that did it."""
    if isinstance(request, FoldRequest):
        return Passed()
    for step in request.steps:
        if LOST in step.observation:
            return Failed(
                f"Step {step.id}, {step.action!r}, has spoilt the ingredient: it must be cooked once,"
                " as the recipe says."
            )
    return Passed()

"""CookingWorld of TextWorldExpress as plans to follow: its gold paths, scored by the game.

Which values an action has: the name of what it opens, closes, takes or cooks with; and of what the cookbook says, how
an ingredient is cut or cooked (`slice the red onion`, `fry the carrot`). Ways through doors, and which ingredients are
taken, the plan gives. The cookbook can be read again at any place, the room looked at again.
"""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Collection, Sequence
from functools import lru_cache, partial
from importlib import import_module, metadata
from typing import Any, Final, final

import attrs

from benchmarks.arena.following.follower import UNKNOWN, BadFile, Kind, Plan, has_words
from benchmarks.arena.traces import Act, Run
from mage.trajectories import Need

PACKAGE: Final = "textworld-express"
GAME: Final = "numLocations=11,numIngredients=5,numDistractorItems=10,includeDoors=1,limitInventorySize=0"
_BEGUN: Final = "begin"
_LOOK: Final = "look around"
_READ: Final = "read cookbook"
_STEPS: Final = 10_000  # the game's own cap, far above any plan with its look-ups
_COOKED: Final = {"stove": "fry", "oven": "roast", "barbeque": "grill"}
_CUT = re.compile(r"(slice|dice|chop) (.+)")
_COOK = re.compile(r"cook (.+) in (\w+)")
_NAMED = re.compile(r"(?:open|close|take) (?!door to)(.+)")


@final
@attrs.frozen
class CookingWorld:
    """The plans of the first games of its training fold.

    Attributes:
        games: how many.
    """

    games: int

    @property
    def name(self) -> str:
        """Name the environment in the rows."""
        return "CookingWorld"

    def version(self) -> str:
        """Return the version of the package; empty where it is missing."""
        try:
            return metadata.version(PACKAGE)
        except metadata.PackageNotFoundError:
            return ""

    def names(self) -> Sequence[str]:
        """Return the names of the games, which are their seeds.

        Raises:
            BadFile: the package is not installed, or there is no Java.
        """
        if not self.version():
            raise BadFile(f"{PACKAGE} is not installed: the dependency group `worlds` brings it")
        if shutil.which("java") is None:
            raise BadFile(f"{PACKAGE} needs a Java runtime, and there is no `java` here")
        return [f"game {seed}" for seed in range(self.games)]

    def plan(self, name: str) -> Plan | str:
        """Return the plan of a game, or why it is left out: its gold path does not win."""
        run, won = _recorded(name)
        if not won:
            return "does not pass"
        places = {act.action: place for place, act in reversed(list(enumerate(run.acts)))}
        found = {value for act in run.acts for value in act.need.values}
        again = {value: places[_READ if " the " in value else _LOOK] for value in found}
        kinds = tuple([_kind(act) for act in run.acts])
        return Plan(run, kinds, again, partial(_Game, name), spoiled, has_words)

    def others(self, name: str, many: int, seed: int) -> list[Run]:
        """Return so many gold paths of other games of these, drawn by the seed and the name.

        Raises:
            BadFile: there are too few.
        """
        pool = [other for other in self.names() if other != name]
        if len(pool) < many:
            raise BadFile(f"{name}: there are {len(pool)} other games, and {many} are asked for")
        return [_recorded(other)[0] for other in random.Random(f"{seed} before {name}").sample(pool, many)]


def _kind(act: Act) -> Kind:
    return "heard" if act.action == _BEGUN else "call"


@final
class _Game:
    """A game at its start. One program runs one at a time, so a new one ends the one before."""

    def __init__(self, name: str) -> None:
        self._engine = _engine(os.getpid())
        self.begun, self._now = self._engine.reset(
            seed=int(name.split(" ")[1]), gameFold="train", generateGoldPath=True
        )

    def act(self, action: str) -> str:
        observation, _, _, self._now = self._engine.step(action)
        return str(observation).strip()

    def score(self) -> float:
        return 1.0 if self._now["tasksuccess"] else min(float(self._now["score"]), 0.999)

    def gold(self) -> Sequence[str]:
        return [str(action) for action in self._engine.getGoldActionSequence()]

    @property
    def task(self) -> str:
        return str(self._now["taskDescription"])


@lru_cache(maxsize=1)
def _engine(process: int) -> Any:  # its package says nothing of its types
    """Return the game's engine: a Java program of this very process.

    Raises:
        BadFile: it cannot be started.
    """
    try:
        engine = import_module(PACKAGE.replace("-", "_")).TextWorldExpressEnv(envStepLimit=_STEPS)
        engine.load("cookingworld", GAME)
    except Exception as error:  # whatever stands between Python and a Java runtime
        raise BadFile(f"{PACKAGE} cannot be started: {type(error).__name__}: {error}") from error
    return engine


@lru_cache(maxsize=1_000)
def _recorded(name: str) -> tuple[Run, bool]:
    """Return the gold path of a game as a run with what its acts need, and whether it wins."""
    game = _Game(name)
    acts = [Act(_BEGUN, str(game.begun).strip(), Need(frozenset()))]
    for action in game.gold():
        known = frozenset(
            [
                value
                for value in values_of(action)
                if not has_words(value, game.task) and any(has_words(value, act.observation) for act in acts)
            ]
        )
        acts.append(Act(action, game.act(action), Need(known, writes=action not in (_LOOK, _READ))))
    return Run(name, name, game.task, tuple(acts)), game.score() >= 1.0


# -- values ---------------------------------------------------------------------------------------------


def values_of(action: str) -> frozenset[str]:
    """Return what must be known for an action: names, and the line of the recipe that asks for it."""
    if found := _CUT.fullmatch(action):
        return frozenset([f"{found[1]} the {found[2]}"])
    if found := _COOK.fullmatch(action):
        asked = [f"{_COOKED[found[2]]} the {found[1]}"] if found[2] in _COOKED else []
        return frozenset([*asked, found[2]])
    if found := _NAMED.fullmatch(action):
        return frozenset([found[1]])
    return frozenset()


def spoiled(action: str, lost: Collection[str]) -> str:
    """Return an action without what is lost: the way of cutting, the place of cooking, a name."""
    if found := _CUT.fullmatch(action):
        return f"{UNKNOWN} {found[2]}" if values_of(action) & set(lost) else action
    if found := _COOK.fullmatch(action):
        return f"cook {found[1]} in {UNKNOWN}" if values_of(action) & set(lost) else action
    for value in lost:
        action = action.replace(value, UNKNOWN)
    return action

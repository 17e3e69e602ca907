"""A world that is wrapped keeps all that it can do: the capability that is lost in silence is the dangerous one."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Coroutine, Iterator
from inspect import isawaitable
from pathlib import Path
from random import Random
from typing import Any, Final, cast, final

import pytest

import mage
from mage.agent import AsyncEnvironmentWorld, EnvironmentWorld, Restoring
from mage.agent.environment import foreseen, has_snapshots, manual_of, tools_of
from mage.agent.rerunning.answerers import Answering, RecordedWorld
from mage.agent.rerunning.record import Record
from mage.cli.environments import GuardedWorld
from mage.effects import (
    Irreversible,
    NoEffect,
    Observed,
    Restore,
    Reversible,
    World,
    WorldEffect,
    foresight_of,
)
from mage.engine import StepId, grow, start
from mage.testing import RecordingWorld, ScriptedWorld
from tests.agent.interrupting import Places, _AwaitedWorld, _World
from tests.agent.simulating import Chance, FaultyWorld
from tests.agent.twins import AwaitedWorld
from tests.agent.world.walking import Awaited

EFFECTS: Final[dict[str, WorldEffect]] = {
    "send": Irreversible("it is out"),
    "switch": Reversible("switch back"),
    "look": NoEffect(),
}


@final
class Full:
    """An environment that can do all that an environment can."""

    manual = "send, switch or look"
    tools = ()

    def __init__(self, restoring: Restoring) -> None:
        self.restoring: Restoring = restoring

    def reset(self) -> str:
        return "here"

    def act(self, action: str) -> Observed:
        return Observed("seen", effect=EFFECTS.get(action))

    def snapshot(self) -> int:
        return 0

    def restore(self, snapshot: int) -> None:
        pass

    def effect_of(self, action: str) -> WorldEffect | None:
        return EFFECTS.get(action)


@final
class Passing:
    """A wrapper of an environment that passes everything on, without naming it."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)


def recorded(world: World) -> RecordedWorld:
    """Return a world over an empty record."""
    tree = grow(start("t"), "a", "o").tree
    return RecordedWorld(Answering(Record(), lambda: tree, frozenset()), world, lambda path: frozenset())


WRAPPERS: Final[dict[str, Callable[[World], Any]]] = {
    "GuardedWorld": GuardedWorld,
    "RecordingWorld": RecordingWorld,
    "RecordedWorld": recorded,
    "mage.testing.scripted._AwaitedWorld": lambda world: RecordingWorld(world).awaited,
    "tests.agent.twins.AwaitedWorld": AwaitedWorld,
    "tests.agent.interrupting._World": lambda world: _World(world, Places()),
    "tests.agent.interrupting._AwaitedWorld": lambda world: _AwaitedWorld(world, Places()),
    "FaultyWorld": lambda world: FaultyWorld(world, Chance(Random(0)), []),
}
MAKERS: Final[dict[str, Callable[[Any], Any]]] = {
    "EnvironmentWorld": EnvironmentWorld,
    "AsyncEnvironmentWorld": AsyncEnvironmentWorld,
    "Awaited": lambda environment: Awaited(AsyncEnvironmentWorld(environment)),
}
wrappers = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
makers = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@wrappers
@pytest.mark.parametrize("repeatable", [True, False])
def test_a_wrapper_says_whether_the_world_is_repeatable(
    wrap: Callable[[World], Any], *, repeatable: bool
) -> None:
    """A world that cannot be brought back is not taken for one that can, whoever wraps it."""
    assert wrap(ScriptedWorld(repeatable=repeatable)).repeatable is repeatable


@wrappers
@pytest.mark.parametrize("action", [*EFFECTS, "unknown"])
def test_a_wrapper_foresees_what_the_world_foresees(wrap: Callable[[World], Any], action: str) -> None:
    """What a world knows beforehand is known of whatever wraps it."""
    assert foresight_of(wrap(ScriptedWorld(foreseen=EFFECTS)))(action) == EFFECTS.get(action)


@wrappers
def test_of_a_world_that_foresees_nothing_nobody_knows(wrap: Callable[[World], Any]) -> None:
    """A world that does not foresee may be wrapped all the same."""

    class Plain:
        repeatable = True

        def __init__(self) -> None:
            inner = ScriptedWorld("seen")
            self.begin, self.act, self.restore = inner.begin, inner.act, inner.restore

    assert foresight_of(wrap(Plain()))("send") is None


@makers
@pytest.mark.parametrize("through", [lambda full: full, Passing], ids=["itself", "passed on"])
@pytest.mark.parametrize("restoring", ["snapshot", "replay", "none"])
def test_a_world_has_what_its_environment_has(
    make: Callable[[Any], Any], through: Callable[[Any], Any], restoring: Restoring
) -> None:
    """What an environment has is found also where a wrapper of it only passes it on."""
    environment = through(Full(restoring))
    world = make(environment)
    assert world.repeatable == (restoring != "none")
    for action in (*EFFECTS, "unknown"):
        assert foresight_of(world)(action) == EFFECTS.get(action) == foreseen(environment, action)
    assert has_snapshots(environment)
    assert (manual_of(environment), tools_of(environment)) == (Full.manual, Full.tools)


def _named(node: ast.ClassDef) -> set[str]:
    """Return what a class has: its methods, and what is set on it or on its objects."""
    found = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    for each in ast.walk(node):
        targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
        for target in targets:
            if isinstance(target, ast.Attribute):
                found.add(target.attr)
            elif isinstance(target, ast.Name):
                found.add(target.id)
    return found


def _worlds() -> Iterator[tuple[str, set[str]]]:
    """Yield every class of the project that answers what a world is asked, and what it has."""
    root = Path(mage.__file__).parents[1]
    for folder in ("mage", "tests", "benchmarks"):
        for file in sorted((root / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and {"begin", "act", "restore"} <= (has := _named(node)):
                    yield f"{file.relative_to(root).as_posix()}:{node.name}", has


NO_WORLDS: Final = {
    "mage/effects/acting.py:World",  # the Protocol: `foresees` is asked of who has it
    "mage/effects/acting.py:AsyncWorld",
    "mage/agent/stage.py:Stage",  # asks a world
    "mage/agent/world/program.py:Restorer",  # half of a world
}


def test_every_world_of_the_project_says_what_it_foresees() -> None:
    """No class that stands for a world forgets `foresees` or `repeatable`: a new wrapper is found by what it has."""
    found = dict(_worlds())
    assert found.keys() >= NO_WORLDS
    assert len(found) > len(NO_WORLDS) + len(WRAPPERS)
    lacking = {name: {"foresees", "repeatable"} - has for name, has in found.items() if name not in NO_WORLDS}
    assert {name: lacks for name, lacks in lacking.items() if lacks} == {}


def test_a_record_without_a_live_world_foresees_nothing() -> None:
    """In a world of what-if that nobody acts in, nothing is foreseen, and it can be brought back."""
    tree = start("t").tree
    world = RecordedWorld(Answering(Record(), lambda: tree, frozenset()), None, lambda path: frozenset())
    assert world.repeatable
    assert foresight_of(world)("send") is None


@wrappers
def test_a_wrapper_passes_on_what_must_not_be_done_again(wrap: Callable[[World], Any]) -> None:
    """What a world is asked when it is brought back, the steps that last among it, comes to it as it was asked."""
    inner = ScriptedWorld()
    step = grow(start("t"), "send", "sent").tree.step(StepId(1))
    request = Restore((step,), lasting=frozenset({step.id}))
    answer = wrap(inner).restore(request)
    if isawaitable(answer):
        asyncio.run(cast("Coroutine[Any, Any, object]", answer))
    assert inner.asked == [request]

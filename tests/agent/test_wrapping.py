"""An environment that is wrapped can do all that it could: what it says of itself is one value, which is passed on."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from inspect import isawaitable
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias, final

import attrs
import pytest

import mage
from mage.agent import Agent, AsyncAgent, RunFinished
from mage.agent.reruns import Record
from mage.agent.restore import AsyncRestorable, Restorable
from mage.agent.what_ifs import Answering, RecordedEnvironment
from mage.cli.setup import GuardedEnvironment
from mage.effects import (
    ActionEffect,
    AsyncEnvironment,
    Capabilities,
    CustomRestore,
    Decision,
    Environment,
    Irreversible,
    NoEffect,
    Observed,
    Restore,
    Restored,
    Restoring,
    Reversible,
    Snapshots,
    Tool,
)
from mage.engine import StepId, grow, start
from mage.stores import MemoryStore
from mage.testing import AwaitedEnvironment, RecordingEnvironment, ScriptedModel
from tests.agent.interrupting import InterruptedAsyncEnvironment, InterruptedEnvironment, Places
from tests.agent.simulating import Chance, FaultyEnvironment

EFFECTS: Final[dict[str, ActionEffect]] = {
    "send": Irreversible("it is out"),
    "switch": Reversible("switch back"),
    "look": NoEffect(),
}
TOOLS: Final = (Tool.of("send", "Send it."),)
AnyEnvironment: TypeAlias = Environment | AsyncEnvironment


class Stop(BaseException):
    """What kills a process."""


@final
class Full:
    """An environment that can do all that an environment can, and keeps what it was asked.

    Attributes:
        asked: the operations that were called, with what they were given.
        sent: what was sent; it stays sent whatever becomes of the environment.
        dies: whether the process ends inside the next `send`.
    """

    def __init__(self, way: str = "custom", sent: list[str] | None = None, *, dies: bool = False) -> None:
        ways: dict[str, Restoring] = {
            "inverses": "inverses",
            "replay": "replay",
            "snapshots": Snapshots(self._take, self._put_back),
            "custom": CustomRestore(self._restore),
            "custom, not repeatable": CustomRestore(self._restore, repeatable=False),
        }
        self.capabilities = Capabilities(
            ways[way], foresees=EFFECTS.get, tools=TOOLS, manual="send, switch or look"
        )
        self.asked: list[tuple[str, object]] = []
        self.sent = [] if sent is None else sent
        self.dies = dies

    def reset(self) -> str:
        return "here"

    def act(self, action: str) -> Observed:
        if action == "send":
            self.sent.append(action)
            if self.dies:
                raise Stop
        return Observed("seen", effect=EFFECTS.get(action))

    def _take(self) -> int:
        self.asked.append(("take", None))
        return 7

    def _put_back(self, snapshot: int) -> None:
        self.asked.append(("put_back", snapshot))

    def _restore(self, request: Restore) -> Restored:
        self.asked.append(("restore", request))
        return Restored("nothing")


def recorded(environment: Environment) -> RecordedEnvironment:
    """Return an environment over an empty record."""
    tree = grow(start("t"), "a", "o").tree
    return RecordedEnvironment(
        Answering(Record(), lambda: tree, frozenset()), environment, lambda path: frozenset(), Capabilities()
    )


@final
class Plain:
    """A wrapper as somebody writes it for the first time: it passes on what its protocol names."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    @property
    def capabilities(self) -> Capabilities:
        return self._environment.capabilities

    def reset(self) -> Observed | str:
        return self._environment.reset()

    def act(self, action: str, /) -> Observed | str:
        return self._environment.act(action)


WRAPPERS: Final[dict[str, Callable[[Environment], AnyEnvironment]]] = {
    "Plain": Plain,
    "Restorable": Restorable,
    "AsyncRestorable": lambda inner: AsyncRestorable(AwaitedEnvironment(inner)),
    "GuardedEnvironment": GuardedEnvironment,
    "RecordedEnvironment": recorded,
    "RecordingEnvironment": RecordingEnvironment,
    "AwaitedEnvironment": AwaitedEnvironment,
    "InterruptedEnvironment": lambda inner: InterruptedEnvironment(inner, Places()),
    "InterruptedAsyncEnvironment": lambda inner: InterruptedAsyncEnvironment(inner, Places()),
    "FaultyEnvironment": lambda inner: FaultyEnvironment(inner, Chance(Random(0)), []),
}
RESTORING_ITSELF: Final = {"Restorable", "AsyncRestorable", "RecordedEnvironment"}
"""Those that make a `CustomRestore` of whatever the environment has."""
WAYS: Final = ("inverses", "replay", "snapshots", "custom", "custom, not repeatable")
wrappers = pytest.mark.parametrize("name", WRAPPERS)
ways = pytest.mark.parametrize("way", WAYS)


def answer_of(given: object) -> object:
    """Return an answer that was given, or is to be awaited."""
    if not isawaitable(given):
        return given

    async def awaiting() -> object:
        return await given

    return asyncio.run(awaiting())


@wrappers
@ways
def test_a_wrapper_says_what_the_environment_says(name: str, way: str) -> None:
    """What is foreseen, the tools, the manual, and whether any path can be brought back: all is as it was."""
    said, inner = WRAPPERS[name](Full(way)).capabilities, Full(way).capabilities
    for action in (*EFFECTS, "unknown"):
        assert said.foresees(action) == EFFECTS.get(action)
    assert (said.tools, said.manual, said.repeatable) == (inner.tools, inner.manual, inner.repeatable)
    if name not in RESTORING_ITSELF:
        assert type(said.restoring) is type(inner.restoring)


@wrappers
def test_a_wrapper_reaches_the_operations(name: str) -> None:
    """Each operation that the value names arrives as it was asked, what must not be done again among it."""
    step = grow(start("t"), "send", "sent").tree.step(StepId(1))
    request = Restore((step,), lasting=frozenset({step.id}))
    inner = Full("custom")
    restoring = WRAPPERS[name](inner).capabilities.restoring
    assert isinstance(restoring, CustomRestore)
    assert answer_of(restoring.restore(request)) == Restored("nothing")
    assert inner.asked == [("restore", request)]
    if name not in RESTORING_ITSELF:
        inner = Full("snapshots")
        snapshots = WRAPPERS[name](inner).capabilities.restoring
        assert isinstance(snapshots, Snapshots)
        answer_of(snapshots.put_back(answer_of(snapshots.take())))
        assert inner.asked == [("take", None), ("put_back", 7)]


def lived(wrapped: Any, store: MemoryStore, model: ScriptedModel) -> object:
    """Run an agent of whichever twin, in an environment that is told by what its `act` is."""
    if is_awaited(wrapped):
        agent = AsyncAgent(model=model.awaited, environment=wrapped)
        return asyncio.run(agent.run(store, "s", task="t"))
    return Agent(model=model, environment=wrapped).run(store, "s", task="t")


def is_awaited(wrapped: object) -> bool:
    """Return whether a wrapper is one that is awaited."""
    return isinstance(wrapped, AsyncRestorable | AwaitedEnvironment | InterruptedAsyncEnvironment)


@pytest.mark.parametrize("name", [name for name in WRAPPERS if name != "RecordedEnvironment"])
@ways
def test_what_is_foreseen_to_last_is_sent_once(name: str, way: str) -> None:
    """Killed inside `send`, and resumed, a run sends once: through every wrapper, however it is brought back.

    (Over a record nothing is interrupted: it is asked again from its start.)
    """
    store, sent = MemoryStore(), list[str]()
    with pytest.raises(Stop):
        lived(WRAPPERS[name](Full(way, sent, dies=True)), store, ScriptedModel(Decision.act("send")))
    model = ScriptedModel(Decision.finish())
    assert isinstance(lived(WRAPPERS[name](Full(way, sent)), store, model), RunFinished)
    assert sent == ["send"]
    assert "uncertain" in [notice.kind for notice in model.asked[0].notices]
    assert (model.asked[0].tools, model.asked[0].manual) == (TOOLS, "send, switch or look")


def test_a_record_without_a_live_environment_foresees_nothing() -> None:
    """In an environment of what-if in which nothing acts, nothing is foreseen, and it can be brought back."""
    tree = start("t").tree
    environment = RecordedEnvironment(
        Answering(Record(), lambda: tree, frozenset()), None, lambda path: frozenset(), Capabilities()
    )
    assert environment.capabilities.repeatable
    assert environment.capabilities.foresees("send") is None


def test_around_leaves_no_operation_out() -> None:
    """Whatever can be called in a `Capabilities` is wrapped: one that is added later, and forgotten, is found here."""

    def operations(value: Any) -> Iterator[str]:  # Any: a class of attrs
        for field in attrs.fields(type(value)):
            inner = getattr(value, field.name)
            if attrs.has(type(inner)):
                yield from operations(inner)
            elif callable(inner):
                yield field.name

    seen: set[str] = set()

    def wrap(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        seen.add(name)
        return partial(operation)

    for way in WAYS:
        seen.clear()
        inner = Full(way).capabilities
        wrapped = inner.around(wrap)
        assert seen == set(operations(inner)) == set(operations(wrapped))
        assert wrapped.foresees is not inner.foresees
        assert attrs.evolve(wrapped, restoring=inner.restoring, foresees=inner.foresees) == inner


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


def _wrapping_classes() -> Iterator[tuple[str, set[str]]]:
    """Yield every class of the project that is made of an environment and is one, and what it has."""
    root = Path(mage.__file__).parents[1]
    for folder in ("mage", "tests", "benchmarks"):
        for file in sorted((root / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.ClassDef) or not {"reset", "act"} <= (has := _named(node)):
                    continue
                makers = [each for each in node.body if getattr(each, "name", "") == "__init__"]
                if any(": Environment" in ast.unparse(each) for each in makers):
                    yield node.name, has


def test_every_wrapper_of_the_project_is_tested_here() -> None:
    """A class that is made of an environment, and is one, is among those above: a new one is found by what it has."""
    found = dict(_wrapping_classes())
    assert found.keys() - {"Restorer"} <= WRAPPERS.keys()  # `Restorer` is the half of a `Restorable`
    assert len(found) > 5
    assert all("capabilities" in has for has in found.values())

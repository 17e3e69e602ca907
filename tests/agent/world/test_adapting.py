"""What environments may be, and what becomes of their failures."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Generator
from textwrap import dedent
from types import SimpleNamespace
from typing import Any, Final, TypeVar, cast, final

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mage.effects.environment
from mage.agent.restore import AsyncRestorable, Restorable
from mage.effects import (
    BadEnvironment,
    Capabilities,
    CustomRestore,
    EffectError,
    NoEffect,
    NotRestored,
    Observed,
    Restore,
    Restored,
)
from mage.engine import Step, StepId
from mage.engine.nodes import ROOT
from mage.memory.revise import plan
from mage.testing import AwaitedEnvironment
from tests.agent.ways import WAYS
from tests.agent.world.toy import Doing, Spec, Toy
from tests.agent.world.walking import Awaited, Go, Stop, Walk

Answer = TypeVar("Answer")
TURN: Final[Doing] = ("turn", (1, 2, 3, 4, 5, 0))
SPEC = Spec("", (TURN, TURN))
STEP = Step(StepId(1), StepId(0), "0", "0: 1")


@final
class Failing:
    """An environment that cannot carry out what is on its list."""

    def __init__(self, toy: Toy, *broken: str) -> None:
        self.toy = toy
        self.broken = set(broken)
        self.capabilities = toy.capabilities.around(self._trying)
        self.killed = False

    def _trying(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def trying(*given: object) -> object:
            self._try(name)
            return operation(*given)

        return trying

    def _try(self, what: str) -> None:
        if what in self.broken:
            raise EffectError("environment", f"{what} fails")

    def reset(self) -> Observed | str:
        self._try("reset")
        shown = self.toy.reset()
        if self.killed:
            self.killed = False
            raise Stop
        return shown

    def act(self, action: str) -> Observed | str:
        self._try(action)
        return self.toy.act(action)


def after_one_action(restoring: str, broken: str) -> tuple[Failing, Restorable]:
    """A world in which action 0 was performed, and where something fails from then on."""
    environment = Failing(Toy(SPEC, cast("Any", restoring)))  # Any: a Literal, from a parameter
    world = Restorable(environment)
    world.reset()
    world.act("0")
    environment.broken.add(broken)
    return environment, world


BACK = Restore((ROOT,), plan([STEP], {}))


def test_a_world_that_cannot_be_reset_is_not_restored() -> None:
    """A restore says so, and another one works once the reset does."""
    environment, world = after_one_action("replay", "reset")
    assert world.restore(BACK) == NotRestored("it could not be reset: reset fails")
    environment.broken.clear()
    assert world.restore(Restore((ROOT,))) == Restored("replay")
    assert environment.toy.state == 0


def test_an_action_that_fails_in_a_replay_is_named() -> None:
    """The world is not restored; the step is told."""
    _, world = after_one_action("replay", "0")
    other = Step(StepId(2), StepId(1), "1", "1: 0")
    ending = world.restore(Restore((ROOT, STEP), plan([other], {})))
    assert ending == NotRestored("[Step 1] could not be performed again: 0 fails")


def test_a_snapshot_that_fails_is_replaced_by_a_replay() -> None:
    """Whether it cannot be taken or not be put back."""
    environment, world = after_one_action("snapshot", "put_back")
    assert world.restore(BACK) == Restored("replay")
    assert environment.toy.state == 0
    environment, world = after_one_action("snapshot", "take")
    seen = world.act("1")
    second = Step(StepId(2), StepId(1), "1", seen.text)
    assert world.restore(Restore((ROOT, STEP), plan([second], {}))) == Restored("replay")
    assert environment.toy.state == 1


def test_an_inverse_that_fails_leaves_a_world_that_is_not_known() -> None:
    """It is told which, and every later restore says the same."""
    walk = Walk(SPEC, "inverses")
    walk.make(Go(0))
    environment = Failing(walk.toy, "un0")
    world = Restorable(environment)
    world.reset()
    effect = world.act("0").effect
    assert effect is not None
    ending = world.restore(Restore((ROOT,), plan([STEP], {STEP.id: effect})))
    assert ending == NotRestored("Step 1, 0: can be undone by un0, but that failed: un0 fails")
    assert world.restore(Restore((ROOT,))) == ending


@pytest.mark.parametrize("restoring", ["snapshot", "replay", "inverses"])
def test_what_was_not_carried_out_changes_nothing(restoring: str) -> None:
    """An action or a reset that raises an EffectError is passed on, and the world is where it was."""
    environment, world = after_one_action(restoring, "1")
    with pytest.raises(EffectError, match="1 fails"):
        world.act("1")
    environment.broken.add("reset")
    with pytest.raises(EffectError, match="reset fails"):
        world.reset()
    assert world.restore(Restore((ROOT, STEP))) == Restored("nothing")


def test_a_divergence_is_told_as_long_as_the_agent_stands_on_it() -> None:
    """A snapshot of a world that came back differently carries what differs; one from before it does not."""
    noise = iter([0, 0, 0, 0, 0, 1, 0, 0])
    toy = Toy(SPEC, "snapshot", noise)
    world = Restorable(toy)
    path = [ROOT]
    world.reset()
    for _ in range(2):
        path.append(Step(StepId(len(path)), path[-1].id, "0", world.act("0").text))
    again = Restorable(toy)  # as after a restart: reset, step 1, step 2, of which the last one differs
    first = again.restore(Restore(tuple(path)))
    assert isinstance(first, Restored)
    assert [each.step for each in first.divergences] == [path[2]]
    third = Step(StepId(3), StepId(2), "0", again.act("0").text)
    assert again.restore(Restore((*path, third))) == Restored("nothing", first.divergences)
    assert again.restore(Restore(tuple(path), plan([third], {}))) == Restored("snapshot", first.divergences)
    looked = Restore(tuple(path[:2]), plan([path[2]], {path[2].id: NoEffect()}))
    assert again.restore(looked) == Restored("nothing")
    again.restore(Restore(tuple(path)))
    assert again.restore(Restore(tuple(path[:2]), plan([path[2]], {}))) == Restored("snapshot")


@pytest.mark.parametrize("restoring", ["snapshot", "replay"])
def test_an_interrupted_beginning_is_not_the_place_before_it(restoring: str) -> None:
    """A reset that nobody saw the end of may have been done: the path before it is brought back."""
    environment, world = after_one_action(restoring, "")
    environment.killed = True
    with pytest.raises(Stop):
        world.reset()
    assert environment.toy.state == 0
    ending = world.restore(Restore((ROOT, STEP)))
    assert isinstance(ending, Restored)
    assert ending.how != "nothing"
    assert environment.toy.state == 1


@pytest.mark.parametrize("opening", ["", " \n"])
@pytest.mark.parametrize("said", ["set back", ""])
def test_an_action_named_reset_is_an_action_where_nothing_was_shown_first(opening: str, said: str) -> None:
    """Only the first step that holds what the world showed is not performed again."""
    acted: list[str] = []

    def act(action: str) -> str:
        acted.append(action)
        return said

    silent: Any = SimpleNamespace(capabilities=Capabilities("replay"), reset=lambda: opening, act=act)
    world = Restorable(silent)
    world.reset()
    world.act("reset")
    world.act("more")
    reset = Step(StepId(1), StepId(0), "reset", said)
    more = Step(StepId(2), StepId(1), "more", said)
    assert world.restore(Restore((ROOT, reset), plan([more], {}))) == Restored("replay")
    assert acted == ["reset", "more", "reset"]
    if not said:  # no opening is blank, so a new process knows it for an action too
        assert Restorable(silent).restore(Restore((ROOT, reset))) == Restored("replay")
        assert len(acted) == 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (SimpleNamespace(reset=str, act=str, capabilities="replay"), r"`capabilities = Capabilities\(\)`"),
        (SimpleNamespace(reset=str, act=str), r"`Capabilities\(\"replay\"\)` if after `reset`"),
        (SimpleNamespace(act=str, capabilities=Capabilities()), "lacks `reset`"),
        (None, "NoneType is no environment"),
        (Toy, "is the class Toy"),
    ],
)
def test_what_is_no_environment_is_refused_at_once(given: object, said: str) -> None:
    """With what is wrong, by both twins."""
    with pytest.raises(BadEnvironment, match=said):
        Restorable(cast("Any", given))
    with pytest.raises(BadEnvironment, match=said):
        AsyncRestorable(cast("Any", given))


def test_the_first_example_is_an_environment() -> None:
    """What the module's docstring shows runs, and goes back."""
    lines = (mage.effects.environment.__doc__ or "").splitlines()
    names: dict[str, Any] = {}  # Any: what an example defines
    exec(dedent("\n".join(line for line in lines if not line or line.startswith("    "))), names)
    lamp = names["Lamp"]()
    world = Restorable(lamp)
    shown = Step(StepId(1), ROOT.id, "reset", world.reset().text)
    lit = Step(StepId(2), shown.id, "light the lamp", world.act("light the lamp").text)
    assert (lit.observation, lamp.lit) == ("It is bright.", True)
    assert world.restore(Restore((ROOT, shown), plan([lit], {}))) == Restored("replay")
    assert not lamp.lit


def test_an_answer_that_is_no_observation_is_refused() -> None:
    """A world that returns something else is told what to return."""
    odd: Any = SimpleNamespace(
        capabilities=Capabilities(), reset=lambda: {"text": "hello"}, act=lambda _: "fine"
    )
    with pytest.raises(BadEnvironment, match="reset returned a dict"):
        Restorable(odd).reset()


def test_a_world_that_more_was_done_to_than_is_told_is_not_undone() -> None:
    """Inverses of the plan would not lead back from there; nothing is performed, by either twin's environment."""
    environment, world = after_one_action("inverses", "")
    world.act("1")
    ending = world.restore(Restore((ROOT,), plan([STEP], {STEP.id: NoEffect()})))
    assert ending == NotRestored("other things were done to it than these steps")
    assert environment.toy.called == ["reset!", "0", "1"]


def test_a_custom_restore_is_asked_as_it_is() -> None:
    """An environment that restores itself is given the request; what is no answer is refused."""
    asked: list[Restore] = []

    def restore(request: Restore) -> object:
        asked.append(request)
        return Restored("snapshot") if len(asked) == 1 else None

    toy = Toy(SPEC)
    toy.capabilities = Capabilities(CustomRestore(restore, repeatable=False))
    environment = Restorable(toy)
    assert not environment.capabilities.repeatable
    assert environment.restore(BACK) == Restored("snapshot")
    assert (asked, toy.called) == ([BACK], [])
    with pytest.raises(BadEnvironment, match="restore returned a NoneType"):
        environment.restore(BACK)


@final
class Waiting:
    """An awaited toy that waits before and after everything it does."""

    def __init__(self, toy: Toy) -> None:
        self.capabilities = toy.capabilities.around(
            lambda name, operation: operation if name == "foresees" else _waiting(operation)
        )
        self.reset: Callable[[], Awaitable[Observed | str]] = _waiting(toy.reset)
        self.act: Callable[[str], Awaitable[Observed | str]] = _waiting(toy.act)


def _waiting(operation: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def waiting(*given: object) -> object:
        await _Pause()
        answer = operation(*given)
        await _Pause()
        return answer

    return waiting


class _Pause:
    def __await__(self) -> Generator[None, None, None]:
        yield


def _awaited(waiting: Coroutine[Any, Any, Answer]) -> Answer:
    while True:
        try:
            waiting.send(None)
        except StopIteration as stop:
            answer: Answer = stop.value
            return answer


@pytest.mark.parametrize("restoring", ["snapshot", "replay"])
@given(at=st.integers(0, 40), depth=st.integers(0, 3))
def test_a_world_cancelled_at_any_await_is_found_again(restoring: str, at: int, depth: int) -> None:
    """Whatever is cancelled, beginning, acting or going back: the next restore brings the world of the path."""
    toy = Toy(SPEC, cast("Any", restoring))  # Any: a Literal, from a parameter
    world = AsyncRestorable(Waiting(toy))
    second = Step(StepId(2), StepId(1), "1", "1: 0")
    third = Step(StepId(3), StepId(2), "1", "1: 1")

    async def run() -> None:
        await world.reset()
        await world.act("0")
        await world.act("1")
        await world.act("1")
        await world.restore(Restore((ROOT, STEP), plan([third, second], {})))

    running = run()
    with contextlib.suppress(StopIteration, asyncio.CancelledError):
        for _ in range(at):
            running.send(None)
        running.throw(asyncio.CancelledError())
    ending = _awaited(world.restore(Restore((ROOT, STEP, second, third)[: depth + 1])))
    assert isinstance(ending, Restored)
    assert not ending.divergences
    assert toy.state == depth


def test_the_awaited_environment_shows_what_the_called_one_does() -> None:
    """Both say whether they can be restored, and show the same first."""
    for way in WAYS:
        toy = Toy(SPEC, way)
        called, awaited = Restorable(toy), AsyncRestorable(AwaitedEnvironment(toy))
        for restorable in (called, awaited):
            assert restorable.capabilities.repeatable == (way != "inverses")
        assert called.reset() == Awaited(awaited).reset()

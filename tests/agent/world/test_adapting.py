"""What environments may be, and what becomes of their failures."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Generator
from textwrap import dedent
from types import SimpleNamespace
from typing import Any, Final, TypeVar, cast, final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.agent import environment
from mage.agent.environment import AsyncEnvironment, BadEnvironment, Environment, manual_of, tools_of
from mage.agent.world import AsyncEnvironmentWorld, EnvironmentWorld, plan
from mage.agent.world.asks import PutBack, TakeSnapshot, answer, answer_awaited
from mage.chat import Tool
from mage.effects import Act, Begin, EffectError, NoEffect, NotRestored, Observed, Restore, Restored
from mage.engine import Step, StepId
from mage.engine.nodes import ROOT
from tests.agent.world.toy import AsyncToy, Doing, SnapshotToy, Spec, Toy
from tests.agent.world.walking import Awaited, Go, Stop, Walk

Answer = TypeVar("Answer")
TURN: Final[Doing] = ("turn", (1, 2, 3, 4, 5, 0))
SPEC = Spec("", (TURN, TURN))
STEP = Step(StepId(1), StepId(0), "0", "0: 1")


@final
class Failing:
    """An environment that cannot carry out what is on its list."""

    def __init__(self, toy: SnapshotToy, *broken: str) -> None:
        self.toy = toy
        self.broken = set(broken)
        self.restoring = toy.restoring
        self.killed = False

    def _try(self, what: str) -> None:
        if what in self.broken:
            raise EffectError("world", f"{what} fails")

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

    def snapshot(self) -> int:
        self._try("snapshot")
        return self.toy.snapshot()

    def restore(self, snapshot: int) -> None:
        self._try("restore")
        self.toy.restore(snapshot)


def after_one_action(restoring: str, broken: str) -> tuple[Failing, EnvironmentWorld]:
    """A world in which action 0 was performed, and where something fails from then on."""
    environment = Failing(SnapshotToy(SPEC, cast("Any", restoring)))  # Any: a Literal, from a parameter
    world = EnvironmentWorld(environment)
    world.begin(Begin())
    world.act(Act("0", ROOT.id))
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
    environment, world = after_one_action("snapshot", "restore")
    assert world.restore(BACK) == Restored("replay")
    assert environment.toy.state == 0
    environment, world = after_one_action("snapshot", "snapshot")
    seen = world.act(Act("1", StepId(1)))
    second = Step(StepId(2), StepId(1), "1", seen.text)
    assert world.restore(Restore((ROOT, STEP), plan([second], {}))) == Restored("replay")
    assert environment.toy.state == 1


def test_an_inverse_that_fails_leaves_a_world_that_is_not_known() -> None:
    """It is told which, and every later restore says the same."""
    walk = Walk(SPEC, "none")
    walk.make(Go(0))
    environment = Failing(walk.toy, "un0")
    world = EnvironmentWorld(environment)
    world.begin(Begin())
    effect = world.act(Act("0", ROOT.id)).effect
    assert effect is not None
    ending = world.restore(Restore((ROOT,), plan([STEP], {STEP.id: effect})))
    assert ending == NotRestored("Step 1, 0: can be undone by un0, but that failed: un0 fails")
    assert world.restore(Restore((ROOT,))) == ending


@pytest.mark.parametrize("restoring", ["snapshot", "replay", "none"])
def test_what_was_not_carried_out_changes_nothing(restoring: str) -> None:
    """An action or a reset that raises an EffectError is passed on, and the world is where it was."""
    environment, world = after_one_action(restoring, "1")
    with pytest.raises(EffectError, match="1 fails"):
        world.act(Act("1", StepId(1)))
    environment.broken.add("reset")
    with pytest.raises(EffectError, match="reset fails"):
        world.begin(Begin())
    assert world.restore(Restore((ROOT, STEP))) == Restored("nothing")


def test_a_divergence_is_told_as_long_as_the_agent_stands_on_it() -> None:
    """A snapshot of a world that came back differently carries what differs; one from before it does not."""
    noise = iter([0, 0, 0, 0, 0, 1, 0, 0])
    toy = SnapshotToy(SPEC, "snapshot", noise)
    world = EnvironmentWorld(toy)
    path = [ROOT]
    world.begin(Begin())
    for _ in range(2):
        path.append(Step(StepId(len(path)), path[-1].id, "0", world.act(Act("0", path[-1].id)).text))
    again = EnvironmentWorld(toy)  # as after a restart: reset, step 1, step 2, of which the last one differs
    first = again.restore(Restore(tuple(path)))
    assert isinstance(first, Restored)
    assert [each.step for each in first.divergences] == [path[2]]
    third = Step(StepId(3), StepId(2), "0", again.act(Act("0", StepId(2))).text)
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
        world.begin(Begin())
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

    silent = cast("Environment", SimpleNamespace(restoring="replay", reset=lambda: opening, act=act))
    world = EnvironmentWorld(silent)
    world.begin(Begin())
    world.act(Act("reset", ROOT.id))
    world.act(Act("more", StepId(1)))
    reset = Step(StepId(1), StepId(0), "reset", said)
    more = Step(StepId(2), StepId(1), "more", said)
    assert world.restore(Restore((ROOT, reset), plan([more], {}))) == Restored("replay")
    assert acted == ["reset", "more", "reset"]
    if not said:  # no opening is blank, so a new process knows it for an action too
        assert EnvironmentWorld(silent).restore(Restore((ROOT, reset))) == Restored("replay")
        assert len(acted) == 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (SimpleNamespace(reset=str, act=str, restoring="magic"), "restoring is 'magic'"),
        (SimpleNamespace(reset=str, act=str), 'give it `restoring = "replay"`'),
        (SimpleNamespace(act=str, restoring="none"), "lacks `reset`"),
        (None, "NoneType is no environment"),
        (Toy(SPEC, "snapshot"), "lacks `snapshot`"),
    ],
)
def test_what_is_no_environment_is_refused_at_once(given: object, said: str) -> None:
    """With what is wrong, by both twins."""
    with pytest.raises(BadEnvironment, match=said):
        EnvironmentWorld(cast("Environment", given))
    with pytest.raises(BadEnvironment, match=said):
        AsyncEnvironmentWorld(cast("AsyncEnvironment", given))


def test_the_first_example_is_an_environment() -> None:
    """What the module's docstring shows runs, and goes back."""
    lines = (environment.__doc__ or "").splitlines()
    names: dict[str, Any] = {}  # Any: what an example defines
    exec(dedent("\n".join(line for line in lines if not line or line.startswith("    "))), names)
    lamp = names["Lamp"]()
    world = EnvironmentWorld(lamp)
    shown = Step(StepId(1), ROOT.id, "reset", world.begin(Begin()).text)
    lit = Step(StepId(2), shown.id, "light the lamp", world.act(Act("light the lamp", shown.id)).text)
    assert (lit.observation, lamp.lit) == ("It is bright.", True)
    assert world.restore(Restore((ROOT, shown), plan([lit], {}))) == Restored("replay")
    assert not lamp.lit


def test_an_answer_that_is_no_observation_is_refused() -> None:
    """A world that returns something else is told what to return."""
    odd = SimpleNamespace(restoring="none", reset=lambda: {"text": "hello"}, act=lambda _: "fine")
    with pytest.raises(BadEnvironment, match="reset returned a dict"):
        EnvironmentWorld(cast("Environment", odd)).begin(Begin())


def test_a_world_that_more_was_done_to_than_is_told_is_not_undone() -> None:
    """Inverses of the plan would not lead back from there; nothing is performed, by either twin's environment."""
    environment, world = after_one_action("none", "")
    world.act(Act("1", StepId(1)))
    ending = world.restore(Restore((ROOT,), plan([STEP], {STEP.id: NoEffect()})))
    assert ending == NotRestored("other things were done to it than these steps")
    assert environment.toy.called == ["reset!", "0", "1"]


def test_what_an_environment_cannot_answer_is_a_mistake_of_ours() -> None:
    """Snapshots are asked only of who has them."""
    toy = Toy(SPEC)
    with pytest.raises(TypeError, match="no TakeSnapshot"):
        answer(toy, TakeSnapshot())
    plain = cast("AsyncEnvironment", SimpleNamespace(restoring="replay"))
    with pytest.raises(TypeError, match="no PutBack"):
        _awaited(answer_awaited(plain, PutBack(None)))


def test_manual_and_tools_are_what_an_environment_has() -> None:
    """What it does not have is empty."""
    tool = Tool("look", "Look around.", {"type": "object", "properties": {}, "required": []})
    rich = SimpleNamespace(
        restoring="none", reset=lambda: "", act=lambda _: "", manual="look: see", tools=(tool,)
    )
    assert (manual_of(Toy(SPEC)), tools_of(Toy(SPEC))) == ("", ())
    assert manual_of(cast("Environment", rich)) == "look: see"
    assert tools_of(cast("Environment", rich)) == (tool,)


@final
class Waiting:
    """An awaited toy that waits before and after everything it does."""

    def __init__(self, toy: SnapshotToy) -> None:
        self._inner = AsyncToy(toy)
        self.restoring = toy.restoring

    async def reset(self) -> Observed | str:
        await _Pause()
        seen = await self._inner.reset()
        await _Pause()
        return seen

    async def act(self, action: str) -> Observed | str:
        await _Pause()
        seen = await self._inner.act(action)
        await _Pause()
        return seen

    async def snapshot(self) -> int:
        await _Pause()
        return await self._inner.snapshot()

    async def restore(self, snapshot: int) -> None:
        await _Pause()
        await self._inner.restore(snapshot)
        await _Pause()


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
    toy = SnapshotToy(SPEC, cast("Any", restoring))  # Any: a Literal, from a parameter
    world = AsyncEnvironmentWorld(Waiting(toy))
    second = Step(StepId(2), StepId(1), "1", "1: 0")
    third = Step(StepId(3), StepId(2), "1", "1: 1")

    async def run() -> None:
        await world.begin(Begin())
        await world.act(Act("0", ROOT.id))
        await world.act(Act("1", StepId(1)))
        await world.act(Act("1", StepId(2)))
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


def test_the_awaited_world_shows_what_the_called_one_does() -> None:
    """Both tell whether they can be restored, and give back what they were made of."""
    for restoring, repeatable in (("snapshot", True), ("replay", True), ("none", False)):
        toy = SnapshotToy(SPEC, cast("Any", restoring))  # Any: a Literal, from a tuple
        awaited_toy = AsyncToy(toy)
        called, awaited = EnvironmentWorld(toy), AsyncEnvironmentWorld(awaited_toy)
        assert called.repeatable == awaited.repeatable == repeatable
        assert called.environment is toy
        assert awaited.environment is awaited_toy
        assert called.begin(Begin()) == Awaited(awaited).begin(Begin())

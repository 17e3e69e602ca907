"""The world follows: after a revise, after somebody else has written, and in a session that was there before."""

from __future__ import annotations

import pytest

from mage import Failed, Passed
from mage.agent import Policy, RunFinished, RunStopped
from mage.effects import (
    RESET,
    Divergence,
    EffectError,
    Irreversible,
    NoEffect,
    NotRestored,
    Observed,
    Restore,
    Restored,
    Reversible,
)
from mage.engine import (
    Accept,
    ApplyVerdict,
    Compress,
    Grow,
    Instruct,
    Revise,
    Step,
    StepId,
    Unverified,
    grow,
    instruct,
    start,
)
from mage.memory.requests import Counts
from mage.testing import ScriptedEnvironment
from tests.agent.playing import DONE, Played, acts, compress, lessons_of, revise
from tests.agent.toys import TASK


def restores(world: ScriptedEnvironment) -> list[Restore]:
    """Return what the world was asked to restore."""
    return [request for request in world.asked if isinstance(request, Restore)]


def test_a_revise_restores_the_world_by_a_plan() -> None:
    """The world is asked to become what it was at the boundary: the path, and what to undo, newest first (D14)."""
    world = ScriptedEnvironment(
        Observed("on", effect=Reversible("off")), Observed("it is on", effect=NoEffect()), "seen"
    )
    played = Played(acts("switch"), acts("look"), revise(0, "no"), acts("b"), DONE, environment=world)
    played.run()
    (asked,) = restores(world)
    assert asked.path == ()
    assert [(undo.step.action, undo.effect) for undo in asked.plan] == [
        ("look", NoEffect()),
        ("switch", Reversible("off")),
    ]
    assert played.kinds.count("restoring") == played.kinds.count("restored") == 1


def test_a_revise_with_nothing_to_undo_leaves_the_world_alone() -> None:
    """A revise to where the agent stands leaves a lesson, and asks nothing of the world."""
    world = ScriptedEnvironment("seen")
    Played(
        acts("a"), compress("did a"), revise(1, "careful"), DONE, verdicts=[Passed()], environment=world
    ).run()
    assert restores(world) == []


def step(number: int) -> Step:
    """Return a step for a divergence."""
    return Step(StepId(number), StepId(0), "a", "seen")


@pytest.mark.parametrize(
    "answer",
    [
        Restored("replay", (Divergence(step(1), "something else"),)),
        NotRestored("no way back"),
        EffectError("environment", "it is gone"),
    ],
)
def test_a_world_that_is_not_as_it_was_is_reported(answer: Restored | NotRestored | EffectError) -> None:
    """Divergence, refusal and failure of the world are told, or stop the run, as the policy says; never hidden."""
    script = (acts("a"), revise(0, "no"), acts("b"), DONE)
    played = Played(*script, environment=ScriptedEnvironment("seen", "seen", restored=[answer]))
    assert isinstance(played.run(), RunFinished)
    assert played.told[2] == ["diverged"]
    stopping = Policy(on_divergence="stop")
    stopped = Played(*script, environment=ScriptedEnvironment("seen", restored=[answer]), policy=stopping)
    outcome = stopped.run()
    assert isinstance(outcome, RunStopped)
    assert outcome.reason == "diverged"
    assert isinstance(stopped.again(acts("b"), DONE).run(), RunFinished)


@pytest.mark.parametrize(
    ("answer", "placed"),
    [(Restored("replay"), False), (Restored("inverses"), True), (NotRestored("no"), True)],
)
def test_instructions_left_behind_are_placed_again(answer: Restored | NotRestored, *, placed: bool) -> None:
    """A world that was not reset will not ask again for what it asked for, so that is placed again, and told (D7)."""
    world = ScriptedEnvironment(Observed("seen", instructions=("hurry",)), "seen", restored=[answer])
    played = Played(acts("a"), revise(0, "no"), acts("b"), DONE, environment=world)
    played.run()
    assert (played.commands[3:4] == [Instruct("hurry")]) == placed
    assert ("left_behind" in played.told[2]) == placed
    assert played.decisions.asked[-1].shown.instructions == (("hurry",) if placed else ())


def test_a_world_that_is_over_again_after_going_back() -> None:
    """Whether the world takes actions after it was restored is what it says."""
    world = ScriptedEnvironment("seen", "seen", restored=[Restored("replay", over=True)])
    played = Played(
        acts("a"),
        compress("did a"),
        acts("b"),
        revise(1, "no"),
        acts("c"),
        DONE,
        verdicts=[Passed()],
        environment=world,
    )
    played.run()
    assert played.told[5] == ["environment"]
    assert world.actions == ["a", "b"]


def test_a_failed_verdict_may_not_cross_what_is_irreversible() -> None:
    """Where going back is forbidden the failed summary is given up instead."""
    world = ScriptedEnvironment(Observed("sold", effect=Irreversible()))
    policy = Policy(cross_irreversible=False)
    played = Played(
        acts("sell"), compress("sold"), DONE, verdicts=[Failed("no")], environment=world, policy=policy
    )
    played.run()
    assert isinstance(played.commands[-1], Accept)


# -- somebody else writes ------------------------------------------------------------------------------


def test_what_others_wrote_between_turns_is_taken() -> None:
    """A command of somebody else right before ours: ours is not recorded, theirs is taken, the world follows."""
    world = ScriptedEnvironment("seen", "seen")
    played = Played(acts("a"), acts("b"), DONE, environment=world, others={1: [Instruct("hurry")]})
    assert isinstance(played.run(), RunFinished)
    assert played.commands == [Grow("a", "seen"), Instruct("hurry")]
    assert played.kinds[-5:] == ["taken", "restoring", "restored", "decided", "ended"]
    assert "conflict" in played.kinds
    assert played.told[2] == ["changed", "changed"]
    assert "is not in your history" in played.decisions.asked[2].notices[0].text
    assert played.decisions.asked[2].shown.instructions == ("hurry",)


def test_the_world_follows_a_revise_of_somebody_else() -> None:
    """Steps that somebody else has left behind are what the world is asked to undo."""
    world = ScriptedEnvironment(Observed("on", effect=Reversible("off")), "seen", "seen")
    played = Played(
        acts("switch"), acts("b"), acts("c"), DONE, environment=world, others={1: [Revise(0, "not so")]}
    )
    played.run()
    (asked,) = restores(world)
    assert [undo.step.action for undo in asked.plan] == ["switch"]
    assert asked.plan[0].effect == Reversible("off")
    assert lessons_of(played.decisions.asked[2].shown) == ["not so"]


def test_the_world_follows_a_step_of_somebody_else() -> None:
    """A step that somebody else has added is on the path that the world is asked to become."""
    world = ScriptedEnvironment("seen", "seen")
    Played(acts("a"), acts("b"), DONE, environment=world, others={1: [Grow("by hand", "done")]}).run()
    (asked,) = restores(world)
    assert [each.action for each in asked.path] == ["a", "by hand"]


def test_somebody_else_has_judged() -> None:
    """A verdict of somebody else meanwhile is taken; ours is overtaken, and the run goes on."""
    played = Played(acts("a"), compress("did a"), DONE, verdicts=[Passed()], others={2: [Accept()]})
    assert isinstance(played.run(), RunFinished)
    assert not any(isinstance(command, ApplyVerdict) for command in played.commands)


def test_somebody_else_has_left_a_pending_summary() -> None:
    """A summary of somebody else is judged like one of our own."""
    played = Played(acts("a"), acts("b"), DONE, verdicts=[Passed()], others={1: [Compress("by hand")]})
    assert isinstance(played.run(), RunFinished)
    assert [asked.text for asked in played.verdicts.asked] == ["by hand"]


def test_a_judge_who_thinks_is_asked_again_after_somebody_else_wrote() -> None:
    """Without waiting, a verdict that was asked for is asked for again when the state was changed meanwhile."""
    played = Played(
        acts("a"), compress("did a"), acts("b"), DONE,
        verdicts=[Passed()], policy=Policy(wait=False), late=9, others={2: [Grow("by hand", "done")]},
    )  # fmt: skip
    assert isinstance(played.run(), RunFinished)
    assert played.kinds.count("verdict") == 1


def test_the_opening_is_not_forced_on_a_session_that_somebody_has_moved() -> None:
    """Overtaken at the very first step, the run goes on from where the other has led."""
    world = ScriptedEnvironment("seen", opening="a room")
    played = Played(acts("a"), DONE, environment=world, others={0: [Grow("by hand", "done")]})
    assert isinstance(played.run(), RunFinished)
    assert played.commands == [Grow("by hand", "done"), Grow("a", "seen")]


def test_a_finished_run_goes_on_after_somebody_wrote() -> None:
    """A finished run is not run again, unless somebody has written since."""
    played = Played(acts("a"), DONE)
    outcome = played.run()
    again = played.again()
    assert again.run() == outcome
    assert again.decisions.asked == []
    again.write(Revise(0, "not so"))
    later = again.again(acts("b"), DONE)
    assert isinstance(later.run(), RunFinished)
    assert later.told[0] == ["changed", "revised"]
    assert later.commands[-1] == Grow("b", "seen")


# -- a session that was there before -----------------------------------------------------------------


def test_a_run_begun_on_a_session_with_steps() -> None:
    """Nothing begins: the world is asked to become what the path says, and the agent goes on from there."""
    state = grow(grow(start(TASK), RESET, "a room"), "a", "seen")
    world = ScriptedEnvironment("seen")
    played = Played(acts("b"), DONE, environment=world, state=state)
    assert isinstance(played.run(), RunFinished)
    assert [type(request) for request in world.asked] == [Restore, str]
    assert [each.action for each in restores(world)[0].path] == [RESET, "a"]
    assert played.kinds == ["restoring", "restored", "decided", "acting", "decided", "ended"]


def test_a_run_begun_on_a_session_that_is_pending() -> None:
    """A summary that is pending there is judged first."""
    state = grow(start(TASK), "a", "seen")
    pending = Played(state=state)
    pending.write(Compress("did a"))
    assert isinstance(pending.state, Unverified)
    played = Played(DONE, verdicts=[Passed()], state=pending.state)
    assert isinstance(played.run(), RunFinished)
    assert [asked.text for asked in played.verdicts.asked] == ["did a"]


def test_a_session_at_its_root_begins() -> None:
    """A session that has instructions and no step begins as a new one."""
    state = instruct(start(TASK), "be brief", standing=True).unwrap()
    played = Played(acts("a"), DONE, state=state, environment=ScriptedEnvironment("seen", opening="a room"))
    played.run()
    assert played.commands == [Grow(RESET, "a room"), Grow("a", "seen")]
    assert played.decisions.asked[0].shown.instructions == ("be brief",)


def test_what_the_journal_says_of_failures_counts() -> None:
    """Revisions of before count against `max_revisions` (D13)."""
    state = grow(start(TASK), "a", "seen")
    counts = Counts({StepId(0): 3}, {})
    played = Played(
        revise(0, "no"), compress("did a"), DONE, verdicts=[Failed("no")], state=state, counts=counts
    )
    played.run()
    assert played.told[1] == ["refused"]
    assert isinstance(played.commands[-1], Accept)

"""Somebody else writes in the midst of what belongs together: nothing that is owed is lost, and nothing loops."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mage import Failed, Passed, Verdict
from mage.agent import Policy, RunFinished, RunStopped
from mage.effects import RESET, NotRestored, Observed, Restore, Restored, Reversible
from mage.engine import (
    Accept,
    ApplyVerdict,
    Command,
    Compress,
    Grow,
    Instruct,
    Retext,
    Revise,
    Unverified,
    grow,
    instruct,
    start,
)
from mage.engine import compress as compressed
from mage.testing import ScriptedEnvironment
from tests.agent.playing import DONE, Played, acts, compress, revise
from tests.agent.toys import TASK

NEVER = Instruct("never more than 100", standing=True)


def same_again(played: Played) -> bool:
    """Tell whether a run comes to the same journal when it is run again."""
    again = played.again()
    return isinstance(again.run(), RunFinished) and again.commands == played.commands


@pytest.mark.parametrize(
    ("written", "placed"),
    [([NEVER], True), ([Grow("by hand", "done")], True), ([Revise(0, "not so")], False)],
)
def test_an_instruction_of_the_world_is_placed_after_all(written: Sequence[Command], *, placed: bool) -> None:
    """What came with a step is placed when somebody wrote before that, unless the step was left meanwhile."""
    world = ScriptedEnvironment("seen", Observed("seen", instructions=("pay by card", "pay soon")))
    played = Played(acts("a"), acts("b"), DONE, environment=world, others={2: written})
    assert isinstance(played.run(), RunFinished)
    assert (played.commands[-2:] == [Instruct("pay by card"), Instruct("pay soon")]) == placed
    assert ("pay soon" in played.decisions.asked[-1].shown.instructions) == placed
    assert same_again(played)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_what_the_world_asks_for_first_is_placed_after_all(number: int) -> None:
    """So it is with the opening, whichever of its commands was overtaken."""
    world = ScriptedEnvironment(opening=Observed("a room", instructions=("go", "and hurry")))
    played = Played(DONE, environment=world, others={number: [Grow("by hand", "done")]})
    assert isinstance(played.run(), RunFinished)
    assert {Instruct("go"), Instruct("and hurry")} < set(played.commands)
    assert same_again(played)


@pytest.mark.parametrize("number", [3, 4])
def test_what_was_left_behind_is_placed_after_all(number: int) -> None:
    """So it is with what a revise has left behind."""
    world = ScriptedEnvironment(
        Observed("seen", instructions=("pay", "soon")), restored=[NotRestored("no")] * 2
    )
    played = Played(acts("a"), revise(0, "no"), DONE, environment=world, others={number + 1: [NEVER]})
    assert isinstance(played.run(), RunFinished)
    assert set(played.decisions.asked[-1].shown.instructions) == {"pay", "soon", NEVER.text}
    assert "left_behind" in played.told[-1]
    assert same_again(played)


def test_an_instruction_that_is_owed_where_the_judge_goes_back() -> None:
    """What was still owed at a step that is left behind is left behind with it, and placed again."""
    pending = compressed(grow(start(TASK), "a", "seen"), "theirs").unwrap()
    assert isinstance(pending, Unverified)
    failed: list[Command] = [Compress("theirs"), ApplyVerdict(Failed("no"), pending.digest)]
    world = ScriptedEnvironment(
        Observed("seen", instructions=("pay",)), restored=[Restored("nothing"), NotRestored("no")]
    )
    played = Played(acts("a"), DONE, environment=world, others={1: failed})
    assert isinstance(played.run(), RunFinished)
    assert played.commands == [Grow("a", "seen"), *failed, Revise(0, "no"), Instruct("pay")]
    assert same_again(played)


@pytest.mark.parametrize("how", ["replay", "snapshot", "nothing", "inverses"])
def test_an_instruction_of_a_user_outlives_a_revise(how: str) -> None:
    """A world that was reset brings again what it has asked for itself, and nothing else: that is placed again (D7)."""
    world = ScriptedEnvironment(
        "seen", "seen", Observed("seen", instructions=("pay",)), "seen",
        restored=[Restored("replay"), Restored(how)],  # type: ignore[arg-type]  # one of the names
    )  # fmt: skip
    played = Played(
        acts("a"), acts("b"), acts("b"), compress("did"), acts("c"), DONE,
        verdicts=[Failed("no")], environment=world, others={1: [NEVER, Instruct("hurry")]},
    )  # fmt: skip
    assert isinstance(played.run(), RunFinished)
    last = played.commands.index(Revise(0, "no"))
    placed = [command for command in played.commands[last:] if isinstance(command, Instruct)]
    assert placed == [NEVER, Instruct("hurry"), *([Instruct("pay")] if how == "inverses" else [])]
    assert played.told[4] == ["revised", "left_behind"]
    assert same_again(played)


def test_an_instruction_from_before_the_run_outlives_a_revise_if_it_stands() -> None:
    """Of earlier steps nobody remembers who has given what: standing instructions are no world's."""
    state = instruct(grow(start(TASK), "a", "seen"), "pay").unwrap()
    state = instruct(state, NEVER.text, standing=True).unwrap()
    played = Played(revise(0, "no"), DONE, state=state)
    played.run()
    assert played.commands == [Revise(0, "no"), NEVER]


def test_the_opening_of_an_earlier_run_is_grown_again() -> None:
    """In a fork, or a session that has steps, the first step is known from the path: going back to the root keeps it."""
    state = instruct(grow(start(TASK), RESET, "a room"), "get the lamp").unwrap()
    state = grow(state, "a", "seen")
    played = Played(revise(0, "no"), acts("b"), DONE, state=state)
    assert isinstance(played.run(), RunFinished)
    assert played.commands == [Revise(0, "no"), Grow(RESET, "a room"), Grow("b", "seen")]
    shown = played.decisions.asked[1].shown
    assert [step.action for step in shown.raw] == [RESET]
    assert shown.instructions == ("get the lamp",)


@pytest.mark.parametrize("most", [1, 4])
def test_somebody_who_writes_during_every_turn_does_not_hold_the_run_for_ever(most: int) -> None:
    """Turns in which nothing was done because somebody was faster count as idle, whoever was asked in them."""
    policy = Policy(max_idle=most)
    others: dict[int, list[Command]] = {number: [Instruct(f"note {number}")] for number in range(2, 99)}
    acting = Played(*[acts("a")] * (most + 2), policy=policy, others=others)
    judging = Played(
        acts("a"), compress("did"), verdicts=[Passed()] * (most + 1), policy=policy, others=others
    )
    for played in (acting, judging):
        outcome = played.run()
        assert isinstance(outcome, RunStopped)
        assert outcome.reason == "idle"
        assert outcome == played.again().run(live=False)


def test_somebody_who_writes_often_does_not_stop_a_run_that_gets_on() -> None:
    """A turn in which something was done begins the count anew, also where it was overtaken in the end."""
    others: dict[int, list[Command]] = {number: [Instruct(f"note {number}")] for number in range(1, 99, 2)}
    script = [acts(f"a{number}", f"b{number}") for number in range(9)]
    played = Played(*script, DONE, policy=Policy(max_idle=1), others=others)
    assert isinstance(played.run(), RunFinished)


def test_the_world_follows_out_of_a_failed_summary() -> None:
    """Somebody else has gone back where the run was about to: what is to be undone is known."""
    world = ScriptedEnvironment(Observed("on", effect=Reversible("off")))
    others: dict[int, list[Command]] = {3: [Revise(0, "theirs")]}
    played = Played(
        acts("switch"), compress("did"), DONE, verdicts=[Failed("no")], environment=world, others=others
    )
    assert isinstance(played.run(), RunFinished)
    (asked,) = [request for request in world.asked if isinstance(request, Restore)]
    assert [(undo.step.action, undo.effect) for undo in asked.plan] == [("switch", Reversible("off"))]


def test_a_verdict_is_still_wanted_after_what_does_not_touch_it() -> None:
    """Dropping the open segment, or an instruction of somebody else, leaves the pending summary as it was (D5)."""
    policy = Policy(wait=False)
    played = Played(
        acts("a"), compress("did a"), acts("b"), revise(1, "not b"), acts("c"), DONE,
        verdicts=[Passed()], policy=policy, late=9, others={3: [Instruct("hurry", standing=True)]},
    )  # fmt: skip
    assert isinstance(played.run(), RunFinished)
    assert played.asked_later == 1
    assert played.kinds.count("verdict") == 1


LEAVING: list[Command] = [Retext("theirs"), Revise(0, "theirs"), Accept()]


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("verdict", [Passed(), Failed("no")])
@pytest.mark.parametrize(
    "written", [[Grow("by hand", "done")], [NEVER], [Grow("by hand", "done"), Revise(1, "")]]
)
def test_a_verdict_lands_behind_what_somebody_has_grown(
    written: Sequence[Command], verdict: Verdict, *, wait: bool
) -> None:
    """A verdict that came while somebody wrote is recorded behind that, if its question stands: the judge is asked once."""
    played = Played(
        acts("a"), compress("did a"), *([] if wait else [acts("b")]), DONE, DONE,
        verdicts=[verdict], policy=Policy(wait=wait), others={2 if wait else 3: written},
    )  # fmt: skip
    played.late = 0 if wait else 1
    assert isinstance(played.run(), RunFinished)
    assert len(played.verdicts.asked) == 1
    given = [command for command in played.commands if isinstance(command, ApplyVerdict)]
    assert given == [ApplyVerdict(verdict, played.verdicts.asked[0].digest)]
    assert played.commands.index(given[0]) > played.commands.index(written[-1])
    assert same_again(played)


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("written", LEAVING)
def test_a_verdict_on_what_somebody_has_left_is_not_recorded(written: Command, *, wait: bool) -> None:
    """Where somebody has left the summary or its text meanwhile, the verdict is recorded nowhere."""
    played = Played(
        acts("a"), compress("did a"), *([] if wait else [acts("b")]), DONE, DONE,
        verdicts=[Failed("of another text"), Passed()], policy=Policy(wait=wait), others={2 if wait else 3: [written]},
    )  # fmt: skip
    played.late = 0 if wait else 1
    assert isinstance(played.run(), RunFinished)
    assert "of another text" not in repr(played.commands)
    assert same_again(played)


def test_what_is_owed_is_placed_before_a_late_verdict_is_looked_for() -> None:
    """A verdict that came while the mark was relieved comes, when the run is run again, where it is first asked for."""
    world = ScriptedEnvironment("seen", Observed("word " * 100, instructions=("go",)))
    played = Played(
        acts("a"), compress("did a"), acts("b"), DONE, verdicts=[Passed(), Passed()], texts=["did b"],
        environment=world, policy=Policy(wait=False, high_water=100), late=9, others={3: [NEVER]},
    )  # fmt: skip
    assert isinstance(played.run(), RunFinished)
    assert played.commands[3:5] == [NEVER, Instruct("go")]
    assert same_again(played)


def test_what_follows_an_action_that_was_overtaken_is_told() -> None:
    """Where somebody was faster than one action of several, the rest is not performed, and that is told."""
    world = ScriptedEnvironment(*["seen"] * 9)
    played = Played(acts("a", "b", "c"), DONE, environment=world, others={1: [NEVER]})
    assert isinstance(played.run(), RunFinished)
    assert world.actions == ["a", "b"]
    assert played.told[1] == ["changed", "refused", "changed"]

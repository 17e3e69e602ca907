"""The turns of a run: what the model may decide, what it is told once, and what ends the run."""

from __future__ import annotations

import attrs
import pytest

from mage import Passed
from mage.agent import Asked, AskFailed, Noticed, Policy, RunEnded, RunFailed, RunFinished, RunStopped
from mage.effects import (
    RESET,
    Action,
    Compensable,
    Decision,
    EffectError,
    Finish,
    Irreversible,
    Metered,
    NotRestored,
    Observed,
    Usage,
)
from mage.engine import Compress, Grow, Instruct, Revise, StepId
from mage.memory.state import LINES, LONGEST, QUOTED
from mage.testing import ScriptedEnvironment
from tests.agent.playing import DONE, Played, acts, compress, revise

UNUSABLE = EffectError("not_json", "no JSON", usage=Usage(9, 3))


def test_what_the_world_shows_first_is_the_first_step() -> None:
    """The reset's observation is grown before anything is decided, and its instruction pinned."""
    world = ScriptedEnvironment(opening=Observed("a room", instructions=("be quick",)))
    played = Played(DONE, environment=world)
    played.run()
    assert played.commands == [Grow(RESET, "a room"), Instruct("be quick")]
    shown = played.decisions.asked[0].shown
    assert shown.instructions == ("be quick",)
    assert shown.raw[0].observation == "a room"
    assert world.actions == []


def test_a_silent_world_has_no_first_step() -> None:
    """A blank opening is no step; an instruction of it stands at the root all the same."""
    played = Played(
        acts("a"), DONE, environment=ScriptedEnvironment("seen", opening=Observed(" ", instructions=("go",)))
    )
    played.run()
    assert played.commands == [Instruct("go"), Grow("a", "seen")]


def test_the_opening_is_grown_again_after_going_back_to_the_root() -> None:
    """Back at the root the world begins anew: the same first step, and its instruction, which counts once."""
    world = ScriptedEnvironment("seen", "seen", opening=Observed("a room", instructions=("go",)))
    played = Played(acts("a"), revise(0, "not a"), acts("b"), DONE, environment=world)
    outcome = played.run()
    assert [type(command) for command in played.commands] == [Grow, Instruct, Grow, Revise, Grow, Grow]
    assert played.state.tree.next_step == StepId(4)
    assert played.decisions.asked[2].shown.instructions == ("go",)
    assert outcome.totals.steps == 4


def test_several_actions_are_steps_in_order_and_then_the_rest() -> None:
    """Actions of one reply are a step each, in call order, with their call ids; compress comes last (D11)."""
    reply = Decision((Action("a", "call-1"), Action("b", "call-2")), Compress("did both"), "thinking")
    played = Played(Metered(reply, Usage(10, 2), "m", "p"), DONE, verdicts=[Passed()])
    played.run()
    assert [type(command) for command in played.commands[:3]] == [Grow, Grow, Compress]
    metas = [entry.meta for entry in played.journal]
    assert [meta.get("call") for meta in metas[:2]] == ["call-1", "call-2"]
    assert metas[0]["thought"] == "thinking"
    assert metas[0]["usage"] == {"prompt": 10, "completion": 2, "cached": 0, "calls": 1}
    assert "usage" not in metas[1]


def test_an_unusable_reply_is_told_once() -> None:
    """An unusable reply changes nothing, is told once, and its tokens count."""
    played = Played(UNUSABLE, acts("a"), DONE)
    outcome = played.run()
    assert played.told == [[], ["unusable"], []]
    assert "no JSON" in played.decisions.asked[1].notices[0].said
    assert outcome.totals.tokens["model"] == Usage(9, 3, 0, 3)
    assert AskFailed("model", "not_json") in played.events


def test_a_decision_that_does_nothing_is_unusable() -> None:
    """So is a reply with no action and nothing to do."""
    played = Played(Decision(), DONE)
    assert isinstance(played.run(), RunFinished)
    assert played.told == [[], ["unusable"]]


@pytest.mark.parametrize("most", [0, 1, 3])
def test_unusable_replies_in_a_row_fail_the_run(most: int) -> None:
    """After `max_unusable` in a row the run fails; resumed, it counts from nothing."""
    played = Played(*[UNUSABLE] * (most + 1), policy=Policy(max_unusable=most))
    outcome = played.run()
    assert isinstance(outcome, RunFailed)
    assert outcome.reason == "model: not_json"
    later = played.again(*[UNUSABLE] * most, DONE)
    assert isinstance(later.run(), RunFinished)


@pytest.mark.parametrize("fault", ["rate_limit", "server", "timeout", "dropped", "unreachable", "rejected"])
def test_a_model_that_does_not_answer_fails_the_run(fault: str) -> None:
    """Where nobody has answered, the run fails at once, and goes on when it is resumed, with what it was to be told."""
    error = EffectError(fault, "no", retry_after=3)  # type: ignore[arg-type]  # one of the names
    played = Played(acts("a"), revise(7, "no"), error)
    outcome = played.run()
    assert isinstance(outcome, RunFailed)
    assert outcome.reason == f"model: {fault}"
    later = played.again(DONE)
    assert isinstance(later.run(), RunFinished)
    assert later.told == [["refused"]]


@pytest.mark.parametrize(
    "decision", [revise(7, "no"), revise(-1, "no"), revise(10**20, "no"), compress("nothing open")]
)
def test_a_refused_command_is_told_once(decision: Decision) -> None:
    """What the state refuses changes nothing and is told once (D11)."""
    played = Played(decision, acts("a"), DONE)
    played.run()
    assert played.told == [[], ["refused"], []]
    assert played.commands == [Grow("a", "seen")]


def test_a_blank_compress_is_refused() -> None:
    """A blank text is refused, and told."""
    played = Played(acts("a"), compress(" "), DONE)
    played.run()
    assert played.told == [[], [], ["refused"]]


def test_a_merged_step_is_reported() -> None:
    """Walking into a way that was left is legal, and the model is told (D10)."""
    played = Played(acts("a"), revise(0, ""), acts("a"), DONE)
    outcome = played.run()
    assert played.told[-1] == ["merged"]
    assert played.state.tree.next_step == StepId(2)
    assert outcome.totals.steps == 2


def test_a_world_that_is_over_takes_no_actions() -> None:
    """After the world is over, actions are held back and the model is told; going back takes that back."""
    world = ScriptedEnvironment(Observed("lost", over=True), "seen")
    played = Played(acts("a"), acts("b"), revise(0, "not a"), acts("b"), DONE, environment=world)
    assert isinstance(played.run(), RunFinished)
    assert world.actions == ["a", "b"]
    assert played.told == [[], ["environment"], ["environment"], ["revised"], []]


def test_a_world_that_fails_an_action_fails_the_run() -> None:
    """An action that cannot be carried out fails the run; resumed, the model is told and decides again."""
    world = ScriptedEnvironment(EffectError("environment", "jammed"))
    played = Played(acts("a"), environment=world)
    outcome = played.run()
    assert isinstance(outcome, RunFailed)
    assert outcome.reason == "environment: environment"
    assert played.commands == []
    later = played.again(acts("b"), DONE)
    assert isinstance(later.run(), RunFinished)
    assert later.commands == [Grow("b", "seen")]
    assert later.told[0] == ["environment"]


def test_a_world_that_could_not_begin_begins_when_the_run_is_resumed() -> None:
    """The world's first words are not lost because it failed the first time."""

    class Late:
        def __init__(self, *, fails: bool) -> None:
            self._script = ScriptedEnvironment("seen", opening="a room")
            self._fails = fails
            self.capabilities = self._script.capabilities
            self.act = self._script.act

        def reset(self) -> Observed | str:
            if self._fails:
                raise EffectError("environment", "not now")
            return self._script.reset()

    played = Played(environment=Late(fails=True))
    assert isinstance(played.run(), RunFailed)
    later = played.again(acts("a"), DONE, environment=Late(fails=False))
    assert isinstance(later.run(), RunFinished)
    assert later.commands == [Grow(RESET, "a room"), Grow("a", "seen")]


@pytest.mark.parametrize("most", [0, 2])
def test_it_stops_after_so_many_steps(most: int) -> None:
    """`max_steps` stops the run, and a run that is resumed with more goes on."""
    played = Played(*[acts(f"a{number}") for number in range(most)], policy=Policy(max_steps=most))
    outcome = played.run()
    assert isinstance(outcome, RunStopped)
    assert (outcome.reason, outcome.totals.steps) == ("max_steps", most)
    later = played.again(acts("more"), DONE, policy=Policy(max_steps=most + 1, max_idle=9))
    assert isinstance(later.run(), RunStopped)
    assert later.state.tree.next_step == StepId(most + 2)


def test_it_stops_after_so_many_tokens() -> None:
    """`max_total_tokens` counts the tokens of all calls, as the providers counted them."""
    metered = Metered(acts("a"), Usage(60, 40))
    outcome = Played(metered, Metered(acts("b"), Usage(1)), policy=Policy(max_total_tokens=101)).run()
    assert isinstance(outcome, RunStopped)
    assert (outcome.reason, outcome.totals.usage.total) == ("max_total_tokens", 101)


def test_it_stops_where_nothing_is_done() -> None:
    """Turn after turn in which nothing is done ends the run; a turn in which something was begins the count anew."""
    refused = revise(9, "no")
    played = Played(refused, acts("a"), refused, refused, policy=Policy(max_idle=2))
    outcome = played.run()
    assert isinstance(outcome, RunStopped)
    assert outcome.reason == "idle"
    assert played.decisions.left == 0


def test_lessons_without_end_are_not_left() -> None:
    """A model that only goes back is told to go on, and the run stops as idle."""
    lessons = [revise(0, f"lesson {number}") for number in range(6)]
    played = Played(acts("a"), *lessons, policy=Policy(max_idle=2, max_revisions=3))
    outcome = played.run()
    assert isinstance(outcome, RunStopped)
    assert outcome.totals.revisions == 3
    assert played.told[-1] == ["refused"]


def test_an_irreversible_action_is_not_left_behind_where_the_policy_forbids() -> None:
    """With `cross_irreversible` off, going back over such an action is refused, and told, by model and by judge."""
    world = ScriptedEnvironment(Observed("sold", effect=Irreversible("it is sold")))
    policy = Policy(cross_irreversible=False)
    played = Played(acts("sell"), revise(0, "no"), DONE, environment=world, policy=policy)
    played.run()
    assert played.told[2] == ["irreversible"]
    assert "it is sold" in played.decisions.asked[2].notices[0].said
    assert played.commands == [Grow("sell", "sold")]


def test_what_is_left_behind_is_reported_where_it_cannot_be_undone() -> None:
    """With `cross_irreversible` on it is left, and the model is told what stands."""
    world = ScriptedEnvironment(
        Observed("paid", effect=Compensable("ask for the money")), restored=[NotRestored("no way back")]
    )
    played = Played(acts("pay"), revise(0, "no"), DONE, environment=world)
    played.run()
    assert played.told[2] == ["diverged"]
    text = played.decisions.asked[2].notices[0].said
    assert "no way back" in text
    assert "ask for the money" in text


def test_the_model_sees_where_it_may_go_back_to_and_how_much_room_there_is() -> None:
    """Boundaries are those of S in path order, and the current one; room is what the open segment may still take."""
    played = Played(
        acts("a"), compress("did a"), acts("b"), DONE, verdicts=[Passed()], policy=Policy(high_water=500)
    )
    played.run()
    assert [request.boundaries for request in played.decisions.asked] == [(), (0,), (0,), (0, 1)]
    rooms = [request.room for request in played.decisions.asked]
    assert all(room is not None and 0 < room < 500 for room in rooms)
    assert [request.may_compress for request in played.decisions.asked] == [False, True, False, True]
    without = Played(DONE, policy=Policy(high_water=None))
    without.run()
    assert without.decisions.asked[0].room is None


def test_the_hooks_hear_counts_and_kinds() -> None:
    """Hooks hear who was asked and what it took, what the model will be told, and how the run ended."""
    played = Played(Metered(acts("a"), Usage(60, 40)), revise(9, "no"), DONE)
    played.run()
    asked = played.events[0]
    assert isinstance(asked, Asked)
    assert (asked.who, asked.prompt, asked.completion) == ("model", 60, 40)
    assert asked.shown > 0
    assert Noticed("refused") in played.events
    assert played.events[-1] == RunEnded("finished", "finished")


def test_the_answer_of_a_finished_run() -> None:
    """`finish` ends the run with the model's answer, and its totals."""
    played = Played(Decision((Action("a"),), Finish("all done")))
    outcome = played.run()
    assert isinstance(outcome, RunFinished)
    assert outcome.answer == "all done"
    assert outcome.totals.steps == 1


def test_joined_characters_are_the_same_when_they_are_read_again() -> None:
    """Text with an unjoined pair of surrogates is shown, tried and told alike by a run and by its resumption."""
    pair, joined = "\ud83d\ude00", "\U0001f600"
    played = Played(acts(pair), revise(0, "not that"), acts(pair), acts("b"), DONE)
    played.run()
    assert played.told[3] == ["tried"]
    assert played.commands[0] == Grow(joined, "seen")
    again = played.again()
    assert isinstance(again.run(), RunFinished)


def test_limits_hold_between_the_actions_of_one_reply() -> None:
    """A reply of many actions stops at the limit as well; resumed, the model is told what was not done."""
    names = [f"a{number}" for number in range(50)]
    played = Played(acts(*names), policy=Policy(max_steps=3))
    outcome = played.run()
    assert isinstance(outcome, RunStopped)
    assert (outcome.reason, outcome.totals.steps) == ("max_steps", 3)
    assert played.environment.actions == names[:3]  # type: ignore[attr-defined]  # a scripted world
    later = played.again(DONE, policy=Policy(max_steps=9))
    assert isinstance(later.run(), RunFinished)
    assert later.told == [["refused"]]
    assert later.decisions.asked[0].notices[0].said.endswith("\na22\nand 27 more")


def test_after_the_world_is_over_the_rest_of_a_reply_waits() -> None:
    """What follows the action that ended the world is not performed, and that is told."""
    world = ScriptedEnvironment(Observed("won", over=True))
    played = Played(attrs.evolve(acts("a", "b", "c"), then=Compress("did all")), DONE, environment=world)
    assert isinstance(played.run(), RunFinished)
    assert played.commands == [Grow("a", "won")]
    assert played.told[1] == ["environment", "environment", "refused"]
    assert played.decisions.asked[1].notices[2].said == "c\ncompress"


def test_the_last_action_may_end_the_world() -> None:
    """An action that ends the world, and what the model does to its own state after it, go together."""
    world = ScriptedEnvironment(Observed("won", over=True))
    outcome = Played(attrs.evolve(acts("a"), then=Finish("won")), environment=world).run()
    assert isinstance(outcome, RunFinished)


@pytest.mark.parametrize("action", ["x", "word " * 5_000])
def test_what_is_told_does_not_grow_with_what_it_quotes(action: str) -> None:
    """Actions, reasons and plans are cut where a notice quotes them."""
    world = ScriptedEnvironment(
        *["seen"] * 60, EffectError("environment", "no " * 5_000), restored=[NotRestored("no")]
    )
    names = [f"{action}{number}" for number in range(50)]
    script = [*map(acts, names), revise(0, "no"), acts(names[0]), revise(9, "no"), acts(names[0])]
    played = Played(*script, UNUSABLE, DONE, environment=world, policy=Policy(high_water=None))
    played.run()
    told = [notice for request in played.decisions.asked for notice in request.notices]
    assert {notice.kind for notice in told} == {"diverged", "tried", "refused", "merged", "unusable"}
    assert max(len(notice.text) for notice in told) <= LONGEST
    assert max(len(line) for notice in told for line in notice.said.splitlines()) <= QUOTED + 50
    assert max(notice.said.count("\n") for notice in told) <= LINES
    plan = next(notice.said for notice in told if notice.kind == "diverged")
    assert "and 31 more" in plan


def test_what_follows_an_action_that_failed_is_told() -> None:
    """Where an action of several cannot be carried out, the resumed run tells the model what was not done."""
    played = Played(
        acts("a", "b", "c"), environment=ScriptedEnvironment("seen", EffectError("environment", "jammed"))
    )
    assert isinstance(played.run(), RunFailed)
    later = played.again(DONE)
    assert isinstance(later.run(), RunFinished)
    assert later.told == [["environment", "refused"]]
    assert later.decisions.asked[0].notices[1].said == "c"

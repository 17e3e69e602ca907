"""The log of a run: a run over what is there of it, live and offline, and what cannot be followed."""

from __future__ import annotations

import json
import re

import attrs
import pytest

from mage import Failed, Passed
from mage.agent import BadRunLog, Outcome, Policy, RunDiverged, RunFinished, RunStopped
from mage.agent.cursor import BadAnswer, LogEnds
from mage.agent.log import (
    RunNote,
    decode,
    decode_answer,
    decode_failure,
    decode_observed,
    encode_answer,
    encode_failure,
)
from mage.effects import (
    Action,
    ActionEffect,
    Compensable,
    Decision,
    Divergence,
    EffectError,
    Finish,
    Irreversible,
    Metered,
    NoEffect,
    NotRestored,
    Observed,
    Restore,
    Restored,
    Reversible,
    Usage,
)
from mage.engine import Compress, Grow, Instruct, Revise, Step, StepId
from mage.engine.ids import ROOT_STEP
from mage.memory.journal import UNCERTAIN, observed_meta
from mage.session.drivers import Append
from mage.stores import Head
from mage.testing import ScriptedEnvironment
from tests.agent.playing import DONE, Played, acts, compress, revise


def busy(policy: Policy | None = None) -> Played:
    """Return a run in which much happens, and which has finished."""
    played = Played(
        acts("a"), compress("did a"), acts("b"), revise(9, "no"), EffectError("empty", "nothing"),
        acts("c"), compress("did"), acts("d", "e"), DONE,
        verdicts=[Failed("no"), Failed("say what", "summary"), Passed()], texts=["did b and c"], policy=policy,
    )  # fmt: skip
    assert isinstance(played.run(), RunFinished)
    return played


def finished(played: Played) -> Outcome:
    """Return what it says when it is run again."""
    return played.again().run(live=False)


def test_a_finished_run_is_not_run_again() -> None:
    """Run again, it comes to the same outcome and state, and nobody is asked anything."""
    played = busy()
    again = played.again()
    assert again.run() == finished(played)
    assert again.replay.state == played.state
    assert again.log == played.log
    assert again.events == []


@pytest.mark.parametrize("wait", [True, False])
def test_cut_anywhere_it_goes_on_to_the_same_end(wait: bool) -> None:  # a parameter
    """Cut before any note of its log, what is left is followed to its end, and offline to just there."""
    played = busy(Policy(wait=wait))
    for cut in range(len(played.notes)):
        part = played.again()
        part.log = played.log[: played.place(cut)]
        with pytest.raises(LogEnds):
            part.run(live=False)
        given = len(part.commands)
        assert part.replay.version == max((each.version for each in part.journal), default=1)
        assert part.commands == played.commands[:given]


def test_offline_nobody_is_asked() -> None:
    """Offline, a finished run comes to its outcome, and an unfinished one to `LogEnds`."""
    played = busy()
    again = played.again(policy=Policy(max_steps=3))
    outcome = again.run(live=False)
    assert isinstance(outcome, RunFinished)
    assert again.replay.state == played.state
    assert again.notes == played.notes


def test_offline_a_stopped_run_comes_to_its_outcome() -> None:
    """A run that was stopped, and could be resumed, ends offline as it ended; whatever others wrote since."""
    played = Played(acts("a"), policy=Policy(max_steps=1))
    stopped = played.run()
    again = played.again()
    again.write(Instruct("hurry"))
    assert again.run(live=False) == stopped


def test_a_changed_policy_is_in_force_from_the_next_turn() -> None:
    """Another policy is noted when the run goes on, once, and is followed when it is run again."""
    played = Played(acts("a"), policy=Policy(max_steps=1))
    assert isinstance(played.run(), RunStopped)
    later = played.again(acts("b"), policy=Policy(max_steps=2))
    assert isinstance(later.run(), RunStopped)
    assert later.kinds.count("policy") == 1
    third = later.again(acts("c"), policy=Policy(max_steps=3))
    assert isinstance(third.run(), RunStopped)
    assert third.kinds.count("policy") == 2
    same = third.again()
    assert isinstance(same.run(), RunStopped)
    assert same.kinds.count("policy") == 2
    assert isinstance(third.again().run(live=False), RunStopped)


def died_in_the_act(world: ScriptedEnvironment | None = None) -> Played:
    """Return a run that died while its second action was performed."""
    played = Played(acts("a"), acts("b"), environment=world)
    with pytest.raises(AssertionError, match="asked"):
        played.run()
    return played


def test_an_interrupted_action_is_repeated_in_a_restored_world() -> None:
    """The world is brought back to the path, the action performed again, and its step is as any other."""
    played = died_in_the_act(ScriptedEnvironment("seen"))
    assert played.kinds[-1] == "acting"
    world = ScriptedEnvironment("seen b")
    later = played.again(DONE, environment=world)
    assert isinstance(later.run(), RunFinished)
    assert [type(request) for request in world.asked] == [Restore, str]
    assert later.commands[-1] == Grow("b", "seen b")
    assert later.told == [[]]


def test_an_interrupted_action_is_uncertain_in_a_world_that_cannot_be_restored() -> None:
    """It is not performed again: the step says that nobody knows, the model is told, and so it stays."""
    played = died_in_the_act(ScriptedEnvironment("seen", repeatable=False))
    world = ScriptedEnvironment(repeatable=False)
    later = played.again(DONE, environment=world)
    assert isinstance(later.run(), RunFinished)
    assert world.asked == []
    assert later.commands[-1] == Grow("b", UNCERTAIN)
    assert later.told == [["uncertain"]]
    again = later.again(environment=ScriptedEnvironment(repeatable=False))
    assert isinstance(again.run(), RunFinished)
    assert again.commands == later.commands


def test_an_interrupted_action_is_uncertain_where_somebody_wrote_since() -> None:
    """Whatever the world: the action was meant for a head that is no more."""
    played = died_in_the_act(ScriptedEnvironment("seen"))
    played.write(Instruct("hurry"))
    world = ScriptedEnvironment("seen")
    later = played.again(DONE, environment=world)
    assert isinstance(later.run(), RunFinished)
    assert world.actions == []
    assert "uncertain" in later.told[0]
    assert later.kinds.count("conflict") == 1
    assert isinstance(later.again().run(), RunFinished)


@pytest.mark.parametrize(
    "answer",
    [NotRestored("gone"), EffectError("environment", "gone"), Restored("replay", (Divergence(Step(StepId(1), ROOT_STEP, "a", "seen"), "else"),))],
)  # fmt: skip
def test_a_world_that_cannot_be_brought_back_is_reported(
    answer: NotRestored | EffectError | Restored,
) -> None:
    """Resumed in a world that is not as it was, the model is told at its next turn, also when it is run again."""
    played = died_in_the_act(ScriptedEnvironment("seen"))
    later = played.again(DONE, environment=ScriptedEnvironment("seen b", restored=[answer]))
    assert isinstance(later.run(), RunFinished)
    assert later.told == [["uncertain", "diverged"]]  # nor is the action repeated there
    assert isinstance(later.again().run(), RunFinished)


def test_a_world_that_cannot_be_brought_back_stops_the_run_if_the_policy_says_so() -> None:
    """With `on_divergence="stop"` nothing is decided in such a world, until somebody says that it goes on."""
    played = Played(acts("a"), EffectError("unreachable", "no"), environment=ScriptedEnvironment("seen"))
    played.run()
    stopping = Policy(on_divergence="stop")
    later = played.again(environment=ScriptedEnvironment(restored=[NotRestored("gone")]), policy=stopping)
    outcome = later.run()
    assert isinstance(outcome, RunStopped)
    assert outcome.reason == "diverged"
    assert later.again().run(live=False) == outcome
    told = later.again(DONE, environment=ScriptedEnvironment(restored=[NotRestored("gone")]), policy=Policy())
    assert isinstance(told.run(), RunFinished)
    assert set(told.told[0]) == {"diverged"}


def test_what_follows_an_uncertain_action_waits() -> None:
    """The rest of a reply was meant for the case that the action succeeds: it is not done, and that is told."""
    played = Played(
        attrs.evolve(acts("a", "b"), then=Finish("done")), environment=ScriptedEnvironment(repeatable=False)
    )
    with pytest.raises(AssertionError, match="asked"):
        played.run()
    later = played.again(DONE, environment=ScriptedEnvironment(repeatable=False))
    assert isinstance(later.run(), RunFinished)
    assert later.commands == [Grow("a", UNCERTAIN)]
    assert later.told == [["uncertain", "refused"]]
    assert later.decisions.asked[0].notices[1].said == "b\nfinish"


def test_a_restoring_that_was_interrupted_may_be_half_way() -> None:
    """In a world that cannot be restored it is not begun again: the model is told that it may be half way."""

    class Dying(Exception):
        pass

    world = ScriptedEnvironment("seen", restored=[Dying()], repeatable=False)
    played = Played(acts("a"), revise(0, "no"), environment=world)
    with pytest.raises(Dying):
        played.run()
    assert played.kinds[-1] == "restoring"
    later = played.again(DONE, environment=ScriptedEnvironment(repeatable=False))
    assert isinstance(later.run(), RunFinished)
    assert later.told == [["diverged"]]
    assert "half way" in later.decisions.asked[0].notices[0].said
    assert isinstance(later.again(environment=ScriptedEnvironment(repeatable=False)).run(), RunFinished)
    repeated = played.again(DONE, environment=ScriptedEnvironment())
    assert isinstance(repeated.run(), RunFinished)
    assert repeated.told == [["revised"]]


def test_died_between_the_commands_of_one_moment() -> None:
    """Where one answer leads to two commands, and the run died after the first, the second follows; neither is
    taken for somebody else's.
    """
    script = (acts("a"), revise(0, "no"), acts("b"), DONE)
    opening = Observed("a room", instructions=("go", "and hurry"))
    whole = Played(*script, environment=ScriptedEnvironment("seen", "seen", opening=opening))
    outcome = whole.run()
    for cut in range(1, len(whole.journal) + 1):
        part = whole.again()
        part.log = whole.log[: whole.log.index(whole.journal[cut - 1]) + 1]
        later = part.again(
            *script[part.kinds.count("decided") :],
            environment=ScriptedEnvironment("seen", "seen", opening="unasked"),
        )
        assert later.run() == outcome, cut
        assert later.commands == whole.commands, cut


def test_overtaken_behind_a_step_that_was_recorded() -> None:
    """Where the instruction that came with a step was overtaken, the step stays the answer of its action."""
    world = ScriptedEnvironment(Observed("seen", instructions=("go",)), "seen")
    played = Played(acts("a"), DONE, environment=world, others={1: [Grow("by hand", "done")]})
    outcome = played.run()
    assert played.kinds.count("conflict") == 1
    again = played.again()
    assert again.run() == outcome
    assert again.replay.state == played.state


# -- what cannot be followed -------------------------------------------------------------------------------


def test_a_log_that_answers_something_else_is_refused() -> None:
    """A log whose next note is of another kind is not followed: the message says which, and what to do."""
    played = busy()
    for number in range(len(played.notes)):
        broken = played.again(DONE)
        broken.change_note(number, {}, "restored")
        with pytest.raises((RunDiverged, BadRunLog)):
            broken.run()


def test_a_journal_that_has_lost_commands_is_refused() -> None:
    """Where the journal has lost a command that the log goes on from, the run is not followed."""
    played = busy()
    for lost in range(len(played.journal) - 2):
        broken = played.again(DONE)
        kept = played.journal[:lost]
        broken.log = [each for each in played.log if isinstance(each, RunNote) or each in kept]
        with pytest.raises(RunDiverged, match="Begin a new run"):
            broken.run()


def test_rubbish_that_could_not_be_read_again_is_not_stored() -> None:
    """An answer of a wrong type is the caller's mistake: it is passed on, and nothing of it is kept."""
    played = Played("no decision at all")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(BadAnswer, match="the model should answer Decision, and answered str"):
        played.run()
    assert "decided" not in played.kinds


ANSWERS: list[tuple[str, object]] = [
    ("decided", Decision((Action("a", "call-1"), Action("b")), Compress("did", "fallback"), "hm")),
    ("decided", Decision((), Revise(3, "no"))),
    ("decided", Decision((), Finish("done"))),
    ("decided", Decision.act("a")),
    ("judged", Passed()),
    ("verdict", Failed("no", "summary")),
    ("summarized", "text"),
    ("started", Observed("seen", over=True, instructions=("go",), effect=Reversible("off"))),
    ("restored", Restored("inverses", (Divergence(Step(StepId(2), StepId(1), "a", "b"), "c"),), over=True)),
    ("restored", NotRestored("gone")),
]


@pytest.mark.parametrize(("kind", "value"), ANSWERS)
def test_an_answer_is_read_as_it_was_written(kind: str, value: object) -> None:
    """Each kind of answer, with what it took, comes back from its JSON as it was."""
    answer = Metered(value, Usage(3, 2, 1, 4), "m", "p")
    assert decode_answer(kind, encode_answer(kind, answer)) == answer
    assert decode_answer(kind, encode_answer(kind, Metered(value))) == Metered(value)


@pytest.mark.parametrize("error", [
    EffectError("timeout", "late", retry_after=2.5, usage=Usage(1, 2)), EffectError("empty", "nothing"),
    *[EffectError("server", "as a host makes it", shorter_may_help=loose, model=model)  # type: ignore[arg-type]
      for loose, model in ((None, None), (1, ""), (re.search("a", "a"), "m"))],
])  # fmt: skip
def test_a_failure_is_read_as_it_was_written(error: EffectError) -> None:
    """So does why there is none."""
    read = decode_failure(encode_failure(error))
    assert read is not None
    assert (read.fault, read.detail, read.retry_after, read.usage) == (
        error.fault, error.detail, error.retry_after, error.usage,
    )  # fmt: skip
    assert (read.shorter_may_help, read.model) == (bool(error.shorter_may_help), error.model or "")
    json.dumps(encode_failure(error))
    assert decode_failure({"value": 1}) is None


@pytest.mark.parametrize(
    "effect", [None, NoEffect(), Reversible("off"), Compensable("pay"), Irreversible("gone")]
)
def test_an_observation_is_read_from_its_step(effect: ActionEffect | None) -> None:
    """What came back from the world is told by the step and what is kept beside it; a step of others tells nothing."""
    seen = Observed("seen", over=effect is None, instructions=("go",), effect=effect)
    assert decode_observed("seen", observed_meta(seen)) == seen
    assert decode_observed("seen", {}) is None


@pytest.mark.parametrize("document", [None, 3, "text", {}, {"is": "Nothing"}, {"is": "Failed"}])
def test_what_cannot_be_read_is_refused_by_name(document: object) -> None:
    """What a log holds in a wrong form is refused by name."""
    with pytest.raises(BadRunLog, match="no 'judged' that can be read"):
        decode("judged", document)


def test_what_nobody_answers_is_a_mistake_of_the_program() -> None:
    """A program that asks what nobody knows is stopped at once."""

    async def asking() -> Outcome:
        await Append("s", Head(1, "d"), ())
        raise AssertionError("answered")

    played = Played()
    with pytest.raises(LogEnds):
        played.run(live=False)
    with pytest.raises(TypeError, match="nothing answers a Append"):
        played.replay.run(asking()).send(None)

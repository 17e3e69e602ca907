"""The fallback Compress: when the open segment is too long, what the context stays under, and what if it fails."""

from __future__ import annotations

import json

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage import Failed, Passed
from mage.agent import Asked, Policy, RunFailed, RunFinished
from mage.chat import (
    MODES,
    action_text,
    decide_messages,
    sent_as,
    summary_messages,
    system_prompt,
    written,
)
from mage.effects import Decide, Decision, EffectError, Finish, LookInto, Metered, Mode, Tool, Usage
from mage.engine import Accept, ApplyVerdict, Compress, Grow, Retext, StepId, grow, start, view
from mage.render import Meter
from mage.render.blocks import step_of
from mage.testing import ScriptedEnvironment
from mage.tokens import EstimateCounter
from tests.agent.playing import DONE, Played, acts, compress, finish, revise

LONG = "word " * 40
MARK = 100


def long_world() -> ScriptedEnvironment:
    """Return a world that talks much."""
    return ScriptedEnvironment(*[LONG] * 999)


def played_long(*decisions: object, **named: object) -> Played:
    """Return a run in a world that talks much, with a low mark."""
    policy = named.pop("policy", Policy(high_water=MARK))
    return Played(*decisions, environment=long_world(), policy=policy, **named)  # type: ignore[arg-type]  # passed on


def test_a_long_segment_is_summarized_unasked() -> None:
    """At the mark the segment becomes a fallback, once the model has seen it; the subgoal goes on (D12)."""
    played = played_long(acts("a"), acts("b"), acts("c"), DONE, texts=["did a and b"], verdicts=[Passed()])
    played.run()
    assert [type(command) for command in played.commands] == [Grow, Grow, Compress, ApplyVerdict, Grow]
    assert played.commands[2] == Compress("did a and b", "fallback")
    asked = played.summarized[0]
    assert (asked.kind, asked.rejected) == ("fallback", None)
    assert [step.action for step in asked.steps] == ["a", "b"]
    assert played.judged[0].kind == "fallback"
    shown = [[step.action for step in request.shown.raw] for request in played.decisions.asked]
    assert shown == [[], ["a"], ["a", "b"], ["c"]]


@given(st.data())
@settings(max_examples=30)
def test_each_step_is_shown_raw_before_it_is_summarized_unasked(data: st.DataObject) -> None:
    """Whatever the mark, and however many results a reply brings: nothing is compressed that the model has not seen."""
    mark = data.draw(st.integers(30, 400), "mark")
    replies = data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=8), "actions of each reply")
    lengths = data.draw(st.lists(st.integers(0, 200), min_size=32, max_size=32), "words of each observation")
    names = iter(range(99))
    played = Played(
        *[acts(*[f"a{next(names)}" for _ in range(count)]) for count in replies], DONE,
        environment=ScriptedEnvironment(*["word " * length for length in lengths]),
        texts=["did it"] * 40, verdicts=[Passed()] * 40, policy=Policy(high_water=mark),
    )  # fmt: skip
    played.run()
    shown = {step.id: step for request in played.decisions.asked for step in request.shown.raw}
    for request in played.summarized:
        assert {step.id for step in request.steps} <= set(shown)
    for step in shown.values():
        assert EstimateCounter().count(step.observation) <= mark


def test_the_summarizer_of_an_account_is_told_what_the_model_thought_last() -> None:
    """Before the steps that are replaced: no step has the plan. What it thinks now stays beside the step that follows."""
    planning, thinking = (
        attrs.evolve(acts(name), thought=thought)
        for name, thought in (("a", "First the box."), ("c", "Open it."))
    )
    played = played_long(planning, acts("b"), thinking, DONE, texts=["did a and b"], verdicts=[Passed()])
    played.run()
    (asked,) = played.summarized
    assert asked.thought == "First the box."
    (_, user) = summary_messages(asked)
    assert "\nThought last: First the box.\n" in user.text
    assert [*played.decisions.asked[-1].thoughts.values()] == ["Open it."]
    wrong = Failed("No b.", "summary")
    for policy, told in (
        (Policy(high_water=MARK), "First the box."),
        (Policy(high_water=MARK, thoughts="none"), ""),
    ):
        played = played_long(
            planning,
            acts("b"),
            acts("c"),
            DONE,
            texts=["did a", "did a and b"],
            verdicts=[wrong, Passed()],
            policy=policy,
        )
        played.run()
        assert [asked.thought for asked in played.summarized] == [told, told]


@given(st.data())
@settings(max_examples=30)
def test_the_newest_steps_of_an_account_stay_raw(data: st.DataObject) -> None:
    """`keep_raw`: word for word beside the newest account, the newest first to be kept, within a quarter of the mark."""
    mark = data.draw(st.integers(60, 400), "mark")
    kept = data.draw(st.integers(0, 3), "keep_raw")
    lengths = data.draw(st.lists(st.integers(0, 60), min_size=12, max_size=12), "words of each observation")
    seen = [f"o{number} {'word ' * length}" for number, length in enumerate(lengths)]
    played = Played(
        *[acts(f"a{number}") for number in range(12)], DONE, environment=ScriptedEnvironment(*seen),
        texts=["did it"] * 12, verdicts=[Passed()] * 12, policy=Policy(high_water=mark, keep_raw=kept),
    )  # fmt: skip
    played.run()
    meter = Meter(EstimateCounter())
    for request in played.decisions.asked:
        *before, newest = [line.text for line in request.shown.compressed] or [""]
        assert all(text == "did it" for text in before)
        words = newest.count("\nAction: ")
        assert words <= kept
        count = int(request.shown.boundary)
        held = [step_text(f"a{number}", seen[number]) for number in range(count - words, count)]
        assert newest == (
            f"did it\nIts newest steps, word for word:\n{''.join(held).rstrip()}"
            if words
            else "did it" * bool(newest)
        )
        size = sum(meter.step(f"a{number}", seen[number]) for number in range(count - words, count))
        assert size <= mark // 4
        if newest and words < min(kept, count):
            assert size + meter.step(
                f"a{count - words - 1}", seen[count - words - 1]
            ) > mark // 4 or words == len(played.summarized[-1].steps)


def step_text(action: str, observation: str) -> str:
    """Return a step as it is shown."""
    return "".join([block.text for block in step_of(action, observation)])


def test_an_observation_that_cannot_fit_is_shown_cut_and_can_be_looked_into() -> None:
    """Its two ends are shown with how much is left out; `look` at where the open part begins has it word for word."""
    text = f"{'begin ' * 200}the key is under the mat {'end ' * 200}"
    played = Played(
        acts("read"), Decision((), LookInto(StepId(0), words="key")), DONE,
        environment=ScriptedEnvironment(text), policy=Policy(high_water=60),
    )  # fmt: skip
    played.run()
    (step,) = played.decisions.asked[1].shown.raw
    assert step.observation.startswith("begin begin")
    assert "characters left out" in step.observation
    assert step.observation.endswith("end end ")
    assert "key" not in step.observation
    looked = played.decisions.asked[2].looked
    assert looked is not None
    assert "the key is under the mat" in looked.text


def test_a_prompt_that_does_not_fit_is_sent_with_shorter_observations() -> None:
    """On overflow the longest observation is halved, as often as it helps, before anything is summarized."""
    overflow = EffectError("overflow", "too long")
    played = Played(acts("a"), overflow, overflow, DONE, environment=ScriptedEnvironment("word " * 1000))
    assert isinstance(played.run(), RunFinished)
    assert played.summarized == []
    lengths = [
        EstimateCounter().count(request.shown.raw[0].observation) for request in played.decisions.asked[1:]
    ]
    assert lengths[0] > 1000
    assert lengths[1] <= 520
    assert lengths[2] <= 270


def test_a_window_is_kept_before_the_model_is_asked() -> None:
    """With a known window no prompt is longer; what cannot be made to fit fails the run in words, unasked."""
    played = Played(
        acts("a"), acts("b"), DONE, environment=ScriptedEnvironment("word " * 1000, "more"),
        texts=["did a"], verdicts=[Passed()], policy=Policy(high_water=None, window=400),
    )  # fmt: skip
    assert isinstance(played.run(), RunFinished)
    for request in played.decisions.asked:
        assert Meter(EstimateCounter()).count(request.shown) <= 400
    told = Played(acts("a"), state=start("word " * 500), policy=Policy(window=400)).run()
    assert isinstance(told, RunFailed)
    assert "the window is 400" in str(told.detail)


def test_a_window_alone_is_enough_for_the_model_to_be_told_and_for_a_fallback() -> None:
    """The room that the model is told of is what the window leaves; where that is used up, the segment is summarized."""
    played = Played(
        *[acts(f"a{number}") for number in range(6)], DONE, environment=long_world(),
        texts=["did it"] * 6, verdicts=[Passed()] * 6, policy=Policy(high_water=None, window=300),
    )  # fmt: skip
    played.run()
    rooms = [request.room for request in played.decisions.asked]
    assert None not in rooms
    assert (rooms[0] or 0) <= 300
    assert played.summarized
    for request in played.decisions.asked:
        assert Meter(EstimateCounter()).count(request.shown) <= 300


@pytest.mark.parametrize("length", [500, 3000])
def test_a_text_that_is_too_long_is_asked_for_again_and_cut_last(length: int) -> None:
    """A summarizer's: the second question says how long it may be; the second text is cut in its middle, openly."""
    long = "fact " * length
    played = played_long(acts("a"), acts("b"), acts("c"), DONE, texts=[long, long], verdicts=[Passed()])
    played.run()
    first, again = played.summarized
    assert again.rejected is not None
    assert f"may have {first.limit}" in again.feedback
    made = played.commands[2]
    assert isinstance(made, Compress)
    assert "characters left out" in made.text
    assert EstimateCounter().count(made.text) <= (first.limit or 0)


def test_the_model_s_own_text_that_is_too_long_is_refused_and_then_cut() -> None:
    """It is told how long it may be; if the next is too long as well, that one is taken, its middle left out."""
    long = "fact " * 3000
    played = Played(acts("a"), compress(long), compress(long), DONE, verdicts=[Passed()])
    played.run()
    assert played.told[2] == ["refused"]
    assert "may have 100" in played.decisions.asked[2].notices[0].text
    assert played.told[3] == ["tokens"]
    made = played.commands[1]
    assert isinstance(made, Compress)
    assert EstimateCounter().count(made.text) <= 100


def test_a_second_interim_account_goes_on_from_the_first() -> None:
    """The summarizer sees the earlier accounts of the same subgoal, and what was finished before."""
    played = played_long(
        acts("z"), compress("did z"), *[acts(f"a{number}") for number in range(5)], DONE,
        texts=["did a0 and a1", "did a2 and a3"], verdicts=[Passed()] * 3,
    )  # fmt: skip
    played.run()
    _, second = played.summarized
    assert [part.text for part in second.earlier] == ["did a0 and a1"]
    assert [line.text for line in second.before] == ["did z"]


@pytest.mark.parametrize("mark", [80, 100, 200])
@pytest.mark.parametrize("batch", [1, 3, 7])
def test_the_bound_holds(mark: int, batch: int) -> None:
    """No call shows more than the mark, C, and the largest single step, however many actions it brings."""
    count = 30
    script = [acts(*[f"a{number}"] * batch) for number in range(count)]
    played = Played(
        *script, DONE,
        environment=long_world(), texts=["did it"] * count, verdicts=[Passed()] * count, policy=Policy(high_water=mark),
    )  # fmt: skip
    played.run()
    meter = Meter(EstimateCounter())
    largest = meter.step("a10", LONG)
    for request in played.decisions.asked:
        shown = request.shown
        summaries = sum(meter.line(line) for line in shown.compressed)
        assert meter.count(shown) <= mark + summaries + largest
    marked = [event.shown for event in played.events if isinstance(event, Asked) and event.who == "model"]
    assert max(marked) < mark + largest


@pytest.mark.parametrize("text", [" ", EffectError("refusal", "no"), EffectError("timeout", "late")])
def test_a_fallback_that_failed_cools_down(text: str | Exception) -> None:
    """A blank or failed text leaves the state as it was, is told once, and is not asked for at every step."""
    played = played_long(
        *[acts(f"a{number}") for number in range(6)], DONE,
        texts=[text, "did it"], verdicts=[Passed()], policy=Policy(high_water=MARK, cool_down=3),
    )  # fmt: skip
    played.run()
    assert len(played.texts.asked) == 2
    assert [len(asked.steps) for asked in played.summarized] == [2, 5]
    assert played.told[3] == ["tokens"]
    assert played.told[4] == []


def test_a_segment_too_long_for_the_summarizer_is_extracted() -> None:
    """Where it does not fit the summarizer either, an extract takes its place: else it would never fit again."""
    played = played_long(
        acts("a"),
        acts("b"),
        acts("c"),
        DONE,
        texts=[EffectError("overflow", "too long")],
        verdicts=[Passed()],
    )
    played.run()
    made = played.commands[2]
    assert isinstance(made, Compress)
    assert made.text.startswith("Extract of 2 steps")


def test_compress_after_a_fallback_takes_it_in() -> None:
    """The subgoal covers what the interim account covers too, and C shows it alone (D12)."""
    played = played_long(
        acts("a"),
        acts("b"),
        acts("c"),
        compress("the subgoal"),
        DONE,
        texts=["did a and b"],
        verdicts=[Passed(), Passed()],
    )
    played.run()
    assert played.decisions.asked[3].may_compress
    head = played.state.tree.head_summary
    assert (head.kind, head.text) == ("subgoal", "the subgoal")
    assert [asked.kind for asked in played.judged] == ["fallback", "subgoal"]
    assert [line.text for line in played.decisions.asked[-1].shown.compressed] == ["the subgoal"]


def test_compress_waits_for_a_fallback_that_is_pending() -> None:
    """Its verdict is awaited, and then it is taken in: a text that nobody has judged stands behind no subgoal (D12)."""
    for verdict in (Passed(), Failed("and b?", "summary")):
        played = played_long(
            acts("a"), acts("b"), compress("the subgoal"), DONE,
            texts=["did a", "did a and b"], verdicts=[verdict, Passed(), Passed()],
            policy=Policy(high_water=MARK, wait=False), late=9,
        )  # fmt: skip
        played.run()
        assert [asked.kind for asked in played.judged][-1] == "subgoal"
        assert Compress("the subgoal") in played.commands
        assert isinstance(played.state.tree.head_summary.verdict, Passed)
        assert [line.text for line in played.decisions.asked[-1].shown.compressed] == ["the subgoal"]


def test_at_the_mark_a_pending_summary_is_settled_first() -> None:
    """While a head is pending the fallback waits for its verdict; where that goes back, there is nothing to relieve."""
    for verdict, fallbacks in ((Passed(), 1), (Failed("no"), 0)):
        played = played_long(
            acts("a"), compress("did a"), acts("b"), acts("c"), acts("d"), DONE,
            texts=["more"] * 2, verdicts=[verdict, Passed(), Passed()],
            policy=Policy(high_water=MARK, wait=False), late=2,
        )  # fmt: skip
        played.run()
        made = [command for command in played.commands if isinstance(command, Compress)]
        assert sum(command.kind == "fallback" for command in made) == fallbacks


def test_a_pending_head_that_nobody_judges_is_accepted_at_the_mark() -> None:
    """Where the judge is down and the head was left pending, it is accepted openly at the mark (D12)."""
    played = played_long(
        acts("a"), compress("did a"), acts("b"), acts("c"), DONE,
        texts=["more"], verdicts=[EffectError("server", "500")] * 2 + [Passed()],
        policy=Policy(high_water=MARK, judge_down="leave"),
    )  # fmt: skip
    played.run()
    assert [type(command) for command in played.commands].count(Accept) == 1


def test_a_judge_that_is_down_at_the_mark_stops_the_run() -> None:
    """Where the policy stops then, the run stops instead of relieving."""
    played = played_long(
        acts("a"), compress("did a"), acts("b"), acts("c"), acts("d"),
        verdicts=[EffectError("server", "500")], policy=Policy(high_water=MARK, wait=False), late=9,
    )  # fmt: skip
    outcome = played.run()
    assert getattr(outcome, "reason", "") == "judge_down"
    assert played.texts.asked == []


def test_a_failed_fallback_gets_a_new_text_whatever_its_fault() -> None:
    """A fallback claims no subgoal, so what is wrong is its text (D12)."""
    played = played_long(
        acts("a"), acts("b"), acts("c"), DONE,
        texts=["did a", "did a and b"], verdicts=[Failed("and b?"), Passed()],
    )  # fmt: skip
    played.run()
    kinds = [type(command) for command in played.commands[2:]]
    assert kinds == [Compress, ApplyVerdict, Retext, ApplyVerdict, Grow]


def test_a_prompt_that_does_not_fit_is_relieved_and_asked_again_once() -> None:
    """On overflow of the model the segment is summarized and the model asked again; a second overflow fails the run."""
    overflow = EffectError("overflow", "too long", usage=Usage(1))
    played = Played(acts("a"), overflow, DONE, texts=["did a"], verdicts=[Passed()])
    assert isinstance(played.run(), RunFinished)
    assert played.commands[1] == Compress("did a", "fallback")
    for script in ([acts("a"), overflow, overflow], [overflow]):
        failing = Played(*script, texts=["did a"], verdicts=[Passed()])
        outcome = failing.run()
        assert isinstance(outcome, RunFailed)
        assert outcome.reason == "model: overflow"


def test_a_prompt_that_does_not_fit_and_cannot_be_relieved_fails_the_run() -> None:
    """Where the summarizer gives nothing, and leaving out the notices does not help either, that is the end."""
    overflow = EffectError("overflow", "too long")
    outcome = Played(acts("a"), overflow, overflow, overflow, texts=[" "]).run()
    assert isinstance(outcome, RunFailed)
    assert outcome.reason == "model: overflow"


def test_notices_that_do_not_fit_are_left_out_once() -> None:
    """On overflow with nothing open the notices are dropped, but for a short one, and the model is asked once more."""
    overflow = EffectError("overflow", "too long")
    played = Played(revise(7, "no"), overflow, acts("a"), revise(7, "no"), *[overflow] * 3, texts=[" "])
    assert isinstance(played.run(), RunFailed)
    assert played.told == [[], ["refused"], ["tokens"], [], ["refused"], ["refused", "tokens"], ["tokens"]]
    again = played.again(overflow)
    assert isinstance(again.run(), RunFailed)
    later = again.again(DONE)
    assert isinstance(later.run(), RunFinished)
    assert later.told == [["tokens"]]


@pytest.mark.parametrize(("fixed", "fallbacks"), [(60, True), (90, False), (500, False)])
def test_what_no_summary_wins_back(*, fixed: int, fallbacks: bool) -> None:
    """Where prompt and task alone come near the mark, not each action is summarized, and it is told once."""
    count, room = 8, MARK // 4
    state = start("word " * (fixed - 20))
    script = [*[acts("a")] * count, DONE]
    world = ScriptedEnvironment(*["seen"] * count)
    played = Played(*script, environment=world, state=state, texts=["did it"] * count,
        verdicts=[Passed()] * count, policy=Policy(high_water=MARK))  # fmt: skip
    assert isinstance(played.run(), RunFinished)
    made = [command for command in played.commands if isinstance(command, Compress)]
    assert len(made) <= 3
    told = [kind for kinds in played.told for kind in kinds]
    assert told.count("tokens") == (not fallbacks)
    meter = Meter(EstimateCounter())
    for request in played.decisions.asked:
        raw = sum(meter.step(step.action, step.observation) for step in request.shown.raw)
        assert raw < max(room, MARK - fixed + 20) + meter.step("a", "seen")


@pytest.mark.parametrize("mode", MODES)
def test_a_step_counts_as_much_as_it_is_sent_as(mode: Mode) -> None:
    """In each mode the mark counts the texts of the messages, and calls as their JSON; so it does for a host's calls."""
    tool = Tool.of("buy", "Buy it.", item={"type": "string"})
    shown = view(grow(start("t"), action_text("buy", {"item": 'a "red" desk'}), "Bought:\nit is red."))
    request = Decide(shown, ())
    (step,) = shown.raw
    count = EstimateCounter().count
    chat = decide_messages(request, system=system_prompt(mode, tools=(tool,)), mode=mode, tools=(tool,))
    sent = [
        json.dumps(each["tool_calls"])
        if "tool_calls" in each
        else each["content"].replace("Your turn.\n", "")
        for each in written(chat, "chat")[2:4]
    ]
    counted = Meter(EstimateCounter(), sent_as(mode, (tool,))).step(step.action, step.observation)
    assert 0.8 * sum(map(count, sent)) <= counted <= 1.2 * sum(map(count, sent))
    assert counted >= Meter(EstimateCounter()).step(step.action, step.observation)


def test_without_a_mark_nothing_is_summarized_unasked() -> None:
    """No mark, or the ablation without Compress: there is no fallback."""
    for policy in (Policy(high_water=None), Policy(high_water=MARK, compress=False)):
        played = Played(
            *[acts(f"a{number}") for number in range(5)], DONE, environment=long_world(), policy=policy
        )
        played.run()
        assert all(isinstance(command, Grow) for command in played.commands)


def test_what_the_summarizer_took_counts() -> None:
    """Its tokens are in the totals."""
    texts = [Metered("did a and b", Usage(30, 5))]
    outcome = played_long(acts("a"), acts("b"), acts("c"), finish(), texts=texts, verdicts=[Passed()]).run()
    assert outcome.totals.tokens["summarizer"] == Usage(30, 5)


def test_at_the_mark_the_rest_of_a_reply_waits() -> None:
    """Between two actions of one reply the mark is looked at: the rest is not performed, and that is told."""
    played = played_long(
        attrs.evolve(acts("a", "b", "c", "d"), then=Finish("done")), acts("c"), DONE,
        texts=["did a and b"], verdicts=[Passed()],
    )  # fmt: skip
    assert isinstance(played.run(), RunFinished)
    assert [type(command) for command in played.commands] == [Grow, Grow, Compress, ApplyVerdict, Grow]
    assert played.told[1] == ["tokens", "refused"]
    assert played.decisions.asked[1].notices[1].said == "c\nd\nfinish"
    again = played.again()
    assert isinstance(again.run(), RunFinished)
    assert again.commands == played.commands


def test_a_better_text_may_be_as_long_as_what_it_stands_for_allows() -> None:
    """Where nothing is open the steps that the summary covers are counted."""
    first, better = "fact " * 80, "fact " * 150
    played = Played(
        acts("a"), compress(first), compress(better), DONE,
        environment=ScriptedEnvironment("word " * 500), verdicts=[Failed("say more", "summary"), Passed()],
        policy=Policy(rewrite=False),
    )  # fmt: skip
    played.run()
    assert played.state.tree.head_summary.text == better


@pytest.mark.parametrize("blank", ["\n" * 100_000, " " * 100_000])
def test_a_blank_text_is_refused_however_long(blank: str) -> None:
    """It is not cut into one that is no longer blank: neither a summarizer's nor the model's."""
    played = played_long(
        acts("a"), acts("b"), acts("c"), compress(blank), compress(blank), DONE, texts=[blank]
    )
    played.run()
    assert not any(isinstance(command, Compress) for command in played.commands)


def test_a_long_action_is_shown_cut_too() -> None:
    """What the model wrote itself takes no more room than what it has observed."""
    played = Played(acts("write " * 5000), DONE, policy=Policy(high_water=400))
    played.run()
    (step,) = played.decisions.asked[1].shown.raw
    assert "characters left out" in step.action
    assert step.observation == "seen"
    assert Meter(EstimateCounter()).step(step.action, step.observation) <= 400
    whole = Played(acts("write " * 5000), DONE, policy=Policy(high_water=400, compress=False))
    whole.run()
    assert whole.decisions.asked[1].shown.raw[0].action == "write " * 5000


def test_the_feedback_of_a_judge_is_kept_in_short() -> None:
    """It stands in the status of its line, which no summary makes shorter."""
    played = Played(
        acts("a"), compress("did"), DONE, verdicts=[Failed("bad " * 30_000)], policy=Policy(on_fail="accept")
    )
    played.run()
    assert Meter(EstimateCounter()).count(played.decisions.asked[-1].shown) < 2_000


def test_a_note_that_somebody_overtakes_is_replayed() -> None:
    """At the mark or not: a resumed run takes what was recorded for what it is."""
    for environment in (ScriptedEnvironment("seen"), ScriptedEnvironment(LONG * 3)):
        played = Played(
            acts("a"), Decision.note("plan"), DONE, environment=environment,
            texts=["did a"] * 3, verdicts=[Passed()] * 3, others={1: [Grow("other", "x")]}, policy=Policy(high_water=MARK),
        )  # fmt: skip
        assert isinstance(played.run(), RunFinished)
        again = played.again()
        assert isinstance(again.run(), RunFinished)
        assert again.commands == played.commands

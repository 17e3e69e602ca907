"""The end in a loop of a host's own: a reply without a call is the answer, and is judged with the steps that are open."""

from __future__ import annotations

import pytest

from mage.engine import (
    Accept,
    Compress,
    Failed,
    FoldRequest,
    JudgeRequest,
    Passed,
    Retext,
    Revise,
    Verdict,
)
from mage.memory import Memory, Policy, Stopped
from mage.memory.state import ENDS
from mage.stores import MemoryStore
from tests.memory.replies import TASK, buy, compress, done, journal, memory, notices, reply


def test_an_answer_that_passes_ends_the_task() -> None:
    """Its steps are the last subgoal, and it is their text."""
    with memory() as kept:
        kept.take(reply(buy("oak"), ids="a"), perform=done)
        taken = kept.take(reply(text="An oak desk."))
        assert (taken.finished, taken.text) == (True, "An oak desk.")
        assert journal(kept)[2] == Compress(f"{ENDS}An oak desk.")
        assert kept.take(reply(text="An oak desk.")).finished  # once more, as after a crash: nothing is open
        assert sum(isinstance(command, Compress) for command in journal(kept)) == 1


def test_an_answer_that_fails_sends_back() -> None:
    """The model is told, and goes on."""
    with memory() as kept:
        kept.take(reply(buy("chrome"), ids="a"), perform=done)
        assert not kept.take(reply(text="A chrome chair.")).finished
        assert isinstance(journal(kept)[-1], Revise)
        assert notices(kept.messages())[0].startswith("[Step 0] has failed")
        kept.take(reply(buy("linen"), ids="b"), perform=done)
        assert kept.take(reply(text="A linen chair.")).finished


def test_a_wrong_answer_is_given_again() -> None:
    """Until it passes; a call to the host's tools is not carried out meanwhile."""

    def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        return Passed() if "320" in request.text else Failed("It was $320.", "summary")

    with Memory.open(MemoryStore(), "m", task=TASK, judge=judge, summarizer=lambda asked: "$320") as kept:
        kept.take(reply(buy("oak"), ids="a"), perform=done)
        assert not kept.take(reply(text="$310.")).finished
        (told,) = notices(kept.messages())
        assert (
            told == "Your answer has failed, so the task goes on: give a better one. What is wrong with it:"
        )
        kept.take(reply(buy("pine"), ids="b"), perform=done)
        assert journal(kept)[-1] != Retext("$320")
        assert kept.take(reply(text="It is $320.")).finished
        assert journal(kept)[-2] == Retext(f"{ENDS}It is $320.")


def test_a_failed_answer_is_not_given_again_without_end() -> None:
    """A loop whose model repeats it is stopped after as many tries as the policy allows; whatever is done begins anew."""
    with memory(policy=Policy(max_retexts=2)) as kept:
        kept.take(reply(buy("chrome"), ids="a"), perform=done)
        for repeated in (False, True, False, True):
            if not repeated:
                kept.instruct("Go on.")
            assert not kept.take(reply(text="A chrome chair.")).finished
        for _ in range(2):
            with pytest.raises(Stopped) as stopped:
                kept.take(reply(text="A chrome chair."))
            assert stopped.value.reason == "exhausted"
        kept.take(reply(buy("linen"), ids="b"), perform=done)
        assert kept.take(reply(text="A linen chair.")).finished


def test_without_a_judge_the_answer_is_accepted_openly() -> None:
    """And S says so; a policy may leave the end alone."""
    with Memory.open(MemoryStore(), "m", task=TASK) as kept:
        kept.take(reply(buy("oak"), ids="a"), perform=done)
        assert kept.take(reply(text="Done.")).finished
        assert journal(kept)[-2:] == [Compress(f"{ENDS}Done."), Accept()]
    with memory(policy=Policy(judge_finish=False)) as kept:
        kept.take(reply(buy("chrome"), ids="a"), perform=done)
        assert kept.take(reply(text="Chrome.")).finished
        assert not kept.session.state().compressed


def test_what_was_compressed_is_not_judged_again() -> None:
    """With nothing open the answer ends the task."""
    with memory() as kept:
        kept.take(reply(buy("oak"), compress("An oak desk."), ids="ab"), perform=done)
        before = journal(kept)
        assert kept.take(reply(text="The chrome one was no good.")).finished
        assert journal(kept) == before


def test_a_failed_answer_given_again_is_no_end() -> None:
    """With nothing done since, also by another process that is handed the last reply again."""
    store = MemoryStore()

    def wrong(request: JudgeRequest | FoldRequest) -> Verdict:
        return Failed("Nothing was bought.")

    last = reply(text="All is bought.")
    with Memory.open(store, "m", task=TASK, judge=wrong) as kept:
        kept.take(reply(buy("desk")), perform=done)
        assert not kept.take(last).finished
        assert not kept.take(last).finished
    with Memory.open(store, "m", task=TASK, judge=wrong) as again:
        assert not again.take(last).finished
        assert not again.take(reply(text="Well, it is.")).finished
        assert "nothing was done since" in str(again.messages())


def test_a_better_answer_is_judged_by_another_process_too() -> None:
    """What is to be bettered is read from the tree: no summarizer writes the answer, and the model's next one is judged."""
    store = MemoryStore()
    verdicts: list[Verdict] = [Failed("say which", "summary"), Passed()]

    def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        return verdicts.pop(0)

    with Memory.open(store, "m", task=TASK, judge=judge, summarizer=lambda _: "by nobody") as kept:
        kept.take(reply(buy("desk")), perform=done)
        assert not kept.take(reply(text="A desk.")).finished
    with Memory.open(store, "m", task=TASK, judge=judge, summarizer=lambda _: "by nobody") as again:
        assert again.take(reply(text="An oak desk.")).finished
        assert again.session.tree.head_summary.text == f"{ENDS}An oak desk."
        assert verdicts == []

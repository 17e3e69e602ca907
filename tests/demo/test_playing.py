"""The demo's model, judge and summarizer, played by a loop of a few lines."""

from __future__ import annotations

import attrs
from hypothesis import given
from hypothesis import strategies as st

from mage.agent.restore import Restorable
from mage.demo.shop import SUBTASKS, TASK, Shop, judge, shopper, summarize
from mage.effects import ChapterRequest, Decide, Finish, Observed, Restore, Restored, SummaryRequest, Undo
from mage.engine import (
    Active,
    Digest,
    ExecutionState,
    Failed,
    Hints,
    JudgeRequest,
    Kind,
    Passed,
    Rejected,
    Step,
    StepId,
    Summary,
    accept,
    apply_verdict,
    compress,
    fold_request,
    grow,
    instruct,
    judge_request,
    revise,
    start,
    view,
)
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.memory.revise import plan


class Playing:
    """The agent's loop in small: acts, compresses, is judged, revises; and can be interrupted anywhere."""

    def __init__(self, *, may_revise: bool = True, steps_for_texts: bool = False) -> None:
        self.state = start(TASK)
        self.steps_for_texts = steps_for_texts
        self.may_revise = may_revise
        self.revised = 0
        self.restart(begin=True)

    def restart(self, *, begin: bool = False) -> None:
        """Go on in another shop."""
        self.shop = Shop()
        self.world = Restorable(self.shop)
        if begin:
            self._instruct(self.world.reset())
        else:
            self._restore(())

    def turn(self) -> bool:
        """Do what the model decides; False once it has finished."""
        decision = shopper(Decide(self.shown(), ()))
        for action in decision.actions:
            seen = self.world.act(action.text)
            self.state = grow(self.state, action.text, seen.text)
            self._instruct(seen)
        if decision.then is None:
            return True
        if isinstance(decision.then, Finish):
            return False
        self.compress(str(getattr(decision.then, "text", "")), "subgoal")
        return True

    def shown(self) -> ExecutionState:
        """What the model sees: S, or without Compress every step in the place of C (D18)."""
        shown = view(self.state)
        return attrs.evolve(shown, compressed=(), raw=self.path()) if self.steps_for_texts else shown

    def path(self) -> tuple[Step, ...]:
        """Return the active path, without the root."""
        tree = self.state.tree
        return tuple(trace(tree, ROOT_STEP, tree.step_head))

    def summarize(self) -> None:
        """Let the open segment be summarized as a fallback, if there is one."""
        shown = view(self.state)
        if shown.raw:
            text = summarize(SummaryRequest(TASK, shown.instructions, "fallback", (), shown.raw))
            self.compress(text, "fallback")

    def compress(self, text: str, kind: Kind) -> None:
        pending = compress(self.state, text, kind).unwrap()
        judged = apply_verdict(pending, judge(judge_request(pending)), pending.digest).unwrap()
        if isinstance(judged, Active):
            self.state = judged
        elif self.may_revise:
            self._revise(judged)
        else:
            self.state = accept(judged)

    def _revise(self, rejected: Rejected) -> None:
        summary = rejected.tree.head_summary
        assert isinstance(summary.verdict, Failed)
        left = revise(rejected, summary.label, summary.verdict.feedback).unwrap()
        assert isinstance(left.state, Active)
        self.state = left.state
        self.revised += 1
        self._restore(plan(left.abandoned, {}))

    def _restore(self, undoing: tuple[Undo, ...]) -> None:
        assert self.world.restore(Restore(self.path(), undoing)) == Restored("replay")

    def _instruct(self, seen: Observed) -> None:
        for text in seen.instructions:
            self.state = instruct(self.state, text).unwrap()


def texts(playing: Playing) -> list[str]:
    shown = view(playing.state)
    return [line.text for line in shown.compressed if isinstance(line, Summary) and line.kind == "subgoal"]


RIGHT = [
    "Product 1 purchased: D-2041 Halden desk, solid oak, 120 cm, $310. Spent $310 of $700.",
    "Product 2 purchased: C-2214 Sund chair, linen, oak legs, $198. Spent $508 of $700.",
    "Product 3 purchased: L-0310 Fyr desk lamp, brass, linen shade, $84. Spent $592 of $700.",
]


def test_the_story_has_one_mistake_and_one_revision() -> None:
    """Twelve actions, three purchases that fit, the wrong chair returned by the replay."""
    playing = Playing()
    while playing.turn():
        pass
    assert texts(playing) == RIGHT
    assert playing.revised == 1
    assert playing.shop.bought == ("D-2041", "C-2214", "L-0310")
    assert playing.state.tree.next_step == 13


@given(st.sets(st.integers(0, 25)), st.sets(st.integers(0, 25)))
def test_the_story_ends_well_from_wherever_it_goes_on(restarts: set[int], fallbacks: set[int]) -> None:
    """Restarted in a new shop and summarized as a fallback at any turns, it ends with the same purchases."""
    playing = Playing()
    for turn in range(60):
        if turn in restarts:
            playing.restart()
        if turn in fallbacks:
            playing.summarize()
        if not playing.turn():
            break
    assert texts(playing) == RIGHT
    assert playing.shop.bought == ("D-2041", "C-2214", "L-0310")


def test_without_revise_the_wrong_chair_stays() -> None:
    """The ablation ends with what does not fit, and says what was really spent."""
    playing = Playing(may_revise=False)
    while playing.turn():
        pass
    assert playing.shop.bought == ("D-2041", "C-1180", "L-0310")
    assert texts(playing)[1:] == [
        "Product 2 purchased: C-1180 Orbit chair, chrome, $129. Spent $439 of $700.",
        "Product 3 purchased: L-0310 Fyr desk lamp, brass, linen shade, $84. Spent $523 of $700.",
    ]


def test_the_story_goes_the_same_way_where_steps_are_shown_for_texts() -> None:
    """The ablation without Compress: the model tells from steps and boundary where it is."""
    playing = Playing(steps_for_texts=True)
    while playing.turn():
        pass
    assert texts(playing) == RIGHT
    assert playing.state.tree.next_step == 13


def asked(text: str, *seen: str, kind: Kind = "subgoal", subtask: int = 0) -> JudgeRequest:
    steps = tuple(Step(StepId(at + 1), StepId(at), "do", each) for at, each in enumerate(seen))
    given, hints = SUBTASKS[subtask : subtask + 1], Hints(StepId(0), (), (), ())
    return JudgeRequest(TASK, given, kind, (), hints, (), steps, text, (StepId(0),), Digest(""))


def test_a_chapter_names_all_that_was_bought() -> None:
    """The demo's summarizer says what each line says, and its judge fails a chapter that leaves a purchase out."""
    state = start(TASK)
    for number, text in enumerate(RIGHT):
        state = accept(compress(grow(state, f"{number}", "done"), text).unwrap())
    lines = view(state).compressed
    chapter = summarize(ChapterRequest(TASK, (), lines))
    assert judge(fold_request(state, 0, 3, chapter).unwrap()) == Passed()
    failed = judge(fold_request(state, 0, 3, RIGHT[0]).unwrap())
    assert isinstance(failed, Failed)
    assert "C-2214, L-0310" in failed.feedback


def test_the_judge_goes_by_steps_and_instructions() -> None:
    """Nothing bought, something else claimed, and what does not fit all fail; the fault says which."""
    chair = "Bought C-1181 for $159. Spent so far: $469."
    assert judge(asked("Product 2 purchased: C-1181.", chair, subtask=0)) == Passed()
    wrong = judge(asked("Product 2 purchased: C-1181.", chair, subtask=1))
    assert isinstance(wrong, Failed)
    assert (wrong.fault, "C-1181 does not fit" in wrong.feedback) == ("execution", True)
    claimed = judge(asked("Product 2 purchased: C-2214.", chair, subtask=1))
    assert isinstance(claimed, Failed)
    assert claimed.fault == "summary"
    assert isinstance(judge(asked("Product 1 purchased: D-2041.", "3 results")), Failed)
    assert judge(asked("Did search[chair].", "3 results", kind="fallback")) == Passed()

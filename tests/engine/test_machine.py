"""The four operations, phase by phase and decision by decision."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import cast

import pytest
from returns.pipeline import is_successful
from returns.result import Result

from mage import Failed, JudgeRequest, Passed, Verdict
from mage.engine import (
    TRANSITIONS,
    Accepted,
    Active,
    BlankFeedback,
    BlankInstruction,
    BlankSummary,
    Digest,
    EmptySegment,
    Fault,
    FoldRequest,
    IllegalPhase,
    Instruction,
    Kind,
    NotAnId,
    NotText,
    Pending,
    Rejected,
    Revised,
    StaleVerdict,
    State,
    Step,
    StepId,
    Transition,
    UnknownBoundary,
    UnknownName,
    Unverified,
    accept,
    apply_verdict,
    boundaries,
    compress,
    fold,
    fold_request,
    grow,
    instruct,
    judge_request,
    retext,
    revise,
    start,
    view,
)
from specs.explore import WIDE, explore
from tests.engine.test_invariants import summary


def active(steps: int = 2) -> Active:
    """Return a state with open steps."""
    state = start("task")
    for number in range(steps):
        state = grow(state, f"a{number}", "o")
    return state


def unverified(kind: str = "subgoal") -> Unverified:
    """Return a state whose head summary is pending."""
    return compress(active(), "text", kind).unwrap()  # type: ignore[arg-type]  # a kind, as a plain string


def judged(state: Unverified, verdict: Verdict) -> Active | Rejected:
    """Return the state after a verdict that is not stale."""
    return apply_verdict(state, verdict, state.digest).unwrap()


def rejected(feedback: str = "wrong", fault: str = "execution") -> Rejected:
    """Return a state whose head summary has failed."""
    state = judged(unverified(), Failed(feedback, fault))  # type: ignore[arg-type]  # a fault, as a plain string
    assert isinstance(state, Rejected)
    return state


def head_verdict(state: State) -> object:
    """Return what the summary head carries."""
    return state.tree.summary(state.tree.summary_head).verdict


def with_nothing_open(state: Active) -> Active:
    """Return the state after its open segment was dropped."""
    dropped = revise(state, state.tree.boundary, "").unwrap().state
    assert isinstance(dropped, Active)
    return dropped


def two_lines(state: Active) -> Active:
    """Return the state after two finished subgoals."""
    first = accept(compress(state, "one").unwrap())
    return accept(compress(grow(first, "b", "o"), "two").unwrap())


def folded(state: Active) -> Result[Active, object]:
    """Return the state after its two lines became a chapter."""
    request = fold_request(state, 0, 3, "both").unwrap()
    return fold(state, 0, 3, "both", request.digest)


STATES: dict[str, State] = {"Active": active(), "Unverified": unverified(), "Rejected": rejected()}
WAYS: dict[str, list[Callable[..., object]]] = {
    "instruct": [lambda s: instruct(s, "text"), lambda s: instruct(s, " ")],
    "grow": [lambda s: grow(s, "a", "o")],
    "compress": [
        lambda s: compress(s, "text"),
        lambda s: compress(s, " "),
        lambda s: compress(with_nothing_open(s), "text"),
    ],
    "fold_request": [
        lambda s: fold_request(s, 0, 99, "both"),
        lambda s: fold_request(two_lines(s), 0, 3, "both"),
        lambda s: fold_request(two_lines(s), 0, 3, " "),
    ],
    "fold": [
        lambda s: fold(s, 0, 99, "both", "0"),
        lambda s: folded(two_lines(s)),
        lambda s: fold(two_lines(s), 0, 3, " ", "0"),
        lambda s: fold(two_lines(s), 0, 3, "both", "0"),
    ],
    "retext": [lambda s: retext(s, "other"), lambda s: retext(s, " ")],
    "judge_request": [judge_request],
    "apply_verdict": [
        lambda s: apply_verdict(s, Passed(), getattr(s, "digest", "0")),
        lambda s: apply_verdict(s, Failed("no"), getattr(s, "digest", "0")),
        lambda s: apply_verdict(s, Failed(" "), getattr(s, "digest", "0")),
        lambda s: apply_verdict(s, Failed("no", boundary=StepId(2)), getattr(s, "digest", "0")),
        lambda s: apply_verdict(s, Passed(), "another"),
    ],
    "accept": [accept],
    "revise": [
        lambda s: revise(s, 0, "lesson"),
        lambda s: revise(s, s.tree.boundary, ""),
        lambda s: revise(s, 99, ""),
    ],
}


def outcomes(row: Transition) -> tuple[set[str], set[str]]:
    """Return the phases and the refusals that an operation really leads to in a phase."""
    leads_to, refuses = set(), set()
    for way in WAYS[row.operation]:
        outcome = way(STATES[row.phase])
        if isinstance(outcome, Result):
            refusal = outcome.swap().value_or(None)
            if refusal is not None:
                refuses.add(type(refusal).__name__)
                continue
            outcome = outcome.unwrap()
        if isinstance(outcome, Revised):
            outcome = outcome.state
        is_asked = isinstance(outcome, JudgeRequest | FoldRequest)
        leads_to.add(row.phase if is_asked else type(outcome).__name__)
    return leads_to, refuses


@pytest.mark.parametrize("row", TRANSITIONS, ids=lambda row: f"{row.phase}-{row.operation}")
def test_the_table_says_what_the_code_does(row: Transition) -> None:
    """Each operation in each phase leads where TRANSITIONS says, or is illegal where it says nothing."""
    if row.leads_to or row.refuses:
        assert outcomes(row) == (set(row.leads_to), set(row.refuses))
        return
    assert (row.leads_to, row.refuses) == ((), ())
    with pytest.raises(IllegalPhase) as caught:
        WAYS[row.operation][0](STATES[row.phase])
    assert (caught.value.operation, caught.value.phase) == (row.operation, row.phase)
    assert row.phase not in caught.value.legal


def test_the_table_has_a_row_for_every_operation_in_every_phase() -> None:
    """No pair is left out, none stands twice."""
    pairs = [(row.phase, row.operation) for row in TRANSITIONS]
    assert len(pairs) == len(set(pairs)) == len(STATES) * len(WAYS)


def test_every_short_sequence_agrees_with_the_reference() -> None:
    """All sequences of four commands, legal or not, do what Algorithm 1 with D1 to D19 does."""
    *_, last = explore(WIDE, 4)
    assert (last.states, last.edges, last.refused) == (1_919, 3_010, 3_764)


def test_a_start_has_two_roots_and_nothing_else() -> None:
    """Both layers start with a sentinel: step 0, and summary 0 that covers it and has passed (D2)."""
    tree = start("task").tree
    assert (tree.active_path(), tree.summary_path(), tree.segment()) == ((0,), (0,), ())
    root = tree.summary(tree.summary_head)
    assert (root.covers, root.kind, root.verdict) == ((0,), "subgoal", Passed())
    assert (root.id, root.parent, root.label, root.text) == (0, -1, -1, "")
    assert tree.step(tree.step_head) == Step(StepId(0), StepId(-1), "", "")


def test_growing_the_same_content_merges() -> None:
    """The same action and observation from the same head reach the same step (D10, L3)."""
    state = active()
    back = revise(state, 0, "").unwrap().state
    again = grow(back, "a0", "o")
    assert again.tree.step_head == 1
    assert again.tree.next_step == state.tree.next_step
    assert grow(back, "a0", "other").tree.next_step == state.tree.next_step + 1


def test_content_is_compared_exactly_and_joined_on_entry() -> None:
    """A pair of surrogates merges with the character it makes; a trailing space does not merge (D15)."""
    state = grow(start("task"), "\ud83d\ude00", "o")
    back = revise(state, 0, "").unwrap().state
    assert grow(back, "\U0001f600", "o").tree.step_head == 1
    assert grow(back, "\U0001f600", "o ").tree.step_head == 2


@pytest.mark.parametrize("state", [active(), unverified()], ids=["Active", "Unverified"])
def test_growing_keeps_the_phase(state: Active | Unverified) -> None:
    """The agent may go on while the judge thinks (D6)."""
    assert type(grow(state, "x", "y")) is type(state)


def test_compress_covers_the_open_segment() -> None:
    """A summary covers the steps after the boundary down to the step head, and is labelled by it (D1, D3)."""
    first = judged(unverified(), Passed())
    assert isinstance(first, Active)
    tree = compress(grow(first, "b", "o"), "more").unwrap().tree
    head = tree.summary(tree.summary_head)
    assert (head.id, head.parent, head.label, head.covers) == (2, 1, 2, (3,))
    assert (head.text, head.kind, head.verdict) == ("more", "subgoal", Pending())


def test_compress_refuses_target_before_text() -> None:
    """With nothing open and a blank text, it is the missing segment that is told (D3)."""
    assert compress(start("task"), " ").failure() == EmptySegment(StepId(0))
    assert compress(active(), " \n").failure() == BlankSummary()


def test_compress_of_the_same_covers_reuses_the_summary() -> None:
    """Equal covers keep id, parent and label, take the new text and kind, and are pending again (D4, L4)."""
    state = judged(unverified(), Passed())
    back = revise(state, 0, "").unwrap().state
    assert isinstance(back, Active)
    again = compress(grow(grow(back, "a0", "o"), "a1", "o"), "new", "fallback").unwrap()
    head = again.tree.summary(again.tree.summary_head)
    assert (head.id, head.text, head.kind, head.verdict) == (1, "new", "fallback", Pending())
    assert state.tree.summary(state.tree.summary_head).text == "text"


@pytest.mark.parametrize(
    ("fault", "overruled", "lessons"),
    [
        ("execution", False, ("wrong",)),
        ("execution", True, ("wrong",)),
        ("summary", False, ()),
        ("summary", True, ()),
    ],
)
def test_a_new_text_leaves_what_was_wrong_with_the_steps(
    fault: str, overruled: bool, lessons: tuple[str, ...]
) -> None:
    """Feedback on the execution outlives the text as a lesson at the label; on the text it goes with it (D4)."""
    state = rejected(fault=fault)
    if overruled:
        back = revise(accept(state), 0, "").unwrap().state
        assert isinstance(back, Active)
        new = compress(grow(grow(back, "a0", "o"), "a1", "o"), "new").unwrap()
    else:
        new = retext(state, "new").unwrap()
    assert new.tree.summary_head == 1
    assert new.tree.lessons_at(StepId(0)) == lessons


def test_compress_with_nothing_open_ends_the_subgoal_of_a_fallback() -> None:
    """A trusted fallback head becomes the subgoal, pending again; as a fallback nothing is open (D12)."""
    state = judged(unverified("fallback"), Passed())
    assert isinstance(state, Active)
    done = compress(state, "all done").unwrap()
    head = done.tree.summary(done.tree.summary_head)
    assert (head.id, head.text, head.kind, head.verdict) == (1, "all done", "subgoal", Pending())
    assert (head.parent, head.after) == (0, 0)
    assert compress(state, "all done", "fallback").failure() == EmptySegment(StepId(2))
    assert compress(state, " ").failure() == BlankSummary()


@pytest.mark.parametrize("steps_open", [0, 1])
def test_a_finished_subgoal_takes_its_fallbacks_in(steps_open: int) -> None:
    """It continues the base, covers all since it, comes after the last fallback, and is one line of C (D12)."""
    state = accept(compress(active(), "before").unwrap())
    for part in ("half", "more"):
        state = accept(compress(grow(state, part, "o"), part, "fallback").unwrap())
    for number in range(steps_open):
        state = grow(state, f"end{number}", "o")
    tree = compress(state, "all done").unwrap().tree
    head = tree.head_summary
    assert (head.parent, head.after, head.label) == (1, 3, 2)
    assert head.covers == tuple(range(3, 5 + steps_open))
    assert [line.label for line in view(compress(state, "all done").unwrap()).compressed] == [0, 2]
    assert [each.id for each in tree.way_upwards()] == [head.id, 3, 2, 1]


def test_a_summary_that_is_made_again_comes_after_the_head_that_it_was_made_from() -> None:
    """Cut or uncut, it is the same summary, whose way is that of its last making (D4, D12)."""
    state = active()
    uncut = compress(state, "done").unwrap()
    back = revise(uncut, 0, "").unwrap().state
    assert isinstance(back, Active)
    half = accept(compress(grow(back, "a0", "o"), "half", "fallback").unwrap())
    cut = compress(grow(half, "a1", "o"), "done").unwrap()
    assert (uncut.tree.head_summary.id, uncut.tree.head_summary.after) == (1, 0)
    assert (cut.tree.head_summary.id, cut.tree.head_summary.after) == (1, 2)
    assert revise(cut, 1, "").unwrap().state.tree.head_summary.id == 2


def test_retext_touches_no_step_and_no_kind() -> None:
    """A pending or failed head takes a new text and stays what it is (D16)."""
    state = grow(unverified("fallback"), "open", "o")
    new = retext(state, "new").unwrap()
    head = new.tree.summary(new.tree.summary_head)
    assert (head.text, head.kind, new.tree.segment()) == ("new", "fallback", (3,))
    assert apply_verdict(new, Passed(), state.digest).failure() == StaleVerdict(state.digest, new.digest)
    assert retext(rejected(), "new").unwrap().tree.summary(new.tree.summary_head).kind == "subgoal"


def test_retext_refuses_a_blank_and_keeps_an_equal_text() -> None:
    """A blank text is refused; the text it has changes nothing (L10)."""
    state = unverified()
    assert retext(state, "").failure() == BlankSummary()
    assert retext(state, "text").unwrap() is state


def test_a_verdict_is_taken_once_and_for_what_was_asked() -> None:
    """An answer to another question, or to none, is stale in every phase; stale comes before blank (D5)."""
    state = unverified()
    other = Digest("0" * 64)
    for late in (active(), judged(state, Passed()), rejected()):
        assert apply_verdict(late, Passed(), state.digest).failure() == StaleVerdict(state.digest, None)
    assert apply_verdict(state, Failed(" "), other).failure() == StaleVerdict(other, state.digest)
    assert apply_verdict(state, Failed(" "), state.digest).failure() == BlankFeedback()


def test_a_failed_verdict_may_name_where_the_mistake_began() -> None:
    """A boundary of the way below its own, for a fault of the steps; stale and unknown come before blank (D5)."""
    state = judged(unverified(), Passed())
    assert isinstance(state, Active)
    state = accept(compress(grow(state, "b", "o"), "half", "fallback").unwrap())
    pending = compress(grow(state, "c", "o"), "done").unwrap()
    for boundary in (0, 2, 3):
        failed = Failed("no", boundary=StepId(boundary))
        assert head_verdict(judged(pending, failed)) == failed
    refused = Failed(" ", boundary=StepId(4))
    assert apply_verdict(pending, refused, pending.digest).failure() == UnknownBoundary(
        StepId(4), (StepId(0), StepId(2), StepId(3)), (StepId(2),)
    )
    assert apply_verdict(pending, refused, "0").failure() == StaleVerdict(Digest("0"), pending.digest)
    textual = Failed("no", "summary", StepId(0))
    assert apply_verdict(pending, textual, pending.digest).failure() == UnknownBoundary(StepId(0), ())
    assert head_verdict(accept(judged(pending, Failed("no", boundary=StepId(0))))) == Accepted(  # type: ignore[arg-type]  # it is Rejected
        Failed("no", boundary=StepId(0))
    )


def test_a_verdict_keeps_the_open_segment() -> None:
    """What was grown while the judge thought stays open (D6)."""
    state = grow(unverified(), "meanwhile", "o")
    for verdict in (Passed(), Failed("no")):
        after = judged(state, verdict)
        assert after.tree.segment() == (3,)
        assert head_verdict(after) == verdict


def test_accept_never_looks_like_a_pass() -> None:
    """What the host accepts says so, and despite what (D6)."""
    assert head_verdict(accept(unverified())) == Accepted(None)
    assert head_verdict(accept(rejected("no", "summary"))) == Accepted(Failed("no", "summary"))


def test_revise_goes_back_to_a_label_and_lists_what_it_leaves() -> None:
    """The steps abandoned are told newest first, the instructions left behind in path order (D7, D14)."""
    state = instruct(active(1), "early", standing=True).unwrap()
    state = instruct(grow(state, "b", "o"), "late").unwrap()
    revised = revise(state, 0, "lesson").unwrap()
    assert [step.id for step in revised.abandoned] == [2, 1]
    assert revised.instructions == (Instruction("early", True), Instruction("late"))
    assert revised.state.tree.active_path() == (0,)
    assert revised.state.tree.lessons_at(StepId(0)) == ("lesson",)


def test_revise_to_the_current_boundary_drops_the_open_segment_only() -> None:
    """A pending summary stays pending under the same digest (D7)."""
    state = unverified()
    revised = revise(grow(state, "b", "o"), 2, "").unwrap()
    assert isinstance(revised.state, Unverified)
    assert revised.state.digest == state.digest
    assert (revised.state.tree.step_head, revised.state.tree.segment()) == (2, ())
    assert isinstance(revise(state, 0, "").unwrap().state, Active)


def test_revise_that_changes_nothing_returns_its_state() -> None:
    """Nothing open, no lesson: the same object (L10)."""
    for state in (start("task"), unverified()):
        assert revise(state, state.tree.boundary, " ").unwrap() == Revised(state, (), ())
        assert revise(state, state.tree.boundary, " ").unwrap().state is state
        assert revise(state, state.tree.boundary, "so").unwrap().state.tree.lessons_at(
            state.tree.boundary
        ) == ("so",)


def test_revise_refuses_what_is_no_boundary_and_lists_what_is() -> None:
    """A failed summary must go, so its own boundary is not legal in Rejected (D7)."""
    done = judged(unverified(), Passed())
    assert isinstance(done, Active)
    state = compress(grow(done, "b", "o"), "more").unwrap()
    legal = (StepId(0), StepId(2), StepId(3))
    for boundary in (-1, 1, 4):
        assert revise(state, boundary, "").failure() == UnknownBoundary(StepId(boundary), legal, legal[1:])
    failed = judged(state, Failed("no"))
    assert revise(failed, 3, "").failure() == UnknownBoundary(StepId(3), legal[:2], legal[1:2])
    assert isinstance(revise(failed, 2, "").unwrap().state, Active)


def test_boundaries_are_what_revise_takes() -> None:
    """In each phase `boundaries` lists the steps that `revise` takes, all of them, in path order (D7)."""
    done = judged(unverified(), Passed())
    assert isinstance(done, Active)
    pending = compress(grow(done, "b", "o"), "more").unwrap()
    for state in (start("task"), done, pending, judged(pending, Failed("no"))):
        steps = map(StepId, range(-1, state.tree.next_step + 1))
        assert boundaries(state) == tuple([step for step in steps if is_successful(revise(state, step, ""))])


def test_revise_goes_back_into_a_subgoal_that_was_cut() -> None:
    """The boundaries of the fallbacks that it took in are targets; where two have one, the subgoal is it (D7)."""
    state = active()
    for part in ("half", "more"):
        state = accept(compress(grow(state, part, "o"), part, "fallback").unwrap())
    pending = compress(state, "all").unwrap()
    inside = revise(pending, 3, "").unwrap().state
    assert isinstance(inside, Active)
    assert [each.text for each in inside.tree.way_upwards()] == ["half"]
    assert isinstance(revise(pending, 4, "").unwrap().state, Unverified)
    failed = judged(pending, Failed("no"))
    assert revise(failed, 4, "").failure().legal == (0, 3)
    assert revise(failed, 3, "").unwrap().state.tree.head_summary == inside.tree.head_summary


def test_an_instruction_is_placed_once() -> None:
    """The same again at the same step changes nothing; standing or not makes another one (D17, L10)."""
    for state in (active(), unverified()):
        once = instruct(state, "do").unwrap()
        assert instruct(once, "do").unwrap() is once
        assert (
            len(instruct(once, "do", standing=True).unwrap().tree.instructions_at(once.tree.step_head)) == 2
        )
        assert instruct(state, "\t").failure() == BlankInstruction()


def test_what_is_no_text_kind_or_fault_is_a_programmers_error() -> None:
    """Wrong types and names are raised at once and change nothing."""
    with pytest.raises(NotText):
        grow(active(), "a", None)  # type: ignore[call-overload]  # the point of the test
    with pytest.raises(UnknownName, match=r"^'goal' is no kind; known are subgoal, fallback$"):
        compress(active(), "text", "goal")  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(NotAnId, match="found str"):
        judged(unverified(), Failed("no", "execution", "0"))  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(UnknownName, match=r"^'luck' is no fault; known are execution, summary$"):
        judged(unverified(), Failed("no", "luck"))  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(NotAnId, match="found str"):
        revise(active(), "0", "")  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(IllegalPhase, match="before a start"):
        grow(None, "a", "o")  # type: ignore[call-overload]  # the point of the test


def test_what_the_types_exclude_is_not_passed_over_in_silence() -> None:
    """A verdict that is none raises, wherever one is read, instead of counting as any other (D5, D16)."""
    state = unverified()
    with pytest.raises(AssertionError, match="'passed'"):
        apply_verdict(state, "passed", state.digest)  # type: ignore[arg-type]  # the point of the test
    forged = summary(state, 1, verdict="failed")
    assert isinstance(forged, Unverified)
    with pytest.raises(AssertionError, match="'failed'"):
        retext(forged, "other")


class Kinds(StrEnum):
    """Kinds and faults as a host may write them down."""

    SUBGOAL = "subgoal"
    EXECUTION = "execution"


def test_a_str_enum_or_a_bool_enters_as_a_plain_value() -> None:
    """What equals a known name or id is kept as that name or id, so that a reload gives an equal state."""
    state = compress(active(), "text", cast("Kind", Kinds.SUBGOAL)).unwrap()
    assert state == unverified()
    failed = judged(state, Failed("wrong", cast("Fault", Kinds.EXECUTION)))
    assert isinstance(failed, Rejected)
    assert repr(failed.tree.head_summary) == repr(rejected().tree.head_summary)
    assert revise(failed, False, "").unwrap() == revise(rejected(), 0, "").unwrap()
    assert type(revise(active(), True, "").failure().boundary) is int

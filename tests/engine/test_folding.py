"""Chapters: what C shows in place of finished subgoals, what drops them, and what stands under a line (D19)."""

from __future__ import annotations

import hashlib
import json

import pytest

from mage.engine import (
    Active,
    BlankSummary,
    Chapter,
    Failed,
    FoldRequest,
    Inside,
    Passed,
    Rejected,
    StaleVerdict,
    Step,
    StepId,
    SummaryId,
    UnfoldableRange,
    UnknownLine,
    accept,
    apply_verdict,
    check,
    check_change,
    compress,
    fold,
    fold_request,
    grow,
    inside,
    instruct,
    revise,
    start,
    view,
)
from mage.engine.folding import lines_inside
from tests.engine.test_machine import judged


def finished(state: Active, text: str, *, passed: bool = True) -> Active:
    """Return the state after a subgoal of one step that passed, or was accepted."""
    pending = compress(grow(state, text, "o"), text).unwrap()
    after = judged(pending, Passed()) if passed else accept(pending)
    assert isinstance(after, Active)
    return after


def four() -> Active:
    """Return a state with four finished subgoals, the second accepted without a pass."""
    state = instruct(start("task"), "briefly", standing=True).unwrap()
    for number, text in enumerate(("one", "two", "three", "four")):
        state = finished(state, text, passed=number != 1)
    return state


def folded(state: Active, first: int, last: int, text: str) -> Active:
    """Return the state after a fold, every invariant looked at."""
    request = fold_request(state, first, last, text).unwrap()
    after = fold(state, first, last, text, request.digest).unwrap()
    check_change(state, after)
    check(after)
    return after


def back(state: Active, boundary: int) -> Active:
    """Return the state after going back."""
    revised = revise(state, boundary, "").unwrap().state
    assert isinstance(revised, Active)
    return revised


def texts(state: Active) -> list[str]:
    """Return what the lines of C say."""
    return [line.text for line in view(state).compressed]


def test_a_judge_is_asked_about_the_lines_and_all_that_holds() -> None:
    """Task, instructions in force, the lines, the text; the digest is over all of them (D19)."""
    state = four()
    request = fold_request(state, 1, 3, "both").unwrap()
    lines = view(state).compressed[1:3]
    asked = {
        "instructions": ["briefly"],
        "lines": [[1, 2, "two", ["accepted", "", "", None]], [2, 3, "three", ["passed", "", "", None]]],
        "task": "task",
        "text": "both",
    }
    spelled = json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()
    assert request == FoldRequest(
        "task",
        ("briefly",),
        lines,
        "both",
        hashlib.sha256(spelled).hexdigest(),  # type: ignore[arg-type]  # a digest
    )


def test_a_chapter_is_asked_about_by_what_it_says() -> None:
    """Of a chapter among the lines the digest has the count of those accepted in place of a verdict."""
    state = folded(four(), 0, 2, "both")
    asked = {
        "instructions": ["briefly"],
        "lines": [[0, 2, "both", 1], [2, 3, "three", ["passed", "", "", None]]],
        "task": "task",
        "text": "all",
    }
    spelled = json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()
    assert fold_request(state, 0, 3, "all").unwrap().digest == hashlib.sha256(spelled).hexdigest()


def test_a_fold_shows_one_line_and_changes_nothing_else() -> None:
    """Its ends, and how many under it were accepted; way, heads and targets of revise stand (L14)."""
    before = four()
    after = folded(before, 0, 3, "first three")
    assert view(after).compressed == (
        Chapter(StepId(0), StepId(3), "first three", 1, SummaryId(1), SummaryId(3)),
        view(before).compressed[3],
    )
    assert after.tree.summary_path() == before.tree.summary_path()
    assert revise(after, 99, "").failure().legal == revise(before, 99, "").failure().legal
    assert [line.text for line in view(back(after, 2)).compressed] == ["one", "two"]


def test_chapters_fold_into_chapters() -> None:
    """The newest that ends at a summary is shown; their counts add up, and each has its lines inside (D19)."""
    state = folded(four(), 0, 2, "inner")
    state = folded(state, 0, 3, "outer")
    assert texts(state) == ["outer", "four"]
    whole = folded(state, 0, 4, "all")
    assert view(whole).compressed == (Chapter(StepId(0), StepId(4), "all", 1, SummaryId(1), SummaryId(4)),)
    found = inside(whole, 0).unwrap()
    assert found == Inside(view(whole).compressed[0], view(state).compressed, ())
    assert [line.text for line in found.lines] == ["outer", "four"]
    assert [line.text for line in inside(whole, 0, 3).unwrap().lines] == ["inner", "three"]
    assert [line.text for line in inside(whole, 0, 2).unwrap().lines] == ["one", "two"]
    assert inside(whole, 0, 1).unwrap() == Inside(
        whole.tree.summary(SummaryId(1)), (), (Step(StepId(1), StepId(0), "one", "o"),)
    )


def test_of_two_chapters_that_end_at_one_summary_each_has_its_own_lines() -> None:
    """The newer one has the older one inside."""
    state = folded(four(), 1, 3, "two and three")
    state = folded(state, 0, 3, "first three")
    older, newer = state.tree.chapters_at(SummaryId(3))
    assert [line.text for line in lines_inside(state.tree, newer)] == ["one", "two and three"]
    assert [line.text for line in lines_inside(state.tree, older)] == ["two", "three"]
    assert texts(state) == ["first three", "four"]


@pytest.mark.parametrize(
    ("first", "last"), [(0, 1), (0, 0), (1, 1), (2, 1), (0, 99), (5, 9), (-1, 2), (0, -1)]
)
def test_what_is_no_run_of_two_lines_is_refused(first: int, last: int) -> None:
    """With every line that may be folded; before a blank text, and before another digest (D19)."""
    lines = tuple([(StepId(number), StepId(number + 1)) for number in range(4)])
    refusal = UnfoldableRange(StepId(first), StepId(last), lines)
    state = four()
    assert fold_request(state, first, last, "text").failure() == refusal
    assert fold(state, first, last, " ", "x").failure() == refusal


def test_half_of_a_chapter_is_refused() -> None:
    """A range begins and ends with a line that is shown."""
    state = folded(four(), 0, 2, "both")
    for first, last in ((1, 3), (0, 1), (1, 2)):
        assert isinstance(fold_request(state, first, last, "text").failure(), UnfoldableRange)
    assert texts(folded(state, 0, 3, "three")) == ["three", "four"]


def test_a_blank_text_then_another_digest_is_refused() -> None:
    """In this order; the digest that was expected is said."""
    state = four()
    assert fold_request(state, 0, 2, " ").failure() == BlankSummary()
    assert fold(state, 0, 2, "\n", "x").failure() == BlankSummary()
    expected = fold_request(state, 0, 2, "both").unwrap().digest
    assert fold(state, 0, 2, "both", "x").failure() == StaleVerdict("x", expected)  # type: ignore[arg-type]  # a digest
    assert isinstance(fold(state, 0, 3, "both", expected).failure(), StaleVerdict)


def test_an_interim_account_is_not_folded() -> None:
    """The subgoal that it belongs to is going on (D12, D19)."""
    state = accept(compress(grow(four(), "half", "o"), "half", "fallback").unwrap())
    refusal = fold_request(state, 2, 5, "text").failure()
    assert isinstance(refusal, UnfoldableRange)
    assert refusal.lines[-1] == (3, 4)
    assert texts(folded(state, 2, 4, "two")) == ["one", "two", "two", "half"]


@pytest.mark.parametrize("fault", ["execution", "summary"])
def test_a_summary_that_is_made_again_loses_the_chapters_that_end_there(fault: str) -> None:
    """They were judged on other words; those that end elsewhere stay (D4, D19)."""
    state = folded(folded(four(), 0, 2, "both"), 0, 4, "all")
    grown = grow(back(state, 3), "four", "o")
    again = compress(grown, "four anew").unwrap()
    check_change(grown, again)
    check(again)
    assert [line.text for line in view(again).compressed] == ["both", "three", "four anew"]
    assert again.tree.chapters_at(SummaryId(4)) == ()
    failed = apply_verdict(again, Failed("no", fault), again.digest).unwrap()  # type: ignore[arg-type]  # a fault
    assert isinstance(failed, Rejected)
    once_more = folded(accept(failed), 0, 4, "all again")
    assert view(once_more).compressed[0] == Chapter(
        StepId(0), StepId(4), "all again", 2, SummaryId(1), SummaryId(4)
    )


def test_a_chapter_shows_again_where_its_last_summary_is_the_head_again() -> None:
    """Going back to where a chapter ends shows it, before that what is inside (D19)."""
    state = folded(four(), 1, 3, "middle")
    assert texts(back(state, 3)) == ["one", "middle"]
    assert texts(back(state, 2)) == ["one", "two"]


def test_what_no_line_stands_for_is_refused() -> None:
    """A label alone is that of a line that is shown; with a boundary it may be any line inside one."""
    state = folded(four(), 0, 2, "both")
    shown = ((StepId(0), StepId(2)), (StepId(2), StepId(3)), (StepId(3), StepId(4)))
    for label, boundary in ((1, None), (4, None), (-1, None), (0, 3), (1, 3), (2, 4), (9, 9)):
        end = None if boundary is None else StepId(boundary)
        assert inside(state, label, boundary).failure() == UnknownLine(StepId(label), end, shown)
    assert inside(state, 1, 2).unwrap().line.text == "two"
    assert inside(state, 2).unwrap().steps == inside(state, 2, 3).unwrap().steps
    assert inside(start("task"), 0).failure() == UnknownLine(StepId(0), None, ())


def test_a_long_list_of_lines_is_cut_in_words_only() -> None:
    """A refusal names the newest twenty lines, and says that there are more."""
    for count in (0, 20, 21):
        lines = tuple([(StepId(number), StepId(number + 1)) for number in range(count)])
        named = " ".join(f"[Step {label}..{boundary}]" for label, boundary in lines[-20:]) or "none"
        more = "... " if count > 20 else ""
        said = str(UnfoldableRange(StepId(0), StepId(9), lines))
        assert said == (
            "[Step 0..9] is no run of two or more lines of finished subgoals; those are: " + more + named
        )
        said = str(UnknownLine(StepId(7), None, lines))
        assert said == f"[Step 7] is no line of what is compressed; these are: {more}{named}"

"""The reference says what the decisions say: each decision as a short story, D by D.

Nothing here asks the engine. That the two agree is shown elsewhere, over every story of some length.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from specs import reference, reference_nodes
from specs.reference import Mage
from specs.reference_nodes import (
    Chapter,
    FoldRequest,
    Instruction,
    Left,
    Lesson,
    Line,
    Request,
    Step,
    Summary,
    Verdict,
    boundary_of,
    canonical_hash,
)

PASS = Verdict("passed")


def failed(feedback: str, fault: str = "execution", boundary: int | None = None) -> Verdict:
    """Return a failed verdict."""
    return Verdict("failed", feedback, fault, boundary)


def told(*words: str) -> Mage:
    """Return the reference after a story: a word a command, and what it names after a colon.

    `a`, `b` and so on grow; `sub:m` and `fall:m` compress; `pass`, `fail:f`, `fail:f 2` (begun at 2), `bad text:f`,
    `accept`; `retext:m`; `back:3` revises, `back:3 l` with a lesson; `do:i` and `always:i` instruct; `fold:0 3 c` folds.
    """
    mage = Mage("task")
    for each in words:
        word, _, what = each.partition(":")
        answer = tell(mage, word, what)
        assert not isinstance(answer, str), f"{each} was refused: {answer}"
    return mage


def tell(mage: Mage, word: str, what: str) -> str | Left | None:
    """Carry out one word of a story."""
    match word:
        case "sub" | "fall":
            return mage.compress(what, "subgoal" if word == "sub" else "fallback")
        case "pass":
            return mage.apply_verdict(PASS, mage.digest())
        case "fail" | "bad text":
            feedback, _, boundary = what.partition(" ")
            fault = "execution" if word == "fail" else "summary"
            return mage.apply_verdict(
                failed(feedback, fault, int(boundary) if boundary else None), mage.digest()
            )
        case "accept":
            return mage.accept()
        case "retext":
            return mage.retext(what)
        case "back":
            boundary, _, lesson = what.partition(" ")
            return mage.revise(int(boundary), lesson)
        case "fold":
            first, last, text = what.split()
            return fold(mage, int(first), int(last), text)
        case "do" | "always":
            return mage.instruct(what, standing=word == "always")
        case _:
            return mage.grow(word, "seen")


def fold(mage: Mage, first: int, last: int, text: str) -> str | None:
    """Fold with the digest of the request."""
    request = mage.fold_request(first, last, text)
    return request if isinstance(request, str) else mage.fold(first, last, text, request.digest)


def asked(mage: Mage, *, since_root: bool = False) -> Request:
    """Return what the judge is asked."""
    request = mage.judge_request(since_root)
    assert isinstance(request, Request)
    return request


def ids(nodes: Sequence[Step | Summary]) -> list[int]:
    """Return the ids of steps or summaries."""
    return [node.id for node in nodes]


def named(lines: Sequence[Line]) -> list[tuple[int, int, str]]:
    """Return label, boundary and text of lines."""
    return [(line.label, boundary_of(line), line.text) for line in lines]


def lines_in(mage: Mage, label: int, boundary: int | None = None) -> list[Line]:
    """Return the lines that a chapter stands for."""
    return [line for line in mage.inside(label, boundary) if isinstance(line, Chapter | Summary)]


def lessons(mage: Mage) -> list[str]:
    """Return the texts of the lessons that H shows."""
    return [lesson.text for lesson in mage.hints().lessons]


def test_it_stands_alone() -> None:
    """Reference and nodes import the standard library and each other, and nothing of mage."""
    for module in (reference, reference_nodes):
        assert module.__file__ is not None
        for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= sys.stdlib_module_names
            if isinstance(node, ast.ImportFrom):
                assert (
                    node.module == "specs.reference_nodes"
                    or str(node.module).split(".")[0] in sys.stdlib_module_names
                )


def test_siblings_share_a_label_and_no_id() -> None:
    """D1: two summaries from one boundary have the label in common and each its own id."""
    mage = told("a", "sub:m", "pass", "back:0", "b", "sub:n")
    first, second = mage.summaries[1:]
    assert (first.id, first.label, second.id, second.label) == (1, 0, 2, 0)


def test_the_root_is_never_shown_judged_or_revised_away() -> None:
    """D2: at the start C and R are empty, nothing is asked, and only boundary 0 is legal."""
    mage = told()
    assert (mage.C, mage.R, mage.phase, mage.legal_boundaries()) == ([], [], "Active", [0])
    assert mage.judge_request() == "IllegalPhase"


def test_a_segment_leaves_its_boundary_out() -> None:
    """D3: covers begin after the boundary; an empty segment comes before a blank text, the phase before both."""
    mage = told("a", "b", "sub:m", "pass", "c", "sub:n")
    assert [ids(summary.cover_nodes) for summary in mage.summaries[1:]] == [[1, 2], [3]]
    assert mage.compress(" ") == "IllegalPhase"
    assert told("a", "sub:m", "pass").compress("\n") == "EmptySegment"
    assert told("a").compress("\u2003\x1c") == "BlankSummary"
    assert told("a").compress("\u200b") is None


@pytest.mark.parametrize(
    ("verdicts", "left"),
    [
        (("fail:f",), [Lesson(0, "f")]),
        (("fail:f", "accept"), [Lesson(0, "f")]),
        (("bad text:f",), []),
        (("bad text:f", "accept"), []),
        (("pass",), []),
        (("accept",), []),
        ((), []),
    ],
)
def test_only_feedback_on_the_steps_outlives_the_text(verdicts: tuple[str, ...], left: list[Lesson]) -> None:
    """D4: met again, a summary keeps its id and is pending; what was said of its steps stays at its label."""
    mage = told("a", "sub:m", *verdicts, "back:0", "a", "fall:n")
    summary = mage.p_t
    assert (summary.id, summary.text, summary.kind, summary.note) == (1, "n", "fallback", Verdict("pending"))
    assert mage.lessons == left
    assert len(mage.summaries) == 2


def test_an_answer_to_another_question_is_stale() -> None:
    """D5: a digest of an older text, or where nothing is asked, is stale; blank feedback is refused after that."""
    mage = told("a", "sub:m")
    old = mage.digest()
    assert mage.retext("n") is None
    assert mage.apply_verdict(PASS, old) == "StaleVerdict"
    assert mage.apply_verdict(failed(" "), old) == "StaleVerdict"
    assert mage.apply_verdict(failed(" "), mage.digest()) == "BlankFeedback"
    assert mage.apply_verdict(PASS, mage.digest()) is None
    assert mage.apply_verdict(PASS, mage.digest()) == "StaleVerdict"


def test_the_digest_is_spelled_out() -> None:
    """D5: the digest is SHA-256 of canonical JSON, keys sorted, no spaces, lone surrogates escaped."""
    mage = Mage("t\u00e4sk")
    mage.grow("a\ud800", "o\n")
    mage.compress("m")
    written = (
        '{"before":"","covers":[[1,"a\\ud800","o\\n"]],"earlier":[],"instructions":[],"kind":"subgoal","summary":1,'
        '"task":"t\u00e4sk","text":"m"}'
    )
    assert mage.digest() == hashlib.sha256(written.encode()).hexdigest()


def test_growing_on_and_dropping_it_again_asks_the_same() -> None:
    """D5: grow, instruct and dropping the open segment leave the digest alone, since_root does too."""
    mage = told("a", "sub:m")
    digest = mage.digest()
    for word in (("b",), ("b", "do:i"), ("b", "back:1 l"), ("do:i",)):
        assert told("a", "sub:m", *word).digest() == digest
    assert asked(mage, since_root=True).digest == digest


def test_phases() -> None:
    """D6: pending may grow but not compress, failed neither; accept says whether there was a verdict."""
    assert told("a", "sub:m").phase == "Unverified"
    assert told("a", "sub:m", "b").compress("n") == "IllegalPhase"
    assert told("a", "sub:m", "b", "fail:f").grow("c", "seen") == "IllegalPhase"
    assert told("a", "sub:m", "accept").p_t.note == Verdict("accepted")
    assert told("a", "sub:m", "fail:f", "accept").p_t.note == Verdict("accepted", "f", "execution")
    assert ids(told("a", "sub:m", "b", "pass").R) == [2]
    assert told("a").accept() == told("a").retext("m") == "IllegalPhase"


def test_revise_takes_the_boundaries_of_the_summary_path() -> None:
    """D7: the label of a summary undoes it, the current boundary drops the open segment, all else is refused."""
    words = ("a", "b", "sub:m", "pass", "c", "sub:n", "d")
    assert told(*words).legal_boundaries() == [0, 2, 3]
    dropped = told(*words, "back:3")
    assert (dropped.phase, dropped.p_b.id, ids(dropped.R), len(dropped.C)) == ("Unverified", 3, [], 2)
    undone = told(*words, "back:2 l")
    assert (undone.phase, undone.p_b.id, len(undone.C), undone.lessons) == ("Active", 2, 1, [Lesson(2, "l")])
    assert told(*words, "fail:f").legal_boundaries() == [0, 2]
    assert told(*words).revise(1, "") == told(*words).revise(9, "") == "UnknownBoundary"


def test_a_boundary_beside_the_summary_path_is_none() -> None:
    """D7: step 1 is on the active path and ends a summary, but one that failed and is not on the path."""
    mage = told("a", "sub:m", "fail:f", "back:0", "a", "b", "sub:n", "pass")
    assert 1 in [step.id for step in reference_nodes.path(mage.p_b)]
    assert mage.revise(1, "") == "UnknownBoundary"


def test_revise_lists_what_it_leaves() -> None:
    """D7, D14: abandoned steps are newest first, instructions in path order, those at the boundary stay."""
    mage = told("do:h", "a", "do:i", "b", "always:j", "do:k")
    left = mage.revise(0, "")
    assert not isinstance(left, str)
    assert ids(left.abandoned) == [2, 1]
    assert left.instructions == [
        Instruction(1, "i", False),
        Instruction(2, "j", True),
        Instruction(2, "k", False),
    ]


def test_lessons_stand_where_they_were_left() -> None:
    """D8, D9: a lesson shows whenever its boundary is current, oldest first, the same one twice if left twice."""
    mage = told("a", "back:0 l", "a", "back:0 k", "back:0 l", "b")
    assert lessons(mage) == ["l", "k", "l"]
    assert lessons(told("a", "back:0 l", "a", "sub:m")) == []
    _, continuations, subgoals, _ = told("a", "sub:m", "fail:f", "back:0", "b", "back:0").hints()
    assert ids(continuations) == [1, 2]
    assert [(summary.id, summary.note.word) for summary in subgoals] == [(1, "failed")]


def test_growing_into_a_branch_that_was_left_merges() -> None:
    """D10: the same content walks back into the old step, and nothing is added."""
    mage = told("a", "b", "back:0", "a", "b")
    assert (mage.p_b.id, mage.l, ids(mage.R)) == (2, 3, [1, 2])


TAKEN_IN = ("a", "sub:x", "pass", "b", "fall:m", "pass", "c", "fall:n", "pass", "d", "sub:o")
"""A subgoal's summary on steps 2, 3 and 4, the fifth, with parent 1; it took in fallbacks 2 (on 2) and 3 (on 3)."""


def test_a_subgoal_takes_its_fallbacks_in() -> None:
    """D12: parent is the base, the covers are all steps since it, `after` is the head, C shows one line."""
    mage = told(*TAKEN_IN)
    s = mage.p_t
    assert (s.id, s.parent, s.after, s.label, ids(s.cover_nodes)) == (
        4,
        mage.summaries[1],
        mage.summaries[3],
        1,
        [2, 3, 4],
    )
    assert named(mage.C) == [(0, 1, "x"), (1, 4, "o")]
    assert ids(reference_nodes.way(s)) == [0, 1, 2, 3, 4]
    assert ids(reference_nodes.path(s)) == [0, 1, 4]


def test_a_fallback_head_may_be_completed_with_nothing_open() -> None:
    """D12: the covers since the base are not empty then; where the head itself covers them, it is taken again."""
    mage = told("a", "fall:m", "fail:f", "accept", "sub:n")
    assert (len(mage.summaries), mage.p_t.kind, mage.p_t.text, mage.phase) == (
        2,
        "subgoal",
        "n",
        "Unverified",
    )
    assert (mage.lessons, named(mage.C)) == ([Lesson(0, "f")], [(0, 1, "n")])
    assert mage.p_t.after is mage.summaries[0]
    two = told("a", "fall:m", "accept", "b", "fall:n", "accept", "sub:o")
    assert (two.p_t.id, ids(two.p_t.cover_nodes), named(two.C)) == (3, [1, 2], [(0, 2, "o")])
    assert told("a", "fall:m", "accept").compress("n", "fallback") == "EmptySegment"
    assert told("a", "fall:m", "accept").compress(" ") == "BlankSummary"
    assert told("a", "sub:m", "accept").compress("n") == "EmptySegment"


def test_uncut_it_is_the_same_summary() -> None:
    """D12: the same steps, compressed in one go, are the same child of the base; its `after` becomes the head."""
    mage = told(*TAKEN_IN, "back:1", "b", "c", "d", "sub:p")
    assert (mage.p_t.id, len(mage.summaries), mage.p_t.after) == (4, 5, mage.summaries[1])
    again = told(*TAKEN_IN, "back:1", "b", "c", "d", "fall:p")
    assert (again.p_t.id, again.p_t.kind) == (4, "fallback")


def test_a_fallback_hangs_below_the_head() -> None:
    """D12: its parent and `after` are the head, its covers the open segment."""
    mage = told("a", "fall:m", "accept", "b", "fall:n")
    assert (mage.p_t.parent, mage.p_t.after, ids(mage.p_t.cover_nodes)) == (
        mage.summaries[1],
        mage.summaries[1],
        [2],
    )


def test_revise_takes_the_boundaries_of_what_was_taken_in() -> None:
    """D7: a failed subgoal goes back to a fallback that it took in, which is then the head, as it stood."""
    mage = told(*TAKEN_IN, "fail:f 2")
    assert mage.legal_boundaries() == [0, 1, 2, 3]
    assert mage.revise(2, "l") != "UnknownBoundary"
    assert (mage.p_t.id, mage.p_t.text, mage.p_t.note, mage.phase) == (2, "m", PASS, "Active")
    assert named(mage.C) == [(0, 1, "x"), (1, 2, "m")]
    assert told(*TAKEN_IN, "back:4").p_t.id == 4


def test_where_two_end_revise_takes_the_subgoal() -> None:
    """D7: with nothing open, the subgoal and the last fallback have one boundary: that of the failed is no target."""
    words = ("a", "fall:m", "accept", "b", "fall:n", "accept", "sub:o")
    assert told(*words).legal_boundaries() == [0, 1, 2]
    assert told(*words, "back:2").p_t.id == 3
    assert told(*words, "fail:f").legal_boundaries() == [0, 1]
    assert told(*words, "accept", "c", "sub:p", "fail:f", "back:2").p_t.id == 3


def test_a_verdict_may_name_where_the_mistake_began() -> None:
    """D5: a boundary of the way below the summary's own, for `execution` only; after StaleVerdict, before BlankFeedback."""
    mage = told(*TAKEN_IN)
    assert asked(mage).boundaries == [0, 1, 2, 3]
    assert mage.apply_verdict(failed(" ", boundary=9), "old") == "StaleVerdict"
    assert mage.apply_verdict(failed(" ", boundary=4), mage.digest()) == "UnknownBoundary"
    assert mage.apply_verdict(failed("f", "summary", 2), mage.digest()) == "UnknownBoundary"
    assert mage.apply_verdict(failed(" ", boundary=2), mage.digest()) == "BlankFeedback"
    assert mage.apply_verdict(failed("f", boundary=2), mage.digest()) is None
    mage.accept()
    assert mage.p_t.note == Verdict("accepted", "f", "execution", 2)


def test_a_subgoal_is_judged_with_what_it_took_in() -> None:
    """D5, D12: `earlier` are the fallbacks that it took in, oldest first; a fallback is judged alone."""
    request = asked(told(*TAKEN_IN))
    assert (named(request.earlier), ids(request.steps)) == ([(1, 2, "m"), (2, 3, "n")], [2, 3, 4])
    assert named(request.before) == [(0, 1, "x")]
    alone = asked(told(*TAKEN_IN[:-1], "fall:o"))
    assert (alone.earlier, ids(alone.steps)) == ([], [4])
    assert named(alone.before) == [(0, 1, "x"), (1, 2, "m"), (2, 3, "n")]


def test_before_enters_the_digest() -> None:
    """D5: other words or another verdict above ask something else, folding what is above does not."""
    two = ("a", "sub:m", "pass", "b", "sub:n", "pass")
    ends = ("c", "sub:o")
    digest = told(*two, *ends).digest()
    assert told(*two[:-1], "accept", *ends).digest() != digest
    assert told("a", "sub:z", *two[2:], *ends).digest() != digest
    folded = told(*two, "fold:0 2 x", *ends)
    assert folded.digest() == digest
    assert named(asked(folded).before) == [(0, 2, "x")]
    above = canonical_hash({"above": "", "label": 0, "text": "m", "verdict": PASS})
    assert folded.hash_above() == canonical_hash({"above": above, "label": 1, "text": "n", "verdict": PASS})


def test_a_judge_is_told_what_else_was_tried() -> None:
    """D5: continuations and subgoals from its label and from what it took in, without itself and its own steps."""
    start = (
        "z",
        "sub:left",
        "back:0 l",
        "a",
        "y",
        "back:0",
        "a",
        "fall:m",
        "pass",
        "x",
        "sub:longer",
        "back:2 k",
    )
    mage = told(*start, "b", "sub:n")
    hints = asked(mage).hints
    assert hints.boundary == 0
    assert ids(hints.continuations) == [1, 3, 4]
    assert [summary.text for summary in hints.subgoals] == ["left", "longer"]
    assert hints.lessons == [Lesson(0, "l"), Lesson(2, "k")]


def test_a_judge_hears_the_lessons_above_a_fallback() -> None:
    """D5, D9: a fallback is judged with the lessons at the boundaries from the base to its label."""
    mage = told("z", "back:0 l", "a", "fall:m", "pass", "y", "back:2 k", "b", "fall:n")
    assert asked(mage).hints.lessons == [Lesson(0, "l"), Lesson(2, "k")]
    assert lessons(mage) == ["l", "k"]
    assert lessons(told("z", "back:0 l", "a", "sub:m", "pass")) == []


def test_h_shows_what_was_tried_since_the_base() -> None:
    """D9: subgoals from the base to the head; of fallbacks the head's own, but not what such a subgoal covers."""
    mage = told("a", "b", "sub:m", "fail:f", "back:0", "a", "fall:n", "pass")
    assert [summary.text for summary in mage.hints().subgoals] == ["m"]
    mage = told("a", "fall:n", "pass", "b", "fall:m", "back:1")
    assert [summary.text for summary in mage.hints().subgoals] == ["m"]
    mage = told("a", "fall:n", "pass", "b", "fall:m", "pass", "sub:o", "back:1")
    assert [summary.text for summary in mage.hints().subgoals] == ["o"]


def test_surrogate_pairs_are_joined() -> None:
    """D15: a pair and the character it stands for are one content; lone surrogates stay."""
    mage = Mage("task")
    mage.grow("\ud83d\ude00", "")
    mage.revise(0, "")
    mage.grow("\U0001f600", "")
    assert mage.l == 2
    mage.grow("\ude00\ud83d", "")
    assert mage.p_b.content == ("\ude00\ud83d", "")


def test_retext_touches_no_step() -> None:
    """D16: the head gets a new text and keeps its kind and `after`, its open segment stays, blank is refused."""
    mage = told("a", "fall:m", "b", "fail:f")
    assert mage.retext(" ") == "BlankSummary"
    assert mage.retext("n") is None
    assert (mage.p_t.text, mage.p_t.kind, mage.phase, ids(mage.R)) == ("n", "fallback", "Unverified", [2])
    taken = told(*TAKEN_IN, "retext:p")
    assert (taken.p_t.after, named(asked(taken).earlier)) == (taken.summaries[3], [(1, 2, "m"), (2, 3, "n")])
    assert mage.lessons == [Lesson(0, "f")]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("a", "do:10", "b", "do:20", "c"), ["10", "20"]),
        (("a", "do:10", "b", "do:20", "c", "fall:m", "pass"), ["10", "20"]),
        (("do:10", "a", "always:99", "b", "fall:m", "pass"), ["10", "99"]),
        (("do:10", "a", "always:99", "b", "sub:m", "pass"), ["10", "99"]),
        (("do:10", "a", "sub:m", "pass", "do:20", "b"), ["20"]),
        (("do:10", "a", "do:20", "b", "sub:m", "pass"), ["20"]),
        (("do:10", "do:11", "a", "always:99", "sub:m", "pass", "always:98"), ["10", "11", "99", "98"]),
        (("do:10", "do:10", "always:10"), ["10", "10"]),
        (("a", "do:10", "back:0"), []),
        (("a", "do:10", "back:0", "a"), ["10"]),
    ],
)
def test_instructions_in_force(words: tuple[str, ...], shown: list[str]) -> None:
    """D17: all from the base on, all standing above it, else the nearest above; a fallback hides nothing."""
    assert told(*words).instructions_shown() == shown


def test_a_summary_is_judged_by_what_came_before_its_last_step() -> None:
    """D17: the judge counts from the base of the parent to before the summary's last step."""
    assert asked(told("do:10", "a", "do:20", "b", "do:30", "sub:m")).instructions == ["10", "20"]
    both = ("a", "do:10", "b", "do:20", "c", "fall:m", "pass", "d", "sub:n")
    assert asked(told(*both)).instructions == ["10", "20"]
    assert told("a").instruct("\t") == "BlankInstruction"
    assert told("a", "sub:m", "fail:f").instruct("i") == "IllegalPhase"


def test_the_judge_may_get_every_step() -> None:
    """D18: since the root, the judge is given the whole path down to the summary's last step."""
    mage = told("a", "sub:m", "pass", "b", "c", "sub:n", "d")
    assert ids(asked(mage).steps) == [2, 3]
    assert ids(asked(mage, since_root=True).steps) == [1, 2, 3]


THREE = ("a", "sub:m", "pass", "b", "sub:n", "accept", "c", "sub:o", "pass")
"""Three summaries, one of them accepted."""


def test_a_chapter_stands_in_place_of_its_lines() -> None:
    """D19: label of the first line, boundary of the last; how many under it were accepted; nothing else changes."""
    mage = told(*THREE, "fold:0 2 x")
    assert named(mage.C) == [(0, 2, "x"), (2, 3, "o")]
    (chapter,) = mage.summaries[2].chapters
    assert (chapter.accepted, chapter.first.id, chapter.last.id) == (1, 1, 2)
    assert (mage.p_t.id, mage.phase, mage.legal_boundaries()) == (3, "Active", [0, 1, 2, 3])
    assert ids(reference_nodes.path(mage.p_t)) == [0, 1, 2, 3]


def test_chapters_fold_into_chapters() -> None:
    """D19: a chapter is a line of a longer run, and inside it it shows again."""
    mage = told(*THREE, "fold:0 2 x", "fold:0 3 y")
    assert named(mage.C) == [(0, 3, "y")]
    assert mage.summaries[3].chapters[0].accepted == 1
    assert named(lines_in(mage, 0)) == [(0, 2, "x"), (2, 3, "o")]
    assert named(lines_in(mage, 0, 2)) == [(0, 1, "m"), (1, 2, "n")]
    assert mage.inside(0, 1) == mage.summaries[1].cover_nodes
    assert mage.inside(0, 9) == mage.inside(1) == "UnknownLine"


def test_a_longer_chapter_at_the_same_end_hides_the_older() -> None:
    """D19: where chapters end at one summary the newest is shown, inside it the next older."""
    mage = told(*THREE, "fold:1 3 x", "fold:0 3 y")
    assert named(mage.C) == [(0, 3, "y")]
    assert named(lines_in(mage, 0)) == [(0, 1, "m"), (1, 3, "x")]


def test_going_back_inside_a_chapter_shows_its_lines() -> None:
    """D19: C is read from the head upwards: after a revise to inside, the lines inside show again."""
    mage = told(*THREE, "fold:0 2 x", "fold:0 3 y")
    assert named(told(*THREE, "fold:0 2 x", "fold:0 3 y", "back:2").C) == [(0, 2, "x")]
    assert mage.revise(1, "") != "UnknownBoundary"
    assert named(mage.C) == [(0, 1, "m")]


def test_a_summary_that_is_judged_anew_loses_its_chapters() -> None:
    """D19: met again by compress, the chapters that end at it are dropped, those that end above it stand."""
    folded = (*THREE, "fold:0 2 x", "fold:0 3 y")
    mage = told(*folded, "back:2", "c", "sub:o")
    assert named(mage.C) == [(0, 2, "x"), (2, 3, "o")]
    assert named(told(*folded, "back:1", "b", "sub:n").C) == [(0, 1, "m"), (1, 2, "n")]


def test_what_can_be_folded() -> None:
    """D19: a run of two whole lines or more, none a fallback, in Active; then a text, then the request's digest."""
    mage = told(*THREE)
    for first, last in ((0, 1), (0, 9), (1, 1), (2, 1), (9, 3), (3, 0)):
        assert fold(mage, first, last, "x") == "UnfoldableRange"
    assert mage.fold(0, 9, " ", "") == "UnfoldableRange"
    assert mage.fold(0, 2, "\n", "") == "BlankSummary"
    assert mage.fold(0, 2, "x", "") == "StaleVerdict"
    cut = told(*THREE[:6], "c", "fall:o", "pass")
    assert fold(cut, 1, 3, "x") == "UnfoldableRange"
    assert fold(cut, 0, 2, "x") is None
    assert fold(told(*THREE[:-1]), 0, 2, "x") == "IllegalPhase"
    assert fold(told(*THREE, "fold:0 2 x"), 1, 3, "y") == "UnfoldableRange"


def test_a_chapter_is_judged_on_what_it_replaces() -> None:
    """D19: the request holds task, instructions in force, lines and text; the digest is over all of these."""
    mage = told("do:i", *THREE, "fold:0 2 x", "do:j")
    request = mage.fold_request(0, 3, "y")
    assert isinstance(request, FoldRequest)
    assert (request.task, request.instructions, named(request.lines)) == (
        "task",
        ["j"],
        [(0, 2, "x"), (2, 3, "o")],
    )
    lines = [[0, 2, "x", 1], [2, 3, "o", PASS]]
    asks = {"instructions": ["j"], "lines": lines, "task": "task", "text": "y"}
    assert request.digest == canonical_hash(asks)

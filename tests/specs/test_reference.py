"""The reference says what the decisions say: each decision as a short story, D by D.

Nothing here asks the engine. That the two agree is shown elsewhere, over every story of some length.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from pathlib import Path

import pytest

from specs import reference, reference_nodes
from specs.reference import Mage
from specs.reference_nodes import Instruction, Left, Lesson, Request, Verdict

PASS = Verdict("passed")


def failed(feedback: str, fault: str = "execution") -> Verdict:
    """Return a failed verdict."""
    return Verdict("failed", feedback, fault)


def told(*words: str) -> Mage:
    """Return the reference after a story: a word a command, and what it names after a colon.

    `a`, `b` and so on grow; `sub:m` and `fall:m` compress; `pass`, `fail:f`, `bad text:f`, `accept`; `retext:m`;
    `back:3` revises, `back:3 l` with a lesson; `do:i` and `always:i` instruct.
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
            fault = "execution" if word == "fail" else "summary"
            return mage.apply_verdict(failed(what, fault), mage.digest())
        case "accept":
            return mage.accept()
        case "retext":
            return mage.retext(what)
        case "back":
            boundary, _, lesson = what.partition(" ")
            return mage.revise(int(boundary), lesson)
        case "do" | "always":
            return mage.instruct(what, standing=word == "always")
        case _:
            return mage.grow(word, "seen")


def asked(mage: Mage, *, since_root: bool = False) -> Request:
    """Return what the judge is asked."""
    request = mage.judge_request(since_root)
    assert isinstance(request, Request)
    return request


def ids(nodes: list[reference_nodes.Step]) -> list[int]:
    """Return the ids of steps."""
    return [step.id for step in nodes]


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
    assert [ids(summary.cover_nodes) for summary in mage.C] == [[1, 2], [3]]
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
        '{"covers":[[1,"a\\ud800","o\\n"]],"earlier":[],"instructions":[],"kind":"subgoal","summary":1,'
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
    assert mage.hints()[2] == ["l", "k", "l"]
    assert told("a", "back:0 l", "a", "sub:m").hints()[2] == []
    continuations, subgoals, _ = told("a", "sub:m", "fail:f", "back:0", "b", "back:0").hints()
    assert ids(continuations) == [1, 2]
    assert [(summary.id, summary.note.word) for summary in subgoals] == [(1, "failed")]


def test_growing_into_a_branch_that_was_left_merges() -> None:
    """D10: the same content walks back into the old step, and nothing is added."""
    mage = told("a", "b", "back:0", "a", "b")
    assert (mage.p_b.id, mage.l, ids(mage.R)) == (2, 3, [1, 2])


def test_a_fallback_is_completed_in_place() -> None:
    """D12: with nothing open, compressing a fallback head as a subgoal re-texts it, under D4's rule."""
    mage = told("a", "fall:m", "fail:f", "accept", "sub:n")
    assert (len(mage.summaries), mage.p_t.kind, mage.p_t.text, mage.phase) == (
        2,
        "subgoal",
        "n",
        "Unverified",
    )
    assert (mage.lessons, len(mage.C)) == ([Lesson(0, "f")], 1)
    assert told("a", "fall:m", "accept").compress("n", "fallback") == "EmptySegment"
    assert told("a", "fall:m", "accept").compress(" ") == "BlankSummary"
    assert told("a", "sub:m", "accept").compress("n") == "EmptySegment"


def test_a_subgoal_is_judged_with_its_fallbacks() -> None:
    """D12: `earlier` is the run of fallbacks right above, oldest first; a fallback is judged alone."""
    run = ("a", "sub:x", "pass", "b", "fall:m", "pass", "c", "fall:n", "pass", "d")
    request = asked(told(*run, "sub:o"))
    assert (request.earlier, ids(request.steps)) == ([(1, "m"), (2, "n")], [2, 3, 4])
    alone = asked(told(*run, "fall:o"))
    assert (alone.earlier, ids(alone.steps)) == ([], [4])


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
    """D16: the head gets a new text and perhaps a kind, its open segment stays, blank is refused."""
    mage = told("a", "fall:m", "b", "fail:f")
    assert mage.retext(" ") == "BlankSummary"
    assert mage.retext("n", "subgoal") is None
    assert (mage.p_t.text, mage.p_t.kind, mage.phase, ids(mage.R)) == ("n", "subgoal", "Unverified", [2])
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

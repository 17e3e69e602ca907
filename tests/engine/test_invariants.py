"""Forged states: each invariant is broken on purpose and named by `check`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from rpds import HashTrieMap, List

from mage import Failed, Passed
from mage.engine import (
    Active,
    Chapter,
    Digest,
    Instruction,
    InvariantError,
    Pending,
    Rejected,
    State,
    Step,
    StepId,
    SummaryId,
    Tree,
    Unverified,
    accept,
    check,
    compress,
    fold,
    fold_request,
    grow,
    instruct,
    revise,
    start,
)
from mage.engine.invariants import INVARIANTS
from mage.engine.judging import above, digest_of
from mage.engine.nodes import ROOT
from mage.engine.tree import CHUNK


def sound() -> Unverified:
    """Return a state with a summary on the path, what it took in, one beside it, and something left everywhere."""
    state = start("task")
    for number in range(3):
        state = grow(state, f"a{number}", "o")
    state = accept(compress(state, "left").unwrap())
    back = revise(state, 0, "lesson").unwrap().state
    assert isinstance(back, Active)
    state = instruct(grow(grow(back, "b", "o"), "c", "o"), "do").unwrap()
    state = instruct(accept(compress(state, "one", "fallback").unwrap()), "always", standing=True).unwrap()
    pending = compress(grow(state, "d", "o"), "two").unwrap()
    return grow(pending, "e", "o")


def step(state: State, number: int, **changes: Any) -> State:
    """Return the state with another step in place of one of its own, all in the tail."""
    tail = list(state.tree._tail)
    tail[number] = attrs.evolve(tail[number], **changes)
    return with_tree(state, tail=tuple(tail))


def summary(state: State, number: int, **changes: Any) -> State:
    """Return the state with another summary in place of one of its own."""
    changed = attrs.evolve(state.tree.summary(SummaryId(number)), **changes)
    if number == state.tree.summary_head:
        return top(state, head=changed)
    return top(state, others=state.tree._settled.top.others.insert(SummaryId(number), changed))


def top(state: State, **changes: Any) -> State:
    """Return the state with another top layer."""
    return settled(state, top=attrs.evolve(state.tree._settled.top, **changes))


def notes(state: State, **changes: Any) -> State:
    """Return the state with other notes."""
    return settled(state, notes=attrs.evolve(state.tree._settled.notes, **changes))


def settled(state: State, **changes: Any) -> State:
    """Return the state with another settled part."""
    return with_tree(state, settled=attrs.evolve(state.tree._settled, **changes))


def with_tree(state: State, **changes: Any) -> State:
    """Return the state with a changed tree."""
    return attrs.evolve(state, tree=attrs.evolve(state.tree, **changes))


def ids(*numbers: int) -> tuple[StepId, ...]:
    """Return step ids."""
    return tuple(map(StepId, numbers))


def asked(state: State) -> State:
    """Return the state with the digest that is right for it, whatever else is wrong."""
    return Unverified(state.tree, digest_of(state.tree))


def below_fallback(state: State) -> State:
    """Return the state in which the subgoal continues the fallback that it should have taken in."""
    fallback = state.tree.summary(SummaryId(2))
    place: dict[str, Any] = {"parent": SummaryId(2), "after": SummaryId(2), "label": StepId(5)}
    moved = summary(state, 3, covers=ids(6), above=above(fallback), **place)
    return top(moved, branches=HashTrieMap({SummaryId(0): HashTrieMap({StepId(5): SummaryId(2)})}))


def chaptered() -> Active:
    """Return a state with a chapter of two summaries, in a chapter of that and a third; one more is shown."""
    state = start("task")
    for number in range(4):
        state = grow(state, f"a{number}", "o")
        state = accept(compress(state, f"text {number}").unwrap())
    for last, text in ((2, "two"), (3, "three")):
        request = fold_request(state, 0, last, text).unwrap()
        state = fold(state, 0, last, text, request.digest).unwrap()
    return state


def chapters(state: State, end: int, *kept: Chapter) -> State:
    """Return the state with these chapters at the end of a summary."""
    return top(state, chapters=state.tree._settled.top.chapters.insert(SummaryId(end), kept))


def outer(state: State, **changes: Any) -> State:
    """Return the state with another outer chapter."""
    return chapters(state, 3, attrs.evolve(state.tree.chapters_at(SummaryId(3))[0], **changes))


CHAPTERS: dict[str, tuple[str, Callable[[State], State]]] = {
    "at no summary": (
        "chapters are kept at summary 9, where they do not end",
        lambda s: chapters(s, 9, *s.tree.chapters_at(SummaryId(3))),
    ),
    "at the root": (
        "chapters are kept at summary 0, where they do not end",
        lambda s: chapters(s, 0, *s.tree.chapters_at(SummaryId(3))),
    ),
    "at the summary that comes next": (
        "chapters are kept at summary 5, where they do not end",
        lambda s: chapters(s, 5, attrs.evolve(s.tree.chapters_at(SummaryId(3))[0], last=SummaryId(5))),
    ),
    "of the root": (
        "chapters are kept at summary 0, where they do not end",
        lambda s: chapters(s, 0, attrs.evolve(s.tree.chapters_at(SummaryId(3))[0], last=SummaryId(0))),
    ),
    "from no summary": (
        "a chapter that ends at summary 3 begins at summary 9",
        lambda s: outer(s, first=SummaryId(9)),
    ),
    "from the root": (
        "a chapter that ends at summary 3 begins at summary 0",
        lambda s: outer(s, first=SummaryId(0)),
    ),
    "at a summary without any": (
        "chapters are kept at summary 4, where they do not end",
        lambda s: chapters(s, 4),
    ),
    "of another end": (
        "chapters are kept at summary 3, where they do not end",
        lambda s: outer(s, last=SummaryId(2)),
    ),
    "from a summary that is not above": (
        "a chapter that ends at summary 3 begins at summary 4",
        lambda s: outer(s, first=SummaryId(4)),
    ),
    "of one summary": (
        "a chapter that ends at summary 3 begins at summary 3",
        lambda s: outer(s, first=SummaryId(3)),
    ),
    "at the first summary": (
        "a chapter that ends at summary 1 begins at summary 1",
        lambda s: chapters(s, 1, attrs.evolve(s.tree.chapters_at(SummaryId(3))[0], last=SummaryId(1))),
    ),
    "another label": (
        "the chapter 1..3 does not say what stands under it",
        lambda s: outer(s, label=StepId(1)),
    ),
    "another boundary": (
        "the chapter 0..4 does not say what stands under it",
        lambda s: outer(s, boundary=StepId(4)),
    ),
    "another count": (
        "the chapter 0..3 does not say what stands under it",
        lambda s: outer(s, accepted=2),
    ),
    "blank": ("the chapter 0..3 is blank, or stands for a fallback", lambda s: outer(s, text=" ")),
    "half of a chapter": (
        "the lines under the chapter 1..3 do not run on",
        lambda s: outer(s, first=SummaryId(2), label=StepId(1), accepted=2),
    ),
}


@pytest.mark.parametrize("forgery", CHAPTERS)
def test_a_forged_chapter_is_named(forgery: str) -> None:
    """A chapter stands for two or more summaries of its path, says so, and cuts no other (I12)."""
    said, forge = CHAPTERS[forgery]
    check(chaptered())
    with pytest.raises(InvariantError) as caught:
        check(forge(chaptered()))
    assert (caught.value.invariant, caught.value.detail) == ("I12", said)
    assert broken(12, forge(chaptered()))[0] == said


def test_a_chapter_over_a_fallback_is_named() -> None:
    """Only finished subgoals are folded (D19, I12)."""
    state = accept(compress(grow(start("task"), "a", "o"), "one").unwrap())
    state = accept(compress(grow(state, "b", "o"), "half", "fallback").unwrap())
    text = Chapter(StepId(0), StepId(2), "both", 2, SummaryId(1), SummaryId(2))
    assert broken(12, chapters(state, 2, text)) == ["the chapter 0..2 is blank, or stands for a fallback"]


def cut(*, short: bool = False) -> Unverified:
    """Return a state whose pending subgoal took two fallbacks in; or one, the other going on beyond its end."""
    state: Active = accept(compress(grow(start("task"), "a", "o"), "base").unwrap())
    state = accept(compress(grow(state, "b", "o"), "half", "fallback").unwrap())
    state = accept(compress(grow(grow(state, "c", "o"), "d", "o"), "more", "fallback").unwrap())
    if short:
        back = revise(state, 2, "").unwrap().state
        assert isinstance(back, Active)
        state = grow(back, "c", "o")
    return compress(state, "whole").unwrap()


WAYS: dict[str, tuple[str, State]] = {
    "past a summary of the path": (
        "the way leaves out summaries of the summary path",
        summary(chaptered(), 4, after=SummaryId(2)),
    ),
    "past a fallback": (
        "summary 4 cannot have taken summary 3 in",
        asked(summary(cut(), 3, after=SummaryId(1))),
    ),
    "by a fallback that goes on beyond": (
        "summary 4 cannot have taken summary 3 in",
        asked(summary(cut(short=True), 4, after=SummaryId(3))),
    ),
    "by a subgoal in the second place": (
        "summary 4 cannot have taken summary 3 in",
        asked(summary(cut(), 3, kind="subgoal")),
    ),
}


@pytest.mark.parametrize("forgery", WAYS)
def test_a_forged_way_is_named(forgery: str) -> None:
    """What a subgoal took in runs on from its base, within its covers, each below the one before it (I11)."""
    said, state = WAYS[forgery]
    check(cut())
    check(cut(short=True))
    assert broken(11, state) == [said]


STRAY = Step(StepId(8), StepId(0), "b", "o")
FORGERIES: dict[str, tuple[str, Callable[[State], State]]] = {
    "no steps at all": ("I1", lambda s: with_tree(s, tail=())),
    "tail off its chunk": ("I1", lambda s: with_tree(s, tail=s.tree._tail[1:])),
    "chunk missing": (
        "I1",
        lambda s: with_tree(s, tail=tuple(attrs.evolve(x, id=StepId(x.id + CHUNK)) for x in s.tree._tail)),
    ),
    "chunk too short": (
        "I1",
        lambda s: with_tree(
            settled(s, chunks=HashTrieMap({0: (ROOT,)})),
            tail=tuple(attrs.evolve(x, id=StepId(x.id + CHUNK)) for x in s.tree._tail),
        ),
    ),
    "one chunk too many": (
        "I1",
        lambda s: settled(s, chunks=HashTrieMap({7: tuple(s.tree._tail)})),
    ),
    "tail too long": ("I1", lambda s: with_tree(s, tail=tuple(s.tree._tail) * CHUNK)),
    "ids that jump": ("I1", lambda s: step(s, -1, id=StepId(99))),
    "root with content": ("I1", lambda s: step(s, 0, action="x")),
    "id off its place": ("I1", lambda s: step(s, 2, id=StepId(5))),
    "parent not smaller": ("I1", lambda s: step(s, 2, parent=StepId(2))),
    "parent dangling": ("I1", lambda s: step(s, 2, parent=StepId(-1))),
    "equal siblings": ("I2", lambda s: with_tree(s, tail=(*s.tree._tail, STRAY))),
    "root of summaries changed": ("I3", lambda s: summary(s, 0, text="x")),
    "summary missing": (
        "I3",
        lambda s: top(
            s,
            others=s.tree._settled.top.others.remove(SummaryId(1)).insert(
                SummaryId(9), s.tree.summary(SummaryId(1))
            ),
        ),
    ),
    "summary kept twice": (
        "I3",
        lambda s: top(s, others=s.tree._settled.top.others.insert(SummaryId(3), s.tree.head_summary)),
    ),
    "summary under another id": ("I3", lambda s: summary(s, 1, id=SummaryId(2))),
    "summary below itself": ("I3", lambda s: summary(s, 2, parent=SummaryId(2))),
    "summary after the one that comes next": ("I3", lambda s: summary(s, 2, after=SummaryId(4))),
    "label off": ("I3", lambda s: summary(s, 2, label=StepId(1))),
    "covers nothing": ("I3", lambda s: summary(s, 3, covers=())),
    "covers with a gap": ("I3", lambda s: summary(s, 1, covers=ids(1, 3))),
    "covers out of order": ("I3", lambda s: summary(s, 1, covers=ids(2, 1, 3))),
    "covers off the tree": ("I3", lambda s: summary(s, 1, covers=ids(1, 2, 99))),
    "covers the step that comes next": ("I3", lambda s: summary(s, 3, covers=ids(4, 5, 6, 8))),
    "equal sibling covers": (
        "I4",
        lambda s: top(
            s,
            others=s.tree._settled.top.others.insert(
                SummaryId(4), attrs.evolve(s.tree.summary(SummaryId(1)), id=SummaryId(4))
            ),
        ),
    ),
    "summary head off its place": ("I3", lambda s: summary(s, 3, id=SummaryId(9))),
    "step head unknown": ("I5", lambda s: with_tree(s, step_head=StepId(99))),
    "step head at the step that comes next": ("I5", lambda s: with_tree(s, step_head=StepId(8))),
    "step head beside the boundary": ("I5", lambda s: with_tree(s, step_head=StepId(3))),
    "untrusted above the head": ("I8", lambda s: summary(s, 2, verdict=Failed("no"))),
    "pending in Active": ("I8", lambda s: Active(s.tree)),
    "pending in Rejected": ("I8", lambda s: Rejected(s.tree)),
    "passed in Unverified": ("I8", lambda s: summary(s, 3, verdict=Passed())),
    "lesson at no boundary": ("I9", lambda s: notes(s, lessons=HashTrieMap({StepId(1): List(["x"])}))),
    "blank lesson": ("I9", lambda s: notes(s, lessons=HashTrieMap({StepId(0): List([" "])}))),
    "no lesson where one is kept": (
        "I9",
        lambda s: notes(s, lessons=s.tree._settled.notes.lessons.insert(StepId(3), List())),
    ),
    "no instruction where one is kept": (
        "I9",
        lambda s: notes(s, instructions=s.tree._settled.notes.instructions.insert(StepId(3), ())),
    ),
    "blank instruction": (
        "I9",
        lambda s: notes(s, instructions=HashTrieMap({StepId(5): (Instruction(" "),)})),
    ),
    "instruction at no step": (
        "I9",
        lambda s: notes(s, instructions=HashTrieMap({StepId(99): (Instruction("x"),)})),
    ),
    "instruction at the step that comes next": (
        "I9",
        lambda s: notes(s, instructions=HashTrieMap({StepId(8): (Instruction("x"),)})),
    ),
    "branch not indexed": ("I10", lambda s: settled(s, branches=HashTrieMap())),
    "branch of nobody": (
        "I10",
        lambda s: settled(s, branches=s.tree._settled.branches.insert(StepId(7), HashTrieMap())),
    ),
    "branch below nobody": (
        "I10",
        lambda s: settled(
            s,
            branches=s.tree._settled.branches.insert(StepId(7), HashTrieMap({("x", "y"): StepId(4)})),
        ),
    ),
    "branch indexed twice": (
        "I10",
        lambda s: settled(
            s,
            branches=s.tree._settled.branches.insert(
                StepId(0), s.tree._settled.branches[StepId(0)].insert(("x", "y"), StepId(4))
            ),
        ),
    ),
    "summary not indexed": ("I10", lambda s: top(s, branches=HashTrieMap())),
    "summary branch of nobody": (
        "I10",
        lambda s: top(s, branches=s.tree._settled.top.branches.insert(SummaryId(3), HashTrieMap())),
    ),
    "summary branch below nobody": (
        "I10",
        lambda s: top(
            s,
            branches=s.tree._settled.top.branches.insert(
                SummaryId(3), HashTrieMap({StepId(9): SummaryId(1)})
            ),
        ),
    ),
    "summary indexed twice": (
        "I10",
        lambda s: top(
            s,
            branches=s.tree._settled.top.branches.insert(
                SummaryId(0), s.tree._settled.top.branches[SummaryId(0)].insert(StepId(9), SummaryId(1))
            ),
        ),
    ),
    "instruction off the path": ("I10", lambda s: notes(s, once=List())),
    "standing off the path": ("I10", lambda s: notes(s, standing=List([StepId(1)]))),
    "base off": ("I10", lambda s: summary(s, 2, base=SummaryId(2))),
    "running hash off": ("I10", lambda s: summary(s, 3, above=Digest("x"))),
    "digest of something else": ("I10", lambda s: Unverified(s.tree, Digest("0" * 64))),
    "a way that is a circle": ("I11", lambda s: summary(s, 2, after=SummaryId(2))),
    "a way past its own summaries": ("I11", lambda s: asked(summary(s, 3, after=SummaryId(1)))),
    "what it took in is no fallback": (
        "I11",
        lambda s: summary(s, 2, kind="subgoal", base=SummaryId(2)),
    ),
    "a fallback that took one in": (
        "I11",
        lambda s: asked(summary(s, 3, kind="fallback", base=SummaryId(0))),
    ),
    "a subgoal below a fallback": (
        "I11",
        lambda s: asked(below_fallback(s)),
    ),
}

SAID = {
    "no steps at all": "the steps should be kept in chunks of 32, all but the newest full",
    "tail off its chunk": "the steps should be kept in chunks of 32, all but the newest full",
    "chunk missing": "the steps should be kept in chunks of 32, all but the newest full",
    "chunk too short": "the steps should be kept in chunks of 32, all but the newest full",
    "one chunk too many": "the steps should be kept in chunks of 32, all but the newest full",
    "tail too long": "the steps should be kept in chunks of 32, all but the newest full",
    "ids that jump": "step 7 says it is 99",
    "root with content": "step 0 should be the root, found Step(id=0, parent=-1, action='x', observation='')",
    "id off its place": "step 2 says it is 5",
    "parent not smaller": "step 2 has parent 2",
    "parent dangling": "step 2 has parent -1",
    "equal siblings": "step 8 has the content of an older child of step 0",
    "root of summaries changed": "summary 0 should be the root, covering step 0, passed",
    "summary missing": "summary 1 is missing or misplaced: None",
    "summary kept twice": "summary 3 is the head, and another is kept under its id",
    "summary under another id": "summary 1 is missing or misplaced: Summary(id=2, parent=0, after=0, label=0, covers=(1, 2, 3), text='left', kind='subgoal', verdict=Accepted(despite=None))",
    "summary below itself": "summary 2 is missing or misplaced: Summary(id=2, parent=2, after=0, label=0, covers=(4, 5), text='one', kind='fallback', verdict=Accepted(despite=None))",
    "summary after the one that comes next": "summary 2 is missing or misplaced: Summary(id=2, parent=0, after=4, label=0, covers=(4, 5), text='one', kind='fallback', verdict=Accepted(despite=None))",
    "label off": "summary 2 has label 1, its parent ends at 0",
    "covers nothing": "summary 3 covers nothing",
    "covers with a gap": "summary 1 covers step 3, which does not follow step 1",
    "covers out of order": "summary 1 covers step 2, which does not follow step 0",
    "covers off the tree": "summary 1 covers step 99, which does not follow step 2",
    "covers the step that comes next": "summary 3 covers step 8, which does not follow step 6",
    "equal sibling covers": "summary 4 has the covers of an older child of summary 0",
    "summary head off its place": "summary 3 is missing or misplaced: None",
    "step head unknown": "the step head 99 is no step",
    "step head at the step that comes next": "the step head 8 is no step",
    "step head beside the boundary": "the step head 3 is not below the current boundary 6",
    "untrusted above the head": "summary 2 above the head is Failed(feedback='no', fault='execution', boundary=None)",
    "pending in Active": "the summary head is Pending() in Active",
    "pending in Rejected": "the summary head is Pending() in Rejected",
    "passed in Unverified": "the summary head is Passed() in Unverified",
    "lesson at no boundary": "a lesson at step 1 is blank, or no summary ends there",
    "blank lesson": "a lesson at step 0 is blank, or no summary ends there",
    "no lesson where one is kept": "a lesson at step 3 is blank, or no summary ends there",
    "no instruction where one is kept": "an instruction at step 3 is blank, or there is no such step",
    "blank instruction": "an instruction at step 5 is blank, or there is no such step",
    "instruction at no step": "an instruction at step 99 is blank, or there is no such step",
    "instruction at the step that comes next": "an instruction at step 8 is blank, or there is no such step",
    "branch not indexed": "step 4 is not found by its content",
    "branch of nobody": "the branch index names a step that has no children",
    "branch below nobody": "the branch index names a step that has no children",
    "branch indexed twice": "the children of step 0 are [1, 4], the index says otherwise",
    "summary not indexed": "summary 2 is not found by its boundary",
    "summary branch of nobody": "the summary index names a summary that has no children",
    "summary branch below nobody": "the summary index names a summary that has no children",
    "summary indexed twice": "the children of summary 0 are [1, 2, 3], the index says otherwise",
    "instruction off the path": "the instructions of the active path are not those that its steps carry",
    "standing off the path": "the instructions of the active path are not those that its steps carry",
    "base off": "summary 2 says that its base is 2, it is 0",
    "running hash off": "summary 3 keeps another hash of what stands above it",
    "digest of something else": "the digest is not that of the summary head",
    "a way that is a circle": "the way does not lead to the root",
    "a way past its own summaries": "summary 3 cannot have taken summary 1 in",
    "what it took in is no fallback": "summary 3 cannot have taken summary 2 in",
    "a fallback that took one in": "summary 3 is a fallback and took others in",
    "a subgoal below a fallback": "summary 3 is a subgoal and continues a fallback",
}
"""What the broken invariant says first of each."""


def test_a_sound_state_passes() -> None:
    """What the operations make holds every invariant, in every phase."""
    check(sound())
    check(start("task"))


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_state_is_named(forgery: str) -> None:
    """Whatever is broken, check ends, and names the invariant by number and sentence, and the place."""
    invariant, forge = FORGERIES[forgery]
    with pytest.raises(InvariantError) as caught:
        check(forge(sound()))
    assert caught.value.invariant == invariant
    assert caught.value.name == INVARIANTS[int(invariant[1:]) - 1].__name__
    assert caught.value.detail == broken(int(invariant[1:]), forge(sound()))[0] == SAID[forgery]


def broken(number: int, state: State) -> list[str]:
    """Return what one invariant finds by itself, where `check` would have stopped at an earlier one."""
    return list(INVARIANTS[number - 1](state))


def test_what_others_imply_is_found_by_itself_too() -> None:
    """I6 and I7 follow from I3 and I5, and are still checked on their own."""
    assert broken(6, summary(sound(), 3, covers=ids(7)))
    assert broken(7, summary(sound(), 3, label=StepId(-1)))
    assert not broken(6, sound())
    assert not broken(7, sound())


def test_the_root_follows_no_step() -> None:
    """Covers that run through what is no step and on to the root are named at both."""
    assert broken(3, summary(sound(), 3, covers=ids(-1, 0))) == [
        "summary 3 covers step -1, which does not follow step 0",
        "summary 3 covers step 0, which does not follow step -1",
    ]


def test_every_invariant_has_a_forgery() -> None:
    """Each of I1 to I12 is broken by some forgery, or by the test above."""
    assert {invariant for invariant, _ in FORGERIES.values()} | {"I6", "I7", "I12"} == {
        f"I{n}" for n in range(1, 13)
    }


def test_each_phase_stands_for_its_verdicts() -> None:
    """A pending head is Unverified and nothing else (D6)."""
    state = sound()
    assert state.tree.summary(state.tree.summary_head).verdict == Pending()
    assert isinstance(state.tree, Tree)

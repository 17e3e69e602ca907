"""I1 to I12 and L1 to L14 of specs/README.md, a property each, over random histories on the real engine.

A test has the sentence-name of its property, and its docstring is the sentence.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mage
import mage.engine
from mage import Failed, Passed, view
from mage.engine import (
    ApplyVerdict,
    Fold,
    Grow,
    Kind,
    Revise,
    State,
    StepId,
    Unverified,
    fold_request,
    replay,
)
from mage.engine import invariants as engine
from mage.engine.journal import Operation
from mage.testing import Edge, History, canonical, carry_out, histories
from mage.testing.strategies import legal_boundaries
from specs import decision_laws, invariants, laws
from specs.driver import overtaken_chapters, perform
from specs.invariants import Invariant
from specs.laws import Law, Snapshot
from specs.reference import Mage


def broken_by_states(invariant: Invariant, own: Invariant, history: History) -> list[str]:
    """Return what breaks an invariant: as the specs state it, and as the engine itself does."""
    return [wrong for state in history.states for stated in (invariant, own) for wrong in stated(state)]


def broken_by_edges(law: Law, history: History) -> list[str]:
    """Return what breaks a law, over every command that was tried."""
    return [wrong for edge in history.edges for wrong in law(edge)]


@given(histories())
def test_steps_form_a_tree(history: History) -> None:
    """I1: step ids are 0..next-1, every parent id is smaller, one root."""
    assert not broken_by_states(invariants.steps_form_a_tree, engine.steps_form_a_tree, history)


@given(histories())
def test_siblings_differ(history: History) -> None:
    """I2: no two children of a step have the same content."""
    assert not broken_by_states(invariants.siblings_differ, engine.siblings_differ, history)


@given(histories())
def test_covers_are_contiguous(history: History) -> None:
    """I3: every summary but the root covers a non-empty downward run of steps whose first has the parent's
    boundary as its parent; its label is that boundary.
    """
    assert not broken_by_states(invariants.covers_are_contiguous, engine.covers_are_contiguous, history)


@given(histories())
def test_sibling_covers_differ(history: History) -> None:
    """I4: no two children of a summary have the same covers."""
    assert not broken_by_states(invariants.sibling_covers_differ, engine.sibling_covers_differ, history)


@given(histories())
def test_heads_agree(history: History) -> None:
    """I5: the step head is the current boundary or below it."""
    assert not broken_by_states(invariants.heads_agree, engine.heads_agree, history)


@given(histories())
def test_path_is_whole(history: History) -> None:
    """I6: the covers along the summary path, then the open segment, are exactly the active path."""
    assert not broken_by_states(invariants.path_is_whole, engine.path_is_whole, history)


@given(histories())
def test_labels_rise(history: History) -> None:
    """I7: labels rise strictly along any summary path below the root."""
    assert not broken_by_states(invariants.labels_rise, engine.labels_rise, history)


@given(histories())
def test_way_is_trusted(history: History) -> None:
    """I8: on the way every summary but the head has passed or was accepted openly; so has the head in
    Active, is pending in Unverified, has failed in Rejected.
    """
    assert not broken_by_states(invariants.way_is_trusted, engine.way_is_trusted, history)


@given(histories())
def test_lessons_stand_at_boundaries(history: History) -> None:
    """I9: lessons are not blank, each at a boundary of some summary; instructions are not blank, each at a
    step.
    """
    own = engine.lessons_stand_at_boundaries
    assert not broken_by_states(invariants.lessons_stand_at_boundaries, own, history)


@given(histories())
def test_indexes_agree(history: History) -> None:
    """I10: children and merge indexes say what the nodes say."""
    assert not broken_by_states(invariants.indexes_agree, engine.indexes_agree, history)


@given(histories())
def test_taken_in_are_fallbacks(history: History) -> None:
    """I11: on the way, between a summary of the summary path and its parent stand fallbacks alone, whose
    covers tile a prefix of its own; between a fallback and its parent nothing. On the summary path
    fallbacks stand only at the end.
    """
    assert not broken_by_states(invariants.taken_in_are_fallbacks, engine.taken_in_are_fallbacks, history)


@given(histories())
def test_chapters_unfold(history: History) -> None:
    """I12: the lines of C, unfolded, are the summary path; every summary under a chapter that is shown is
    trusted and says what it said when the chapter was judged.
    """
    assert not broken_by_states(invariants.chapters_unfold, engine.chapters_unfold, history)
    reference = Mage(history.start.tree.task)
    for edge in history.edges:
        perform(reference, edge.command)
        assert overtaken_chapters(reference) == ""


@given(histories())
def test_nothing_is_lost(history: History) -> None:
    """L1: every step keeps its parent and content; every summary its id, parent, label and covers; lessons
    and instructions before are a prefix of those after.
    """
    assert not broken_by_edges(laws.nothing_is_lost, history)


@given(histories())
def test_old_versions_stand(history: History) -> None:
    """L2: the state before is unchanged, to the byte, by any operation on it."""
    taken: list[Snapshot] = [Snapshot.of(history.start)]
    for edge in history.edges:
        taken.append(Snapshot.of(edge.after))
        carry_out(taken[-2].state, edge.command)
    assert [wrong for snapshot in taken for wrong in laws.old_versions_stand(snapshot)] == []


@given(histories())
def test_states_cannot_be_changed(history: History) -> None:
    """L2: nobody can assign to a state, its tree or its nodes."""
    state = history.states[-1]
    parts = (
        state,
        state.tree,
        state.tree.step(state.tree.step_head),
        state.tree.summary(state.tree.summary_head),
    )
    for part in parts:
        for field in attrs.fields(type(part)):
            with pytest.raises(attrs.exceptions.FrozenInstanceError):
                setattr(part, field.name, None)


@given(histories())
def test_grow_is_idempotent(history: History) -> None:
    """L3: growing the same content again from the same head reaches the same step and adds nothing."""
    assert not broken_by_edges(laws.grow_is_idempotent, history)


@given(histories())
def test_compress_reuses_summary(history: History) -> None:
    """L4: compressing the same covers again from the same head reaches the same `SummaryId`."""
    assert not broken_by_edges(laws.compress_reuses_summary, history)


@given(histories())
def test_revise_restores(history: History) -> None:
    """L5: after `revise(b)` the summary path is that of the target, texts and verdicts as they stood: for a
    target on the summary path the prefix that ends at b; b is the step head; R is empty.
    """
    edges = [carry_out(state, Revise(b, "")) for state in history.states for b in legal_boundaries(state)]
    assert all(edge.refusal is None for edge in edges)
    assert [wrong for edge in (*history.edges, *edges) for wrong in laws.revise_restores(edge)] == []


@given(histories())
def test_errors_are_isolated(history: History) -> None:
    """L6: right after `revise(b)` no abandoned step or summary is in C or R."""
    edges = [carry_out(state, Revise(b, "")) for state in history.states for b in legal_boundaries(state)]
    assert [wrong for edge in (*history.edges, *edges) for wrong in laws.errors_are_isolated(edge)] == []


def refused(state: State) -> Iterator[Operation]:
    """Yield commands that any state refuses, and in which every kind of refusal occurs."""
    digest = state.digest if isinstance(state, Unverified) else mage.engine.Digest("none")
    yield from (mage.engine.Instruct(" "), mage.engine.Compress("\n"), mage.engine.Retext(""))
    yield from (ApplyVerdict(Failed("\t"), digest), ApplyVerdict(Passed(), mage.engine.Digest("")))
    yield from (Revise(StepId(-1)), Revise(state.tree.next_step, "lesson"))
    if isinstance(state, mage.engine.Rejected):
        yield from (Grow("a", "o"), Revise(state.tree.boundary, "lesson"))
    if isinstance(state, mage.engine.Active):
        yield from (mage.engine.Accept(), mage.engine.Retext("m"))
    else:
        yield mage.engine.Compress("m")


@given(histories())
def test_refusal_changes_nothing(history: History) -> None:
    """L7: a refused operation leaves the state as it was."""
    for state in history.states:
        before = Snapshot.of(state)
        for command in refused(state):
            edge = carry_out(state, command)
            assert edge.refusal is not None
            assert edge.after is state
            assert not list(laws.refusal_changes_nothing(edge, before))


REPLAYED = """
import sys
from mage.engine import *
from mage.testing import canonical
for journal in eval(sys.stdin.read()):
    state = replay(journal).unwrap()
    print(ascii((canonical(state), view(state))))
"""


@settings(max_examples=8)
@given(st.lists(histories(), min_size=1, max_size=6))
def test_same_journal_same_state(drawn: list[History]) -> None:
    """L8: replaying a journal gives an equal state and equal rendering, on any machine, with any hash seed."""
    for history in drawn:
        again = replay(history.journal).unwrap()
        assert again == history.states[-1]
        assert hash(again) == hash(history.states[-1])
        assert view(again) == view(history.states[-1])
    here = "".join(f"{(canonical(h.states[-1]), view(h.states[-1]))!a}\n" for h in drawn)
    journals = ascii([history.journal for history in drawn])
    for seed in ("0", "1"):
        there = subprocess.run(
            [sys.executable, "-c", REPLAYED],
            input=journals,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert there.stdout == here


@given(histories())
def test_changes_are_local(history: History) -> None:
    """L9: grow adds at most one child, at the old step head; compress, retext, verdict and accept change only
    the resulting head summary (compress and retext leave at most one lesson at its label and drop the
    chapters that end at it, verdict and accept do neither); revise adds at most one lesson at b, instruct
    one instruction at the step head, fold one chapter. So, but for fold, a summary path that does not go
    through that head has the same C.
    """
    assert not broken_by_edges(laws.changes_are_local, history)


@given(histories())
def test_no_change_same_object(history: History) -> None:
    """L10: an operation that changes nothing returns the object it was given."""
    assert not broken_by_edges(laws.no_change_same_object, history)
    for state in history.states:
        for command in changing_nothing(state):
            assert carry_out(state, command).after is state


def changing_nothing(state: State) -> Iterator[Operation]:
    """Yield commands that this state takes and that change nothing."""
    tree = state.tree
    if not isinstance(state, mage.engine.Rejected):
        for instruction in tree.instructions_at(tree.step_head):
            yield mage.engine.Instruct(instruction.text, instruction.standing)
        if not tree.segment():
            yield Revise(tree.boundary, " ")
    if isinstance(state, Unverified):
        yield mage.engine.Retext(tree.summary(tree.summary_head).text)


@given(histories())
def test_retext_is_a_detour_saved(history: History) -> None:
    """L11: `retext(m)` equals, but for `after`: revise to the label (blank lesson), grow the covers again,
    `compress(m)` with its kind, and grow the open segment again.
    """
    unsettled = [state for state in history.states if not isinstance(state, mage.engine.Active)]
    edges = [carry_out(state, mage.engine.Retext("other")) for state in unsettled]
    assert all(edge.refusal is None for edge in edges)
    assert [wrong for edge in (*history.edges, *edges) for wrong in laws.retext_is_a_detour_saved(edge)] == []


def compressed(history: History, kind: Kind) -> list[Edge]:
    """Return every edge of a history, and a compress of this kind in each of its states that takes one."""
    active = [state for state in history.states if isinstance(state, mage.engine.Active)]
    return [*history.edges, *[carry_out(state, mage.engine.Compress("other", kind)) for state in active]]


@given(histories())
def test_fallbacks_leave_no_trace(history: History) -> None:
    """L12: a subgoal that was cut by fallbacks, once complete, is the same summary (id, parent, label, covers)
    on the same steps, and its judge is asked the same, but for `earlier` and what was tried from the boundaries
    of the fallbacks, as uncut.
    """
    edges = compressed(history, "subgoal")
    assert [wrong for edge in edges for wrong in decision_laws.fallbacks_leave_no_trace(edge)] == []


@given(histories())
def test_fallback_hides_nothing(history: History) -> None:
    """L13: compressing as a fallback takes no instruction out of force and no lesson out of H."""
    edges = compressed(history, "fallback")
    assert [wrong for edge in edges for wrong in decision_laws.fallback_hides_nothing(edge)] == []


def foldings(state: State) -> Iterator[Operation]:
    """Yield a fold of each run that begins with the oldest line of C, with its digest."""
    lines = view(state).compressed if isinstance(state, mage.engine.Active) else ()
    for line in lines[1:]:
        if not isinstance(state, mage.engine.Active):
            return
        request = fold_request(state, 0, line.boundary, "chapter").value_or(None)
        if request is not None:
            yield Fold(0, line.boundary, "chapter", request.digest)


@given(histories())
def test_fold_changes_only_what_is_shown(history: History) -> None:
    """L14: fold leaves steps, summaries, lessons, instructions, heads and phase alone, and C has fewer lines."""
    edges = [carry_out(state, fold) for state in history.states for fold in foldings(state)]
    assert all(edge.refusal is None for edge in edges)
    edges += history.edges
    assert [wrong for edge in edges for wrong in laws.fold_changes_only_what_is_shown(edge)] == []


@given(histories())
def test_question_stands(history: History) -> None:
    """D5: grow, instruct and dropping the open segment do not change what the judge is asked."""
    assert not broken_by_edges(decision_laws.question_stands, history)


@given(histories())
def test_question_is_whole(history: History) -> None:
    """D12: a subgoal covers all steps since its base and is judged with the fallbacks that it took in, oldest
    first, whose covers tile a prefix of its own; a fallback covers and is judged on its own steps alone.
    """
    assert not broken_by_edges(decision_laws.question_is_whole, history)

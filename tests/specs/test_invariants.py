"""The invariants as the specs state them: kept by a sound state, broken by a forged one, each by its own."""

from __future__ import annotations

import pytest

from mage import Failed, Passed
from mage.engine import Active, Instruction, Pending, Rejected, State, StepId, SummaryId
from mage.engine import invariants as engine
from specs import invariants
from specs.invariants import INVARIANTS, Invariant
from tests.specs.forged import lying, sound, with_chapter, with_step, with_summary

FORGED: tuple[tuple[State, Invariant], ...] = (
    (with_step(sound(), 3, id=StepId(9)), invariants.steps_form_a_tree),
    (with_step(sound(), 3, parent=StepId(3)), invariants.steps_form_a_tree),
    (with_step(sound(), 3, parent=StepId(-1)), invariants.steps_form_a_tree),
    (with_step(sound(), 0, parent=StepId(-2), id=StepId(1)), invariants.steps_form_a_tree),
    (with_step(sound(), 3, action="a"), invariants.siblings_differ),
    (with_summary(sound(), 0, covers=(StepId(0), StepId(1))), invariants.covers_are_contiguous),
    (with_summary(sound(), 2, covers=()), invariants.covers_are_contiguous),
    (with_summary(sound(), 2, covers=(StepId(4),)), invariants.covers_are_contiguous),
    (with_summary(sound(), 3, label=StepId(3)), invariants.covers_are_contiguous),
    (with_summary(sound(), 2, covers=(StepId(1),)), invariants.sibling_covers_differ),
    (lying(sound(), step_head=StepId(2)), invariants.heads_agree),
    (lying(sound(), boundary=StepId(4)), invariants.heads_agree),
    (lying(sound(), segment=lambda: (StepId(6),)), invariants.path_is_whole),
    (lying(sound(), active_path=lambda: (StepId(0),)), invariants.path_is_whole),
    (lying(sound(), summary_path=lambda: (SummaryId(0),)), invariants.path_is_whole),
    (with_summary(sound(), 3, label=StepId(0)), invariants.labels_rise),
    (with_summary(sound(), 2, verdict=Pending()), invariants.way_is_trusted),
    (with_summary(sound(), 4, verdict=Failed("f")), invariants.way_is_trusted),
    (with_summary(sound(), 5, verdict=Passed()), invariants.way_is_trusted),
    (Active(sound().tree), invariants.way_is_trusted),
    (Rejected(sound().tree), invariants.way_is_trusted),
    (lying(sound(), lessons_at=lambda step: ("l",) * (step == 3)), invariants.lessons_stand_at_boundaries),
    (lying(sound(), lessons_at=lambda step: (" ",) * (step == 4)), invariants.lessons_stand_at_boundaries),
    (
        lying(sound(), instructions_at=lambda step: (Instruction("\t"),)),
        invariants.lessons_stand_at_boundaries,
    ),
    (lying(sound(), step_children=lambda step: ()), invariants.indexes_agree),
    (lying(sound(), summary_children=lambda summary: ()), invariants.indexes_agree),
    (lying(sound(), child_with=lambda step, content: None), invariants.indexes_agree),
    (lying(sound(), child_ending_at=lambda summary, boundary: None), invariants.indexes_agree),
    (with_summary(sound(), 5, after=SummaryId(2)), invariants.taken_in_are_fallbacks),
    (with_summary(sound(), 5, after=SummaryId(5)), invariants.taken_in_are_fallbacks),
    (with_summary(sound(), 4, kind="subgoal"), invariants.taken_in_are_fallbacks),
    (with_summary(sound(), 4, covers=(StepId(7),)), invariants.taken_in_are_fallbacks),
    (with_summary(sound(), 5, kind="fallback"), invariants.taken_in_are_fallbacks),
    (with_summary(sound(), 3, kind="fallback"), invariants.taken_in_are_fallbacks),
    (lying(sound(), lines_upwards=lambda summary: iter(())), invariants.chapters_unfold),
    (with_chapter(sound(), first=SummaryId(1)), invariants.chapters_unfold),
    (with_chapter(sound(), label=StepId(1)), invariants.chapters_unfold),
    (with_chapter(sound(), accepted=0), invariants.chapters_unfold),
    (with_summary(sound(), 2, verdict=Failed("f")), invariants.chapters_unfold),
    (with_summary(sound(), 3, kind="fallback"), invariants.chapters_unfold),
)


def test_a_sound_state_breaks_none() -> None:
    """The state that the others are forged from keeps every invariant."""
    assert [wrong for invariant in INVARIANTS for wrong in invariant(sound())] == []


@pytest.mark.parametrize(("state", "invariant"), FORGED)
def test_a_forged_state_breaks_its_invariant(state: State, invariant: Invariant) -> None:
    """What a forged state breaks is found by the invariant that says so."""
    assert list(invariant(state))


def test_every_invariant_can_be_broken() -> None:
    """Each of the twelve is broken by some forged state, so none is empty words."""
    assert {invariant for _, invariant in FORGED} == set(INVARIANTS)


def test_the_engine_has_the_same_twelve() -> None:
    """The engine's own invariants have the same names, in the same order, and the same sentences."""
    assert [stated.__name__ for stated in INVARIANTS] == [own.__name__ for own in engine.INVARIANTS]
    assert [stated.__doc__ for stated in INVARIANTS] == [own.__doc__ for own in engine.INVARIANTS]

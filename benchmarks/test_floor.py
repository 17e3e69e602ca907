"""The floor does the same job as the engine, else it would be no floor. `pytest benchmarks` runs this too."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.floor import PASSED, Floor
from benchmarks.work import TASK
from mage.engine import Active, ExecutionState, Passed, apply_verdict, compress, grow, revise, start, view

_TEXTS = st.sampled_from(["a", "b"])
_OPERATIONS = st.tuples(st.sampled_from(["grow", "grow", "judge", "revise"]), _TEXTS, st.integers(0, 9))


@given(st.lists(_OPERATIONS, max_size=40))
def test_floor_shows_what_the_engine_shows(operations: list[tuple[str, str, int]]) -> None:
    """After the same grows, judged compresses and revises both show the same, with the same ids."""
    state, floor = start(TASK), Floor(TASK)
    for operation, text, number in operations:
        if operation == "grow":
            state = grow(state, text, "seen")
            floor.grow(text, "seen")
        elif operation == "judge" and state.tree.segment():
            state = _judged(state, text)
            floor.compress(text)
            floor.apply_verdict(PASSED)
        elif operation == "revise":
            boundaries = [state.tree.summary(summary).boundary for summary in state.tree.summary_path()]
            boundary = boundaries[number % len(boundaries)]
            revised = revise(state, boundary, text).unwrap()
            assert isinstance(revised.state, Active)
            state = revised.state
            abandoned = floor.revise(boundary, text)
            assert [step.id for step in revised.abandoned] == [step.id for step in abandoned]
        assert _shown(view(state)) == _shown_by(floor)


def _judged(state: Active, text: str) -> Active:
    pending = compress(state, text).unwrap()
    passed = apply_verdict(pending, Passed(), pending.digest).unwrap()
    assert isinstance(passed, Active)
    return passed


def _shown(shown: ExecutionState) -> object:
    hints = shown.hints
    return (
        [(each.label, each.text, each.boundary) for each in shown.compressed],
        [(step.id, step.content) for step in shown.raw],
        [(step.id, step.content) for step in hints.continuations],
        [(each.label, each.text, each.boundary) for each in hints.subgoals],
        [lesson.text for lesson in hints.lessons],
    )


def _shown_by(floor: Floor) -> object:
    shown = floor.view()
    return (
        [(each.label, each.text, each.covers[-1].id) for each in shown.compressed],
        [(step.id, step.content) for step in shown.raw],
        [(step.id, step.content) for step in shown.continuations],
        [(each.label, each.text, each.covers[-1].id) for each in shown.subgoals],
        shown.lessons,
    )

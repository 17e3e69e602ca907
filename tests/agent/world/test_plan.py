"""The plan for going back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mage.effects import ActionEffect, Compensable, Irreversible, NoEffect, Reversible, Undo
from mage.engine import Step, StepId
from mage.memory.revise import crosses_irreversible, plan, plan_lines

texts = st.text(max_size=150)
effects: st.SearchStrategy[ActionEffect | None] = st.one_of(
    st.none(),
    st.just(NoEffect()),
    st.builds(Reversible, texts),
    st.builds(Compensable, texts),
    st.builds(Irreversible, texts),
)


def steps(actions: list[str]) -> tuple[Step, ...]:
    """Steps with these actions, newest first."""
    path = [Step(StepId(at + 1), StepId(at), action, "seen") for at, action in enumerate(actions)]
    return tuple(reversed(path))


@given(st.lists(st.tuples(texts, effects), max_size=8))
def test_a_plan_has_each_abandoned_step_with_what_was_declared(
    done: list[tuple[str, ActionEffect | None]],
) -> None:
    """In the order given, newest first; what nobody declared is None."""
    abandoned = steps([action for action, _ in done])
    declared = {StepId(at + 1): effect for at, (_, effect) in enumerate(done) if effect is not None}
    undoing = plan(abandoned, declared)
    assert tuple(undo.step for undo in undoing) == abandoned
    assert [undo.effect for undo in reversed(undoing)] == [effect for _, effect in done]


@given(st.lists(effects, max_size=8))
def test_the_newest_irreversible_action_is_found(done: list[ActionEffect | None]) -> None:
    """Only what was declared irreversible counts, and of several the newest."""
    undoing = tuple(Undo(step, effect) for step, effect in zip(steps(["go"] * len(done)), done, strict=True))
    irreversible = [undo for undo in undoing if isinstance(undo.effect, Irreversible)]
    assert crosses_irreversible(undoing) == (irreversible[0] if irreversible else None)


@given(st.lists(st.tuples(texts, effects), max_size=8))
def test_a_plan_is_told_in_a_line_for_each_step(done: list[tuple[str, ActionEffect | None]]) -> None:
    """One line, whatever actions and declared words contain, and none is long."""
    undoing = tuple(
        Undo(step, effect)
        for step, (_, effect) in zip(steps([action for action, _ in done]), done, strict=True)
    )
    lines = plan_lines(undoing)
    assert len(lines) == len(done)
    for undo, line in zip(undoing, lines, strict=True):
        assert line.splitlines() == [line]
        assert line.startswith(f"Step {undo.step.id}, ")
        assert len(line) < 320


def test_each_effect_is_told_in_its_own_words() -> None:
    """What can be undone says how; what cannot says why, or what would make it good."""
    told: list[ActionEffect | None] = [
        NoEffect(),
        Reversible("return[C-1180]"),
        Compensable("write to them"),
        Irreversible("the mail is out"),
        Irreversible(),
        None,
    ]
    undoing = tuple(Undo(step, effect) for step, effect in zip(steps(["go"] * 6), told, strict=True))
    assert [line.split("go: ")[1] for line in plan_lines(undoing)] == [
        "had no effect",
        "can be undone by return[C-1180]",
        "cannot be undone; to make it good: write to them",
        "cannot be undone: the mail is out",
        "cannot be undone",
        "not known whether it can be undone",
    ]

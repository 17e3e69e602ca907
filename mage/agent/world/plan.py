"""The plan for going back: what was done to the world since, newest first, and whether it can be undone (D14).

Pure functions of what environments declare. Whether an irreversible action may be left behind is policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, assert_never

from mage.agent.telling import few
from mage.effects import ActionEffect, Compensable, Irreversible, NoEffect, Restored, Reversible, Undo, lasts
from mage.engine import Step, StepId

__all__ = [
    "crosses_irreversible",
    "differing",
    "first_in_the_way",
    "lasting_of",
    "leaves_no_trace",
    "plan",
    "plan_lines",
    "undo_line",
]

_LONGEST: Final = 120


def plan(abandoned: Iterable[Step], effects: Mapping[StepId, ActionEffect]) -> tuple[Undo, ...]:
    """Return the plan for leaving these steps behind.

    Args:
        abandoned: the steps, newest first, as `Revised.abandoned` lists them.
        effects: what their actions have done, by step; what is not in it nobody has declared.

    Cost: O(number of steps).
    """
    return tuple(Undo(step, effects.get(step.id)) for step in abandoned)


def crosses_irreversible(undoing: Iterable[Undo]) -> Undo | None:
    """Return the newest line of a plan whose action was declared irreversible; None where there is none."""
    return next((undo for undo in undoing if isinstance(undo.effect, Irreversible)), None)


def first_in_the_way(undoing: Iterable[Undo]) -> Undo | None:
    """Return the newest line of a plan that inverses cannot undo: all but no effect and reversible."""
    return next((undo for undo in undoing if not isinstance(undo.effect, NoEffect | Reversible)), None)


def leaves_no_trace(undoing: Iterable[Undo]) -> bool:
    """Tell whether everything in a plan was declared to have had no effect; so it is with an empty one."""
    return all(isinstance(undo.effect, NoEffect) for undo in undoing)


def lasting_of(effects: Mapping[StepId, ActionEffect]) -> frozenset[StepId]:
    """Return the steps whose actions were declared compensable or irreversible. Cost: O(declared effects)."""
    return frozenset(step for step, effect in effects.items() if lasts(effect))


def differing(answer: Restored) -> str | None:
    """Return in words how a world that was brought back is not what it was; None where it is."""
    told: list[str] = []
    if answer.divergences:
        steps = few([str(divergence.step.id) for divergence in answer.divergences], ", ")
        told.append(f"the world answered otherwise than before at steps {steps}")
    if answer.lasted:
        steps = few([str(step) for step in answer.lasted], ", ")
        told.append(f"what cannot be undone was done again at steps {steps}, as nobody knew that before")
    return "; and ".join(told) or None


def plan_lines(undoing: Sequence[Undo]) -> tuple[str, ...]:
    """Return a plan for people and for the model: a line for each step, newest first."""
    return tuple(undo_line(undo) for undo in undoing)


def undo_line(undo: Undo) -> str:
    """Return one line about an abandoned step: `[Step 9] buy[C-1180]: can be undone by return[C-1180]`.

    What it quotes, action and declared words, is cut at 120 characters and keeps no line break.
    """
    return f"[Step {undo.step.id}] {_one_line(undo.step.action)}: {_fate(undo.effect)}"


def _fate(effect: ActionEffect | None) -> str:
    match effect:
        case NoEffect():
            return "had no effect"
        case Reversible(inverse):
            return f"can be undone by {_one_line(inverse)}"
        case Compensable(how):
            return f"cannot be undone; to make it good: {_one_line(how)}"
        case Irreversible(why):
            return f"cannot be undone: {_one_line(why)}" if why.strip() else "cannot be undone"
        case None:
            return "nobody has declared what it did"
        case _:
            assert_never(effect)


def _one_line(text: str) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= _LONGEST else f"{joined[: _LONGEST - 1]}…"

"""Single operations, each on the engine and on the floor, on histories of one size."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final, final

import attrs

from benchmarks import floor as floor_of
from benchmarks.floor import Floor
from benchmarks.work import TEXT, contents, floor_opened, floor_run, opened, run, subgoal
from mage.engine import Active, Passed, apply_verdict, compress, grow, revise, view
from mage.render import render


@final
@attrs.frozen
class Histories:
    """The same history twice: so many steps in judged summaries, and 20 more that are open.

    Attributes:
        state: the engine's.
        floor: the floor's.
        put_back: undoes one operation on the floor, so that the next finds the same history.
    """

    state: Active
    floor: Floor
    put_back: Callable[[], None]


@final
@attrs.frozen
class Call:
    """One operation, ready to be called on the engine and on the floor."""

    ours: Callable[[], object]
    floor: Callable[[], object]


@cache
def histories(steps: int) -> Histories:
    """Return the histories with so many judged steps; they are built once."""
    floor = floor_opened(floor_run(contents(steps)))
    return Histories(opened(run(contents(steps))), floor, _undo(floor))


def _undo(floor: Floor) -> Callable[[], None]:
    step, summary = floor.step_head, floor.summary_head
    next_step, next_summary = floor.next_step, floor.next_summary

    def undo() -> None:
        floor.step_head, floor.summary_head = step, summary
        floor.next_step, floor.next_summary = next_step, next_summary
        step.children.clear()
        summary.children.clear()
        floor.lessons.clear()

    return undo


def _grow(at: Histories) -> Call:
    return Call(lambda: grow(at.state, "new", "thing"), lambda: at.floor.grow("new", "thing"))


def _compress(at: Histories) -> Call:
    return Call(lambda: compress(at.state, TEXT), lambda: at.floor.compress(TEXT))


def _apply_verdict(at: Histories) -> Call:
    pending, passed = subgoal(at.state), Passed()
    return Call(
        lambda: apply_verdict(pending, passed, pending.digest),
        lambda: at.floor.apply_verdict(floor_of.PASSED),
    )


def _revise_last(at: Histories) -> Call:
    return _revise(at, at.state.tree.boundary)


def _revise_far(at: Histories) -> Call:
    return _revise(at, at.state.tree.summary(at.state.tree.summary_path()[1]).boundary)


def _revise(at: Histories, boundary: int) -> Call:
    return Call(lambda: revise(at.state, boundary, "a lesson"), lambda: at.floor.revise(boundary, "a lesson"))


def _view(at: Histories) -> Call:
    return Call(lambda: view(at.state), at.floor.view)


def _render(at: Histories) -> Call:
    shown, floor_shown = view(at.state), at.floor.view()
    return Call(lambda: render(shown), lambda: floor_of.render(floor_shown))


CALLS: Final[dict[str, Callable[[Histories], Call]]] = {
    "grow": _grow,
    "compress": _compress,
    "apply_verdict": _apply_verdict,
    "revise to the last boundary": _revise_last,
    "revise to the first boundary": _revise_far,
    "view": _view,
    "render": _render,
}
"""What makes each call, by name."""
LONG: Final = frozenset({"revise to the first boundary", "view", "render"})
"""Those whose time grows with the history, because they return that much of it."""

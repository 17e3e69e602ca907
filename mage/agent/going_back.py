"""Revise, and the world that goes with it (Algorithm 1, Revise; D7, D14)."""

from __future__ import annotations

from collections.abc import Sequence

from returns.pipeline import is_successful

from mage.agent.asks import restore
from mage.agent.instructing import left_at, left_by_others, place_again
from mage.agent.outcomes import Outcome, RunStopped
from mage.agent.situation import Run
from mage.agent.telling import quoted
from mage.agent.world.plan import crosses_irreversible, differing, plan, plan_lines, undo_line
from mage.effects import EffectError, NotRestored, Restore, Restored, Undo
from mage.engine import Instruction, Revise, Revised, State, Step, StepId, revise
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace

__all__ = ["follow", "go_back", "may_go_back"]


def may_go_back(run: Run, boundary: StepId | int) -> str | None:
    """Return the step for which the policy forbids to go back to a boundary, in a line; None where it does not."""
    left = _tried(run.state, boundary)
    if left is None or run.policy.cross_irreversible:
        return None
    undo = crosses_irreversible(plan(left.abandoned, run.effects))
    return None if undo is None else undo_line(undo)


def _tried(state: State, boundary: StepId | int) -> Revised | None:
    result = revise(state, boundary, "")
    return result.unwrap() if is_successful(result) else None


async def go_back(run: Run, boundary: StepId | int, lesson: str) -> Outcome | None:
    """Revise to a legal boundary, and let the world follow.

    Returns:
        How the run ends, None where it goes on.
    """
    tree, left = run.state.tree, _tried(run.state, boundary)
    result = await run.operate(Revise(boundary, lesson))
    if left is None:
        await run.notice("refused", f"You cannot go back there: {result}")
        return None
    run.head_changed()
    if not left.abandoned:
        return None
    abandoned = left.abandoned
    all_left, others = left_at(run, tree, abandoned), left_by_others(run, tree, abandoned)
    return await _restore(run, plan(abandoned, run.effects), all_left, others)


async def follow(run: Run, before: State | None) -> Outcome | None:
    """Let the world follow a session that somebody else has moved from `before`; None where nothing is known.

    What their revise has left behind of instructions they were told, and it is theirs to place them again.
    """
    abandoned = [] if before is None else _left_by(run.state, before)
    run.head_changed()
    return await _restore(run, plan(abandoned, run.effects), (), ())


def _left_by(state: State, before: State) -> list[Step]:
    """Return the steps that are on the active path of `before` and not on that of `state`, newest first."""
    kept = set(state.tree.active_path())
    path = trace(before.tree, ROOT_STEP, before.tree.step_head)
    return [step for step in reversed(path) if step.id not in kept]


async def _restore(
    run: Run, undoing: tuple[Undo, ...], all_left: Sequence[Instruction], others: Sequence[Instruction]
) -> Outcome | None:
    """Bring the world back. A world that was reset brings its own instructions again, and nobody else's."""
    tree = run.state.tree
    path = tuple(trace(tree, ROOT_STEP, tree.step_head))
    answer = await _restored(Restore(path, undoing))
    run.over = isinstance(answer, Restored) and answer.over
    ended = await _reported(run, answer, undoing)
    was_reset = isinstance(answer, Restored) and answer.how != "inverses"
    await place_again(run, others if was_reset else all_left)
    return ended


async def _reported(run: Run, answer: Restored | NotRestored, undoing: Sequence[Undo]) -> Outcome | None:
    """Tell the model where the world is not what it was."""
    if isinstance(answer, NotRestored):
        lines = plan_lines(undoing)
        stands = "what was done there and stands" if lines else "look at it before you rely on it"
        told = f"The world could not be brought back to this point. Why, and {stands}:"
        return await _diverged(run, told, answer.reason, *lines)
    differs = differing(answer)
    return None if differs is None else (await _diverged(run, f"Brought back to this point, {differs}."))


async def _restored(request: Restore) -> Restored | NotRestored:
    try:
        return await restore(request)
    except EffectError as error:
        return NotRestored(str(error))


async def _diverged(run: Run, told: str, *said: str) -> Outcome | None:
    await run.notice("diverged", told, *said)
    if run.policy.on_divergence != "stop":
        return None
    return RunStopped("diverged", " ".join([told, *map(quoted, said)]), run.totals)

"""Revise, restore the environment, place instructions again (Algorithm 1, Revise; D7, D14, D17)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, assert_never

from returns.pipeline import is_successful

from mage.effects import (
    RESET,
    ActionEffect,
    Compensable,
    EffectError,
    Irreversible,
    NoEffect,
    NotRestored,
    Restore,
    Restored,
    Reversible,
    Undo,
    lasts,
)
from mage.engine import Instruct, Instruction, Revise, Revised, State, Step, StepId, Tree, revise
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.memory.journal import is_note
from mage.memory.policy import Outcome, RunStopped
from mage.memory.requests import restore
from mage.memory.state import Owed, Run, few, quoted, told_once


def may_go_back(run: Run, boundary: StepId | int) -> str | None:
    """Return one line about the irreversible step for which the policy forbids to go back; None where it allows it."""
    left = _tried(run.state, boundary)
    if left is None or run.policy.cross_irreversible:
        return None
    undo = crosses_irreversible(plan(left.abandoned, run.effects))
    return None if undo is None else undo_line(undo)


def _tried(state: State, boundary: StepId | int) -> Revised | None:
    result = revise(state, boundary, "")
    return result.unwrap() if is_successful(result) else None


async def go_back(
    run: Run, boundary: StepId | int, lesson: str, meta: Mapping[str, object] | None = None, *, why: str
) -> Outcome | None:
    """Revise to a legal boundary, have the environment restored, and tell the model what is undone.

    Args:
        why: why the agent goes back, a clause for the notice. The lesson stands in the hints, not in the notice.

    Returns:
        How the run ends, None where it goes on.
    """
    tree, left = run.state.tree, _tried(run.state, boundary)
    result = await run.operate(Revise(boundary, lesson), meta)
    if left is None:
        await run.notice("refused", f"You cannot go back there: {result}")
        return None
    run.head_changed()
    if not left.abandoned:
        return None
    abandoned = left.abandoned
    all_left, others = left_at(run, tree, abandoned), left_by_others(run, tree, abandoned)
    told = f"{why}, so you are back at [Step {boundary}]: {_counted(abandoned)} undone"
    return await _restore(run, plan(abandoned, run.effects), all_left, others, told)


def _counted(steps: Sequence[Step]) -> str:
    """Return how many of these steps the model has made, in words: the first reset is not counted."""
    count = sum(step.action != RESET for step in steps)
    return "1 step is" if count == 1 else f"{count} steps are"


async def revise_as_asked(
    run: Run, boundary: int, lesson: str, meta: Mapping[str, object] | None = None
) -> Outcome | None:
    """Go back as the model asks, where the policy allows it; else tell the model why not."""
    if not run.policy.revise:
        await run.notice("refused", "Going back is switched off in this run.")
        return None
    forbidden = may_go_back(run, boundary)
    if forbidden is not None:
        await run.notice(
            "irreversible",
            "You cannot go back there: a step would be left behind that cannot be undone, and this run must not "
            "leave such steps behind:",
            forbidden,
        )
        return None
    if run.counts.revisions.get(StepId(boundary), 0) >= run.policy.max_revisions:
        await run.notice(
            "refused", f"You have gone back to [Step {boundary}] as often as allowed: go on from here."
        )
        return None
    return await go_back(run, boundary, lesson, meta, why="You have asked for it")


async def follow(run: Run, before: State | None) -> Outcome | None:
    """Restore the environment to where another writer has moved the session from `before`; None if unknown.

    The other writer has to place again the instructions that its revise left behind.
    """
    abandoned = [] if before is None else _left_by(run.state, before)
    run.head_changed()
    told = f"Of your steps {_counted(abandoned)} left behind" if abandoned else ""
    return await _restore(run, plan(abandoned, run.effects), (), (), told)


async def tell_of_leaving(run: Run, before: State) -> None:
    """Tell the model which of its steps another writer has abandoned: it is unknown whether they were undone."""
    abandoned = _left_by(run.state, before)
    told = f"Of your steps {_counted(abandoned)} left behind, and nobody knows what was undone. What may still stand:"
    await _tell_of_standing(run, abandoned, told)


async def tell_of_resuming(run: Run) -> None:
    """Tell the model which effects may still stand, where an earlier process ended right after a revise."""
    before, run.resumed_from = run.resumed_from, None
    if before is not None:
        told = "You were interrupted right after going back, so nobody knows what was undone. What may still stand:"
        await _tell_of_standing(run, _left_by(run.state, before), told)


async def _tell_of_standing(run: Run, abandoned: Sequence[Step], told: str) -> None:
    undoing = plan(abandoned, run.effects)
    if not leaves_no_trace(undoing):
        await run.notice("diverged", told, *standing_lines(undoing))


def _left_by(state: State, before: State) -> list[Step]:
    """Return the steps on the active path of `before` that are not on the active path of `state`, newest first."""
    kept = set(state.tree.active_path())
    path = trace(before.tree, ROOT_STEP, before.tree.step_head)
    return [step for step in reversed(path) if step.id not in kept]


async def _restore(
    run: Run,
    undoing: tuple[Undo, ...],
    all_left: Sequence[Instruction],
    others: Sequence[Instruction],
    told: str,
) -> Outcome | None:
    """Have the environment restored. An environment that is reset gives its own instructions again, and no others.

    Args:
        run: the run state.
        undoing: the abandoned steps.
        all_left: the instructions at the abandoned steps.
        others: those of `all_left` that the environment does not give.
        told: a clause that tells the model what its history lost; empty where no step was abandoned.
    """
    tree = run.state.tree
    path = performed(trace(tree, ROOT_STEP, tree.step_head), run.effects)
    try:
        answer = await _restored(Restore(path, undoing))
    except BaseException:  # the revise is durable although the restore failed: tell the model
        why = "bringing it back was interrupted"
        run.notices.append(told_once("diverged", _told_of(told, undoing), why, *standing_lines(undoing)))
        run.owed.extend(Owed(tree.step_head, instruction, by_world=False) for instruction in all_left)
        raise
    run.over = isinstance(answer, Restored) and answer.over
    ended = await _reported(run, answer, undoing, told)
    was_reset = isinstance(answer, Restored) and answer.how != "inverses"
    await place_again(run, others if was_reset else all_left)
    return ended


def _told_of(told: str, undoing: Sequence[Undo]) -> str:
    """Return the notice for the model where the environment could not be restored."""
    stands = (
        "look at it before you rely on it" if leaves_no_trace(undoing) else "what was done there and stands"
    )
    history = f"{told} in your history. " if told else ""
    return f"{history}The environment could not be brought back to this point. Why, and {stands}:"


async def _reported(
    run: Run, answer: Restored | NotRestored, undoing: Sequence[Undo], told: str
) -> Outcome | None:
    """Tell the model which effects are undone in the environment, and which still stand."""
    if isinstance(answer, NotRestored):
        return await _diverged(run, _told_of(told, undoing), answer.reason, *standing_lines(undoing))
    differs = differing(answer)
    if differs is not None:
        history = f"{told}, in the environment too. But there " if told else "Brought back to this point, "
        return await _diverged(run, f"{history}{differs}.")
    lasting = plan_lines([undo for undo in undoing if lasts(undo.effect)])
    if told and lasting:  # a reset environment does not take back, say, a mail that was sent
        await run.notice("revised", f"{told}, in the environment too. But what lasts stands:", *lasting)
    elif told:
        await run.notice("revised", f"{told}, in the environment too.")
    return None


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


def owe(run: Run, step: StepId, texts: Iterable[str]) -> None:
    """Remember the instructions that the environment gives at this step, for `place_owed`."""
    run.owed.extend(Owed(step, Instruction(text), by_world=True) for text in texts)


async def place_owed(run: Run) -> None:
    """Place each owed instruction at the step head; drop one whose step was abandoned. Raises `Overtaken`.

    Legal in `Active` and `Unverified`. Cost: O(depth) for each instruction of another step than the step head.
    """
    while run.owed:
        owed, tree = run.owed[0], run.state.tree
        if owed.step == tree.step_head or owed.step in tree.active_path():
            await _placed(run, owed)
        del run.owed[0]  # only now: after `Overtaken` the instruction is still owed


async def _placed(run: Run, owed: Owed) -> None:
    head = run.state.tree.step_head
    before = run.state.tree.instructions_at(head)
    instruction = owed.instruction
    await run.operate(Instruct(instruction.text, instruction.standing))
    if owed.by_world:
        new = set(run.state.tree.instructions_at(head)).difference(before)  # the text as the engine keeps it
        run.given[head] = run.given.get(head, frozenset()) | new


def left_at(run: Run, tree: Tree, abandoned: Sequence[Step]) -> list[Instruction]:
    """Return the instructions that were placed or owed at the abandoned steps, in path order."""
    left: list[Instruction] = []
    for step in reversed(abandoned):
        left.extend(tree.instructions_at(step.id))
        left.extend(owed.instruction for owed in run.owed if owed.step == step.id)
    return left


def left_by_others(run: Run, tree: Tree, abandoned: Sequence[Step]) -> list[Instruction]:
    """Return the instructions that the environment did not give, and will not give again, in path order.

    For steps made before this run the giver is unknown: their instructions count as the environment's, except
    standing ones, which no environment gives.
    """
    left: list[Instruction] = []
    for step in reversed(abandoned):
        given = run.given.get(step.id, frozenset())
        known = step.id >= run.found
        left.extend(
            each for each in tree.instructions_at(step.id) if each.standing or (known and each not in given)
        )
    return left


async def place_again(run: Run, left_behind: Sequence[Instruction]) -> None:
    """Place abandoned instructions again at the step head (D7), and tell the model. Raises `Overtaken`."""
    if not left_behind:
        return
    await run.notice("left_behind", "What you were asked for on the way you left is in force again.")
    head = run.state.tree.step_head
    run.owed.extend(Owed(head, instruction, by_world=False) for instruction in left_behind)
    await place_owed(run)


_LONGEST: Final = 120


def plan(abandoned: Iterable[Step], effects: Mapping[StepId, ActionEffect]) -> tuple[Undo, ...]:
    """Return the plan for leaving these steps behind.

    Args:
        abandoned: the steps, newest first, as `Revised.abandoned` lists them.
        effects: by step, the declared effect of its action; a step that is missing has no declared effect.

    Cost: O(number of steps).
    """
    return tuple(Undo(step, effects.get(step.id)) for step in performed(abandoned, effects))


def performed(steps: Iterable[Step], effects: Mapping[StepId, ActionEffect]) -> tuple[Step, ...]:
    """Return the steps whose actions were performed: all but the model's notes."""
    return tuple(step for step in steps if not is_note(step, effects))


def crosses_irreversible(undoing: Iterable[Undo]) -> Undo | None:
    """Return the newest entry of a plan whose action was declared irreversible; None where there is none."""
    return next((undo for undo in undoing if isinstance(undo.effect, Irreversible)), None)


def first_in_the_way(undoing: Iterable[Undo]) -> Undo | None:
    """Return the newest entry of a plan that is neither `NoEffect` nor `Reversible`; None where there is none."""
    return next((undo for undo in undoing if not isinstance(undo.effect, NoEffect | Reversible)), None)


def leaves_no_trace(undoing: Iterable[Undo]) -> bool:
    """Tell whether every action of a plan was declared to have no effect; True for an empty plan."""
    return all(isinstance(undo.effect, NoEffect) for undo in undoing)


def lasting_of(effects: Mapping[StepId, ActionEffect]) -> frozenset[StepId]:
    """Return the steps whose actions were declared compensable or irreversible. Cost: O(declared effects)."""
    return frozenset(step for step, effect in effects.items() if lasts(effect))


def differing(answer: Restored) -> str | None:
    """Return in words how a restored environment differs from before; None where it does not differ."""
    told: list[str] = []
    if answer.divergences:
        steps = few([str(divergence.step.id) for divergence in answer.divergences], ", ")
        told.append(f"the world answered otherwise than before at steps {steps}")
    if answer.lasted:
        steps = few([str(step) for step in answer.lasted], ", ")
        told.append(f"what cannot be undone was done again at steps {steps}, as nobody knew that before")
    return "; and ".join(told) or None


def unaided(request: Restore) -> Restored | NotRestored:
    """Answer a `Restore` without a `restore` function: `Restored` only where no action had an effect."""
    if leaves_no_trace(request.plan):
        return Restored("inverses")
    return NotRestored("nothing undoes actions here by itself; check before you do something again")


def plan_lines(undoing: Sequence[Undo]) -> tuple[str, ...]:
    """Return a plan as text for people and for the model: one line for each step, newest first."""
    return tuple(undo_line(undo) for undo in undoing)


def standing_lines(undoing: Sequence[Undo]) -> tuple[str, ...]:
    """Return the lines of a plan whose actions may have had an effect."""
    return plan_lines([undo for undo in undoing if not isinstance(undo.effect, NoEffect)])


def undo_line(undo: Undo) -> str:
    """Return one line about an abandoned step: `Step 9, buy[C-1180]: can be undone by return[C-1180]`.

    Action and declared words are quoted with at most 120 characters and without line breaks.
    """
    return f"Step {undo.step.id}, {_one_line(undo.step.action)}: {_fate(undo.effect)}"


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
            return "not known whether it can be undone"
        case _:
            assert_never(effect)


def _one_line(text: str) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= _LONGEST else f"{joined[: _LONGEST - 1]}…"

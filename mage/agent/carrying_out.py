"""What the model has decided is carried out: its actions, each a step, then what it does to its own state (D11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from mage.effects import Act, Action, Decision, EffectError, Finish, Metered, Observed, Then
from mage.engine import Compress, Grow, Revise
from mage.memory.compact import compress, is_due
from mage.memory.journal import UNCERTAIN, observed_meta
from mage.memory.maintain import settle
from mage.memory.outcomes import Outcome, RunFailed, RunFinished
from mage.memory.requests import IsDue, Overtaken, Twice, Uncertain, act
from mage.memory.revise import owe, place_owed, revise_as_asked
from mage.memory.state import Run, reached

__all__ = ["carried_out", "tell_if_over"]


async def carried_out(run: Run, answer: Metered[Decision]) -> Outcome | None:
    """Carry out a decision. What follows an action that tells the model something is held back, and told.

    Returns:
        How the run ends, None where it goes on.
    """
    decision = answer.value
    meta = {**answer.meta, **({"thought": decision.thought} if decision.thought else {})}
    for place, action in enumerate(decision.actions):
        stopped = reached(run) if place else None  # before the first of them the turn has looked
        held = place if stopped is not None else (await _held_from(run, decision, place))
        if held is not None:
            await _hold_back(run, decision, held)
            return stopped
        try:
            ended = await _acted(run, action, meta)
        except Overtaken:
            await _hold_back(run, decision, place + 1)
            raise
        if ended is not None:
            await _hold_back(run, decision, place + 1)
            return ended
        meta = {}
    if decision.actions and run.doubtful:
        await _hold_back(run, decision, len(decision.actions))
        return None
    if decision.then is None:
        return None
    return await _then(run, decision.then, meta)


async def _held_from(run: Run, decision: Decision, place: int) -> int | None:
    """Return from which action on a decision is not carried out, None where the next of them is performed."""
    if place and run.doubtful:  # the rest was decided for the case that the action succeeds
        return place
    if await _is_pointed_out(run, decision.actions[place]):
        return place + 1
    if place and (await IsDue(is_due(run, run.shown()))):
        await run.notice("tokens", "The open steps have passed the mark.")
        return place
    return None


async def _hold_back(run: Run, decision: Decision, place: int) -> None:
    """Tell what of a decision is not done, from an action of it on; the model is not shown its reply again."""
    held = [action.text for action in decision.actions[place:]]
    if decision.then is not None:
        held.append(type(decision.then).__name__.lower())
    if held:
        await run.notice("refused", "Not done, of your last reply:", *held)


async def _is_pointed_out(run: Run, action: Action) -> bool:
    """Tell whether an action is not performed now, because the model should know something first."""
    if run.over:
        await run.notice("environment", "The world takes no more actions: complete, go back or finish.")
        return True
    tree = run.state.tree
    place = (tree.step_head, action.text)
    if not run.policy.point_out or place in run.pointed_out or not _went_wrong_from_here(run, action.text):
        return False
    run.pointed_out.add(place)
    await run.notice(
        "tried", "This very action was tried here before, and left; see the lessons:", action.text
    )
    return True


def _went_wrong_from_here(run: Run, action: str) -> bool:
    """Tell whether this action was taken from here before, and it was learned since that this was wrong.

    A lesson here speaks of all that was tried here. One at the boundary above speaks of a whole way: what went
    wrong is looked for at its end, as else each step of a long way that is walked again would be held back.

    Cost: O(tries from here), and nothing where no lesson stands.
    """
    tree = run.state.tree
    here, above = tree.lessons_at(tree.step_head), tree.lessons_at(tree.boundary)
    if not here and not above:
        return False
    tried = [step.id for step in run.shown().hints.continuations if step.action == action]
    if here:
        return bool(tried)
    return any(not tree.step_children(step) for step in tried)


async def _acted(run: Run, action: Action, meta: Mapping[str, object]) -> Outcome | None:
    """Perform an action, and grow its step. Raises `Overtaken`."""
    try:
        observed = await _performed(run, action)
    except EffectError as error:
        await run.notice(
            "environment",
            "Your action was not carried out. What was asked for, and what the environment says:",
            action.text,
            error.detail,
        )
        return RunFailed("environment", error.fault, str(error), run.totals)
    called = {} if action.call is None else {"call": action.call}
    newest = run.state.tree.next_step
    try:
        await run.operate(Grow(action.text, observed.text), {**meta, **called, **observed_meta(observed)})
    except Overtaken:
        await run.notice(
            "changed", "Your last action was performed, but is not in your history:", action.text
        )
        raise
    step = run.state.tree.step_head
    if run.state.tree.next_step == newest:
        await run.notice(
            "merged", f"You are back at step {step}, on a way that was left before: see the hints."
        )
    owe(run, step, observed.instructions)
    await tell_if_over(run, observed)
    await place_owed(run)
    return None


async def _performed(run: Run, action: Action) -> Observed:
    try:
        observed = await act(Act(action.text, run.state.tree.step_head))
    except Overtaken:
        await run.notice(
            "changed",
            "Your last action was not performed, as the world is not what it was:",
            action.text,
        )
        raise
    run.doubtful = isinstance(observed, Uncertain | Twice)
    if isinstance(observed, Twice):
        await run.notice(
            "uncertain",
            "The run was interrupted at your last action, which was performed again, and cannot be undone:"
            " find out whether it was done twice.",
        )
        return observed.observed
    if isinstance(observed, Observed):
        return observed
    await run.notice(
        "uncertain", "The run was interrupted at your last action: find out whether it was done."
    )
    return Observed(UNCERTAIN, effect=observed.effect)


async def tell_if_over(run: Run, observed: Observed) -> None:
    """Take in whether the world takes no more actions, and tell the model."""
    run.over = observed.over
    if observed.over:
        await run.notice("environment", "The world says that it is over.")


async def _then(run: Run, then: Then, meta: Mapping[str, object]) -> Outcome | None:
    match then:
        case Compress(text):
            return await compress(run, text, meta)
        case Revise(boundary, lesson):
            return await revise_as_asked(run, boundary, lesson)
        case Finish(answer):
            return await _finish(run, answer)
        case _:
            assert_never(then)


async def _finish(run: Run, answer: str) -> Outcome | None:
    """End, if nothing that was claimed turns out to be wrong."""
    head = run.state.tree.summary_head
    ended = await settle(run, wait=True)
    if ended is not None:
        return ended
    if run.state.tree.summary_head != head:
        await run.notice("failed", "A summary has failed meanwhile, so the run goes on.")
        return None
    return RunFinished(answer, run.totals)

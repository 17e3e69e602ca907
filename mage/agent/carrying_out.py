"""What the model has decided is carried out: its actions, each a step, then what it does to its own state (D11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from mage.agent.asks import IsDue, Overtaken, Twice, Uncertain, act
from mage.agent.going_back import go_back, may_go_back
from mage.agent.instructing import owe, place_owed
from mage.agent.limits import reached
from mage.agent.maintaining import maintain, settle
from mage.agent.observations import UNCERTAIN, observed_meta
from mage.agent.outcomes import Outcome, RunFailed, RunFinished
from mage.agent.relief import is_due
from mage.agent.situation import Run
from mage.effects import Act, Action, Decision, EffectError, Finish, Metered, Observed, Then
from mage.engine import Compress, Grow, Retext, Revise, StepId, Unverified
from mage.session.asks import Program, ask

__all__ = ["carried_out", "tell_if_over"]


def carried_out(run: Run, answer: Metered[Decision]) -> Program[Outcome | None]:
    """Carry out a decision. What follows an action that tells the model something is held back, and told.

    Returns:
        How the run ends, None where it goes on.
    """
    decision = answer.value
    meta = {**answer.meta, **({"thought": decision.thought} if decision.thought else {})}
    for place, action in enumerate(decision.actions):
        stopped = reached(run) if place else None  # before the first of them the turn has looked
        held = place if stopped is not None else (yield from _held_from(run, decision, place))
        if held is not None:
            yield from _hold_back(run, decision, held)
            return stopped
        try:
            ended = yield from _acted(run, action, meta)
        except Overtaken:
            yield from _hold_back(run, decision, place + 1)
            raise
        if ended is not None:
            yield from _hold_back(run, decision, place + 1)
            return ended
        meta = {}
    if decision.actions and run.doubtful:
        yield from _hold_back(run, decision, len(decision.actions))
        return None
    if decision.then is None:
        return None
    return (yield from _then(run, decision.then, meta))


def _held_from(run: Run, decision: Decision, place: int) -> Program[int | None]:
    """Return from which action on a decision is not carried out, None where the next of them is performed."""
    if place and run.doubtful:  # the rest was decided for the case that the action succeeds
        return place
    if (yield from _is_pointed_out(run, decision.actions[place])):
        return place + 1
    if place and (yield from ask(IsDue(is_due(run, run.shown())))):
        yield from run.notice("tokens", "The open steps have passed the mark.")
        return place
    return None


def _hold_back(run: Run, decision: Decision, place: int) -> Program[None]:
    """Tell what of a decision is not done, from an action of it on; the model is not shown its reply again."""
    held = [action.text for action in decision.actions[place:]]
    if decision.then is not None:
        held.append(type(decision.then).__name__.lower())
    if held:
        yield from run.notice("refused", "Not done, of your last reply:", *held)


def _is_pointed_out(run: Run, action: Action) -> Program[bool]:
    """Tell whether an action is not performed now, because the model should know something first."""
    if run.over:
        yield from run.notice("world", "The world takes no more actions: complete, go back or finish.")
        return True
    tree = run.state.tree
    place = (tree.step_head, action.text)
    if not run.policy.point_out or place in run.pointed_out or not _went_wrong_from_here(run, action.text):
        return False
    run.pointed_out.add(place)
    yield from run.notice(
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


def _acted(run: Run, action: Action, meta: Mapping[str, object]) -> Program[Outcome | None]:
    """Perform an action, and grow its step. Raises `Overtaken`."""
    try:
        observed = yield from _performed(run, action)
    except EffectError as error:
        yield from run.notice(
            "world",
            "Your action was not carried out. What was asked for, and what the environment says:",
            action.text,
            error.detail,
        )
        return RunFailed(f"world: {error.fault}", str(error), run.totals)
    called = {} if action.call is None else {"call": action.call}
    newest = run.state.tree.next_step
    try:
        yield from run.operate(
            Grow(action.text, observed.text), {**meta, **called, **observed_meta(observed)}
        )
    except Overtaken:
        yield from run.notice(
            "changed", "Your last action was performed, but is not in your history:", action.text
        )
        raise
    step = run.state.tree.step_head
    if run.state.tree.next_step == newest:
        yield from run.notice(
            "merged", f"You are back at step {step}, on a way that was left before: see the hints."
        )
    owe(run, step, observed.instructions)
    yield from tell_if_over(run, observed)
    yield from place_owed(run)
    return None


def _performed(run: Run, action: Action) -> Program[Observed]:
    try:
        observed = yield from act(Act(action.text, run.state.tree.step_head))
    except Overtaken:
        yield from run.notice(
            "changed",
            "Your last action was not performed, as the world is not what it was:",
            action.text,
        )
        raise
    run.doubtful = isinstance(observed, Uncertain | Twice)
    if isinstance(observed, Twice):
        yield from run.notice(
            "uncertain",
            "The run was interrupted at your last action, which was performed again, and cannot be undone:"
            " find out whether it was done twice.",
        )
        return observed.observed
    if isinstance(observed, Observed):
        return observed
    yield from run.notice(
        "uncertain", "The run was interrupted at your last action: find out whether it was done."
    )
    return Observed(UNCERTAIN, effect=observed.effect)


def tell_if_over(run: Run, observed: Observed) -> Program[None]:
    """Take in whether the world takes no more actions, and tell the model."""
    run.over = observed.over
    if observed.over:
        yield from run.notice("world", "The world says that it is over.")


def _then(run: Run, then: Then, meta: Mapping[str, object]) -> Program[Outcome | None]:
    match then:
        case Compress(text):
            return (yield from _compress(run, text, meta))
        case Revise(boundary, lesson):
            return (yield from _revise(run, boundary, lesson))
        case Finish(answer):
            return (yield from _finish(run, answer))
        case _:
            assert_never(then)


def _compress(run: Run, text: str, meta: Mapping[str, object]) -> Program[Outcome | None]:
    """Mark the subgoal complete, once what is pending is settled (Algorithm 1, Compress; D6, D12)."""
    if isinstance(run.state, Unverified) and not run.state.tree.segment():
        return (yield from _retext_pending(run, text, meta))
    head = run.state.tree.summary_head
    ended = yield from settle(run, wait=True)
    if ended is not None:
        return ended
    if run.state.tree.summary_head != head:
        yield from run.notice(
            "failed", "Your earlier summary has failed meanwhile, so the last one was not made."
        )
        return None
    result = yield from run.operate(Compress(text), meta)
    if isinstance(result, Unverified):
        return (yield from maintain(run))
    yield from run.notice("refused", f"You cannot compress now: {result}")
    return None


def _retext_pending(run: Run, text: str, meta: Mapping[str, object]) -> Program[Outcome | None]:
    """With nothing open and the head pending, a compress gives it the new text, as a subgoal (D12).

    That a fallback becomes a subgoal happens once; another text after that, as often as the policy says (D13).
    """
    head = run.state.tree.head_summary
    if head.kind == "subgoal" and run.counts.retexts.get(head.id, 0) >= run.policy.max_retexts:
        yield from run.notice("refused", "Its text was written anew as often as allowed: go on from here.")
        return None
    result = yield from run.operate(Retext(text, "subgoal"), meta)
    if isinstance(result, Unverified):
        return (yield from maintain(run))
    yield from run.notice("refused", f"You cannot compress now: {result}")
    return None


def _revise(run: Run, boundary: int, lesson: str) -> Program[Outcome | None]:
    if not run.policy.revise:
        yield from run.notice("refused", "Going back is switched off in this run.")
        return None
    forbidden = may_go_back(run, boundary)
    if forbidden is not None:
        yield from run.notice(
            "irreversible",
            "You cannot go back there: a step would be left behind that cannot be undone, and this run must not "
            "leave such steps behind:",
            forbidden,
        )
        return None
    if run.counts.revisions.get(StepId(boundary), 0) >= run.policy.max_revisions:
        yield from run.notice(
            "refused", f"You have gone back to [Step {boundary}] as often as allowed: go on from here."
        )
        return None
    return (yield from go_back(run, boundary, lesson))


def _finish(run: Run, answer: str) -> Program[Outcome | None]:
    """End, if nothing that was claimed turns out to be wrong."""
    head = run.state.tree.summary_head
    ended = yield from settle(run, wait=True)
    if ended is not None:
        return ended
    if run.state.tree.summary_head != head:
        yield from run.notice("failed", "A summary has failed meanwhile, so the run goes on.")
        return None
    return RunFinished(answer, run.totals)

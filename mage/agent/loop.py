"""The agent's loop: look, decide, act, grow; compress and have it judged; go back when it was wrong.

    until the run ends:
        look                                  others may have written, the policy may have changed
        settle what is pending or failed      Maintain's verdict, and what follows from it     maintaining
        relieve a segment that is too long    the fallback Compress                            relief
        decide                                the model, seeing S and what it is told once
        act                                   one step for each action: Grow
        compress, revise or finish            what the model does to its own state             going_back

It is a program: it asks (`mage.agent.asks`) and performs nothing. What it remembers is in `Run`; all of it
follows from the answers, so the program can be run again over them (`mage.agent.durable`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from mage.agent.asks import End, IsDue, Look, Overtaken, Seen, Uncertain, act, begin, decide
from mage.agent.environment import RESET
from mage.agent.going_back import follow, go_back, may_go_back
from mage.agent.maintaining import maintain, settle
from mage.agent.observations import UNCERTAIN, observed_meta
from mage.agent.outcomes import Outcome, RunFailed, RunFinished, RunStopped
from mage.agent.relief import is_due, relieve
from mage.agent.situation import Run
from mage.effects import Act, Action, Decide, Decision, EffectError, Finish, Metered, Observed, Then
from mage.engine import (
    Active,
    Compress,
    ExecutionState,
    Grow,
    Instruct,
    Retext,
    Revise,
    StepId,
    Tree,
    Unverified,
)
from mage.engine.ids import ROOT_STEP
from mage.session.asks import Program, ask

__all__ = ["program"]

_NOTHING_DONE: Final = EffectError("wrong_schema", "the reply names no action and nothing to do")


def program(run: Run) -> Program[Outcome]:
    """Run the agent until it ends, and on, if it was resumed after that."""
    while True:
        outcome = yield from _until_the_end(run)
        if not (yield from ask(End(outcome))):
            return outcome
        run.unusable = run.idle = run.cool_until = 0


def _until_the_end(run: Run) -> Program[Outcome]:
    while True:
        try:
            ended = yield from _turn(run)
        except Overtaken:
            ended = None
        if ended is not None:
            return ended


def _turn(run: Run) -> Program[Outcome | None]:
    before = run.state if run.began else None
    seen = yield from ask(Look())
    run.see(seen)
    ended = yield from (_follow(run, seen, before) if run.began else _begin(run))
    ended = ended or _limit(run) or (yield from settle(run, wait=False))
    if ended is not None:
        return ended
    if not isinstance(run.state, Active | Unverified):  # a new text has failed at once
        return None
    yield from _open(run)
    if (yield from ask(IsDue(is_due(run, run.shown())))):
        ended = yield from relieve(run)
        if ended is not None or not isinstance(run.state, Active | Unverified):
            return ended
        yield from _open(run)
    run.idle += 1
    return (yield from _decided(run))


def _follow(run: Run, seen: Seen, before: object) -> Program[Outcome | None]:
    run.notices.extend(seen.news)
    if not seen.followed:
        return None
    yield from run.notice("changed", "Somebody else has changed your state meanwhile: read it anew.")
    return (yield from follow(run, before if isinstance(before, Active | Unverified) else None))


def _begin(run: Run) -> Program[Outcome | None]:
    """Let the world begin, or, in a session that has steps already, become what they say."""
    if run.state.tree.step_head != ROOT_STEP:
        run.began = True
        return (yield from follow(run, None))
    try:
        run.opening = yield from begin()
    except EffectError as error:
        return _failed(run, "world", error)
    run.began = True
    return None


def _open(run: Run) -> Program[None]:
    """At the root, what the world showed first is grown before anything else (again, after going back there)."""
    if run.state.tree.step_head == ROOT_STEP and run.opening is not None:
        opening = run.opening
        if opening.text.strip():
            yield from run.operate(Grow(RESET, opening.text), observed_meta(opening))
        yield from _instruct(run, opening)


def _limit(run: Run) -> Outcome | None:
    policy, totals = run.policy, run.totals
    if policy.max_steps is not None and totals.steps >= policy.max_steps:
        return RunStopped("max_steps", f"{totals.steps} steps were taken", totals)
    if policy.max_tokens is not None and totals.all_tokens >= policy.max_tokens:
        return RunStopped("max_tokens", f"{totals.all_tokens} tokens were taken", totals)
    if run.idle >= policy.max_idle:
        return RunStopped("idle", f"nothing was done in {run.idle} turns", totals)
    return None


# -- deciding ------------------------------------------------------------------------------------------


def _decided(run: Run) -> Program[Outcome | None]:
    shown = run.shown()
    try:
        answer = yield from run.asked("model", decide(_question(run, shown)), run.marked(shown))
        if not answer.value.actions and answer.value.then is None:
            raise _NOTHING_DONE
    except EffectError as error:
        return (yield from _no_decision(run, shown, error))
    run.unusable = 0
    run.notices.clear()
    return (yield from _carried_out(run, shown, answer))


def _question(run: Run, shown: ExecutionState) -> Decide:
    labels = [summary.label for summary in shown.compressed] if run.policy.revise else []
    boundaries = tuple(dict.fromkeys([*labels, shown.boundary])) if run.policy.revise else ()
    fallback = bool(shown.compressed) and shown.compressed[-1].kind == "fallback"
    mark = run.policy.high_water
    room = None if mark is None else max(0, mark - run.marked(shown))
    return Decide(shown, boundaries, tuple(run.notices), bool(shown.raw) or fallback, room)


def _no_decision(run: Run, shown: ExecutionState, error: EffectError) -> Program[Outcome | None]:
    if error.fault == "overflow" and shown.raw and run.overflowed_at != run.state.tree.step_head:
        run.overflowed_at = run.state.tree.step_head
        return (yield from relieve(run))
    if not error.unusable or run.unusable >= run.policy.max_unusable:
        return _failed(run, "model", error)
    run.unusable += 1
    run.notices.clear()
    yield from run.notice("unusable", f"Your last reply could not be used ({error}). Reply with one action.")
    return None


def _failed(run: Run, who: str, error: EffectError) -> RunFailed:
    return RunFailed(f"{who}: {error.fault}", str(error), run.totals)


# -- carrying out ----------------------------------------------------------------------------------------


def _carried_out(run: Run, shown: ExecutionState, answer: Metered[Decision]) -> Program[Outcome | None]:
    decision = answer.value
    meta = {**answer.meta, **({"thought": decision.thought} if decision.thought else {})}
    for action in decision.actions:
        if (yield from _held_back(run, action)):
            return None
        ended = yield from _acted(run, action, meta)
        if ended is not None:
            return ended
        meta = {}
    if decision.then is None:
        return None
    return (yield from _then(run, decision.then, meta))


def _held_back(run: Run, action: Action) -> Program[bool]:
    """Tell whether an action is not performed now, because the model should know something first."""
    if run.over:
        yield from run.notice("world", "The world takes no more actions: complete, go back or finish.")
        return True
    tree = run.state.tree
    place = (tree.step_head, action.text)
    if not run.policy.point_out or place in run.pointed_out or not _went_wrong_from(tree, place):
        return False
    run.pointed_out.add(place)
    yield from run.notice(
        "tried", f"This very action was tried here before, and left; see the lessons: {action.text}"
    )
    return True


def _went_wrong_from(tree: Tree, place: tuple[StepId, str]) -> bool:
    """Tell whether this action was taken from here before, and something was learned here since."""
    step, action = place
    tried = any(tree.step(child).action == action for child in tree.step_children(step))
    return tried and bool(tree.lessons_at(step))


def _acted(run: Run, action: Action, meta: Mapping[str, object]) -> Program[Outcome | None]:
    head = run.state.tree.step_head
    try:
        observed = yield from act(Act(action.text, head))
    except EffectError as error:
        yield from run.notice("world", f"Your action was not carried out ({error.detail}): {action.text}")
        return _failed(run, "world", error)
    if isinstance(observed, Uncertain):
        yield from run.notice(
            "uncertain", "The run was interrupted at your last action: find out whether it was done."
        )
        observed = Observed(UNCERTAIN)
    called = {} if action.call is None else {"call": action.call}
    newest = run.state.tree.next_step
    try:
        yield from run.operate(
            Grow(action.text, observed.text), {**meta, **called, **observed_meta(observed)}
        )
    except Overtaken:
        yield from run.notice(
            "changed", f"Your last action was performed, but is not in your history: {action.text}"
        )
        raise
    step = run.state.tree.step_head
    if observed.effect is not None:
        run.effects[step] = observed.effect
    if run.state.tree.next_step == newest:
        yield from run.notice(
            "merged", f"You are back at step {step}, on a way that was left before: see the hints."
        )
    yield from _instruct(run, observed)
    return None


def _instruct(run: Run, observed: Observed) -> Program[None]:
    for text in observed.instructions:
        yield from run.operate(Instruct(text))
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
        yield from run.notice("irreversible", f"You cannot go back there: {forbidden}.")
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

"""The agent's loop: look, decide, act, grow; compress and have it judged; go back when it was wrong.

    until the run ends:
        look                                  other writers' commands, and a new policy
        place owed instructions               those that another writer came before            revise
        settle a pending or failed summary    act on the judge's verdict                       maintain
        fold the oldest lines of C            where C takes too many tokens (D19)              chapters
        decide                                the model reads S and the notices                compact
        relieve a segment that is too long    the fallback Compress, of steps that were read   compact
        act                                   one step for each action: Grow
        compress, revise, look or finish      the model's operation on its own state           compact, revise

The loop is a program: it asks (`mage.memory.requests`) and performs nothing. It keeps its state in `Run`; the state
follows from the answers alone, so the program can be run again over them (`mage.agent.replay`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final, assert_never

from mage.chat import BESIDE, NOTED, THOUGHT, note_action
from mage.effects import (
    RESET,
    Act,
    Action,
    Decision,
    EffectError,
    Finish,
    LookInto,
    Metered,
    NoEffect,
    Observed,
    Then,
)
from mage.engine import Active, Compress, Grow, Revise, State, Tree, Unverified
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.memory.chapters import fold_lines, look_as_asked
from mage.memory.journal import NOTED_SO, UNCERTAIN, observed_meta, with_parts
from mage.memory.policy import Outcome, RunFailed, RunFinished, RunStopped
from mage.memory.requests import (
    End,
    IsDue,
    IsHarmless,
    Look,
    Overtaken,
    Seen,
    Twice,
    Uncertain,
    act,
    begin,
    decide,
)
from mage.memory.revise import follow, owe, place_owed, revise_as_asked
from mage.memory.state import Run, reached
from mage.memory.summaries import (
    compress,
    has_passed,
    insists_on_text,
    is_due,
    may_end,
    question,
    relieve,
    settle,
    tell_of_mark,
)

_NOTHING_DONE: Final = EffectError("wrong_schema", "the reply names no action and nothing to do")


async def program(run: Run) -> Outcome:
    """Run the agent until the run ends; in a replay continue where the run was resumed later."""
    while True:
        ended: Outcome | None = None
        while ended is None:
            with suppress(Overtaken):  # an idle turn unless a step was done: others may write in every turn
                ended = await _turn(run)
        if not (await End(ended)):
            return ended
        run.unusable = run.idle = run.cool_until = 0


async def _turn(run: Run) -> Outcome | None:
    before = run.state if run.began else None
    seen = await Look()
    run.see(seen)
    run.notices.extend(seen.news)
    run.idle += 1
    ended = await (_follow(run, seen, before) if run.began else _begin(run))
    ended = ended or _differs(run, seen) or reached(run)
    if ended is not None:
        return ended
    # owed instructions are placed first: in the log a late verdict may stand before the mark or here
    await _open(run)
    ended = await settle(run, wait=False)
    if ended is None and run.is_awaiting:
        return await _decided(run)
    if ended is not None or not isinstance(run.state, Active | Unverified):
        return ended
    await _open(run)
    await tell_of_mark(run, run.shown())
    await fold_lines(run)
    return await _decided(run)


async def _follow(run: Run, seen: Seen, before: State | None) -> Outcome | None:
    if not seen.followed:
        return None
    await run.notice("changed", "Somebody else has changed your state meanwhile: read it anew.")
    return await follow(run, before)


def _differs(run: Run, seen: Seen) -> Outcome | None:
    """Stop, if the policy says so, where a resumed run could not restore the environment as it was."""
    told = next((notice for notice in seen.news if notice.kind == "diverged"), None)
    if told is None or run.policy.on_divergence != "stop":
        return None
    return RunStopped("diverged", f"{told.text} {told.said}".strip(), run.totals)


async def _begin(run: Run) -> Outcome | None:
    """Reset the environment; in a session that has steps, restore it to the last of them."""
    tree = run.state.tree
    run.found = tree.next_step
    if tree.step_head != ROOT_STEP:
        run.began = True
        run.opening = _opening_of(tree)
        return await follow(run, None)
    try:
        run.opening = await begin()
    except EffectError as error:
        return RunFailed("environment", error.fault, str(error), run.totals)
    run.began = True
    return None


def _opening_of(tree: Tree) -> Observed | None:
    """Return the environment's opening observation, from the path of an earlier run; None where it has none."""
    first = trace(tree, ROOT_STEP, tree.step_head)[0]
    if first.action != RESET:
        return None
    given = tuple(each.text for each in tree.instructions_at(first.id) if not each.standing)
    return Observed(first.observation, instructions=given)


async def _open(run: Run) -> None:
    """At the root, grow the environment's opening observation first, also after a revise to the root.

    Then place owed instructions, wherever the agent stands; do nothing below a failed summary.
    """
    if not isinstance(run.state, Active | Unverified):
        return
    if run.state.tree.step_head == ROOT_STEP and run.opening is not None:
        opening = run.opening
        owe(run, ROOT_STEP, opening.instructions)  # on every path, also behind commands of another writer
        if opening.text.strip():
            await run.operate(Grow(RESET, opening.text), with_parts(observed_meta(opening), opening))
        await tell_if_over(run, opening)
    await place_owed(run)


# -- deciding ------------------------------------------------------------------------------------------


async def _decided(run: Run) -> Outcome | None:
    shown = run.shown()
    if await IsDue(run.outgrows(shown)):
        told = f"what is shown takes {run.whole(shown)} tokens, and the window is {run.policy.window}"
        return await _too_long(run, EffectError("overflow", told))
    try:
        answer = await run.asked("model", decide(question(run, shown)), run.marked(shown))
        if not answer.value.actions and answer.value.then is None:
            raise _NOTHING_DONE
    except EffectError as error:
        return await _no_decision(run, error)
    run.unusable = 0
    run.shortened = False
    run.seen = run.state.tree.step_head
    run.told()
    return await carried_out(run, answer)


async def _no_decision(run: Run, error: EffectError) -> Outcome | None:
    if error.fault == "overflow" or error.shorter_may_help:
        return await _too_long(run, error)
    if not error.unusable or run.unusable >= run.policy.max_unusable:
        return _failed(run, error)
    run.unusable += 1
    run.told()
    await run.notice(
        "unusable",
        f"Your last reply could not be used ({error.fault.replace('_', ' ')}). Reply with one action. "
        "What was wrong with it:",
        error.detail,
    )
    return None


async def _too_long(run: Run, error: EffectError) -> Outcome | None:
    """Make the prompt shorter: cut the longest steps, then summarize the open segment, then leave out the notices.

    Do not cut steps where the prompt is only assumed to be too long (`shorter_may_help`).
    """
    if error.fault == "overflow" and run.shorten():
        run.idle -= 1
        return None
    tree = run.state.tree
    if run.policy.compress and tree.step_head not in {tree.boundary, run.overflowed_at}:
        run.overflowed_at = tree.step_head
        return await relieve(run)
    if run.shortened or not (run.notices or run.looked):
        return _failed(run, error)
    run.shortened = True
    run.told()
    await run.notice("tokens", "What you were to be told did not fit, and was left out: look before you act.")
    return None


def _failed(run: Run, error: EffectError) -> RunFailed:
    return RunFailed("model", error.fault, str(error), run.totals)


# -- carrying out a decision: its actions, each a step, then its operation on the agent's state (D11) ----------


async def carried_out(run: Run, answer: Metered[Decision]) -> Outcome | None:
    """Execute a decision. Where the model must first be told something, hold back the rest and list it in a notice.

    Returns:
        How the run ends, None where it goes on.
    """
    decision = answer.value
    meta = {**answer.meta, **({THOUGHT: decision.thought} if decision.thought else {})}
    for place, action in enumerate(decision.actions):
        stopped = reached(run) if place else None  # for the first action the turn has checked the limits
        held = place if stopped is not None else (await _held_from(run, decision, place))
        if held is not None:
            await _hold_back(run, decision, held)
            return stopped
        if not place and not action.is_note:
            ended, goes_on = await _relieved(run, decision)
            if not goes_on:
                return ended
        try:
            ended = await _acted(run, action, meta)
        except Overtaken:
            await _hold_back(run, decision, place if action.is_note else place + 1)
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


async def _relieved(run: Run, decision: Decision) -> tuple[Outcome | None, bool]:
    """Summarize the open segment where it is too long, before the decision: the model has just read all of it.

    Returns:
        How the run ends, None where it does not; and whether the decision can still be executed.
    """
    if not (await IsDue(is_due(run, run.shown()))):
        return None, True
    head = run.state.tree.step_head
    try:
        ended = await relieve(run)
    except Overtaken:
        await _hold_back(run, decision, 0)
        raise
    is_there = run.state.tree.step_head == head and isinstance(run.state, Active | Unverified)
    if ended is None and is_there:
        return None, True
    await _hold_back(run, decision, 0)
    return ended, False


async def _held_from(run: Run, decision: Decision, place: int) -> int | None:
    """Return the place of the first action that is held back; None where the action at `place` is performed."""
    if await insists_on_text(run):
        return place
    if place and run.doubtful:  # the model decided the rest for the case that the action before succeeds
        return place
    if not decision.actions[place].is_note and await _is_pointed_out(run, decision.actions[place]):
        return place + 1
    is_note = decision.actions[place].is_note  # a note is short, and no `acting` stands before its step
    if place and not is_note and (await IsDue(has_passed(run, run.shown()), "rest")):
        await run.notice("tokens", "The open steps have passed the mark.")
        return place
    return None


async def _hold_back(run: Run, decision: Decision, place: int) -> None:
    """List the undone rest of a decision, from `place` on, in a notice, because no prompt shows the reply again."""
    held = [action.text for action in decision.actions[place:]]
    if decision.then is not None:
        held.append(type(decision.then).__name__.lower())
    if held:
        await run.notice("refused", "Not done, of your last reply:", *held)


async def _is_pointed_out(run: Run, action: Action) -> bool:
    """Tell whether an action is held back because the model must first be told something."""
    if run.over:
        left = "compress, go back or finish" if run.policy.revise else "compress or finish"
        await run.notice("environment", f"The world takes no more actions: {left}.")
        return True
    tree = run.state.tree
    place = (tree.step_head, action.text)
    if not run.policy.point_out or place in run.pointed_out or not _went_wrong_from_here(run, action.text):
        return False
    if await IsHarmless(action.text):
        return False
    run.pointed_out.add(place)
    await run.notice(
        "tried",
        "Nothing was done: this very action was tried here before, and left; see the hints. "
        "To have it done all the same, call it once more:",
        action.text,
    )
    return True


def _went_wrong_from_here(run: Run, action: str) -> bool:
    """Tell whether this action was tried from here, may have had an effect, and a lesson says that it was wrong.

    A lesson at this step is about every action tried here. A lesson at the boundary above is about a whole branch:
    only the last step of a branch counts as wrong, else each step of a long branch taken again would be held back.

    Cost: O(tries from here); O(1) without a lesson.
    """
    tree = run.state.tree
    here, above = tree.lessons_at(tree.step_head), tree.lessons_at(tree.boundary)
    if not here and not above:
        return False
    tried = [
        step.id
        for step in run.shown().hints.continuations
        if step.action == action and not isinstance(run.effects.get(step.id), NoEffect)
    ]
    if here:
        return bool(tried)
    return any(not tree.step_children(step) for step in tried)


async def _acted(run: Run, action: Action, meta: Mapping[str, object]) -> Outcome | None:
    """Perform an action and grow its step; a note needs no environment. Raises `Overtaken`."""
    if action.is_note:
        called = {} if action.call is None else {"call": action.call}
        noted = Grow(note_action(action.text), NOTED)
        await run.operate(noted, {**meta, **called, **observed_meta(NOTED_SO)})
        return None
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
    called |= {BESIDE: action.beside} if action.beside else {}
    newest = run.state.tree.next_step
    try:
        kept = with_parts({**meta, **called, **observed_meta(observed)}, observed)
        await run.operate(Grow(action.text, observed.text), kept)
    except Overtaken:
        await run.notice(
            "changed", "Your last action was performed, but is not in your history:", action.text
        )
        raise
    step = run.state.tree.step_head
    if run.state.tree.next_step == newest:
        await run.notice(
            "merged",
            f"This action was done here before, and led to step {step}, which was left: see the hints.",
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
    """Remember whether the environment takes no more actions, and tell the model if so."""
    run.over = observed.over
    if observed.over:
        await run.notice("environment", "The world says that it is over, and takes no more actions: finish.")


async def _then(run: Run, then: Then, meta: Mapping[str, object]) -> Outcome | None:
    match then:
        case Compress(text):
            return await compress(run, text, meta)
        case Revise(boundary, lesson):
            return await revise_as_asked(run, boundary, lesson)
        case LookInto():
            await look_as_asked(run, then, str(meta.get(THOUGHT, "")))
            return None
        case Finish(answer):
            over = await may_end(run, answer, meta)
            if isinstance(over, bool):
                return RunFinished(answer, run.totals) if over else None
            return over
        case _:
            assert_never(then)

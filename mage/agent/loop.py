"""The agent's loop: look, decide, act, grow; compress and have it judged; go back when it was wrong.

    until the run ends:
        look                                  others may have written, the policy may have changed
        place what is owed                    instructions that somebody came before           instructing
        settle what is pending or failed      Maintain's verdict, and what follows from it     maintaining
        relieve a segment that is too long    the fallback Compress                            relief
        decide                                the model, seeing S and what it is told once
        act                                   one step for each action: Grow                   carrying_out
        compress, revise or finish            what the model does to its own state             going_back

It is a program: it asks (`mage.memory.requests`) and performs nothing. What it remembers is in `Run`; all of it
follows from the answers, so the program can be run again over them (`mage.agent.durable`).
"""

from __future__ import annotations

from typing import Final

from mage.agent.carrying_out import carried_out, tell_if_over
from mage.effects import RESET, EffectError, Observed
from mage.engine import Active, Grow, State, Tree, Unverified
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.memory.compact import is_due, question, relieve, tell_of_mark
from mage.memory.journal import observed_meta
from mage.memory.maintain import settle
from mage.memory.outcomes import Outcome, RunFailed, RunStopped
from mage.memory.requests import End, IsDue, Look, Overtaken, Seen, begin, decide
from mage.memory.revise import follow, owe, place_owed
from mage.memory.state import Run, reached

__all__ = ["program"]

_NOTHING_DONE: Final = EffectError("wrong_schema", "the reply names no action and nothing to do")


async def program(run: Run) -> Outcome:
    """Run the agent until it ends, and on, if it was resumed after that."""
    while True:
        outcome = await _until_the_end(run)
        if not (await End(outcome)):
            return outcome
        run.unusable = run.idle = run.cool_until = 0


async def _until_the_end(run: Run) -> Outcome:
    while True:
        try:
            ended = await _turn(run)
        except Overtaken:  # by somebody who may write during every turn: it counts, unless something was done
            ended = None
        if ended is not None:
            return ended


async def _turn(run: Run) -> Outcome | None:
    before = run.state if run.began else None
    seen = await Look()
    run.see(seen)
    run.idle += 1
    ended = await (_follow(run, seen, before) if run.began else _begin(run))
    ended = ended or _differs(run, seen) or reached(run)
    if ended is not None:
        return ended
    # what is owed is placed first: a late verdict, taken from the tape, may have come at the mark as well as here
    await _open(run)
    ended = await settle(run, wait=False)
    if ended is not None or not isinstance(run.state, Active | Unverified):
        return ended
    await _open(run)
    if await IsDue(is_due(run, run.shown())):
        ended = await relieve(run)
        if ended is not None or not isinstance(run.state, Active | Unverified):
            return ended
        await _open(run)
    else:
        await tell_of_mark(run, run.shown())
    return await _decided(run)


async def _follow(run: Run, seen: Seen, before: State | None) -> Outcome | None:
    run.notices.extend(seen.news)
    if not seen.followed:
        return None
    await run.notice("changed", "Somebody else has changed your state meanwhile: read it anew.")
    return await follow(run, before)


def _differs(run: Run, seen: Seen) -> Outcome | None:
    """Stop, if the policy says so, where a resumed run has brought the world back and it is not what it was."""
    told = next((notice for notice in seen.news if notice.kind == "diverged"), None)
    if told is None or run.policy.on_divergence != "stop":
        return None
    return RunStopped("diverged", f"{told.text} {told.said}".strip(), run.totals)


async def _begin(run: Run) -> Outcome | None:
    """Let the world begin, or, in a session that has steps already, become what they say."""
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
    """Return what the world showed first, from the path that an earlier run has left; None where it showed nothing."""
    first = trace(tree, ROOT_STEP, tree.step_head)[0]
    if first.action != RESET:
        return None
    given = tuple(each.text for each in tree.instructions_at(first.id) if not each.standing)
    return Observed(first.observation, instructions=given)


async def _open(run: Run) -> None:
    """At the root, what the world showed first is grown before anything else (again, after going back there).

    And what is owed is placed, wherever the agent stands; not below a summary that has failed.
    """
    if not isinstance(run.state, Active | Unverified):
        return
    if run.state.tree.step_head == ROOT_STEP and run.opening is not None:
        opening = run.opening
        owe(run, ROOT_STEP, opening.instructions)  # on every path, also on that of somebody who is faster
        if opening.text.strip():
            await run.operate(Grow(RESET, opening.text), observed_meta(opening))
        await tell_if_over(run, opening)
    await place_owed(run)


# -- deciding ------------------------------------------------------------------------------------------


async def _decided(run: Run) -> Outcome | None:
    shown = run.shown()
    try:
        answer = await run.asked("model", decide(question(run, shown)), run.marked(shown))
        if not answer.value.actions and answer.value.then is None:
            raise _NOTHING_DONE
    except EffectError as error:
        return await _no_decision(run, error)
    run.unusable = 0
    run.shortened = False
    run.notices.clear()
    return await carried_out(run, answer)


async def _no_decision(run: Run, error: EffectError) -> Outcome | None:
    if error.fault == "overflow":
        return await _too_long(run, error)
    if not error.unusable or run.unusable >= run.policy.max_unusable:
        return _failed(run, error)
    run.unusable += 1
    run.notices.clear()
    await run.notice(
        "unusable",
        f"Your last reply could not be used ({error.fault.replace('_', ' ')}). Reply with one action. "
        "What was wrong with it:",
        error.detail,
    )
    return None


async def _too_long(run: Run, error: EffectError) -> Outcome | None:
    """Make the prompt shorter: by the open segment, then by what the model is to be told; each once at a place."""
    tree = run.state.tree
    if run.policy.compress and tree.step_head not in {tree.boundary, run.overflowed_at}:
        run.overflowed_at = tree.step_head
        return await relieve(run)
    if run.shortened or not run.notices:
        return _failed(run, error)
    run.shortened = True
    run.notices.clear()
    await run.notice("tokens", "What you were to be told did not fit, and was left out: look before you act.")
    return None


def _failed(run: Run, error: EffectError) -> RunFailed:
    return RunFailed("model", error.fault, str(error), run.totals)

"""Compress: where the model says so, where the open segment has grown too long (D12), and at the end of the task.

At the end the open steps are the last subgoal, and the answer is its text (`Policy.judge_finish`):

    passed, accepted        the agent ends
    the answer is wrong     the model is asked for a better answer: no summarizer can give one
    the steps are wrong     the agent goes back, as after any failed verdict

The text says that the whole task ends, so that the judge checks the whole task. A blank answer is judged too.
An answer that is longer than a summary may be is cut in its middle, openly, in the summary; the answer itself stays
whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mage.chat import named_of
from mage.effects import Decide, EffectError, SummaryRequest
from mage.engine import Active, Compress, ExecutionState, Failed, Retext, Unverified, view
from mage.engine.tree import trace
from mage.memory.maintain import (
    accounts_of,
    insists_on_text,
    limit_of,
    maintain,
    parts_of,
    settle,
    text_within,
)
from mage.memory.policy import SHARE, Outcome, current, nudge, room_below
from mage.memory.state import ENDS, Run
from mage.render.extract import extract
from mage.tokens import cut_to, too_long


def is_due(run: Run, shown: ExecutionState, coming: int = 0) -> bool:
    """Tell whether the open segment must be summarized now, before the next step.

    Three conditions: the segment has passed the mark, or would with `coming` tokens of steps whose results are there;
    the model has read each step raw; and `cool_down` steps have passed since a fallback that failed.
    """
    if run.seen != run.state.tree.step_head or run.totals.steps < run.cool_until:
        return False
    return has_passed(run, shown, coming)


def has_passed(run: Run, shown: ExecutionState, coming: int = 0) -> bool:
    """Tell whether the open segment has passed the mark, or would with `coming` more tokens."""
    if not run.policy.compress or not shown.raw:
        return False
    left = room(run, shown)
    return left is not None and left <= coming


def room(run: Run, shown: ExecutionState) -> int | None:
    """Return the tokens by which the open segment may grow before it is due; None where it is never due.

    The segment is due at the mark, but not before it takes a quarter of the mark itself. So a prompt takes at most:
    the mark, or the tokens that no summary saves and a quarter of the mark, whichever is more; and C; and the steps
    of the last reply, each at most the mark. The segment is also due where the whole prompt fills the window,
    if the window is known, but not before the segment takes a sixteenth of the window itself.
    """
    mark, window = run.policy.high_water, run.policy.window
    if not run.policy.compress:
        return None
    opened, left = run.opened(shown), list[int]()
    if mark is not None:
        left.append(room_below(mark, run.fixed(shown), opened))
    if window is not None:
        left.append(max(window - run.whole(shown), -(-window // SHARE**2) - opened))
    return min(left, default=None)


async def tell_of_mark(run: Run, shown: ExecutionState) -> None:
    """Tell the model once that the mark is passed and cannot hold: tokens that no summary saves take most of it."""
    mark, fixed = run.policy.high_water, run.fixed(shown)
    if mark is None or run.told_of_mark or not run.policy.compress or fixed + run.opened(shown) < mark:
        return
    if fixed <= mark - mark // SHARE:  # a summary would help: a fallback is due, and has failed
        return
    run.told_of_mark = True
    await run.notice(
        "tokens",
        f"System prompt, tools, task and instructions alone take {fixed} tokens, and the mark is {mark}: "
        "it cannot hold. Complete a subgoal soon.",
    )


def question(run: Run, shown: ExecutionState) -> Decide:
    """Return the question for the model. Without Compress (D18) boundaries and open segment are the usual ones."""
    whole = shown if run.policy.compress else view(run.state)
    legal = run.legal_boundaries() if run.policy.revise else ()
    if not whole.raw:  # the current boundary has no step behind it to undo
        legal = tuple([boundary for boundary in legal if boundary != whole.boundary])
    named = named_of(legal, whole.compressed, whole.boundary)
    last = run.state.tree.head_summary
    fallback = last.kind == "fallback"
    left, policy = room(run, shown), run.policy
    is_told = policy.compress or policy.maintain or policy.revise  # else summaries serve no purpose
    return Decide(
        shown,
        named,
        tuple(run.notices),
        bool(whole.raw) or fallback or run.is_awaiting,
        None if left is None else max(0, left),
        more=len(legal) - len(named),
        looked=run.looked,
        beside={step.id: run.beside[step.id] for step in shown.raw if step.id in run.beside},
        rules=run.policy.rules,
        current="" if run.over else current(run.state.tree),
        opened=len(whole.raw),
        thoughts=run.thoughts_of(shown),
        nudge=nudge(run.state.tree, run.opened(shown), left) if is_told else "",
    )


async def relieve(run: Run) -> Outcome | None:
    """Summarize the open segment as a fallback, and have the fallback judged.

    A pending summary is settled first. Where the summarizer gives no usable text, the state stays unchanged, the
    model is told, and the summarizer is asked again only after `cool_down` steps.

    Returns:
        How the run ends, None where it goes on.
    """
    ended = await settle(run, wait=True)
    if ended is not None or not isinstance(run.state, Active):
        return ended
    shown = view(run.state)
    if not shown.raw:  # the agent has gone back while the pending summary was settled
        return None
    text = await _text(run, shown)
    result = None if text is None else (await run.operate(Compress(text, "fallback")))
    if isinstance(result, Unverified):
        return await maintain(run)
    run.cool_until = run.totals.steps + run.policy.cool_down
    await run.notice(
        "tokens", "The open steps are long and could not be summarized: complete a subgoal soon."
    )
    return None


async def _text(run: Run, shown: ExecutionState) -> str | None:
    limit = limit_of(run, run.opened(run.shown()))
    before, interim = parts_of(shown.compressed)
    earlier = accounts_of(interim)
    request = SummaryRequest(
        *(shown.task, shown.instructions, "fallback", earlier, shown.raw, limit),
        before=before,
        thought=run.plan_of(shown.raw),
    )
    try:
        return await text_within(run, request)
    except EffectError as error:
        # a segment that does not fit into the summarizer's context will not fit later either
        return extract(shown.raw, limit) if error.fault == "overflow" else None


async def compress(run: Run, text: str, meta: Mapping[str, object]) -> Outcome | None:
    """Mark the subgoal complete, after settling a pending summary (Algorithm 1, Compress; D6, D12).

    Without open steps, a pending subgoal gets the text as its new text, and a fallback becomes part of the subgoal.
    A text that is too long is refused; the next one that is too long at this step head is cut.
    """
    within = await _fitting(run, text)
    if within is None:
        return None
    text = within
    head = run.state.tree.head_summary
    is_bare = isinstance(run.state, Unverified) and not run.state.tree.segment()
    if run.is_awaiting or (is_bare and head.kind == "subgoal"):
        return await _retext_pending(run, text, meta)
    ended = await settle(run, wait=True)
    if ended is not None:
        return ended
    if run.state.tree.summary_head != head.id or run.is_awaiting:
        await run.notice("failed", "Your earlier summary has failed meanwhile, so the last one was not made.")
        return None
    result = await run.operate(Compress(text), meta)
    if isinstance(result, Unverified):
        return await maintain(run)
    await run.notice("refused", f"You cannot compress now: {result}")
    return None


async def _fitting(run: Run, text: str) -> str | None:
    """Return the model's text, cut if need be; None where the model is asked for a shorter text."""
    limit = own_limit(run)
    wrong, head = too_long(text, limit, run.meter.counter), run.state.tree.step_head
    if not wrong:
        return text
    if run.too_long_at != head:
        run.too_long_at = head
        await run.notice("refused", f"Your text was not taken. {wrong}")
        return None
    await run.notice(
        "tokens", f"Your text was too long again: its middle was left out, {limit} tokens are kept."
    )
    return cut_to(text, limit, run.meter.counter)


def own_limit(run: Run) -> int:
    """Return the most tokens of the model's text for its present subgoal, or of the text that rewrites the last one."""
    tree, shown = run.state.tree, view(run.state)
    _, interim = parts_of(shown.compressed)
    covered = trace(tree, tree.head_summary.label, tree.boundary) if not shown.raw else []
    steps = sum(run.meter.step(*step.content) for step in covered)
    return limit_of(run, run.opened(shown) + sum(map(run.meter.line, interim)) + steps)


async def _retext_pending(run: Run, text: str, meta: Mapping[str, object]) -> Outcome | None:
    """Give the head summary, a subgoal, a new text, at most `Policy.max_retexts` times (D13, D16)."""
    head = run.state.tree.head_summary
    if run.counts.retexts.get(head.id, 0) >= run.policy.max_retexts:
        await run.notice("refused", "Its text was written anew as often as allowed: go on from here.")
        return None
    result = await run.operate(Retext(text), meta)
    if isinstance(result, Unverified):
        run.awaiting = None
        return await maintain(run)
    await run.notice("refused", f"You cannot compress now: {result}")
    return None


# -- the end of a task --------------------------------------------------------------------------------------


_NO_ANSWER: Final = "none"


async def may_end(run: Run, answer: str, meta: Mapping[str, object]) -> Outcome | bool:
    """Tell whether the agent may end with this answer: no pending summary fails, nor the answer itself (D6).

    Args:
        run: the run state.
        answer: the model's answer.
        meta: is kept beside the compress of the open steps.

    Returns:
        How the run ends where the policy stops it; else whether the agent may end. If not, the model is told why.
    """
    head = run.state.tree.summary_head
    ended = await settle(run, wait=True)
    if ended is not None:
        return ended
    if run.state.tree.summary_head != head:
        await run.notice("failed", "A summary has failed meanwhile, so the task goes on.")
        return False
    if not run.is_answer and await insists_on_text(run):
        return False
    if not run.is_awaiting and not (run.policy.judge_finish and _is_open(run)):
        return not await _is_refuted(run, "")
    end = run.state.tree.step_head
    text = cut_to(f"{ENDS}{answer if answer.strip() else _NO_ANSWER}", own_limit(run), run.meter.counter)
    if not run.is_awaiting and await _is_refuted(run, text):
        return False
    ended = await compress(run, text, meta) or await settle(run, wait=True)
    tree = run.state.tree
    return ended or (isinstance(run.state, Active) and tree.step_head == end and not tree.segment())


def _is_open(run: Run) -> bool:
    tree = run.state.tree
    return bool(tree.segment()) or tree.head_summary.kind == "fallback"


async def _is_refuted(run: Run, text: str) -> bool:
    """Tell whether an answer has failed at this boundary without a step since; with a text, whether that very text."""
    if run.state.tree.segment() or not run.policy.judge_finish:
        return False
    tried = [each for each in view(run.state).hints.subgoals if each.text.startswith(ENDS)]
    failed = [each for each in tried if isinstance(each.verdict, Failed) and text in ("", each.text)]
    if failed:
        await run.notice(
            "failed", "Your answer has failed, and nothing was done since: see the hints, and act first."
        )
    return bool(failed)

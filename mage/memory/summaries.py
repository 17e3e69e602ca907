"""Summaries: made by Compress, judged and acted upon by Maintain (Algorithm 1; D5, D6, D12, D13, D16, D18).

A summary is made where the model says so, where the open segment has grown too long (D12), and at the end of the
task. At the end the open steps are the last subgoal, and the answer is its text (`Policy.judge_finish`):

    passed, accepted        the agent ends
    the answer is wrong     the model is asked for a better answer: no summarizer can give one
    the steps are wrong     the agent goes back, as after any failed verdict

The text says that the whole task ends, so that the judge checks the whole task. A blank answer is judged too.
An answer that is longer than a summary may be is cut in its middle, openly, in the summary; the answer itself stays
whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from mage.chat import named_of, unfounded
from mage.effects import Decide, EffectError, Metered, SummaryRequest, Verdict
from mage.effects.questions import Program
from mage.engine import (
    Accept,
    Active,
    ApplyVerdict,
    Compress,
    Digest,
    Earlier,
    ExecutionState,
    Failed,
    JudgeRequest,
    Line,
    Rejected,
    Retext,
    Summary,
    Unverified,
    judge_request,
    view,
)
from mage.engine.judging import boundaries_below, request_for
from mage.engine.tree import trace
from mage.memory.policy import SHARE, Outcome, RunStopped, current, most_of_text, nudge, room_below
from mage.memory.requests import AskVerdict, BeginJudging, judge, summarize
from mage.memory.revise import go_back, may_go_back
from mage.memory.state import ENDS, Run, operated
from mage.render.extract import extract, is_extract
from mage.tokens import cut, cut_to, too_long

# -- Maintain -----------------------------------------------------------------------------------------------


FEEDBACK: Final = 2_000
"""The most characters of a judge's feedback that are kept."""


async def maintain(run: Run) -> Outcome | None:
    """Have the pending summary judged, and act on the verdict. With a policy that does not wait, only ask the judge.

    Returns:
        How the run ends, None where it goes on.
    """
    return await _acted_upon(run, (await _put(run)))


async def settle(run: Run, *, wait: bool) -> Outcome | None:
    """Bring the session out of `Rejected`, and out of `Unverified` where the verdict has arrived.

    With `wait` the session is `Active` then, or waits for a better text by the model (`Run.awaiting`), or the run
    ends. A summary that the policy leaves pending while the judge is down is accepted openly (D12).
    """
    ended = await _settled_once(run, wait=wait)
    while wait and ended is None and not isinstance(run.state, Active) and not run.is_awaiting:
        if isinstance(run.state, Unverified) and run.unjudged == run.state.digest:
            operated(await run.operate(Accept()))
            break
        ended = await _settled_once(run, wait=True)
    return ended


async def _settled_once(run: Run, *, wait: bool) -> Outcome | None:
    state = run.state
    if isinstance(state, Unverified) and (wait or run.unjudged != state.digest):
        asked_for = run.policy.maintain and run.judging == state.digest
        if not asked_for:
            return await _acted_upon(run, await _put(run))
        verdict = _verdict_asked_for(run, state.digest, wait=wait)
        return await _acted_upon(run, await _judged(run, state.digest, verdict))
    return await _acted_upon(run, None)


async def _acted_upon(run: Run, ended: Outcome | None) -> Outcome | None:
    """Act on a failed verdict, and on each failed verdict of a new text: at most `max_retexts` times."""
    while ended is None and isinstance(run.state, Rejected) and not run.is_awaiting:
        ended = await _after_failure(run, run.state)
        if ended is None:  # a summary with a new text is pending again
            ended = await _put(run)
    return ended


async def _put(run: Run) -> Outcome | None:
    """Ask the judge about the pending summary, if there is one; with a policy that waits, record the verdict.

    A verdict that could not be recorded, because another writer was faster, is recorded now, not asked for again.
    """
    state = run.state
    if not isinstance(state, Unverified):
        return None
    since_root = not run.policy.compress  # then the model sees every step
    if not run.policy.maintain:
        request = _question(state, since_root=since_root)
        operated(await run.operate(Accept()))
        await _tell_unfounded(run, request)
        return None
    if run.verdict is not None and run.verdict[0] == state.digest:
        return await _recorded(run, state.digest, run.verdict[1])
    request = _question(state, since_root=since_root)
    if run.policy.wait:
        return await _judged(run, state.digest, run.asked("judge", judge(request)))
    await BeginJudging(request)
    run.judging = state.digest
    return None


def _question(state: Unverified, *, since_root: bool) -> JudgeRequest:
    """Return the question for the judge, with the instructions that the text may use though no step was made under them."""
    request, tree = judge_request(state, since_root=since_root), state.tree
    later = [each.text for each in tree.instructions_at(tree.head_summary.boundary)]
    return attrs.evolve(request, later=tuple([text for text in later if text not in request.instructions]))


async def _tell_unfounded(run: Run, request: JudgeRequest) -> None:
    """Tell the model, where no judge is asked, which numbers and ids of its text occur in none of the steps."""
    missing = () if is_extract(request.text) else unfounded(request)
    if missing:
        told = "No judge has read the last text. These numbers or ids stand in none of its steps: look whether they are right."
        await run.notice("judge", told, ", ".join(missing))


async def _verdict_asked_for(run: Run, digest: Digest, *, wait: bool) -> Metered[Verdict] | None:
    """Return the verdict of a judge that was asked before; None where the judge has not answered yet."""
    try:
        answer = await AskVerdict(digest, wait)
    except EffectError as error:
        await run.spent_in_vain("judge", error)
        raise
    if answer is not None:
        await run.spent("judge", answer)
    return answer


async def _judged(
    run: Run,
    digest: Digest,
    question: Program[Metered[Verdict]] | Program[Metered[Verdict] | None],
) -> Outcome | None:
    try:
        answer = await question
    except EffectError as error:
        run.judging = None
        return await _judge_is_down(run, digest, error)
    if answer is None:
        return None
    run.judging = None
    return await _recorded(run, digest, answer)


async def _recorded(run: Run, digest: Digest, answer: Metered[Verdict]) -> Outcome | None:
    """Record a verdict. After `Overtaken` the run keeps it: it is valid as long as the summary is unchanged (D5)."""
    run.verdict = (digest, answer)
    verdict, told = _corrected(run, answer.value)
    result = await run.operate(ApplyVerdict(verdict, digest), answer.meta)
    run.verdict = None
    if told:
        await run.notice("judge", told)
    if isinstance(result, Active | Rejected):
        return None
    refused = EffectError("wrong_schema", f"the verdict was refused: {result}")
    return await _judge_is_down(run, digest, refused)


def _corrected(run: Run, verdict: Verdict) -> tuple[Verdict, str]:
    """Return a verdict without a boundary that the agent cannot go back to, and a notice about it if removed (D5).

    Its feedback is shortened, because it stands in each prompt, beside its line.
    """
    if not isinstance(verdict, Failed):
        return verdict, ""
    verdict = attrs.evolve(verdict, feedback=cut(verdict.feedback, FEEDBACK))
    if verdict.boundary is None:
        return verdict, ""
    tree = run.state.tree
    if verdict.fault == "execution" and verdict.boundary in boundaries_below(tree, tree.boundary):
        return verdict, ""
    told = f"The judge named step {verdict.boundary} as where the mistake began; it is none that one can go back to."
    return attrs.evolve(verdict, boundary=None), told


async def _judge_is_down(run: Run, digest: Digest, error: EffectError) -> Outcome | None:
    match run.policy.judge_down:
        case "stop":
            return RunStopped("judge_down", f"the judge gave no verdict: {error}", run.totals)
        case "accept":
            operated(await run.operate(Accept()))
            await run.notice("judge", "The judge gave no verdict; your summary was accepted without one.")
        case "leave":
            run.unjudged = digest
            await run.notice("judge", "The judge gave no verdict; your summary is unverified for now.")
    return None


async def _after_failure(run: Run, state: Rejected) -> Outcome | None:
    """Go back, rewrite the text, accept openly, or stop: what the policy says, as often as it allows."""
    summary = state.tree.head_summary
    verdict = summary.verdict
    if not isinstance(verdict, Failed):  # the engine guarantees that the head of a `Rejected` has failed
        raise AssertionError("the summary head of a rejected state has not failed")
    if run.policy.on_fail == "stop":
        return RunStopped("failed_verdict", f"[Step {summary.label}] has failed", run.totals)
    if run.policy.on_fail == "accept" or not run.policy.revise:
        await _accept_despite(run)
        return None
    if verdict.fault == "summary" or summary.kind == "fallback":
        if run.counts.retexts.get(summary.id, 0) < run.policy.max_retexts:
            if (run.policy.rewrite and not run.is_answer) or summary.kind == "fallback":
                return await _retext(run, state, verdict)
            await _ask_for_text(run, summary, verdict)
            return None
        return await _give_up(run, "its text was written anew as often as allowed")
    boundary = summary.label if verdict.boundary is None else verdict.boundary
    if run.counts.revisions.get(boundary, 0) >= run.policy.max_revisions:
        return await _give_up(run, "the agent has gone back there as often as allowed")
    behind = sum(count for place, count in run.counts.revisions.items() if place >= summary.label)
    if behind >= run.policy.max_subgoal_revisions:
        return await _give_up(run, "the agent has gone back in this subgoal as often as allowed")
    if may_go_back(run, boundary) is not None:
        return await _give_up(run, "going back would leave behind what cannot be undone")
    why = f"[Step {summary.label}] has failed (the hints say why)"
    return await go_back(run, boundary, verdict.feedback, why=why)


async def _ask_for_text(run: Run, summary: Summary, verdict: Failed) -> None:
    """Ask the model to rewrite its text or its answer, because no summarizer does (D16)."""
    run.awaiting = summary.id
    told = f"Your text of [Step {summary.label}] has failed: call compress with a better one. What is wrong with it:"
    if run.is_answer:
        told = "Your answer has failed, so the task goes on: give a better one. What is wrong with it:"
    await run.notice("failed", told, verdict.feedback)


async def _retext(run: Run, state: Rejected, verdict: Failed) -> Outcome | None:
    try:
        text = await text_within(run, _rewriting(run, state, verdict))
    except EffectError as error:
        return await _give_up(run, f"the summarizer gave no new text ({error.fault})")
    result = await run.operate(Retext(text))
    if not isinstance(result, Unverified):
        return await _give_up(run, "the summarizer gave a blank text")
    return None


def _rewriting(run: Run, state: Rejected, verdict: Failed) -> SummaryRequest:
    """Return the question for a new text: the summarizer reads what the judge read (D16)."""
    asked = request_for(
        state.tree, Digest(""), since_root=False
    )  # the judge's question depends on the tree alone
    before, interim = parts_of(asked.before)
    steps = sum(run.meter.step(step.action, step.observation) for step in asked.steps)
    return SummaryRequest(
        asked.task,
        asked.instructions,
        asked.kind,
        (*accounts_of(interim), *asked.earlier),
        asked.steps,
        limit_of(run, steps),
        rejected=asked.text,
        feedback=verdict.feedback,
        before=before,
        thought=run.plan_of(asked.steps) if asked.kind == "fallback" else "",
    )


def limit_of(run: Run, replaced: int) -> int:
    """Return the most tokens of a text in place of `replaced` tokens: as the policy says, and never more than those."""
    return most_of_text(run.policy.longest_text, replaced)


def parts_of(lines: Sequence[Line]) -> tuple[tuple[Line, ...], tuple[Summary, ...]]:
    """Return the lines of finished subgoals, and the fallbacks of the present subgoal, which stand last (I11)."""
    interim = tuple([line for line in lines if isinstance(line, Summary) and line.kind == "fallback"])
    return tuple(lines[: len(lines) - len(interim)]), interim


def accounts_of(interim: Iterable[Summary]) -> tuple[Earlier, ...]:
    """Return fallbacks in the form of a summarizer's question."""
    return tuple([Earlier(line.label, line.boundary, line.text, line.verdict) for line in interim])


async def text_within(run: Run, request: SummaryRequest) -> str:
    """Return a summarizer's text within its limit: ask once more for a shorter one, and cut that if need be.

    Raises:
        EffectError: the summarizer gives no answer.
    """
    text = (await run.asked("summarizer", summarize(request))).value
    counter, limit = run.meter.counter, request.limit
    wrong = "" if limit is None else too_long(text, limit, counter)
    if limit is None or not wrong:
        return text
    feedback = f"{request.feedback}\n{wrong}".strip()
    again = attrs.evolve(request, rejected=cut_to(text, 2 * limit, counter), feedback=feedback)
    text = (await run.asked("summarizer", summarize(again))).value
    return cut_to(text, limit, counter) if text.strip() else text


async def _give_up(run: Run, why: str) -> Outcome | None:
    label = run.state.tree.head_summary.label
    if run.policy.exhausted == "stop":
        return RunStopped("exhausted", f"[Step {label}] has failed, and {why}", run.totals)
    await _accept_despite(run)
    return None


async def _accept_despite(run: Run) -> None:
    label = run.state.tree.head_summary.label
    operated(await run.operate(Accept()))
    await run.notice("failed", f"[Step {label}] stays although it has failed: see its status.")


async def insists_on_text(run: Run) -> bool:
    """Tell whether the model must still rewrite a failed text: ask once more; next time accept the text openly."""
    if not run.is_awaiting:
        return False
    summary = run.state.tree.head_summary
    if run.insisted != summary.id:
        run.insisted = summary.id
        await run.notice(
            "failed",
            f"First call compress with a better text of [Step {summary.label}], or it stays as it is.",
        )
        return True
    await _accept_despite(run)
    return False


# -- Compress -----------------------------------------------------------------------------------------------


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

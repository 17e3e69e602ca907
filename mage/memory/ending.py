"""The end of a task: the steps that are open are its last subgoal, and the answer is the text of it (`judge_finish`).

    passed, accepted        the agent ends
    the answer is wrong     the model is asked for a better one: nobody else can give it
    the steps are wrong     the agent goes back, as after any failed verdict

The text says that the whole task ends, so that its judge asks for all of it. A blank answer does not end it unjudged. Of an answer that is longer than a summary
may be, the summary has both ends and says how much is left out; the answer itself stays whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mage.chat.parts import cut_to
from mage.engine import Active, Failed, view
from mage.memory.compact import compress, own_limit
from mage.memory.maintain import insists_on_text, settle
from mage.memory.outcomes import Outcome
from mage.memory.state import ENDS, Run

_NO_ANSWER: Final = "none"


async def may_end(run: Run, answer: str, meta: Mapping[str, object]) -> Outcome | bool:
    """Tell whether the agent may end with this answer: nothing that it claims turns out to be wrong (D6).

    Args:
        run: the run state.
        answer: the model's.
        meta: what is kept beside the compress of the open steps.

    Returns:
        How the run ends where the policy stops it; else whether the agent may end. Where not, the model is told why.
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
    """Tell whether the answer has failed from here, and nothing was done since; with a text, whether it is the same one."""
    if run.state.tree.segment() or not run.policy.judge_finish:
        return False
    tried = [each for each in view(run.state).hints.subgoals if each.text.startswith(ENDS)]
    failed = [each for each in tried if isinstance(each.verdict, Failed) and text in ("", each.text)]
    if failed:
        await run.notice(
            "failed", "Your answer has failed, and nothing was done since: see the hints, and act first."
        )
    return bool(failed)

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

from mage.chat.lengths import cut_to
from mage.engine import Active
from mage.memory.compact import compress, own_limit
from mage.memory.maintain import insists_on_text, settle
from mage.memory.outcomes import Outcome
from mage.memory.state import Run

ENDS: Final = "The whole task ends here. Answer: "
"""How the text of the last subgoal begins, so that its judge knows what is claimed."""
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
        return True
    end = run.state.tree.step_head
    run.is_answer = True
    text = cut_to(f"{ENDS}{answer if answer.strip() else _NO_ANSWER}", own_limit(run), run.meter.counter)
    ended = await compress(run, text, meta) or await settle(run, wait=True)
    run.is_answer = run.is_awaiting
    tree = run.state.tree
    return ended or (isinstance(run.state, Active) and tree.step_head == end and not tree.segment())


def _is_open(run: Run) -> bool:
    tree = run.state.tree
    return bool(tree.segment()) or tree.head_summary.kind == "fallback"

"""Who plays the demo's story: a model, a judge and a summarizer from a script, without a network or a key.

Each is a function of what it is shown. So the story goes on from wherever it was interrupted, under any policy,
and in the middle of any other journal of this task. There is one mistake in it: the model buys the cheapest
chair, unless a lesson at that place tells it to look at the linen ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mage.agent.shop.goods import BUDGET, FEEDBACK, GOODS, SUBTASKS
from mage.effects import Decide, Decision, SummaryRequest
from mage.engine import ExecutionState, Failed, JudgeRequest, Passed, Verdict

__all__ = ["claim", "judge", "shopper", "summarize"]

_WAYS: Final = (
    ("oak desk 120 cm", "D-2041"),
    ("chrome swivel chair", "C-1180"),
    ("desk lamp brass linen shade", "L-0310"),
)
"""What the model searches for and buys, by subtask, if nobody has told it better."""
_WISER: Final = ("linen desk chair", "C-2214")
_BOUGHT: Final = re.compile(r"Bought (\S+) for \$\d+\. Spent so far: \$(\d+)\.")
_BY_CODE: Final = {product.code: product for product in GOODS}


def claim(subtask: int, code: str, spent: int) -> str:
    """Return the text of the summary that says what was bought for a subtask, counted from 1."""
    product = _BY_CODE[code]
    return (
        f"Product {subtask} purchased: {code} {product.short}, ${product.price}. Spent ${spent} of ${BUDGET}."
    )


def shopper(request: Decide, /) -> Decision:
    """Decide as the story goes: search, open and buy for each subtask, and say so; then finish."""
    done, known = _progress(request.shown)
    if done == len(SUBTASKS):
        return Decision.finish("The study is furnished.", thought="All three are bought.")
    query, code = _way(done, request.shown)
    for action in (f"search[{query}]", f"open[{code}]", f"buy[{code}]"):
        if action not in known:
            return Decision.act(action)
    return Decision.compress(claim(done + 1, code, _spent(known)))


def _way(subtask: int, shown: ExecutionState) -> tuple[str, str]:
    told = any("linen" in lesson for lesson in shown.hints.lessons)
    return _WISER if told and subtask == 1 else _WAYS[subtask]


def _progress(shown: ExecutionState) -> tuple[int, str]:
    """Return how many subtasks are done, and what the model sees of the present one: fallbacks, then steps.

    Where steps are shown in place of summaries (D18), those before the boundary that bought something count.
    """
    done, known = 0, list[str]()
    for summary in shown.compressed:
        known = [*known, summary.text] if summary.kind == "fallback" else []
        done += summary.kind == "subgoal"
    for step in shown.raw:
        known.append(f"{step.action}: {step.observation}")
        if step.id <= shown.boundary and _BOUGHT.search(step.observation):
            done, known = done + 1, []
    return done, "\n".join(known)


def _spent(known: str) -> int:
    found = _BOUGHT.findall(known)
    return int(found[-1][1]) if found else 0


def judge(request: JudgeRequest, /) -> Verdict:
    """Judge a purchase by the steps and the instructions: what was bought must fit, and be what the text says.

    A fallback claims nothing, and passes.
    """
    if request.kind == "fallback":
        return Passed()
    bought = list(_bought(request))
    if not bought:
        return Failed("Nothing was bought.")
    code = bought[-1]
    if code not in request.text:
        return Failed(f"{code} was bought, and the text does not say so.", "summary")
    avoids_chrome = any("Oak avoids chrome" in instruction for instruction in request.instructions)
    if avoids_chrome and "chrome" in _BY_CODE[code].line:
        return Failed(FEEDBACK.format(code=code))
    return Passed()


def _bought(request: JudgeRequest) -> Iterator[str]:
    for step in request.steps:
        yield from (code for code, _ in _BOUGHT.findall(step.observation) if code in _BY_CODE)


def summarize(request: SummaryRequest, /) -> str:
    """Say what was done so far, action by action, with what purchases came to."""
    earlier = [earlier.text for earlier in request.earlier[-1:]]
    done = [_told(step.action, step.observation) for step in request.steps]
    return " ".join([*earlier, *done]) or "Nothing was done so far."


def _told(action: str, observation: str) -> str:
    purchase = _BOUGHT.search(observation)
    return f"Did {action}. {purchase[0]}" if purchase else f"Did {action}."

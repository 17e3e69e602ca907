"""A question of each kind, to put to models: an agent that bought a cake mix and looks for a frosting."""

from __future__ import annotations

from typing import Final

from mage.effects import Decide, JudgeRequest, Notice, SummaryRequest
from mage.engine import (
    Accept,
    Compress,
    ExecutionState,
    Grow,
    Start,
    State,
    StepId,
    Unverified,
    judge_request,
    replay,
    view,
)

SECRET: Final = "the frosting is for the surprise party of Ada"
"""A text of the agent that must not turn up in errors and logs."""
_BOUGHT: Final = (
    Start(f"Buy a cake mix and a frosting: {SECRET}."),
    Grow("search[cake mix]", "1. Carrot Cake Mix, $14.99"),
    Grow("click[Buy Now]", "Bought Carrot Cake Mix."),
    Compress("Bought Carrot Cake Mix, $14.99."),
)


def _state(*commands: Start | Grow | Compress | Accept) -> State:
    return replay(commands).unwrap()


def shown_after(*commands: Start | Grow | Compress | Accept) -> ExecutionState:
    """Return what an agent is shown after these commands."""
    return view(_state(*commands))


def _asked(kind: str) -> JudgeRequest:
    compress = Compress("Bought Carrot Cake Mix, $14.99.", "subgoal" if kind == "subgoal" else "fallback")
    state = _state(*_BOUGHT[:3], compress)
    assert isinstance(state, Unverified)
    return judge_request(state)


def deciding(*notices: Notice) -> Decide:
    """Return the question after one subgoal and one step of the next."""
    shown = shown_after(*_BOUGHT, Accept(), Grow("search[frosting]", "1. Cream Cheese\n2. Vanilla"))
    return Decide(shown, (StepId(0), StepId(2)), notices)


DECIDE: Final = deciding()
JUDGE: Final = _asked("subgoal")
FALLBACK: Final = _asked("fallback")
SUMMARY: Final = SummaryRequest(JUDGE.task, (), "subgoal", (), JUDGE.steps, 50)

"""What mypy must reject: each line with its error. A call that becomes legal turns its comment into an error."""

from __future__ import annotations

import mage
from mage import Active, Failed, Rejected, State, StepId, SummaryId, Tree, Unverified
from mage.session.asks import HeadOf
from mage.session.loading import record_at


def wrong_phases(active: Active, unverified: Unverified, rejected: Rejected, state: State) -> None:
    """An operation in a phase where it is not legal is a type error."""
    mage.grow(rejected, "a", "o")  # type: ignore[call-overload]
    mage.grow(state, "a", "o")  # type: ignore[arg-type]
    mage.instruct(rejected, "do")  # type: ignore[call-overload]
    mage.compress(unverified, "text")  # type: ignore[arg-type]
    mage.compress(rejected, "text")  # type: ignore[arg-type]
    mage.retext(active, "text")  # type: ignore[arg-type]
    mage.judge_request(active)  # type: ignore[arg-type]
    mage.judge_request(rejected)  # type: ignore[arg-type]
    mage.accept(active)  # type: ignore[arg-type]


def wrong_values(active: Active, unverified: Unverified) -> None:
    """Kinds, faults and verdicts are closed; texts are strings."""
    mage.compress(active, "text", "goal")  # type: ignore[arg-type]
    mage.apply_verdict(unverified, mage.Pending(), unverified.digest)  # type: ignore[arg-type]
    mage.grow(active, b"a", "o")  # type: ignore[call-overload]
    Failed("no", "luck")  # type: ignore[arg-type]
    mage.instruct(active, "do", True)  # type: ignore[call-overload]


def mixed_ids(tree: Tree, step: StepId, summary: SummaryId) -> None:
    """The two layers are not mixed, and ids are not computed."""
    tree.step(summary)  # type: ignore[arg-type]
    tree.summary(step)  # type: ignore[arg-type]
    tree.step(step + 1)  # type: ignore[arg-type]


async def forgotten(name: str) -> None:
    """A program that forgets to await an ask, or another program, is a type error."""
    HeadOf(name)  # type: ignore[unused-awaitable]
    record_at(name, 1)  # type: ignore[unused-coroutine]
    _ = (await record_at(name, 1)).head + 1  # type: ignore[operator]


def frozen(active: Active) -> None:
    """Nothing can be assigned to, and a result is not a state."""
    active.tree = active.tree  # type: ignore[misc]
    mage.view(mage.compress(active, "text"))  # type: ignore[arg-type]

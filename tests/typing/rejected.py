"""What mypy must reject: each line with its error. A call that becomes legal turns its comment into an error."""

from __future__ import annotations

import mage
import mage.engine
from mage import Failed
from mage.engine import Active, Rejected, State, StepId, SummaryId, Tree, Unverified
from mage.session.drivers import HeadOf
from mage.session.loading import record_at


def wrong_phases(active: Active, unverified: Unverified, rejected: Rejected, state: State) -> None:
    """An operation in a phase where it is not legal is a type error."""
    mage.engine.grow(rejected, "a", "o")  # type: ignore[call-overload]
    mage.engine.grow(state, "a", "o")  # type: ignore[arg-type]
    mage.engine.instruct(rejected, "do")  # type: ignore[call-overload]
    mage.engine.compress(unverified, "text")  # type: ignore[arg-type]
    mage.engine.compress(rejected, "text")  # type: ignore[arg-type]
    mage.engine.retext(active, "text")  # type: ignore[arg-type]
    mage.engine.judge_request(active)  # type: ignore[arg-type]
    mage.engine.judge_request(rejected)  # type: ignore[arg-type]
    mage.engine.accept(active)  # type: ignore[arg-type]


def wrong_values(active: Active, unverified: Unverified) -> None:
    """Kinds, faults and verdicts are closed; texts are strings."""
    mage.engine.compress(active, "text", "goal")  # type: ignore[arg-type]
    mage.engine.apply_verdict(unverified, mage.engine.Pending(), unverified.digest)  # type: ignore[arg-type]
    mage.engine.grow(active, b"a", "o")  # type: ignore[call-overload]
    Failed("no", "luck")  # type: ignore[arg-type]
    mage.engine.instruct(active, "do", True)  # type: ignore[call-overload]


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
    mage.view(mage.engine.compress(active, "text"))  # type: ignore[arg-type]

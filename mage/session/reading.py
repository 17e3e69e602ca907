"""The properties of a session that need no I/O, and `Moment`, a session at one version, read-only."""

from __future__ import annotations

from typing import final

import attrs
from returns.pipeline import is_successful

from mage.engine import (
    Active,
    ExecutionState,
    FoldRequest,
    JudgeRequest,
    State,
    StepId,
    Tree,
    Unverified,
    fold_request,
    judge_request,
    view,
)
from mage.engine.machine import illegal
from mage.session.core import Core
from mage.session.drivers import Refused
from mage.session.loading import Slot
from mage.stores import Head


@final
@attrs.frozen
class Moment:
    """A session at one version: a frozen value, which later operations do not change. `phase` is the engine's state."""

    name: str
    head: Head
    phase: State

    @property
    def version(self) -> int:
        """The version."""
        return self.head.version

    @property
    def tree(self) -> Tree:
        """The tree at that version."""
        return self.phase.tree

    def state(self) -> ExecutionState:
        """Return S = (C, R, H) at that version. Cost: O(size of S)."""
        return view(self.phase)


class Readable:
    """The half of a session that performs no I/O, the same in both twins. Each method reads the slot once."""

    _core: Core

    def __repr__(self) -> str:
        slot = self._core.slot
        closed = ", closed" if self._core.closed else ""
        return (
            f"<{type(self).__name__} {self.name!r} at version {slot.head.version},"
            f" {type(slot.state).__name__}{closed}>"
        )

    @property
    def name(self) -> str:
        """The name of the session, and of its journal."""
        return self._core.settings.name

    @property
    def head(self) -> Head:
        """The present version of the session, and the digest of its record."""
        return self._core.slot.head

    @property
    def version(self) -> int:
        """The present version: the number of records, the start and the notes included."""
        return self._core.slot.head.version

    @property
    def redactions(self) -> int:
        """The number of redactions of its journal when the session last looked."""
        return self._core.redactions

    @property
    def phase(self) -> State:
        """The engine's state, in one of the three phases: `match` on it, or give it to pure functions."""
        return self._core.slot.state

    @property
    def tree(self) -> Tree:
        """The tree."""
        return self._core.slot.state.tree

    @property
    def now(self) -> Moment:
        """The session at its present version, as one value: consistent while other threads change the session."""
        return self._moment(self._core.slot)

    def state(self) -> ExecutionState:
        """Return S = (C, R, H), the execution state for the agent. Cost: O(size of S)."""
        return view(self._core.slot.state)

    def judge_request(self, *, since_root: bool = False) -> JudgeRequest:
        """Return the question for a judge about the pending summary; see `mage.engine.judge_request`.

        Raises:
            IllegalPhase: no summary is pending.
        """
        state = self._core.slot.state
        if not isinstance(state, Unverified):
            raise illegal("judge_request", state)
        return judge_request(state, since_root=since_root)

    def fold_request(self, first: StepId | int, last: StepId | int, text: str) -> FoldRequest:
        """Return the question for a judge about a chapter; see `mage.engine.fold_request`.

        Raises:
            IllegalPhase: the summary head is pending or has failed.
            Refused: `UnfoldableRange` or `BlankSummary`.
        """
        state = self._core.slot.state
        if not isinstance(state, Active):
            raise illegal("fold_request", state)
        request = fold_request(state, first, last, text)
        if not is_successful(request):
            raise Refused(request.failure())
        return request.unwrap()

    def _moment(self, slot: Slot) -> Moment:
        return Moment(self.name, slot.head, slot.state)

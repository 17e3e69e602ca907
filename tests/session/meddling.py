"""A judge during whose thinking somebody writes."""

from __future__ import annotations

from collections.abc import Callable

from mage import FoldRequest, JudgeRequest, Session, Verdict
from mage.stores import JournalStore
from mage.testing import ScriptedJudge


class Meddling:
    """A judge during whose first thinking another session writes; or the very session that asks, where it is given."""

    def __init__(self, store: JournalStore, *answers: Verdict) -> None:
        self.store = store
        self.script = ScriptedJudge(*answers)
        self.meddle: Callable[[Session], object] = lambda other: other.grow("b", "other")
        self.own: Session | None = None
        self._meddled = False

    def __call__(self, request: JudgeRequest | FoldRequest, /) -> Verdict:
        verdict = self.script(request)
        if self._meddled:
            return verdict
        self._meddled = True
        if self.own is not None:
            self.meddle(self.own)
            return verdict
        with Session.open(self.store, "s") as other:
            self.meddle(other)
        return verdict

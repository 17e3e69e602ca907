"""The ways in which an environment of the tests is brought back, as a parameter of a test."""

from __future__ import annotations

from typing import Any, Final, Literal, Protocol, TypeAlias

from mage.effects import Restoring, Snapshots

RestoredBy: TypeAlias = Literal["snapshot", "replay", "inverses"]
WAYS: Final[tuple[RestoredBy, ...]] = ("snapshot", "replay", "inverses")


class Saved(Protocol):
    """An environment with the operations of snapshots."""

    def save(self) -> Any: ...  # Any: whatever it makes of itself, and what it is

    def load(self, snapshot: Any, /) -> Any: ...


def restored_by(way: RestoredBy, environment: Saved, keep: int = 64) -> Restoring:
    """Return how an environment is restored."""
    return Snapshots(environment.save, environment.load, keep) if way == "snapshot" else way

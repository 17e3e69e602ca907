"""Where a world is, told by what was done to it; and the snapshots that are kept of such places.

A place is known by its *trail*: a hash over what the reset showed and the contents (a, o) of the steps that
were performed since. So equal paths are one place whichever ids their steps have, and a place costs the same
however deep it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NewType, TypeAlias, final

import attrs

from mage.effects import Divergence, Observed
from mage.engine import Step
from mage.engine.text import as_text

__all__ = ["Kept", "KeptSnapshots", "Lost", "Place", "Trail", "Where", "differs", "trails"]

Trail = NewType("Trail", bytes)


@final
@attrs.frozen
class Place:
    """A world that is known.

    Attributes:
        trail: what was done to it, as recorded.
        divergences: where that came back differently when it was done the last time, in path order.
        over: whether it takes no more actions.
    """

    trail: Trail
    divergences: tuple[Divergence, ...] = ()
    over: bool = False

    def after(self, action: str, seen: Observed) -> Place:
        """Return where the world is after a new action. Cost: O(length of the content)."""
        return Place(_further(self.trail, action, seen.text), self.divergences, seen.over)

    def again(self, step: Step, seen: Observed) -> Place:
        """Return where the world is after a step was performed again. Cost: O(length of the content)."""
        trail = _further(self.trail, step.action, step.observation)
        return Place(trail, self.divergences + differs(step, seen), seen.over)


def differs(step: Step, seen: Observed) -> tuple[Divergence, ...]:
    """Return the divergence of what came back from what is recorded, if they differ."""
    return () if as_text(seen.text) == step.observation else (Divergence(step, seen.text),)


@final
@attrs.frozen
class Lost:
    """A world that is not known: `reason` is one line."""

    reason: str


Where: TypeAlias = Place | Lost


def trails(opening: str, steps: Sequence[Step]) -> tuple[Trail, ...]:
    """Return the trail before the first of these steps, and after each; `opening` is what the reset showed.

    Cost: O(the contents).
    """
    found = [Trail(hashlib.sha256(_spelled(opening)).digest())]
    for step in steps:
        found.append(_further(found[-1], step.action, step.observation))
    return tuple(found)


def _further(trail: Trail, action: str, observation: str) -> Trail:
    spelled = _spelled(action)
    longer = hashlib.sha256(trail)
    longer.update(b"%d:" % len(spelled))  # where the action ends: ("a", "bc") is not ("ab", "c")
    longer.update(spelled)
    longer.update(_spelled(observation))
    return Trail(longer.digest())


def _spelled(text: str) -> bytes:
    return as_text(text).encode("utf-8", "surrogatepass")


@final
@attrs.frozen
class Kept:
    """A snapshot of the world at a place."""

    place: Place
    snapshot: object


@final
class KeptSnapshots:
    """Snapshots in memory, a bounded number: most of late, and the fewer the older they are.

    So whatever place the world goes back to, one is kept not far above it, from where the rest of the path is
    replayed. A place that the world acts from again is new again: a boundary that was gone back to stays.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._time = 0
        self._kept: dict[Trail, tuple[int, Kept]] = {}  # oldest first

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, kept: Kept) -> None:
        """Keep a snapshot, in place of an earlier one of the same place. Cost: O(most)."""
        if self._most < 1:
            return
        self._kept.pop(kept.place.trail, None)
        self._time += 1
        self._kept[kept.place.trail] = (self._time, kept)
        if len(self._kept) > self._most:
            del self._kept[self._least_missed()]

    def _least_missed(self) -> Trail:
        """Return the one that leaves the smallest gap for its age. Never the newest."""
        known = [(time, trail) for trail, (time, _) in self._kept.items()]
        before = 0
        gaps: list[tuple[float, int]] = []
        for at, (time, _) in enumerate(known[:-1]):
            gaps.append(((known[at + 1][0] - before) / (self._time + 1 - time), at))
            before = time
        return known[min(gaps)[1]][1]

    def get(self, trail: Trail) -> Kept | None:
        """Return the snapshot of a place, if it is kept."""
        found = self._kept.get(trail)
        return None if found is None else found[1]

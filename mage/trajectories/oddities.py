"""What is unusual in a trace: noted where it is met, read all the same, and said in the end."""

from __future__ import annotations

from typing import Final, final

import attrs

from mage.trajectories.trajectory import Entry, Path, Remark, spelled

_SHOWN: Final = 40  # characters of a trace's own words that a remark repeats


def shortened(text: str) -> str:
    """Return the beginning of a text that a remark repeats."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


@final
@attrs.define
class Oddities:
    """Notes of one trajectory: what was unusual, how often, and where first."""

    _found: dict[str, tuple[int, Path | Entry]] = attrs.field(factory=dict, init=False)

    def note(self, what: str, at: Path | Entry) -> None:
        """Note one thing that is unusual, and where it stands. Cost: O(1)."""
        count, first = self._found.get(what, (0, at))
        self._found[what] = (count + 1, first)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was noted, in the order in which it was met first. Cost: O(kinds of it)."""
        return tuple(
            [
                Remark(what, count, at.record if isinstance(at, Entry) else spelled(at))
                for what, (count, at) in self._found.items()
            ]
        )

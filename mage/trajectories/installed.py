"""Formats that other packages bring, under the entry point `mage.importers`: the name is that of the format."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Protocol, final

import attrs
from returns.pipeline import is_successful

from mage.engine import MageError, replay
from mage.trajectories.trajectory import Malformed, Steps, Trajectory

GROUP: Final = "mage.importers"


class Importer(Protocol):
    """What an entry point names: an object, or a module, that knows one format."""

    def fits(self, data: bytes, /) -> bool:
        """Tell whether a file looks like one of this format. It is asked where no format of mage's own fits."""
        ...

    def load(self, data: bytes, name: str, steps: Steps, /) -> Iterable[Trajectory]:
        """Return what a file holds; where it is one trajectory, under this name. `steps` is what a step of a chat is.

        What it raises is said in one line, as the reason why the file cannot be read.
        """
        ...


@final
@attrs.frozen
class Installed:
    """A format of another package. Its code is loaded when it is asked."""

    point: EntryPoint

    @property
    def name(self) -> str:
        """The name of the format."""
        return self.point.name

    def fits(self, data: bytes) -> bool:
        """Tell whether a file looks like one of this format; one that cannot be asked knows none."""
        try:
            importer: Importer = self.point.load()
            return bool(importer.fits(data))
        except Exception:  # of their code: a file of another format is not refused for it
            return False

    def load(self, data: bytes, name: str, steps: Steps) -> tuple[Trajectory, ...]:
        """Return the trajectories of a file, each of which replays.

        Raises:
            Malformed: it cannot be read, and why.
        """
        try:
            importer: Importer = self.point.load()
            found = tuple(importer.load(data, name, steps))
            faults = [self._fault(each) for each in found]
        except Exception as error:  # of their code
            raise Malformed((), f"{self._told} has raised {type(error).__name__}: {error}") from error
        for fault in [*faults, *([] if found else ["has found nothing"])]:
            if fault:
                raise Malformed((), f"{self._told} {fault}")
        return found

    def _fault(self, trajectory: object) -> str:
        if not isinstance(trajectory, Trajectory):
            return f"has returned a {type(trajectory).__name__}, and no Trajectory"
        try:
            replayed = replay(trajectory.commands)
        except MageError as error:
            return f"has returned what is no history: {error}"
        return "" if is_successful(replayed) else f"has returned what is no history: {replayed.failure()}"

    @property
    def _told(self) -> str:
        return f"the importer {self.point.value} of the format {self.name}"


def installed() -> dict[str, Installed]:
    """Return the formats of other packages by their names. Cost: a look at every installed package."""
    return {point.name: Installed(point) for point in sorted(entry_points(group=GROUP))}

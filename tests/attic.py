"""What a package of somebody else brings under mage's entry points; tests install it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import final

from mage.engine import Accept, Command, Grow, Start
from mage.stores import JournalStore, MemoryStore
from mage.trajectories import Steps, Trajectory

OPENED: list[tuple[str, float]] = []
"""The URLs of the stores that were opened, with the patience that was asked for."""
_STORE = MemoryStore()


def open_attic(url: str, *, clock: Callable[[], int], patience: float) -> JournalStore:
    """Return a store that all openings share."""
    assert clock() >= 0
    OPENED.append((url, patience))
    return _STORE


@final
class Letters:
    """A counter of letters."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


def no_counter() -> object:
    return object()


def broken() -> object:
    raise KeyError("the attic is locked")


def fits(data: bytes) -> bool:
    return data.startswith(b"ATTIC")


def load(data: bytes, name: str, steps: Steps) -> Iterable[Trajectory]:
    """Return a trajectory whose steps are the words of a file: `ATTIC task word word`."""
    _, task, *words = data.decode().split()
    commands: list[Command] = [Start(task), *[Grow(word, steps) for word in words]]
    yield Trajectory(name, tuple(commands), summarized=False)


@final
class Wrong:
    """Importers that return what they should not."""

    class Nothing:
        @staticmethod
        def fits(data: bytes) -> bool:
            raise OSError("no light")

        @staticmethod
        def load(data: bytes, name: str, steps: Steps) -> list[Trajectory]:
            return []

    class Text(Nothing):
        @staticmethod
        def load(data: bytes, name: str, steps: Steps) -> list[Trajectory]:
            return ["no trajectory"]  # type: ignore[list-item]

    class Untold(Nothing):
        @staticmethod
        def load(data: bytes, name: str, steps: Steps) -> list[Trajectory]:
            return [Trajectory(name, (Start("Go."), Accept()), summarized=False)]

    class Raising(Nothing):
        @staticmethod
        def load(data: bytes, name: str, steps: Steps) -> list[Trajectory]:
            raise ValueError("moths\x1b")

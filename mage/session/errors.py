"""What a session raises, beside the errors of its store (`mage.stores`) and of the engine."""

from __future__ import annotations

from typing import final

from mage.engine.errors import MageError, Refusal


@final
class Refused(MageError):
    """The state refuses the command, as the engine says in `refusal`. Nothing was recorded.

    Attributes:
        refusal: the engine's frozen value, such as `UnknownBoundary`; it says what to do.
    """

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal)

    def __str__(self) -> str:
        return str(self.refusal)


@final
class OtherTask(MageError, ValueError):
    """A session of this name is there, but for another task. Open it without a task, or choose another name.

    Attributes:
        name: the session.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)

    def __str__(self) -> str:
        return f"session {self.name!r} is for another task: open it without one, or choose another name"


@final
class SessionClosed(MageError):
    """The session was closed. Open it again.

    Attributes:
        name: the session.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)

    def __str__(self) -> str:
        return f"session {self.name!r} was closed: open it again"


@final
class WrongLoop(MageError):
    """An `AsyncSession` is used in another event loop than its own, which is not closed. Nothing was done.

    Attributes:
        name: the session.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)

    def __str__(self) -> str:
        return (
            f"session {self.name!r} belongs to another event loop, which is still open: open it in this one too,"
            " or send it there by asyncio.run_coroutine_threadsafe"
        )


@final
class NotAVerdict(MageError, TypeError):
    """A judge answered something else than a verdict. Nothing was recorded, the summary is still pending.

    Attributes:
        found: the name of its type.
    """

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(found)

    def __str__(self) -> str:
        return f"a judge answers Passed() or Failed(feedback, fault), not {self.found}; the summary is still pending"

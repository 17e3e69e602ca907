"""What a session raises, beside the errors of its store (`mage.stores`) and of the engine."""

from __future__ import annotations

from typing import final

import attrs

from mage.engine.errors import MageError, Refusal


@final
@attrs.define
class Refused(MageError):
    """The state refuses the command. Nothing was recorded. `refusal`, the engine's frozen value, says what to do."""

    refusal: Refusal

    def __str__(self) -> str:
        return str(self.refusal)


@final
@attrs.define
class OtherTask(MageError, ValueError):
    """The session `name` is there, but for another task. Open it without a task, or choose another name."""

    name: str

    def __str__(self) -> str:
        return f"session {self.name!r} is for another task: open it without one, or choose another name"


@final
@attrs.define
class SessionClosed(MageError):
    """The session `name` was closed. Open it again."""

    name: str

    def __str__(self) -> str:
        return f"session {self.name!r} was closed: open it again"


@final
@attrs.define
class WrongLoop(MageError):
    """The `AsyncSession` `name` is used in another event loop than its own, which is not closed. Nothing was done."""

    name: str

    def __str__(self) -> str:
        return (
            f"session {self.name!r} belongs to another event loop, which is still open: open it in this one too,"
            " or send it there by asyncio.run_coroutine_threadsafe"
        )


@final
@attrs.define
class NotAVerdict(MageError, TypeError):
    """A judge answered something of another type, `found`. Nothing was recorded, the summary is still pending."""

    found: str

    def __str__(self) -> str:
        return f"a judge answers Passed() or Failed(feedback, fault), not {self.found}; the summary is still pending"

"""How much of the hints is shown. C and R are never cut: the agent must see where it stands, whole."""

from __future__ import annotations

from typing import Final, final

import attrs

from mage.engine.errors import MageError


@final
class BadCap(MageError, ValueError):
    """A limit is negative.

    Attributes:
        name: the limit's name.
        found: what was given.
    """

    def __init__(self, name: str, found: int) -> None:
        self.name = name
        self.found = found
        super().__init__(name, found)

    def __str__(self) -> str:
        return f"Caps({self.name}={self.found}): a limit is 0 or more, or None for no limit"


@final
@attrs.frozen(kw_only=True)
class Caps:
    """Limits for the hints; None is no limit. What is left out is said, and the newest is kept (D9).

    Attributes:
        continuations: how many steps tried from here are shown.
        subgoals: how many summaries tried from here are shown.
        lessons: how many lessons are shown.
        action_chars: characters of an action shown in a hint.
        observation_chars: characters of an observation shown in a hint.
        text_chars: characters of a summary's text, a feedback or a lesson shown in a hint.
        distinct_lessons: show a lesson that was left several times once, where it was left last.

    Raises:
        BadCap: a limit is negative.
    """

    continuations: int | None = 6
    subgoals: int | None = 6
    lessons: int | None = 12
    action_chars: int | None = 240
    observation_chars: int | None = 240
    text_chars: int | None = 600
    distinct_lessons: bool = True

    def __attrs_post_init__(self) -> None:
        for name, limit in attrs.asdict(self).items():
            if limit is not None and limit < 0:
                raise BadCap(name, limit)

    @classmethod
    def off(cls) -> Caps:
        """Return the caps that leave nothing out: parsing gives back all of S."""
        return cls(
            continuations=None,
            subgoals=None,
            lessons=None,
            action_chars=None,
            observation_chars=None,
            text_chars=None,
            distinct_lessons=False,
        )


DEFAULT_CAPS: Final = Caps()
NO_CAPS: Final = Caps.off()

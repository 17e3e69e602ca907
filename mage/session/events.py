"""What a session tells its hooks: ids, versions and sizes, never a text.

    def seen(event: events.Event) -> None:
        match event:
            case events.Judged(passed=False, summary=summary):
                print("summary", summary, "has failed")

    Session.open("sqlite:///work.db", "monday", on_event=seen)

Each event names its journal and the version that it made, or was met at. Sizes are in characters.
"""

from __future__ import annotations

from typing import TypeAlias, final

import attrs


@final
@attrs.frozen
class Created:
    """A journal was begun."""

    journal: str
    version: int
    size: int


@final
@attrs.frozen
class Opened:
    """A journal was opened; `replayed` records were read, the others came from a snapshot."""

    journal: str
    version: int
    replayed: int


@final
@attrs.frozen
class Instructed:
    """An instruction was placed at `step`."""

    journal: str
    version: int
    step: int
    size: int
    standing: bool


@final
@attrs.frozen
class Grown:
    """A step was added."""

    journal: str
    version: int
    step: int
    size: int


@final
@attrs.frozen
class Merged:
    """The agent walked back into `step`, which was there already (D10)."""

    journal: str
    version: int
    step: int


@final
@attrs.frozen
class Compressed:
    """`summary`, which covers `steps`, has a text and is pending."""

    journal: str
    version: int
    summary: int
    steps: int
    size: int
    kind: str


@final
@attrs.frozen
class Retexted:
    """`summary` has a new text and is pending."""

    journal: str
    version: int
    summary: int
    size: int
    kind: str


@final
@attrs.frozen
class Judged:
    """`summary` has passed or failed; `fault` says where, None after a pass."""

    journal: str
    version: int
    summary: int
    passed: bool
    fault: str | None


@final
@attrs.frozen
class Accepted:
    """`summary` was accepted without a pass; `despite` says whether it had failed."""

    journal: str
    version: int
    summary: int
    despite: bool


@final
@attrs.frozen
class Revised:
    """The agent went back to `boundary` and left `abandoned` steps; `size` is that of the lesson."""

    journal: str
    version: int
    boundary: int
    abandoned: int
    size: int


@final
@attrs.frozen
class Folded:
    """C shows one text from the line with label `first` to the line with boundary `last`."""

    journal: str
    version: int
    first: int
    last: int
    size: int


@final
@attrs.frozen
class Forked:
    """The journal `fork` was made; it starts at `version` of this one."""

    journal: str
    version: int
    fork: str


@final
@attrs.frozen
class Conflicted:
    """Somebody else has written: the session stands at `version`, its journal at `found`. Nothing was recorded."""

    journal: str
    version: int
    found: int


@final
@attrs.frozen
class Refreshed:
    """The session took what others wrote after version `since`."""

    journal: str
    version: int
    since: int


@final
@attrs.frozen
class SnapshotKept:
    """A snapshot of `version` was kept, `size` bytes long."""

    journal: str
    version: int
    size: int


@final
@attrs.frozen
class SnapshotFailed:
    """No snapshot of `version` could be kept, for an `error` of this type: opening stays slower, no more."""

    journal: str
    version: int
    error: str


Event: TypeAlias = (
    Created
    | Opened
    | Instructed
    | Grown
    | Merged
    | Compressed
    | Retexted
    | Judged
    | Accepted
    | Revised
    | Folded
    | Forked
    | Conflicted
    | Refreshed
    | SnapshotKept
    | SnapshotFailed
)
"""Everything that a session tells."""

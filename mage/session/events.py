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


@attrs.frozen
class _AtVersion:
    journal: str
    version: int


@final
@attrs.frozen
class Created(_AtVersion):
    """A journal was begun."""

    size: int


@final
@attrs.frozen
class Opened(_AtVersion):
    """A journal was opened; `replayed` records were read, the others came from a snapshot."""

    replayed: int


@final
@attrs.frozen
class Instructed(_AtVersion):
    """An instruction was placed at `step`."""

    step: int
    size: int
    standing: bool


@final
@attrs.frozen
class Grown(_AtVersion):
    """A step was added."""

    step: int
    size: int


@final
@attrs.frozen
class Merged(_AtVersion):
    """The agent walked back into `step`, which was there already (D10)."""

    step: int


@final
@attrs.frozen
class Compressed(_AtVersion):
    """`summary`, which covers `steps`, has a text and is pending."""

    summary: int
    steps: int
    size: int
    kind: str


@final
@attrs.frozen
class Retexted(_AtVersion):
    """`summary` has a new text and is pending."""

    summary: int
    size: int
    kind: str


@final
@attrs.frozen
class Judged(_AtVersion):
    """`summary` has passed or failed; `fault` says where, None after a pass."""

    summary: int
    passed: bool
    fault: str | None


@final
@attrs.frozen
class Accepted(_AtVersion):
    """`summary` was accepted without a pass; `despite` says whether it had failed."""

    summary: int
    despite: bool


@final
@attrs.frozen
class Revised(_AtVersion):
    """The agent went back to `boundary` and left `abandoned` steps; `size` is that of the lesson."""

    boundary: int
    abandoned: int
    size: int


@final
@attrs.frozen
class Folded(_AtVersion):
    """C shows one text from the line with label `first` to the line with boundary `last`."""

    first: int
    last: int
    size: int


@final
@attrs.frozen
class Forked(_AtVersion):
    """The journal `fork` was made; it starts at `version` of this one."""

    fork: str


@final
@attrs.frozen
class Conflicted(_AtVersion):
    """Somebody else has written: the session stands at `version`, its journal at `found`. Nothing was recorded."""

    found: int


@final
@attrs.frozen
class Refreshed(_AtVersion):
    """The session took what others wrote after version `since`."""

    since: int


@final
@attrs.frozen
class SnapshotKept(_AtVersion):
    """A snapshot of `version` was kept, `size` bytes long."""

    size: int


@final
@attrs.frozen
class SnapshotFailed(_AtVersion):
    """No snapshot of `version` could be kept, for an `error` of this type: opening stays slower, no more."""

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

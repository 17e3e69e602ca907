"""The events of a session, for its hooks: ids, versions and sizes, never a text.

    from mage.session import events

    def seen(event: events.Event) -> None:
        match event:
            case events.Judged(passed=False, summary=summary):
                print("summary", summary, "has failed")

    Session.open("sqlite:///work.db", "monday", on_event=seen)

Each event names its journal and the version that it made, or at which it happened. Sizes are in characters.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from inspect import iscoroutinefunction
from traceback import walk_tb
from typing import Final, TypeAlias, TypeVar, assert_never, final

import attrs

from mage.engine import (
    Accept,
    ApplyVerdict,
    Compress,
    Failed,
    Fold,
    Grow,
    Instruct,
    Rejected,
    Retext,
    Revise,
    State,
)
from mage.engine.journal import Operation
from mage.engine.tree import trace


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
    """A journal was opened: `replayed` records were read, the records before them came from a snapshot."""

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
    """The agent took a known step again: `step` existed already (D10)."""

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
    """`summary` has passed or failed; `fault` says what is at fault, None after a pass."""

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
    """The agent went back to `boundary` and abandoned `abandoned` steps; `size` is the length of the lesson."""

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
    """The journal `fork` was made; it starts at `version` of this journal."""

    fork: str


@final
@attrs.frozen
class Conflicted(_AtVersion):
    """Another writer came first: the session is at `version`, its journal at `found`. Nothing was recorded."""

    found: int


@final
@attrs.frozen
class Refreshed(_AtVersion):
    """The session has read the records that other writers added after version `since`."""

    since: int


@final
@attrs.frozen
class SnapshotKept(_AtVersion):
    """A snapshot of `version` was kept, `size` bytes long."""

    size: int


@final
@attrs.frozen
class SnapshotFailed(_AtVersion):
    """No snapshot of `version` could be kept, because of an `error` of this type: only opening is slower."""

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
"""All events of a session."""


# -- the event of each command, and the hooks ---------------------------------------------------------------


Hook: TypeAlias = Callable[[Event], object]
"""A plain function, called with each event after the turn, so that it may use the session. An exception that it raises
is logged, not passed on. Events of two threads may arrive out of order; each has its version."""

Told = TypeVar("Told")
_LOG: Final = logging.getLogger("mage")
_LOG.addHandler(logging.NullHandler())


def as_hooks(
    hooks: Callable[[Told], object] | Iterable[Callable[[Told], object]],
) -> tuple[Callable[[Told], object], ...]:
    """Return one hook or several as a tuple; raise `TypeError` for an `async def`, which would never be awaited."""
    found = (hooks,) if callable(hooks) else tuple(hooks)
    for hook in found:
        if iscoroutinefunction(hook) or iscoroutinefunction(type(hook).__call__):
            raise TypeError("a hook is called, not awaited: give a plain function, not an `async def`")
    return found


def tell(hooks: Sequence[Callable[[Told], object]], told: Iterable[Told]) -> None:
    """Log events, and call each hook with each event."""
    for event in told:
        level = logging.WARNING if isinstance(event, SnapshotFailed) else logging.DEBUG
        _LOG.log(level, "%r", event)
        for hook in hooks:
            try:
                hook(event)
            except Exception as error:  # a hook is a user's code: its exceptions must not stop the session
                *_, (frame, line) = walk_tb(error.__traceback__)
                kind, place = type(error).__name__, f"{frame.f_code.co_filename}:{line}"
                # without the message, which may contain texts
                _LOG.error("a hook raised %s at %s, told of %r", kind, place, event)


def event_of(name: str, version: int, before: State, after: State, command: Operation) -> Event:
    """Return the event of the command that made `version`. Cost: O(1), for a revise O(abandoned steps)."""
    tree = after.tree
    head = tree.head_summary
    match command:
        case Grow(action, observation):
            if tree.next_step == before.tree.next_step:
                return Merged(name, version, tree.step_head)
            return Grown(name, version, tree.step_head, len(action) + len(observation))
        case Instruct(text, standing):
            return Instructed(name, version, tree.step_head, len(text), standing=bool(standing))
        case Compress(text):
            return Compressed(name, version, head.id, len(head.covers), len(text), head.kind)
        case Retext(text):
            return Retexted(name, version, head.id, len(text), head.kind)
        case ApplyVerdict(verdict):
            fault = verdict.fault if isinstance(verdict, Failed) else None
            return Judged(name, version, head.id, passed=fault is None, fault=fault)
        case Accept():
            return Accepted(name, version, head.id, despite=isinstance(before, Rejected))
        case Revise(_, lesson):
            abandoned = len(trace(before.tree, tree.step_head, before.tree.step_head))
            return Revised(name, version, tree.step_head, abandoned, len(lesson))
        case Fold(first, last, text):
            return Folded(name, version, int(first), int(last), len(text))
        case _:
            assert_never(command)

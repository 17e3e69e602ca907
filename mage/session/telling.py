"""The event of each command, and the hooks and the log that get it. No text of a session gets here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from inspect import iscoroutinefunction
from traceback import walk_tb
from typing import Final, TypeAlias, TypeVar, assert_never

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
from mage.session import events
from mage.session.events import Event

Hook: TypeAlias = Callable[[Event], object]
"""A plain function that gets each event when the turn is over: it may use the session. What it raises is logged and
harms nothing. Of two threads' events the later may come first; each has its version."""

Told = TypeVar("Told")
_LOG: Final = logging.getLogger("mage")
_LOG.addHandler(logging.NullHandler())


def as_hooks(
    hooks: Callable[[Told], object] | Iterable[Callable[[Told], object]],
) -> tuple[Callable[[Told], object], ...]:
    """Return one hook or several as a tuple; raise `TypeError` where one is an `async def`, which no code here would await."""
    found = (hooks,) if callable(hooks) else tuple(hooks)
    for hook in found:
        if iscoroutinefunction(hook) or iscoroutinefunction(type(hook).__call__):
            raise TypeError("a hook is called, not awaited: give a plain function, not an `async def`")
    return found


def tell(hooks: Sequence[Callable[[Told], object]], told: Iterable[Told]) -> None:
    """Log events, and hand each to each hook."""
    for event in told:
        level = logging.WARNING if isinstance(event, events.SnapshotFailed) else logging.DEBUG
        _LOG.log(level, "%r", event)
        for hook in hooks:
            try:
                hook(event)
            except Exception as error:  # somebody else's code: nothing that it raises goes further
                *_, (frame, line) = walk_tb(error.__traceback__)
                kind, place = type(error).__name__, f"{frame.f_code.co_filename}:{line}"
                # not its message, which may hold what the hook knows
                _LOG.error("a hook raised %s at %s, told of %r", kind, place, event)


def event_of(name: str, version: int, before: State, after: State, command: Operation) -> Event:
    """Return the event of the command that made `version`. Cost: O(1), for a revise O(steps left behind)."""
    tree = after.tree
    head = tree.head_summary
    match command:
        case Grow(action, observation):
            if tree.next_step == before.tree.next_step:
                return events.Merged(name, version, tree.step_head)
            return events.Grown(name, version, tree.step_head, len(action) + len(observation))
        case Instruct(text, standing):
            return events.Instructed(name, version, tree.step_head, len(text), standing=bool(standing))
        case Compress(text):
            return events.Compressed(name, version, head.id, len(head.covers), len(text), head.kind)
        case Retext(text):
            return events.Retexted(name, version, head.id, len(text), head.kind)
        case ApplyVerdict(verdict):
            fault = verdict.fault if isinstance(verdict, Failed) else None
            return events.Judged(name, version, head.id, passed=fault is None, fault=fault)
        case Accept():
            return events.Accepted(name, version, head.id, despite=isinstance(before, Rejected))
        case Revise(_, lesson):
            abandoned = len(trace(before.tree, tree.step_head, before.tree.step_head))
            return events.Revised(name, version, tree.step_head, abandoned, len(lesson))
        case Fold(first, last, text):
            return events.Folded(name, version, int(first), int(last), len(text))
        case _:
            assert_never(command)

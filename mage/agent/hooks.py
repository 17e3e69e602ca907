"""Who hears what a run does: the session's events, and the agent's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, cast

from mage.agent.events import AgentEvent
from mage.session import Event
from mage.session.telling import as_hooks, tell

__all__ = ["AgentHook", "heard_by", "tell_hooks"]

AgentHook: TypeAlias = Callable[[Event | AgentEvent], object]
"""A plain function that hears everything, when it is over. What it raises is logged and harms nothing."""


def heard_by(hooks: AgentHook | Iterable[AgentHook]) -> tuple[AgentHook, ...]:
    """Return one hook or several as a tuple.

    Raises:
        TypeError: one cannot be called, or is an `async def`, which nobody would await.
    """
    given: object = hooks  # it may be anything, whatever its annotation says
    found = (given,) if not isinstance(given, Iterable) or callable(given) else tuple(given)
    for hook in found:
        if not callable(hook):
            raise TypeError(f"a hook is called with each event: give a function, not a {type(hook).__name__}")
    return as_hooks(cast("Sequence[AgentHook]", found))


def tell_hooks(hooks: Sequence[AgentHook], event: AgentEvent) -> None:
    """Log an event, and hand it to each hook."""
    tell(hooks, (event,))

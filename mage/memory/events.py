"""What an agent tells its hooks beside the events of its session: counts and kinds, never a text.

Hooks hear both: `mage.session.events` for what was recorded, these for what was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, cast, final

import attrs

from mage.effects import EffectFault, NoticeKind
from mage.session import Event
from mage.session.telling import as_hooks, tell


@final
@attrs.frozen
class Asked:
    """Somebody was asked and has answered; tokens as the provider counted them, 0 where it did not.

    Attributes:
        who: `"model"`, `"judge"` or `"summarizer"`.
        shown: tokens of what the model was shown, by our own count; 0 for the others.
    """

    who: str
    prompt: int
    completion: int
    shown: int = 0


@final
@attrs.frozen
class AskFailed:
    """Somebody was asked, and there is no answer that can be used."""

    who: str
    fault: EffectFault


@final
@attrs.frozen
class Noticed:
    """The model will be told something of this kind."""

    kind: NoticeKind


@final
@attrs.frozen
class RunEnded:
    """The run has ended: `outcome` is `"finished"`, `"stopped"` or `"failed"`."""

    outcome: str
    reason: str


AgentEvent: TypeAlias = Asked | AskFailed | Noticed | RunEnded


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

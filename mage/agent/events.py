"""What an agent tells its hooks beside the events of its session: counts and kinds, never a text.

Hooks hear both: `mage.session.events` for what was recorded, these for what was asked.
"""

from __future__ import annotations

from typing import TypeAlias, final

import attrs

from mage.effects import EffectFault, NoticeKind

__all__ = ["AgentEvent", "AskFailed", "Asked", "Noticed", "RunEnded"]


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

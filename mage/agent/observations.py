"""How what is kept beside a step of what the world answered is read again (`mage.memory.journal` writes it)."""

from __future__ import annotations

from collections.abc import Mapping

from mage.agent.forms import Kept
from mage.agent.spelling import understood
from mage.effects import Observed
from mage.memory.journal import OBSERVED
from mage.memory.requests import Uncertain


def observed_of(text: str, meta: Mapping[str, object]) -> Observed | Uncertain | None:
    """Return what the world answered, from a step's observation and meta; None where no agent has kept any.

    Raises:
        BadTape: what was kept cannot be read.
    """
    said = meta.get(OBSERVED)
    if not isinstance(said, dict):
        return None
    kept: Kept = understood("observed", said)
    if kept.uncertain:
        return Uncertain(kept.effect)
    return Observed(text, over=kept.over, instructions=kept.instructions, effect=kept.effect)

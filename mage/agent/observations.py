"""What is kept beside a step of what the world answered, and how it is read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mage.agent.asks import Uncertain
from mage.agent.forms import Kept
from mage.agent.spelling import spelled, understood
from mage.effects import ActionEffect, Observed
from mage.engine import Command, Grow

__all__ = ["UNCERTAIN", "effect_of", "observed_meta", "observed_of"]

UNCERTAIN: Final = (
    "(Nobody knows: the run was interrupted while this action was performed. It may have happened, or not.)"
)
"""The observation of a step that a resumed run reports as uncertain."""

_KEY: Final = "observed"


def observed_meta(observed: Observed) -> dict[str, object]:
    """Return the meta of the step for an observation: all of it but the text, which is the step's own."""
    said: dict[str, object] = {}
    if observed.text == UNCERTAIN:
        said["uncertain"] = True
    if observed.over:
        said["over"] = True
    if observed.instructions:
        said["instructions"] = list(observed.instructions)
    if observed.effect is not None:
        said["effect"] = spelled("effect", observed.effect)
    return {_KEY: said}


def effect_of(command: Command, meta: Mapping[str, object]) -> ActionEffect | None:
    """Return what a command has done to the world; None where it is no step, or nobody said.

    Raises:
        BadTape: what was kept of it cannot be read.
    """
    if not isinstance(command, Grow):
        return None
    observed = observed_of(command.observation, meta)
    return None if observed is None else observed.effect


def observed_of(text: str, meta: Mapping[str, object]) -> Observed | Uncertain | None:
    """Return what the world answered, from a step's observation and meta; None where no agent has kept any.

    Raises:
        BadTape: what was kept cannot be read.
    """
    said = meta.get(_KEY)
    if not isinstance(said, dict):
        return None
    kept: Kept = understood("observed", said)
    if kept.uncertain:
        return Uncertain(kept.effect)
    return Observed(text, over=kept.over, instructions=kept.instructions, effect=kept.effect)

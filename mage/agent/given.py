"""What an agent is given is looked at when it is made: before a session is opened, and in words of its own."""

from __future__ import annotations

from typing import Any, final

import attrs

from mage.agent.policy import Policy
from mage.engine.errors import MageError

__all__ = ["BadAgent", "asked", "policy"]


@final
class BadAgent(MageError, TypeError):
    """An agent was given something that cannot be what it stands for; the message says what."""


def asked(_agent: object, field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Refuse a model, judge or summarizer that cannot be called; None stands for none where there may be none.

    Raises:
        BadAgent: it cannot be called.
    """
    if callable(given) or (given is None and field.default is None):
        return
    raise BadAgent(
        f"{field.name} is a {type(given).__name__}, and must be called with a request: give a function, or"
        f" mage.llm.Chat{field.name.capitalize()}"
    )


def policy(_agent: object, _field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Refuse a policy that is none.

    Raises:
        BadAgent: it is none.
    """
    if given is not None and not isinstance(given, Policy):
        raise BadAgent(f"policy is a {type(given).__name__}, and must be a Policy: Policy(max_steps=50)")

"""What an agent is given is looked at when it is made: before a session is opened, and in words of its own."""

from __future__ import annotations

from typing import Any, final

import attrs

from mage.agent.policy import Policy
from mage.agent.restore import capabilities_of
from mage.engine.errors import MageError


@final
class BadAgent(MageError, TypeError):
    """An agent was given something that cannot be what it stands for; the message says what."""


def asked(_agent: object, field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Refuse a model, judge or summarizer that cannot be called; None stands for none where there may be none.

    Raises:
        BadAgent: it cannot be called.
    """
    if given is not None or field.default is not None:
        require_asked(field.name, given)


def environment(
    _agent: object, _field: attrs.Attribute[Any], given: object
) -> None:  # Any: of whatever field
    """Refuse an environment that is none.

    Raises:
        BadEnvironment, BadTool: see `mage.agent.restore.capabilities_of`.
    """
    capabilities_of(given)


def policy(_agent: object, _field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Refuse a policy that is none.

    Raises:
        BadAgent: it is none.
    """
    require_policy(given)


def counter(_agent: object, _field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Refuse what counts no tokens; None stands for what is installed.

    Raises:
        BadAgent: it has no name, or does not count.
    """
    counts = isinstance(getattr(given, "name", None), str) and callable(getattr(given, "count", None))
    if given is not None and (isinstance(given, type) or not counts):
        raise BadAgent(
            f"counter is a {type(given).__name__}, and must have a `name` and a `count`: mage.tokens.ExactCounter()"
        )


def require_asked(who: str, given: object) -> None:
    """Do nothing if this can be a model, judge or summarizer.

    Raises:
        BadAgent: it cannot be called.
    """
    if not callable(given):
        raise BadAgent(
            f"{who} is a {type(given).__name__}, and must be called with a request: give a function, or"
            f" mage.llm.Chat{who.capitalize()}"
        )


def require_policy(given: object) -> None:
    """Do nothing if this is a policy, or None, which stands for the one that is in force.

    Raises:
        BadAgent: it is neither.
    """
    if given is not None and not isinstance(given, Policy):
        raise BadAgent(f"policy is a {type(given).__name__}, and must be a Policy: Policy(max_steps=50)")

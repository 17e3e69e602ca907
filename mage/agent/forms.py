"""What the entries of a tape hold that are no answers, and what is kept in the meta of a step: the types of its JSON.

`mage.agent.spelling` reads them: each value must be of the type that is named here, and nothing may be beside it.
"""

from __future__ import annotations

from typing import Any, Literal, final

import attrs

from mage.effects import ActionEffect, EffectFault, Tool, Usage

__all__ = ["Acting", "Again", "Began", "Ended", "Failure", "Kept", "Overtaken", "Restoring", "Taken"]


@final
@attrs.frozen
class Failure:
    """Why there is no answer, as a tape has it."""

    fault: EffectFault
    detail: str
    usage: Usage
    retry_after: float | None = None


@final
@attrs.frozen
class Kept:
    """What is kept beside a step of what the world answered, but for the text."""

    uncertain: bool = False
    over: bool = False
    instructions: tuple[str, ...] = ()
    effect: ActionEffect | None = None


@final
@attrs.frozen
class Began:
    """`began`: see `mage.agent.opening`. Its policy is read by `Policy.of`."""

    program: int
    version: int
    policy: dict[str, Any]
    counter: str
    overhead: int
    judged: bool
    tools: tuple[Tool, ...] = ()
    manual: str = ""
    remembered: dict[str, Any] = attrs.field(factory=dict)


@final
@attrs.frozen
class Acting:
    """`acting`: what is about to be performed, and where; and whether the world foresaw that it lasts."""

    action: str
    after: int
    lasts: bool = False


@final
@attrs.frozen
class Again:
    """`again`: what is about to be performed once more."""

    action: str


@final
@attrs.frozen
class Restoring:
    """`restoring`: how many steps are left behind."""

    steps: int


@final
@attrs.frozen
class Taken:
    """`taken`: up to which version."""

    version: int


@final
@attrs.frozen
class Overtaken:
    """`overtaken`: at which version something was not recorded, and what an action of it has come to.

    With `instead` an action was not even performed. The meta of what was not recorded stands beside this.
    """

    version: int
    observation: str = ""
    observed: Kept | None = None
    instead: Literal["act", ""] = ""


@final
@attrs.frozen
class Ended:
    """`ended`: as `mage.memory.outcomes.outcome_document` has it."""

    outcome: Literal["finished", "stopped", "failed"]
    reason: str
    steps: int
    summaries: int
    revisions: int
    tokens: dict[str, Usage]
    answer: str = ""
    detail: str = ""

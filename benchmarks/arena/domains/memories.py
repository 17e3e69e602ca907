"""The memories of this project's own agent, by name: as the paper has it, its three ablations, and everything kept."""

from __future__ import annotations

import json
from typing import Final

from mage.agent import Policy

MEMORIES: Final = {
    "mage": Policy(),
    "mage-without-compress": Policy(compress=False),
    "mage-without-maintain": Policy(maintain=False),
    "mage-without-revise": Policy(revise=False),
    "full-history": Policy(compress=False, maintain=False, revise=False),
}
"""The policy of each. The last one shows every step, judges nothing and never goes back: the paper's long context."""


def policy_of(memory: str, changes: str, steps: int) -> Policy:
    """Return the policy of a memory with some changes, as a JSON object, for runs of at most so many steps.

    Raises:
        BadPolicy: the changes name what no policy has, or give a value that cannot be.
    """
    return Policy.of({**MEMORIES[memory].document(), **json.loads(changes), "max_steps": steps})

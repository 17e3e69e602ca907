"""The memories of this project's own agent, by name: as the paper has it, its three ablations, and everything kept.

Those that are not its own stand in `retrieval.catalogue`; an agent beside which one is put keeps everything.
"""

from __future__ import annotations

import json
from typing import Final

from benchmarks.arena.retrieval.catalogue import KINDS, WINDOW, BadMemory, Chosen, chosen, is_named
from mage.agent import Policy

MEMORIES: Final = {
    "mage": Policy(),
    "mage-without-compress": Policy(compress=False),
    "mage-without-maintain": Policy(maintain=False),
    "mage-without-revise": Policy(revise=False),
    "full-history": Policy(compress=False, maintain=False, revise=False),
}
"""The policy of each. The last one shows every step, judges nothing and never goes back: the paper's long context."""


_KEPT: Final = ("compress", "revise")
"""What the policy beside another memory must leave: what was written to it cannot be taken back."""


def beside(memory: str) -> Chosen | None:
    """Return the memory system that is put beside the agent, or None where the agent's own memory is named.

    Raises:
        BadMemory: neither is named.
    """
    if memory in MEMORIES:
        return None
    if not is_named(memory):
        names = ", ".join([*MEMORIES, WINDOW, *KINDS])
        raise BadMemory(f"there is no memory {memory!r}: one of {names}, or the URL of a memory server")
    return chosen(memory)


def policy_of(memory: str, changes: str, steps: int) -> Policy:
    """Return the policy of a memory with some changes, as a JSON object, for runs of at most so many steps.

    Raises:
        BadPolicy: the changes name what no policy has, or give a value that cannot be.
        BadMemory: there is no such memory, or it cannot have these changes.
    """
    changed = json.loads(changes)
    own = MEMORIES.get(memory)
    if own is None:
        beside(memory)
        if any(changed.get(name) for name in _KEPT):
            raise BadMemory(f"beside --memory {memory} the policy must not {' or '.join(_KEPT)}")
        own = MEMORIES["full-history"]
    return Policy.of({**own.document(), **changed, "max_steps": steps})

"""The agent's world: made of an environment, it acts and goes back; and the plan of what to undo (D14)."""

from mage.agent.world.adapting import KEEP, AsyncEnvironmentWorld, EnvironmentWorld
from mage.effects import foresight_of
from mage.memory.revise import crosses_irreversible, plan, plan_lines, undo_line

__all__ = [
    "KEEP",
    "AsyncEnvironmentWorld",
    "EnvironmentWorld",
    "crosses_irreversible",
    "foresight_of",
    "plan",
    "plan_lines",
    "undo_line",
]

"""The plan of what to undo in an environment when the agent goes back (D14)."""

from mage.agent.world.plan import crosses_irreversible, plan, plan_lines, undo_line

__all__ = ["crosses_irreversible", "plan", "plan_lines", "undo_line"]

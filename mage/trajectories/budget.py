"""The fallback Compress for traces that bring no summaries of their own (D12)."""

from __future__ import annotations

from mage.engine import Accept, Active, Command, Compress, State
from mage.engine.tree import trace
from mage.render.extract import extract

__all__ = ["fallback"]


def fallback(state: State, opened: int, tokens: int, budget: int) -> tuple[Command, ...]:
    """Return what to do before a step is grown: nothing, or compress the open segment.

    It is compressed where the step would not fit beside it, so the newest step is always shown raw once; a
    step larger than the whole budget is compressed alone, when the next one comes. The text is an extract
    (no LLM), accepted openly, since nobody judged it.

    Args:
        state: the state before the step.
        opened: tokens of the open segment.
        tokens: tokens of the step that comes.
        budget: tokens that the open segment may take.

    Cost: O(contents of the open segment) where it is compressed.
    """
    if (
        state.tree.boundary == state.tree.step_head
        or opened + tokens <= budget
        or not isinstance(state, Active)
    ):
        return ()
    steps = trace(state.tree, state.tree.boundary, state.tree.step_head)
    return (Compress(extract(steps), "fallback"), Accept())

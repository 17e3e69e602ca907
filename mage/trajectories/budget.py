"""The fallback Compress for traces that bring no summaries of their own (D12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mage.engine import Accept, Active, Command, Compress, Grow, apply
from mage.engine.tree import trace
from mage.trajectories.extract import extract

__all__ = ["within_budget"]


def within_budget(
    commands: Iterable[Command], budget: int, size: Callable[[str, str], int]
) -> Iterator[Command]:
    """Yield the commands, with a fallback Compress wherever the open segment would pass the budget.

    It is compressed before the step that would not fit is grown, so the newest step is always shown raw
    once; a step larger than the whole budget is then compressed alone. The texts are extracts (no LLM),
    accepted openly, since nobody judged them.

    Args:
        commands: a journal that is not refused anywhere and has no open verdicts.
        budget: tokens that the open segment may take.
        size: tokens that a step takes, from its action and observation.

    Cost: O(commands), and one `size` a Grow.
    """
    state = None
    opened: list[int] = []
    for command in commands:
        if isinstance(command, Grow):
            tokens = size(command.action, command.observation)
            if opened and sum(opened) + tokens > budget and isinstance(state, Active):
                tree = state.tree
                yield (compress := Compress(extract(trace(tree, tree.boundary, tree.step_head)), "fallback"))
                yield (accept := Accept())
                state = apply(apply(state, compress).unwrap(), accept).unwrap()
                opened = []
            opened.append(tokens)
        state = apply(state, command).unwrap()
        if not isinstance(command, Grow):
            opened = opened[len(opened) - len(state.tree.segment()) :]
        yield command

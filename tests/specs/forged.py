"""States that no operation makes: a real tree that tells lies about some of what it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import attrs

from mage.engine import (
    Active,
    Chapter,
    Rejected,
    State,
    StepId,
    SummaryId,
    Tree,
    Unverified,
    accept,
    compress,
    fold,
    fold_request,
    grow,
    instruct,
    revise,
    start,
)


class Liar:
    """A tree that answers some questions with what it was told to, and all others truly."""

    def __init__(self, tree: Tree, lies: Mapping[str, object]) -> None:
        self.tree = tree
        self.lies = lies

    def __getattr__(self, name: str) -> object:
        """Return the lie of this name, or the truth."""
        return self.lies[name] if name in self.lies else getattr(self.tree, name)


def lying(state: State, **lies: object) -> State:
    """Return the state with a tree that lies."""
    tree = cast("Tree", Liar(state.tree, lies))
    if isinstance(state, Unverified):
        return Unverified(tree, state.digest)
    return Active(tree) if isinstance(state, Active) else Rejected(tree)


def with_step(state: State, number: int, **changes: object) -> State:
    """Return the state with another step in the place of one of its own."""
    tree = state.tree
    steps = [tree.step(StepId(each)) for each in range(tree.next_step)]
    steps[number] = attrs.evolve(steps[number], **changes)  # type: ignore[arg-type]  # any field, with anything in it
    return lying(state, step=steps.__getitem__)


def with_summary(state: State, number: int, **changes: object) -> State:
    """Return the state with another summary in the place of one of its own."""
    tree = state.tree
    summaries = [tree.summary(SummaryId(each)) for each in range(tree.next_summary)]
    summaries[number] = attrs.evolve(summaries[number], **changes)  # type: ignore[arg-type]  # any field, with anything in it
    return lying(state, summary=summaries.__getitem__)


def with_chapter(state: State, **changes: object) -> State:
    """Return the state with another chapter in C in the place of its own."""
    lines = [
        attrs.evolve(line, **changes) if isinstance(line, Chapter) else line  # type: ignore[arg-type]  # any field
        for line in state.tree.lines_upwards(state.tree.head_summary)
    ]
    return lying(state, lines_upwards=lambda summary: iter(lines))


def sound() -> Unverified:
    """Return a state with a summary left aside, a chapter and a pending summary on the path, and steps open.

    Steps 1 and 2 were left at the root; 3 and 4 are summary 2, 5 is summary 3, both in a chapter; 6 and 7 are
    summary 5, which took in summary 4 on step 6; 8 and 9 are open. Summary 1 stands on step 1. A lesson is left
    at the root, an instruction at step 4.
    """
    state = accept(compress(grow(start("task"), "a", "o"), "left").unwrap())
    back = revise(grow(state, "a", "o"), 0, "lesson").unwrap().state
    if not isinstance(back, Active):
        raise TypeError("a revise to the root is Active")
    state = instruct(grow(grow(back, "b", "o"), "c", "o"), "do").unwrap()
    state = accept(compress(state, "one").unwrap())
    state = accept(compress(grow(state, "d", "o"), "two").unwrap())
    state = fold(state, 0, 5, "chapter", fold_request(state, 0, 5, "chapter").unwrap().digest).unwrap()
    state = accept(compress(grow(state, "e", "o"), "cut", "fallback").unwrap())
    pending = compress(grow(state, "f", "o"), "three").unwrap()
    return grow(grow(pending, "g", "o"), "h", "o")

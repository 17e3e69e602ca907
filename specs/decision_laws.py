"""Decisions that read like laws (D5, D12, D17), as functions over one edge like those of `specs.laws`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from mage.engine import Compress, Grow, Instruct, Revise, Unverified, judge_request, view
from mage.testing import Edge

__all__ = ["fallback_hides_nothing", "question_is_whole", "question_stands"]


def question_stands(edge: Edge) -> Iterator[str]:
    """D5: grow, instruct and dropping the open segment do not change what the judge is asked."""
    before, after = edge.before, edge.after
    if not isinstance(before, Unverified) or not isinstance(after, Unverified):
        return
    if not isinstance(edge.command, Grow | Instruct | Revise):
        return
    if after.digest != before.digest or judge_request(after) != judge_request(before):
        yield f"the judge was asked {judge_request(before)} and is asked {judge_request(after)}"


def question_is_whole(edge: Edge) -> Iterator[str]:
    """D12: a subgoal is judged with the run of fallbacks right above it, oldest first, their covers before its
    own; a fallback is judged alone.
    """
    if not isinstance(edge.after, Unverified):
        return
    tree = edge.after.tree
    head, *above = map(tree.summary, tree.summary_path()[::-1])
    run = list(takewhile(lambda summary: summary.kind == "fallback", above))[::-1]
    judged = [*run, head] if head.kind == "subgoal" else [head]
    request = judge_request(edge.after)
    if [(each.label, each.text) for each in request.earlier] != [
        (each.label, each.text) for each in judged[:-1]
    ]:
        yield f"the judge is given {request.earlier} of {judged}"
    if [step.id for step in request.steps] != [step for summary in judged for step in summary.covers]:
        yield f"the judge is given {request.steps} of {judged}"


def fallback_hides_nothing(edge: Edge) -> Iterator[str]:
    """D17: compressing as a fallback takes no instruction out of force and brings none back."""
    if isinstance(edge.command, Compress) and edge.command.kind == "fallback":
        before, after = view(edge.before).instructions, view(edge.after).instructions
        if before != after:
            yield f"instructions {before} were in force and {after} are"

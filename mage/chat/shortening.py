"""A question to a judge or a summarizer, made shorter where it does not fit into its model's context.

once           earlier parts of the subgoal stand by their interim accounts, in place of their steps
each time      the longest contents of steps are halved, their middles left out openly
in the end     nothing is left to be made shorter
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import attrs

from mage.chat.lengths import cut
from mage.effects import ChapterRequest, FoldRequest, JudgeRequest, SummaryRequest
from mage.engine import Step

Asked = TypeVar("Asked", JudgeRequest | FoldRequest, SummaryRequest | ChapterRequest)
SHORT: Final = 200
"""Characters of a content that is not cut any more."""


def shorter(request: Asked) -> Asked | None:
    """Return a question that takes less room; None where it cannot be made shorter. Cost: O(size)."""
    if isinstance(request, FoldRequest | ChapterRequest):
        return None
    steps = _since_the_accounts(request)
    if len(steps) == len(request.steps):
        longest = max([len(text) for step in steps for text in step.content], default=0)
        steps = tuple([_cut(step, max(SHORT, longest // 2)) for step in steps])
        if _length(steps) >= _length(request.steps):
            return None
    return attrs.evolve(request, steps=steps)


def _length(steps: Sequence[Step]) -> int:
    return sum(len(text) for step in steps for text in step.content)


def _since_the_accounts(request: JudgeRequest | SummaryRequest) -> tuple[Step, ...]:
    """Return the steps that no interim account covers; all of them where the accounts cover all."""
    covered = max([part.boundary for part in request.earlier], default=-1)
    places = [place for place, step in enumerate(request.steps) if step.id == covered]
    return request.steps[places[0] + 1 :] or request.steps if places else request.steps


def _cut(step: Step, longest: int) -> Step:
    if max(map(len, step.content)) <= longest:
        return step
    return attrs.evolve(step, action=cut(step.action, longest), observation=cut(step.observation, longest))

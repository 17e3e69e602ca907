"""The decisions of a run, read from its session: where the agent stood at each, and how long the prompt was.

All of it comes from the log, so a run that was interrupted and went on has the same decisions as one that was not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, TypeAlias, final

import attrs

from mage.chat import note_in
from mage.effects import RESET
from mage.engine import State, Step, StepId, Tree, apply
from mage.session import Entry, Noted

Context: TypeAlias = list[list[int]]
"""Pairs of a step, counted from 1, and the tokens of the prompt that asked for it."""

POINTS: Final = 48
"""How many pairs a row keeps at most."""
_BEGAN: Final = "began"
_DECIDED: Final = "decided"


@final
@attrs.frozen
class Asked:
    """One question to the model, which was answered or not.

    Attributes:
        state: of the session when it was asked.
        tokens: of the prompt, as the answer counts them; 0 where it does not.
    """

    state: State = attrs.field(repr=False)
    tokens: int

    @property
    def head(self) -> StepId:
        """The step that the agent stood on."""
        return self.state.tree.step_head


def decisions(log: Iterable[Entry | Noted]) -> Iterator[Asked]:
    """Yield the questions to the model of the run that was begun last, in their order. Cost: O(log)."""
    state: State | None = None
    found: list[Asked] = []
    for each in log:
        if isinstance(each, Entry):
            state = apply(state, each.command).unwrap()
        elif each.note.kind == _BEGAN:
            found = []
        elif each.note.kind == _DECIDED and state is not None:
            found.append(Asked(state, _prompt_of(each.note.text)))
    yield from found


def _prompt_of(note: str) -> int:
    """Return the tokens of the prompt that a note tells of; 0 where it tells of none: it may be redacted."""
    try:
        data: object = json.loads(note)
    except ValueError:
        return 0
    for name in ("usage", "prompt"):
        inside = data.get("failed", data) if isinstance(data, dict) else {}
        data = inside.get(name, 0) if isinstance(inside, dict) else 0
    return data if isinstance(data, int) else 0


def steps_on(tree: Tree) -> Iterator[Step]:
    """Yield the actions of the path that an agent stands on, in their order: what it left behind does not count."""
    for each in tree.active_path():
        made = tree.step(each)
        if made.action != RESET and note_in(made.action, made.observation) is None and each != 0:
            yield made


def context_of(asked: Iterable[Asked], tree: Tree) -> Context:
    """Return how long the prompts on the path at the end of a run were, by the step that each asked for.

    Of several questions at one step the longest counts; what was asked on a way that was left behind does not.
    """
    places = dict.fromkeys(tree.active_path(), 1)
    for place, made in enumerate(steps_on(tree), 2):
        places[made.id] = place
    last = 1
    for (
        each
    ) in tree.active_path():  # a note and a reset are no steps: the next step is that of the step before
        last = places[each] = max(places[each], last)
    longest: dict[int, int] = {}
    for question in asked:
        at = places.get(question.head)
        if at is not None and question.tokens:
            longest[at] = max(question.tokens, longest.get(at, 0))
    return _thinned([[at, longest[at]] for at in sorted(longest)])


def _thinned(pairs: Context) -> Context:
    """Return at most so many pairs as a row keeps: of each stretch the longest prompt, at its own step."""
    if len(pairs) <= POINTS:
        return pairs
    bounds = [len(pairs) * part // POINTS for part in range(POINTS + 1)]
    stretches = [pairs[low:high] for low, high in pairwise(bounds)]
    return [max(stretch, key=lambda pair: (pair[1], pair[0])) for stretch in stretches]

"""Who&When histories: failed runs of several agents, each with a human label of the mistake.

Each entry of the history is a step: its action is who spoke, its observation what was said. The question is
the task, and the first entry, which repeats it, is no step; so in such a file the step with id n is entry n,
which is how `mistake_step` counts. The labels (`mistake_agent`, `mistake_step`, `mistake_reason`) and the
true answer were not there during the run and do not go into the tree.
"""

from __future__ import annotations

from typing import Final

from mage.engine import Grow, Start
from mage.trajectories.fields import Spot, items_at, text_at
from mage.trajectories.trajectory import Malformed, Steps, Trajectory

__all__ = ["is_who_and_when", "load_who_and_when"]

_PEOPLE: Final = ("human", "user")


def is_who_and_when(document: Spot) -> bool:
    """Tell whether a file looks like a Who&When run: an object with a history and a question."""
    return document.has("history") and document.has("question")


def load_who_and_when(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...] | Malformed:
    """Return one trajectory, named `stem`."""
    question = text_at(document, "question")
    if isinstance(question, Malformed):
        return question
    history = items_at(document, "history", "a list of entries")
    if isinstance(history, Malformed):
        return history
    grown: list[Grow] = []
    for place, entry in enumerate(history):
        step = _step(entry)
        if isinstance(step, Malformed):
            return step
        repeats = step.action in _PEOPLE and step.observation.strip() == question.strip()
        if place > 0 or not repeats:
            grown.append(step)
    return (Trajectory(stem, (Start(question), *grown), summarized=False),)


def _step(entry: Spot) -> Grow | Malformed:
    role = text_at(entry, "role")
    if isinstance(role, Malformed):
        return role
    name = text_at(entry, "name") if entry.has("name") else ""
    if isinstance(name, Malformed):
        return name
    content = text_at(entry, "content")
    return content if isinstance(content, Malformed) else Grow(f"{name} ({role})" if name else role, content)

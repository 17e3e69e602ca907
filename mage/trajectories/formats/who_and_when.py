"""Who&When histories: failed runs of several agents, each with a human label of the mistake.

Each entry of the history is a step: its action is who spoke, its observation what was said. The question is
the task. `mistake_step` is the place of an entry in the history, counted from 0, in every file. The id of
its step is that place only where the first entry is a person's that repeats the question and so is the task
and no step, as in most of the hand-crafted files; in all others, where the first entry is a step with the id
1, ids are places and one more. `Trajectory.sources` says which.

The labels (`mistake_agent`, `mistake_step`, `mistake_reason`) and the true answer were not there during the
run: they do not go into the tree, and stand in `Trajectory.mistakes`.
"""

from __future__ import annotations

from typing import Final

from mage.engine import Grow, Start
from mage.trajectories.fields import Spot, canonical, items_at, text_at
from mage.trajectories.oddities import Oddities, shortened
from mage.trajectories.parts import content_text, text_of
from mage.trajectories.trajectory import Entry, Made, Malformed, Mistake, Steps, Trajectory, entry_at, made_of

_PEOPLE: Final = ("human", "user")
_LONGEST_PLACE: Final = 10  # digits


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
    odd = Oddities()
    steps_made: list[Made] = []
    told: tuple[Entry, ...] = ()
    for place, entry in enumerate(history):
        step = _step(entry, odd)
        if isinstance(step, Malformed):
            return step
        repeats = step.action in _PEOPLE and step.observation.strip() == question.strip()
        if place == 0 and repeats:
            told = (entry_at(entry.path),)
        else:
            steps_made.append(Made(step, (entry_at(entry.path),)))
    mistakes = _mistakes(document, history, odd)
    made = [Made(Start(question), told), *steps_made]
    return (made_of(stem, made, mistakes=mistakes, remarks=odd.remarks),)


def _step(entry: Spot, odd: Oddities) -> Grow | Malformed:
    role = text_at(entry, "role")
    if isinstance(role, Malformed):
        return role
    name = entry.get("name")
    content = text_of(entry, odd)
    by = "" if name is None else content_text(name, odd)
    return Grow(f"{by} ({role})" if by else role, content)


def _mistakes(document: Spot, history: list[Spot], odd: Oddities) -> tuple[Mistake, ...]:
    """Return the label, where the file has one; one that means no entry is kept, and noted."""
    said = document.get("mistake_step")
    if said is None or said.value is None:
        return ()
    place = _spelled(said)
    number = int(place) if place.isascii() and place.isdecimal() and len(place) < _LONGEST_PLACE else None
    entry = history[number] if number is not None and number < len(history) else None
    if entry is None:
        odd.note(f"a mistake_step that is no place in the history: {shortened(place)!r}", said.path)
    agent, reason = (
        "" if found is None else _spelled(found)
        for found in (document.get("mistake_agent"), document.get("mistake_reason"))
    )
    if entry is not None and agent and not _is_by(entry, agent):
        odd.note(f"a mistake that is said to be of {shortened(agent)!r}, in an entry by another", entry.path)
    return (Mistake(place, None if entry is None else entry_at(entry.path), agent, reason),)


def _spelled(label: Spot) -> str:
    return label.value if isinstance(label.value, str) else canonical(label.value)


def _is_by(entry: Spot, agent: str) -> bool:
    """Tell whether an entry is by an agent: named so, or in a role that begins so, `Orchestrator (thought)`."""
    named = [found.value for found in (entry.get("name"), entry.get("role")) if found is not None]
    return any(isinstance(by, str) and by.startswith(agent) for by in named)

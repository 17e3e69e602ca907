"""What a client's own compactions threw away: names that its text does not have, and those that were needed again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, final

import attrs

from mage.engine import Compress, Grow, State, Step, StepId, apply
from mage.engine.tree import trace
from mage.trajectories.trajectory import Trajectory

_NAME: Final = re.compile(r"[\w~.$@#/+-]*[\w~]")
_KEY: Final = re.compile(r'"\w+":')
"""How the arguments of a call are named: every call of a tool has the same."""
_AROUND: Final = ".-+#/"
_TELLING: Final = re.compile(r"\d|[/@_]|[a-z][A-Z]|\w\.\w")
_SHORTEST: Final = 3
_LONGEST: Final = 120
"""Characters of a name: a longer one is content, which nobody would copy."""


@final
@attrs.frozen
class Compaction:
    """A compaction that stands in a log.

    Attributes:
        version: that of the summary, in the history.
        label: of the line that the summary is, as in `[Step 0]`.
        boundary: the last step that it covers.
        steps: how many it covers.
        text: what stands in their place.
        names: how many names stood in the steps: paths, identifiers, numbers, addresses.
        lost: those that are not in the text, the newest first.
        missed: those of the lost that later actions had to use again.
    """

    version: int
    label: StepId
    boundary: StepId
    steps: int
    text: str = attrs.field(repr=False)
    names: int
    lost: tuple[str, ...]
    missed: tuple[str, ...]


def compactions(trajectory: Trajectory) -> tuple[Compaction, ...]:
    """Return the compactions of a log, in order. Cost: that of a replay and O(contents)."""
    state: State | None = None
    found: list[tuple[int, State]] = []
    for version, command in enumerate(trajectory.commands, start=1):
        state = apply(state, command).unwrap()
        if isinstance(command, Compress) and command.kind == "fallback":
            found.append((version, state))
    used = set[str]()
    last = len(trajectory.commands)
    made: list[Compaction] = []
    for version, after in reversed(found):
        for command in trajectory.commands[version:last]:
            if isinstance(command, Grow):
                used.update(names_in(command.action))
        last = version
        made.append(_compaction(version, after, used))
    return tuple(made[::-1])


def _compaction(version: int, state: State, used: set[str]) -> Compaction:
    summary = state.tree.head_summary
    steps = trace(state.tree, summary.label, summary.boundary)
    names = names_of(steps)
    lost = missing(names, summary.text)
    missed = tuple([name for name in lost if name in used])
    return Compaction(
        version, summary.label, summary.boundary, len(steps), summary.text, len(names), lost, missed
    )


def names_of(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the names in steps, each once, the one that stood last first. Cost: O(contents)."""
    every = [name for step in steps for text in step.content for name in names_in(text)]
    return tuple(dict.fromkeys(reversed(every)))


def missing(names: Iterable[str], text: str) -> tuple[str, ...]:
    """Return the names that a text does not have, in order. Cost: O(length)."""
    there = set(names_in(text))
    return tuple([name for name in names if name not in there])


def in_short(names: Iterable[str], room: int) -> str:
    """Return the first names, as a list in one line, as many as so many characters have room for."""
    kept: list[str] = []
    for name in names:
        room -= len(name) + 2
        if room < 0:
            break
        kept.append(name)
    return ", ".join(kept)


def names_in(text: str) -> list[str]:
    """Return what in a text can only be copied: words with a digit, a slash, an underscore, an inner dot or capital."""
    words = [found.strip(_AROUND) for found in _NAME.findall(_KEY.sub(" ", text))]
    return [word for word in words if _SHORTEST <= len(word) <= _LONGEST and _TELLING.search(word)]

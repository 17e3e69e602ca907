"""tau-bench result files: all runs of one task become one tree, in order of trial.

Between two trials the tree is revised to the root, with the reward of the trial that ended as the lesson;
so what trials share from their start merges, and the rest branches. The last trial stays the active path
and its reward, which no one came back with, is left out.

The task of the tree is what all trials were told before the agent first spoke: the system prompt, and the
first user message where it is the same in all. As a rule it is not, since a simulated user words it anew;
then each trial opens with a step that has no action and that message as its observation (but for
`steps="tools"`, which leaves out all that users say, and notes it). What the simulated user was told (`info`) was never
shown to the agent and is left out.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import final

import attrs

from mage.engine import Grow, Revise, Start
from mage.engine.ids import ROOT_STEP
from mage.trajectories.fields import Spot, field, items_at, number_at, whole_at
from mage.trajectories.messages import (
    Conversation,
    Said,
    conversation,
    entries_of,
    joined,
    left_out,
    steps_of,
    task_of,
)
from mage.trajectories.oddities import Oddities
from mage.trajectories.trajectory import Made, Malformed, Steps, Trajectory, made_of


@final
@attrs.frozen
class _Run:
    task: str
    trial: int
    reward: float
    talk: Conversation


def is_tau_bench(document: Spot) -> bool:
    """Tell whether a file looks like a list of runs: some record of it has a `traj`."""
    records = document.items("a list")
    return not isinstance(records, Malformed) and any(record.has("traj") for record in records)


def load_tau_bench(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...] | Malformed:
    """Return one trajectory for each task, named by its id, in the order in which tasks first appear."""
    records = document.items("a list of runs")
    if isinstance(records, Malformed):
        return records
    tasks: dict[str, list[_Run]] = {}
    odd: defaultdict[str, Oddities] = defaultdict(Oddities)
    for record in records:
        task = _task_id(record)
        run = task if isinstance(task, Malformed) else _run(record, task, odd[task])
        if isinstance(run, Malformed):
            return run
        tasks.setdefault(run.task, []).append(run)
    return tuple([_trajectory(task, runs, steps, odd[task]) for task, runs in tasks.items()])


def _run(record: Spot, task: str, odd: Oddities) -> _Run | Malformed:
    trial = whole_at(record, "trial")
    if isinstance(trial, Malformed):
        return trial
    reward = number_at(record, "reward")
    if isinstance(reward, Malformed):
        return reward
    messages = items_at(record, "traj", "a list of messages")
    if isinstance(messages, Malformed):
        return messages
    talk = conversation(messages, odd)
    return talk if isinstance(talk, Malformed) else _Run(task, trial, reward, talk)


def _task_id(record: Spot) -> str | Malformed:
    found = field(record, "task_id")
    if isinstance(found, Malformed):
        return found
    if isinstance(found.value, str | int) and not isinstance(found.value, bool):
        return str(found.value)
    return found.expected("a task id: a string or a whole number")


def _trajectory(task: str, runs: Sequence[_Run], steps: Steps, odd: Oddities) -> Trajectory:
    trials = sorted(runs, key=lambda run: run.trial)
    told = _shared([run.talk.head for run in trials if run.talk.head or run.talk.turns])
    heads = [said for run in trials for said in run.talk.head[: len(told)]]
    made = [Made(Start(task_of(told)), entries_of(heads))]
    for run, ended in zip(trials, [None, *trials], strict=False):
        if ended is not None:
            lesson = f"trial {ended.trial} ended with reward {ended.reward}"
            made.append(Made(Revise(ROOT_STEP, lesson)))
        made.extend(_steps(run.talk, len(told), steps, odd))
    return made_of(task, made, trials=True, remarks=odd.remarks)


def _shared(heads: Sequence[tuple[Said, ...]]) -> tuple[Said, ...]:
    """Return what all heads begin with."""
    shared = itertools.takewhile(lambda said: len(set(said)) == 1, zip(*heads, strict=False))
    return tuple([said[0] for said in shared])


def _steps(talk: Conversation, told: int, steps: Steps, odd: Oddities) -> Iterator[Made]:
    opening = talk.head[told:]
    if opening and steps == "messages":
        yield Made(Grow("", joined(opening)), entries_of(opening))
    elif opening:
        left_out(opening, odd)
    yield from steps_of(talk.turns, steps, odd)

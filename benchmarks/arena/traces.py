"""Runs that others recorded, as the arena plays them: each action with what it needs.

The files are not part of the project. A folder holds any of `tau_bench_gpt4o_airline.json` (tau-bench),
`state_bench_train.jsonl` (STATE-Bench), `swe_agent/*.traj` (SWE-agent) and `who_and_when/*.json` (Who&When).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, final

import attrs

from mage.chat import BadAction, parse_action
from mage.engine import Grow, Revise, Start
from mage.trajectories import Need, Trajectory, load, needs

WRITES: Final = (
    *("book_*", "update_*", "cancel_*", "send_*", "create_*", "process_*", "add_*", "remove_*", "apply_*"),
    *("set_*", "redeem_*"),
)
"""The tools of tau-bench and STATE-Bench that change something, by how they are named there."""
_SHORTEST: Final = 3


@final
@attrs.frozen
class Act:
    """A step of a run.

    Attributes:
        action: what the agent did, or who spoke.
        observation: what came back, or what was said.
        need: the literal values that the action can only have from earlier steps.
        words: the whole texts and numbers in the arguments of its calls that stand in an earlier observation and not
            in the task, whatever they are made of: a second reading of what it needs, which knows no literals.
    """

    action: str
    observation: str
    need: Need
    words: frozenset[str] = frozenset()


@final
@attrs.frozen
class Run:
    """A run that somebody recorded.

    Attributes:
        name: of the run.
        group: runs of one task are drawn together where runs are drawn anew.
        task: what the agent was told before it first acted.
        acts: its steps.
    """

    name: str
    group: str
    task: str
    acts: tuple[Act, ...]


@final
class NoTraces(Exception):
    """There are no such traces to be read; the message says where they were looked for."""


def read_runs(name: str, folder: Path) -> tuple[Run, ...]:
    """Return the runs of one of `TRACES`.

    Raises:
        NoTraces: they are not in the folder.
    """
    pattern, reader = TRACES[name]
    files = sorted(folder.glob(pattern))
    if not files:
        raise NoTraces(f"{name}: there is no {pattern} in {folder}")
    return tuple([run for file in files for run in reader(file)])


def runs_of(trajectory: Trajectory) -> Iterator[Run]:
    """Yield the runs of an imported trace: its trials, where it has several."""
    needed = iter(needs(trajectory, writes=lambda name: any(fnmatchcase(name, each) for each in WRITES)))
    task, acts, trial = "", list[Act](), 0
    for command in trajectory.commands:
        if isinstance(command, Start):
            task = command.task
        elif isinstance(command, Grow):
            acts.append(Act(command.action, command.observation, next(needed)))
        elif isinstance(command, Revise) and trajectory.trials:
            yield _run(f"{trajectory.name}.{trial}", trajectory.name, task, acts)
            acts, trial = [], trial + 1
    yield _run(f"{trajectory.name}.{trial}", trajectory.name, task, acts)


def _run(name: str, group: str, task: str, acts: Iterable[Act]) -> Run:
    """Return a run, with the second reading of what its actions need."""
    seen, told, read = list[str](), task.casefold(), list[Act]()
    for act in acts:
        found = {
            word for word in _words(act.action) if word not in told and any(word in text for text in seen)
        }
        read.append(attrs.evolve(act, words=frozenset(found)))
        seen.append(act.observation.casefold())
    return Run(name, group, task, tuple(read))


def _words(action: str) -> Iterator[str]:
    """Yield the texts and numbers in the arguments of the calls in an action."""
    for line in action.split("\n"):
        try:
            waiting: list[object] = [parse_action(line)[1]]
        except (BadAction, ValueError):
            continue
        while waiting:
            each = waiting.pop()
            if isinstance(each, dict):
                waiting.extend(each.values())
            elif isinstance(each, list):
                waiting.extend(each)
            elif each is not None and not isinstance(each, bool) and len(str(each)) >= _SHORTEST:
                yield str(each).casefold()


# -- files ----------------------------------------------------------------------------------------------


def _imported(file: Path) -> Iterator[Run]:
    for trajectory in load(file.read_bytes(), file=file.name).unwrap():
        yield from runs_of(trajectory)


def _state_bench(file: Path) -> Iterator[Run]:
    """Read STATE-Bench's recorded runs: chats whose calls hold their results."""
    for line in file.read_text(encoding="utf-8").splitlines():
        record: dict[str, Any] = json.loads(line)
        chat = json.dumps([message for each in record["conversation"] for message in _messages(each)])
        (trajectory,) = load(chat.encode(), file=file.name, format="chat").unwrap()
        yield from runs_of(attrs.evolve(trajectory, name=f"{record['domain']}/{record['task']}"))


def _messages(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message as a chat has it: each call, its result, then what was said."""
    for place, call in enumerate(message.get("tool_calls") or []):
        function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
        yield {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{place}", "function": function}],
        }
        yield {"role": "tool", "tool_call_id": f"c{place}", "content": json.dumps(call["result"])}
    if message["role"] != "assistant" or message.get("content"):
        yield {"role": message["role"], "content": message.get("content") or ""}


TRACES: Final[dict[str, tuple[str, Callable[[Path], Iterable[Run]]]]] = {
    "tau-bench": ("tau_bench_gpt4o_airline.json", _imported),
    "STATE-Bench": ("state_bench_train.jsonl", _state_bench),
    "SWE-agent": ("swe_agent/*.traj", _imported),
    "Who&When": ("who_and_when/*.json", _imported),
}
"""By name: which files of the folder they are, and how one is read."""

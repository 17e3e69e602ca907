"""STATE-Bench as plans to follow: the runs that it recorded, in its environments, scored by its state requirements.

It is a checkout of the user's, whose code is imported from there: `state_bench` with its domains, and the runs under
`datasets/train_task_trajectories`. Any folder of that layout will do.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias, final

import attrs

from benchmarks.arena.following.follower import UNKNOWN, BadFile, Kind, Plan, has_words
from benchmarks.arena.systems import has_literal, literals_of
from benchmarks.arena.traces import Act, Run, runs_of
from mage.chat import BadAction, canonical, parse_action
from mage.engine import Grow, Start
from mage.trajectories import Trajectory, needs

RUNS: Final = Path("datasets", "train_task_trajectories")
READINGS: Final = ("literals", "arguments")
"""What counts as a value: what `mage.trajectories.values_in` finds in an argument, or an argument of a call as a whole."""
_ASIDE: Final[dict[Path, dict[str, ModuleType]]] = {}
"""The modules of checkouts that were loaded before another one: Python knows one package of a name at a time."""
_HEARD: Final = "wait for the customer"
_Json: TypeAlias = (
    "dict[str, Any]"  # Any, here and below: the checkout's own values, of which nothing is promised
)


# -- the checkout ---------------------------------------------------------------------------------------


@final
@attrs.frozen
class StateBench:
    """The plans of a checkout.

    Attributes:
        folder: the checkout.
        reading: one of `READINGS`.
    """

    folder: Path
    reading: str = READINGS[0]

    @property
    def name(self) -> str:
        """Name the environment in the rows."""
        return "STATE-Bench"

    def version(self) -> str:
        """Return the version that the checkout gives itself; empty where it gives none."""
        try:
            project = tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            return str(project["version"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def names(self) -> Sequence[str]:
        """Return the names of all runs, domain by domain.

        Raises:
            BadFile: there are none, or this is no such checkout.
        """
        _imported(self.folder)
        found = sorted((self.folder / RUNS).glob("*/*.json"))
        if not found:
            raise BadFile(f"{self.folder / RUNS}: there is no recorded run in it (DOMAIN/TASK.json)")
        return [f"{file.parent.name}/{file.stem}" for file in found]

    def plan(self, name: str) -> Plan | str:
        """Return the plan of a run, or why it is left out: it does not pass, or nothing is asked of the state.

        Raises:
            BadFile: its files are not what they should be.
        """
        task = _task(self.folder, name)
        run, kinds = recorded(self.folder, name, self.reading)
        if not task.state_requirements:
            return "asks for no change"
        writes = _config(self.folder, name).write_tool_names
        reads = {act: _tool(run, act) not in writes for act in _calls(kinds)}
        world = _World(self.folder, name)
        _check_tools(run, kinds, world.tools, _file(self.folder, name))
        came = [world.act(run.acts[act].action) for act in _calls(kinds)]
        if came != [run.acts[act].observation for act in _calls(kinds)]:
            return "does not come out as it was recorded"
        if world.score() < 1.0:
            return "does not pass"
        holds = has_literal if self.reading == READINGS[0] else has_words
        again = _again(run, kinds, reads, holds)
        spoiled = spoiled_literals if self.reading == READINGS[0] else spoiled_arguments
        return Plan(run, kinds, again, partial(_World, self.folder, name), spoiled, holds)

    def others(self, name: str, many: int, seed: int) -> list[Run]:
        """Return so many runs with other customers in the same domain, drawn by the seed and the name.

        Raises:
            BadFile: there are too few, or one is not what it should be.
        """
        if not many:
            return []
        domain, user = _domain(name), _task(self.folder, name).user_id
        pool = [
            other
            for other in self.names()
            if _domain(other) == domain and _task(self.folder, other).user_id != user
        ]
        if len(pool) < many:
            raise BadFile(
                f"{name}: there are {len(pool)} runs with other customers, and {many} are asked for"
            )
        drawn = random.Random(f"{seed} before {name}").sample(pool, many)
        return [recorded(self.folder, other, self.reading)[0] for other in drawn]


def _imported(folder: Path) -> None:
    """See to it that `state_bench` is that of a folder.

    Raises:
        BadFile: the folder has none.
    """
    folder = folder.resolve()
    if not (folder / "state_bench" / "domain.py").is_file():
        raise BadFile(f"{folder} is no checkout of STATE-Bench: there is no state_bench/domain.py in it")
    loaded = sys.modules.get("state_bench")
    known = None if loaded is None else Path(loaded.__file__ or "").parent.parent
    if known == folder:
        return
    if known is not None:
        _ASIDE[known] = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_its(name)}
    sys.modules.update(_ASIDE.pop(folder, {}))
    sys.path[:] = [str(folder), *[each for each in sys.path if each != str(folder)]]


def _is_its(module: str) -> bool:
    return module.partition(".")[0] == "state_bench"


def _module(folder: Path, name: str) -> Any:
    _imported(folder)
    try:
        return import_module(f"state_bench.{name}")
    except Exception as error:  # whatever the code of a checkout does when it is imported
        raise BadFile(f"{folder}: state_bench.{name} cannot be imported: {error}") from error


def _domain(name: str) -> str:
    return name.partition("/")[0]


@cache
def _config(folder: Path, name: str) -> Any:
    domain = _domain(name)
    try:
        return _module(folder, "domain").get_domain_config(domain)
    except BadFile:
        raise
    except Exception as error:  # as above: it imports the domain
        raise BadFile(f"{folder}: its domain {domain} cannot be loaded: {error}") from error


@cache
def _task(folder: Path, name: str) -> Any:
    domain, task = name.split("/")
    file = folder / "state_bench" / "domains" / domain / "tasks" / f"{task}.json"
    try:
        return _module(folder, "schemas").TaskDefinition.load(file)
    except BadFile:
        raise
    except Exception as error:  # its own reader raises what it likes
        raise BadFile(f"{file} is no task: {type(error).__name__}: {error}") from error


@final
class _World:
    """The environment of a task."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._task = folder, _task(folder, name)
        config, loader = _config(folder, name), _module(folder, "env_loader")
        try:
            data, _ = loader.load_task_environment(config, self._task)
            self._environment = config.environment_class(data, self._task.now)
            self._before = self._environment.get_full_snapshot()
        except Exception as error:  # its own reader raises what it likes
            raise BadFile(
                f"{name}: its environment cannot be set up: {type(error).__name__}: {error}"
            ) from error

    @property
    def tools(self) -> Collection[str]:
        return set(self._environment.tool_handlers)

    def act(self, action: str) -> str:
        name, arguments = parse_action(action)
        try:
            result = self._environment.tool_handlers[name](arguments)
        except Exception as error:  # a tool of others, perhaps over an argument that was spoiled
            result = {"error": f"{type(error).__name__}: {error}"}
        return json.dumps(result, default=str)

    def score(self) -> float:
        schemas, scoring = (_module(self._folder, name) for name in ("schemas", "scoring"))
        changes = schemas.StateDiff.compute(self._before, self._environment.get_full_snapshot())
        scored = scoring.evaluate_state_requirements(self._task, changes)
        return float(scored.score) if scored is not None else 0.0


# -- what was recorded ----------------------------------------------------------------------------------


def _file(folder: Path, name: str) -> Path:
    return folder / RUNS / f"{name}.json"


@lru_cache(maxsize=1_000)
def recorded(folder: Path, name: str, reading: str) -> tuple[Run, tuple[Kind, ...]]:
    """Return a recorded run with what its acts need, and the kind of each act.

    The task is the system prompt alone. What the customer says first is an act; what he says later is what comes back
    from the words of the agent.

    Raises:
        BadFile: the file holds no such run.
    """
    file = _file(folder, name)
    messages = _messages(file)
    steps = list(_steps(messages[1:], file))
    task = messages[0]["content"]
    plain = [Grow(action, observation) for _, action, observation in steps]
    (run,) = runs_of(Trajectory(name, (Start(task), *plain), summarized=False))
    kinds = tuple([kind for kind, _, _ in steps])
    told = _choices(_config(folder, name).tool_schemas)
    acts = [
        attrs.evolve(act, words=act.words - told if kind == "call" else frozenset())
        for act, kind in zip(run.acts, kinds, strict=True)
    ]
    needed = _literals(task, steps) if reading == READINGS[0] else _arguments(acts, kinds)
    acts = [
        attrs.evolve(act, need=attrs.evolve(act.need, values=values))
        for act, values in zip(acts, needed, strict=True)
    ]
    return attrs.evolve(run, name=name, group=name, acts=tuple(acts)), kinds


def _choices(schemas: Any) -> set[str]:
    """Return the texts that the tools say may stand in an argument: a model is always told them."""
    found, waiting = set[str](), [schemas]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            choices = each.get("enum")
            found.update(str(one).casefold() for one in (choices if isinstance(choices, list) else ()))
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
    return found


def _literals(task: str, steps: Sequence[tuple[Kind, str, str]]) -> list[frozenset[str]]:
    """Return the literal values that each act needs, words of the agent read as if they were a call."""
    calls = [
        Grow(action if kind != "said" else f"say {canonical({'text': action})}", observation)
        for kind, action, observation in steps
    ]
    return [need.values for need in needs(Trajectory("x", (Start(task), *calls), summarized=False))]


def _arguments(acts: Sequence[Act], kinds: Sequence[Kind]) -> list[frozenset[str]]:
    """Return the arguments that each act needs, and of those of any call what the agent's words repeat."""
    everything = frozenset[str]().union(*[act.words for act in acts])
    found, seen = list[frozenset[str]](), list[str]()
    for act, kind in zip(acts, kinds, strict=True):
        if kind == "said":
            said = [word for word in everything if has_words(word, act.action)]
            found.append(frozenset([word for word in said if any(has_words(word, text) for text in seen)]))
        else:
            found.append(act.words)
        seen.append(act.observation)
    return found


def _messages(file: Path) -> list[_Json]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadFile(f"{file} cannot be read: {error}") from error
    messages = document.get("conversation") if isinstance(document, dict) else None
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        raise BadFile(f"{file}: it has no `conversation`, a list of messages")
    for place, each in enumerate(messages):
        if each.get("role") != "system" if not place else each.get("role") not in ("user", "assistant"):
            raise BadFile(
                f"{file}, message {place}: the first is the system's, all others are the user's or the assistant's"
            )
        if not isinstance(each.get("content"), str | None) or not (place or each.get("content")):
            raise BadFile(f"{file}, message {place}: its `content` is no text")
    if not messages:
        raise BadFile(f"{file}: nothing was said in it")
    return messages


def _steps(messages: Sequence[_Json], file: Path) -> Iterator[tuple[Kind, str, str]]:
    """Yield kind, action and what came back."""
    said = ""
    for place, message in enumerate(messages, 1):
        words = message.get("content") or ""
        if message["role"] == "user":
            if words:
                yield ("said", said, words) if said else ("heard", _HEARD, words)
                said = ""
            continue
        if said:
            yield "said", said, ""
        for call in message.get("tool_calls") or []:
            yield "call", *_call(call, f"{file}, message {place}")
        said = words
    if said:
        yield "said", said, ""


def _call(call: object, where: str) -> tuple[str, str]:
    if (
        not isinstance(call, dict)
        or not isinstance(call.get("name"), str)
        or not isinstance(call.get("arguments"), dict)
        or "result" not in call
    ):
        raise BadFile(f"{where}: a call has a `name`, `arguments` and a `result`")
    action = f"{call['name']} {canonical(call['arguments'])}"
    try:
        parse_action(action)
    except BadAction as error:
        raise BadFile(f"{where}: no tool can be named {call['name']!r}: {error}") from None
    return action, json.dumps(call["result"])


def _check_tools(run: Run, kinds: Sequence[Kind], tools: Collection[str], file: Path) -> None:
    for place in _calls(kinds):
        if _tool(run, place) not in tools:
            raise BadFile(f"{file}: its environment has no tool {_tool(run, place)!r}")


def _calls(kinds: Sequence[Kind]) -> list[int]:
    return [place for place, kind in enumerate(kinds) if kind == "call"]


def _tool(run: Run, place: int) -> str:
    return run.acts[place].action.split(" ")[0]


def _again(
    run: Run, kinds: Sequence[Kind], reads: Mapping[int, bool], holds: Callable[[str, str], bool]
) -> dict[str, int]:
    """Return by value the read-only call that gave it first; not those that the customer said before any call gave them."""
    found, needed = dict[str, int](), {value for act in run.acts for value in act.need.values}
    said = set[str]()
    for place, act in enumerate(run.acts):
        for value in needed - said - found.keys():
            if not holds(value, act.observation):
                continue
            if kinds[place] != "call":
                said.add(value)
            elif reads[place]:
                found[value] = place
    return found


# -- values ---------------------------------------------------------------------------------------------


def spoiled_literals(action: str, lost: Collection[str]) -> str:
    """Return a call without the arguments that hold a value that is lost; words without the values."""
    if not lost:
        return action
    return _spoiled(action, lambda leaf: not literals_of(leaf).isdisjoint(lost)) or _unsaid(action, lost)


def spoiled_arguments(action: str, lost: Collection[str]) -> str:
    """Return a call without the arguments that are lost; words without them."""
    if not lost:
        return action
    return _spoiled(action, lambda leaf: leaf.casefold() in lost) or _unsaid(action, lost)


def _spoiled(action: str, is_lost: Callable[[str], bool]) -> str | None:
    """Return a call without some of its texts and numbers; None where the action is no call."""
    try:
        name, arguments = parse_action(action)
    except BadAction:
        return None

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(each) for key, each in value.items()}
        if isinstance(value, list):
            return [without(each) for each in value]
        if isinstance(value, str):
            return UNKNOWN if is_lost(value) else value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return 0 if is_lost(canonical(value)) else value
        return value

    return f"{name} {canonical(without(arguments))}"


def _unsaid(words: str, lost: Collection[str]) -> str:
    longest = sorted(lost, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest)), UNKNOWN, words, flags=re.IGNORECASE)

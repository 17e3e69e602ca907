"""The domains in their small size, and agents that know nothing: what the tests of worlds share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hypothesis import strategies as st

from benchmarks.arena.domains.registry import NAMES, domain
from benchmarks.arena.domains.task import Domain, Task
from benchmarks.arena.domains.world import World
from mage.chat import action_text
from mage.effects import JsonValue, Tool

SMALL: Final[dict[str, Domain]] = {name: domain(name, "small") for name in NAMES}
FULL: Final[dict[str, Domain]] = {name: domain(name, "full") for name in NAMES}


def rules_of(task: Task) -> Any:
    """Return the rules of a task, of whose domain the caller knows the fields."""
    return task.rules


def actions_of(task: Task) -> list[str]:
    """Return all that an oracle does."""
    return [action for part in task.plan for action in part.actions]


def seen_by(task: Task, actions: list[str]) -> Iterator[str]:
    """Yield everything that somebody is shown who does these things, from the beginning."""
    world = World(task.rules)
    yield task.text
    yield task.rules.manual
    yield from world.reset().instructions
    for action in actions:
        seen = world.act(action)
        yield seen.text
        yield from seen.instructions


def nonsense(task: Task) -> st.SearchStrategy[str]:
    """Return a strategy for what an agent may write that knows the tools at most, or words that it has seen."""
    words = sorted({word for text in seen_by(task, []) for word in text.split()})
    texts = st.one_of(st.sampled_from(words), st.text(max_size=12), st.sampled_from(_HOSTILE))
    calls = [_calls(tool, texts) for tool in task.rules.tools]
    return st.one_of(*calls, texts, st.sampled_from(actions_of(task)))


_HOSTILE: Final = (
    *(
        "9**9**9**9",
        "((((x",
        "__import__('os')",
        "x**40*x**40",
        "1/0",
        "1e400",
        "\ud800",
        "{}",
        "x" * 5000,
        "0",
    ),
)


def _calls(tool: Tool, texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    numbers = st.one_of(st.integers(-3, 10), st.sampled_from([10**30, -(10**400), 1e300, 0.5]))
    values: st.SearchStrategy[JsonValue] = st.one_of(texts, numbers, st.none(), st.booleans())
    properties = tool.parameters["properties"]
    assert isinstance(properties, dict)
    fitting = {name: st.one_of(_fitting(schema, texts), values) for name, schema in properties.items()}
    return st.fixed_dictionaries({}, optional=fitting).map(lambda given: action_text(tool.name, given)) | (
        st.fixed_dictionaries(fitting).map(lambda given: action_text(tool.name, given))
    )


def _fitting(schema: dict[str, JsonValue], texts: st.SearchStrategy[str]) -> st.SearchStrategy[JsonValue]:
    """Return mostly what a schema takes, so that nonsense gets beyond it."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])  # type: ignore[arg-type]  # a list, as our tools write it
    return st.integers(-1, 5) if schema["type"] == "integer" else texts

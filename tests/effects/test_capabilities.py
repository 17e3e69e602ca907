"""What an environment says that it can do: refused where it is wrong, and kept whole by whoever wraps it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mage.effects import (
    BadEnvironment,
    BadTool,
    Capabilities,
    CustomRestore,
    Irreversible,
    NotRestored,
    Restore,
    Snapshots,
    Tool,
)

LOOK = Tool.of("look", "Look.", at={"type": "string"})
WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: Snapshots("save", print), "Snapshots.take is a str"),  # type: ignore[arg-type]
    (lambda: Snapshots(dict, print, keep=-1), "Snapshots.keep is -1"),
    (lambda: Snapshots(dict, print, keep=True), "Snapshots.keep is True"),
    (lambda: CustomRestore(None), "CustomRestore.restore is a NoneType"),  # type: ignore[arg-type]
    (lambda: Capabilities("undo"), "Capabilities.restoring is 'undo'"),  # type: ignore[arg-type]
    (lambda: Capabilities(foresees=1), "Capabilities.foresees is a int"),  # type: ignore[arg-type]
    (lambda: Capabilities(tools=7), "Capabilities.tools is a int"),  # type: ignore[arg-type]
    (lambda: Capabilities(tools=["look"]), "no mage.effects.Tool"),  # type: ignore[list-item]
    (lambda: Capabilities(manual=b"m"), "Capabilities.manual is a bytes"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("making", "words"), WRONG, ids=[words for _, words in WRONG])
def test_a_capability_of_another_type_is_refused_where_it_is_made(
    making: Callable[[], object], words: str
) -> None:
    """The refusal names the field, what it is and what it must be."""
    with pytest.raises(BadEnvironment) as caught:
        making()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("restoring", "repeatable", "operations"),
    [
        ("inverses", False, ["foresees"]),
        ("replay", True, ["foresees"]),
        (Snapshots(dict, print, keep=3), True, ["foresees", "put_back", "take"]),
        (CustomRestore(lambda request: NotRestored("no"), repeatable=False), False, ["foresees", "restore"]),
        (CustomRestore(lambda request: NotRestored("no")), True, ["foresees", "restore"]),
    ],
)
def test_whoever_wraps_an_environment_wraps_each_operation(
    restoring: Any, repeatable: bool, operations: list[str]
) -> None:
    """`around` hands over every operation by its name, and keeps the rest as it is."""
    met: list[str] = []

    def wrap(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        met.append(name)
        return operation

    given = Capabilities(restoring, foresees=Irreversible, tools=(LOOK,), manual="words")
    assert given.around(wrap) == given
    assert sorted(met) == operations
    assert given.repeatable is repeatable
    assert given.foresees("send") == Irreversible("send")


def test_capabilities_promise_nothing_by_default() -> None:
    """Undone by inverses, nothing foreseen, any text an action."""
    made = Capabilities()
    assert (made.restoring, made.foresees("send"), made.tools, made.manual) == ("inverses", None, (), "")
    assert Capabilities(tools=[LOOK]).tools == (LOOK,)
    assert Restore(()).plan == ()


@pytest.mark.parametrize(
    ("making", "words"),
    [
        (lambda: Tool("a b", "", {"type": "object"}), "1 to 64 letters"),
        (lambda: Tool("a", None, {"type": "object"}), "description must be a text"),  # type: ignore[arg-type]
        (lambda: Tool("a", "", {"type": "string"}), '"type": "object"'),
    ],
)
def test_a_tool_that_no_model_can_call_is_refused(making: Callable[[], object], words: str) -> None:
    """The refusal names the tool and says what is wrong with it."""
    with pytest.raises(BadTool, match=words):
        making()


def test_whether_a_schema_can_be_enforced() -> None:
    """Every object in it allows just what it requires; a reference cannot be followed; what is no schema is no obstacle."""
    assert LOOK.is_strict
    closed: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "null"}, True]}},
        "required": ["a"],
    }
    strict: dict[str, Any] = {**closed, "additionalProperties": False}
    assert Tool("t", "", strict).is_strict
    assert not Tool("t", "", closed).is_strict
    inner: dict[str, Any] = {"type": "array", "items": {"$ref": "#/x"}}
    assert not Tool("t", "", {**strict, "properties": {"a": inner}}).is_strict

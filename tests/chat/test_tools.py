"""Tools: what may be offered, and actions that are calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat import ACT, OWN_TOOLS, BadAction, action_text, offered, parse_action
from mage.effects import BadTool, Tool

names = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(st.text(), values, max_size=4)


@given(names, arguments)
def test_an_action_reads_back_as_the_call_it_was(name: str, given_: dict[str, object]) -> None:
    """Any name with any arguments can be written as an action and read again."""
    assert parse_action(action_text(name, given_)) == (name, given_)  # type: ignore[arg-type]  # JSON, drawn as such


@given(names, arguments)
def test_equal_arguments_are_one_action(name: str, given_: dict[str, object]) -> None:
    """The order of the keys does not matter: the merge rule sees one action (I2)."""
    turned = dict(reversed(given_.items()))
    assert action_text(name, turned) == action_text(name, given_)  # type: ignore[arg-type]  # as above


@given(st.text() | names.map(lambda name: f"{name} {{"))
def test_any_text_is_a_call_or_is_refused(text: str) -> None:
    """What is read is a name and an object; all else is refused without a word of it quoted."""
    try:
        name, read = parse_action(text)
    except BadAction as bad:
        refused = str(bad)
    else:
        assert text.strip().startswith(name)
        assert isinstance(read, dict)
        return
    assert refused.startswith("not the call of a tool: ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a name"),
        ("search[cake]", "a name"),
        ("search cake", "not JSON"),
        ('search {"a": NaN}', "not JSON"),
        ("search [1]", "no JSON object"),
        ("search " + "[" * 100_000, "nested too deeply|not JSON"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_call_is_refused_with_a_reason(text: str, reason: str) -> None:
    """The reason says what was expected and not found."""
    with pytest.raises(BadAction, match=reason):
        parse_action(text)


def test_a_call_without_arguments_may_leave_them_out() -> None:
    """A bare name is a call with no arguments."""
    assert parse_action(" look ") == ("look", {})


def test_a_world_without_tools_has_act() -> None:
    """Its one tool takes any text; a world with tools has them instead. Our own come last."""
    look = Tool.of("look", "Look around.")
    assert offered(()) == (ACT, *OWN_TOOLS)
    assert offered([look]) == (look, *[own for own in OWN_TOOLS if own.name != "look"])
    assert offered([Tool.of("go", "Go.")])[1:] == OWN_TOOLS
    assert look.parameters["required"] == []


@pytest.mark.parametrize("name", ["", "two words", "ü", "a" * 65, "compress", "act"])
def test_a_name_that_is_none_or_taken_is_refused(name: str) -> None:
    """Names are what providers take, and none of ours."""
    with pytest.raises(BadTool, match=repr(name)):
        offered([Tool.of(name, "")])


def test_a_tool_is_refused_that_could_not_be_told_apart_or_takes_no_object() -> None:
    """Two tools of one name, and parameters that are no object."""
    with pytest.raises(BadTool, match="two tools"):
        offered([Tool.of("a", "1"), Tool.of("a", "2")])
    with pytest.raises(BadTool, match='"type": "object"'):
        Tool("a", "", {"type": "string"})

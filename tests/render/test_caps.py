"""Limits for the hints."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from mage import MageError
from mage.render import DEFAULT_CAPS, NO_CAPS, BadCap, Caps

_LIMITS: dict[str, Callable[[int | None], Caps]] = {
    "continuations": lambda limit: Caps(continuations=limit),
    "subgoals": lambda limit: Caps(subgoals=limit),
    "lessons": lambda limit: Caps(lessons=limit),
    "action_chars": lambda limit: Caps(action_chars=limit),
    "observation_chars": lambda limit: Caps(observation_chars=limit),
    "text_chars": lambda limit: Caps(text_chars=limit),
}


def test_every_limit_is_tried_here() -> None:
    """A new limit must be added to these tests."""
    assert {*attrs.fields_dict(Caps)} == {*_LIMITS, "distinct_lessons"}


@pytest.mark.parametrize("name", _LIMITS)
def test_a_negative_limit_is_an_error_that_names_it(name: str) -> None:
    """A slip of the sign is not taken for "no limit"."""
    with pytest.raises(BadCap) as caught:
        _LIMITS[name](-1)
    assert isinstance(caught.value, MageError)
    assert str(caught.value) == f"Caps({name}=-1): a limit is 0 or more, or None for no limit"


@pytest.mark.parametrize("name", _LIMITS)
def test_zero_and_none_are_limits(name: str) -> None:
    """Nothing at all, and everything, can be asked for."""
    assert getattr(_LIMITS[name](0), name) == 0
    assert getattr(_LIMITS[name](None), name) is None


def test_off_means_every_limit() -> None:
    """`Caps.off()` has no limit left and shows every lesson."""
    assert Caps.off() == NO_CAPS
    assert {getattr(NO_CAPS, name) for name in _LIMITS} == {None}
    assert not NO_CAPS.distinct_lessons


def test_the_defaults_limit_everything() -> None:
    """What an agent is shown by default is bounded in every direction."""
    assert Caps() == DEFAULT_CAPS
    assert all(getattr(DEFAULT_CAPS, name) > 0 for name in _LIMITS)
    assert DEFAULT_CAPS.distinct_lessons

"""The walks of the reference."""

from __future__ import annotations

import pytest
from hypothesis import given

from mage.testing import texts
from specs.reference_nodes import Step, Summary, above, blank, joined, path, trace


def chain(length: int) -> list[Step]:
    """Return steps that follow one another."""
    steps = [Step(0, None, ("", ""))]
    for number in range(1, length):
        steps.append(Step(number, steps[-1], ("a", "o")))
    return steps


def test_a_trace_leaves_its_upper_end_out() -> None:
    """A trace begins after the upper step and ends with the lower one; of a step with itself it is empty."""
    steps = chain(4)
    assert path(steps[3]) == steps
    assert trace(steps[1], steps[3]) == steps[2:]
    assert trace(steps[3], steps[3]) == []


def test_nothing_is_above_the_root() -> None:
    """Algorithm 1 would run past the root; the reference says so."""
    root = Summary(0, None, 0, [])
    assert above(Summary(1, root, 0, [])) is root
    with pytest.raises(LookupError):
        above(root)


@given(texts)
def test_joined_text_is_stable(text: str) -> None:
    """Joining joins all there is to join, keeps the rest, and changes nothing a second time."""
    once = joined(text)
    assert joined(once) == once
    assert once.encode("utf-16-le", "surrogatepass") == text.encode("utf-16-le", "surrogatepass")


def test_blank_is_what_strip_leaves_empty() -> None:
    """All that `str.strip` takes away is blank, and nothing else is."""
    assert blank(" \x1c\u3000\n")
    assert not blank("\u200b")

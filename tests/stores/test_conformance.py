"""Every store here keeps every promise of the protocol."""

from __future__ import annotations

import pytest

from mage.testing.stores import PROMISES, Kit, Promise, hammer, kit_for


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_it_keeps_its_promise(promise: Promise, kit: Kit) -> None:
    """The store does what the promise says (it raises AssertionError where it does not)."""
    assert promise.__doc__
    promise(kit)


@pytest.mark.slow
def test_eight_processes_append_five_hundred_steps_each(url: str) -> None:
    """4,000 records, each exactly once, where its writer was told; conflicts were reported to their writers."""
    written = hammer(kit_for(url), writers=8, appends=500)
    assert sum(len(each.acknowledged) for each in written) == 4000
    assert sum(each.conflicts for each in written) > 0

"""TLC for the tests that run it: found once, and a mark for those tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import TypeVar

import pytest

from specs.tla.tools import TLC, ToolError, find

Test = TypeVar("Test", bound=Callable[..., None])


@cache
def tlc() -> TLC:
    """Return TLC, or raise what is missing of it."""
    return find()


def _missing() -> str:
    try:
        tlc()
    except ToolError as missing:
        return str(missing)
    return ""


def needs_tlc(test: Test) -> Test:
    """Mark a test that runs TLC and skip it, with a reason, where TLC is missing; CI has it."""
    missing = _missing()
    skip = pytest.mark.skipif(bool(missing) and "MAGE_CI" not in os.environ, reason=missing or "TLC is here")
    marked: Test = pytest.mark.formal(skip(test))
    return marked

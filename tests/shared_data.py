"""Where the real traces are, for tests that read them; they are not part of the project."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


Test = TypeVar("Test", bound=Callable[..., None])


def needs_shared(test: Test) -> Test:
    """Mark a test that reads `../shared` and skip it, with a reason, where the folder is missing; CI has it."""
    missing = not SHARED.is_dir() and "MAGE_CI" not in os.environ
    skip = pytest.mark.skipif(missing, reason="../shared, the developers' real traces, is not here")
    marked: Test = pytest.mark.shared(skip(test))
    return marked

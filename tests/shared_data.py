"""Where the real traces are, for tests that read them; they are not part of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def needs_shared(test):  # type: ignore[no-untyped-def]  # a decorator that keeps whatever it is given
    """Mark a test that reads `../shared` and skip it, with a reason, where the folder is missing."""
    skip = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared, the developers' real traces, is not here")
    return pytest.mark.shared(skip(test))

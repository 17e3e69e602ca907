"""mypy accepts what should be legal and rejects what should not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", ["accepted.py", "rejected.py"])
def test_mypy_sees_what_is_legal(name: str) -> None:
    """accepted.py is clean, and every line of rejected.py that should be an error is one."""
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--warn-unused-ignores", str(HERE / name)],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr

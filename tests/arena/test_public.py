"""The arena is a user's program."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import benchmarks.arena

FOLDER = Path(benchmarks.arena.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))


def names_of_mage(path: Path) -> Iterator[tuple[str, str]]:
    """Yield room and name of everything that a file takes from mage."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mage":
            yield from [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from [(alias.name, "") for alias in node.names if alias.name.split(".")[0] == "mage"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_it_uses_public_names_alone(path: Path) -> None:
    """What it takes is in the `__all__` of a room, or in `mage.tokens`, a room that is one module."""
    for room, name in names_of_mage(path):
        assert name, f"{path.name}: import {room}"
        public = room == "mage.tokens" or name in import_module(room).__all__
        assert public, f"{path.name}: {room}.{name}"
        assert room.count(".") <= 1, f"{path.name}: {room}"

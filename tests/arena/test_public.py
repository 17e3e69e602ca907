"""The arena is a user's program: what holds of its domains holds of the rest of it."""

from __future__ import annotations

import ast
from pathlib import Path

import benchmarks.arena
from tests.arena.domains.test_imports import is_public
from tests.test_architecture import imports, none_of, place, tree_of

FILES = sorted(Path(benchmarks.arena.__file__).parent.glob("*.py"))


def test_it_uses_public_names_of_mage_alone() -> None:
    """What is imported of mage stands in the `__all__` of a room, or in a module of the top without one."""
    none_of(
        f"{place(path, node.lineno)}: {alias.name} of {node.module}"
        for path in FILES
        for node in tree_of(path).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mage"
        for alias in node.names
        if not is_public(node.module or "", alias.name)
    )


def test_nothing_of_the_tests_is_needed() -> None:
    """The arena runs from a clone without them."""
    none_of(
        f"{place(path, line)}: {module}"
        for path in FILES
        for line, module in imports(path)
        if module.split(".")[0] == "tests"
    )

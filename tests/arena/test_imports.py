"""The arena is built as a user could build it: of public names of `mage` alone."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import benchmarks.arena
from tests.test_architecture import none_of, place

FOLDER = Path(benchmarks.arena.__file__ or "").parent


def taken() -> Iterator[tuple[Path, int, str, str]]:
    """Yield file, line, module and name of all that is imported."""
    for path in sorted(FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                yield from ((path, node.lineno, node.module or "", alias.name) for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from ((path, node.lineno, alias.name, "") for alias in node.names)


def test_only_public_names_of_mage_are_used() -> None:
    """What is imported of mage stands in the `__all__` of a room, or is a module of the top without one."""
    none_of(
        f"{place(path, line)}: {name} of {module}"
        for path, line, module, name in taken()
        if module.split(".")[0] == "mage" and not is_public(module, name)
    )


def is_public(module: str, name: str) -> bool:
    """Tell whether a user may import a name of a module of mage."""
    exported = getattr(importlib.import_module(module), "__all__", None)
    if exported is None:
        return module.count(".") == 1 and not name.startswith("_")
    return name in exported


def test_no_test_and_no_other_benchmark_is_used() -> None:
    """Nothing of the tests is needed to run the arena, and nothing of other benchmarks."""
    none_of(
        f"{place(path, line)}: {module}"
        for path, line, module, _ in taken()
        if module.split(".")[0] == "tests"
        or (module.startswith("benchmarks") and not module.startswith("benchmarks.arena"))
    )


def test_only_fractions_import_sympy() -> None:
    """SymPy is an optional package: one module imports it, and no other domain needs it."""
    none_of(
        f"{place(path, line)}"
        for path, line, module, _ in taken()
        if module.split(".")[0] == "sympy" and path.name != "fractions.py"
    )

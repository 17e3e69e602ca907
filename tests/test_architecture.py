"""The walls of the house: who may import whom, how large things may grow, who may make a phase."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = (
    "engine",
    "effects",
    "codec",
    "tokens",
    "render",
    "diff",
    "stores",
    "bundle",
    "session",
    "agent",
    "llm",
    "trajectories",
    "integrations",
    "arena",
    "explorer",
    "testing",
    "cli",
)
ENGINE_MAY_IMPORT = {
    "__future__",
    "typing",
    "collections.abc",
    "enum",
    "hashlib",
    "attrs",
    "rpds",
    "returns.result",
}
MODULES = sorted((ROOT / "mage").rglob("*.py"))
SOURCES = sorted(
    path for room in ("mage", "specs", "tests", "benchmarks") for path in (ROOT / room).rglob("*.py")
)


def name(path: Path) -> str:
    """Return a path as one reads it."""
    return str(path.relative_to(ROOT))


def imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)}:{node.lineno}: relative imports hide the floor"
            assert node.module is not None
            yield node.module


def room(module: str) -> str | None:
    """Return the room of a module of mage: `mage.engine.tree` is in the engine."""
    parts = module.split(".")
    return parts[1] if parts[0] == "mage" and len(parts) > 1 else None


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_room_imports_only_from_floors_below(path: Path) -> None:
    """Every module of a room imports from its own room or a lower one."""
    own = path.relative_to(ROOT / "mage").parts[0].removesuffix(".py")
    if own in ("__init__", "__main__"):
        return
    for module in imports(path):
        other = room(module)
        if other is not None:
            assert FLOORS.index(other) <= FLOORS.index(own), f"{own} imports {module}"


@pytest.mark.parametrize("path", sorted((ROOT / "mage" / "engine").glob("*.py")), ids=name)
def test_the_engine_imports_little(path: Path) -> None:
    """The pure core knows values, maps, results and a hash function; nothing that could perform anything."""
    foreign = {module for module in imports(path) if not module.startswith("mage.engine")}
    assert foreign <= ENGINE_MAY_IMPORT


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_only_the_sql_stores_import_a_database(path: Path) -> None:
    """Databases are an extra: what else imports one would load it for everybody."""
    databases = {"sqlalchemy", "psycopg", "sqlite3"}
    found = {module.split(".")[0] for module in imports(path)} & databases
    rooms = [ROOT / "mage" / "stores" / room for room in ("sql", "doctor")]
    assert not found or any(path.is_relative_to(room) for room in rooms)


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_only_the_room_of_models_imports_a_client(path: Path) -> None:
    """OpenAI's client, and what it speaks HTTP with, are loaded by `mage.llm` and by nothing else."""
    found = {module.split(".")[0] for module in imports(path)} & {"openai", "httpx", "httpx2", "httpcore2"}
    assert not found or path.is_relative_to(ROOT / "mage" / "llm")


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_files_and_functions_stay_small(path: Path) -> None:
    """A file has at most 400 lines, code and docstrings; a function at most 50 beside its docstring."""
    text = path.read_text(encoding="utf-8")
    # The machine is the constitution: table and functions are read as one.
    assert text.count("\n") <= (540 if path.name == "machine.py" else 400)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            assert lines <= 50, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_only_the_machine_makes_a_phase(path: Path) -> None:
    """Anybody could construct a phase; in mage only the machine does, and what rebuilds a saved tree."""
    if path.name in ("machine.py", "assemble.py"):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("Active", "Unverified", "Rejected"), f"line {node.lineno}"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_nothing_is_swallowed_or_slept(path: Path) -> None:
    """No bare or blanket except; no sleep but the demo's pace."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else ""
            assert caught not in ("", "Exception", "BaseException"), f"line {node.lineno}"
        if isinstance(node, ast.Attribute) and node.attr == "sleep":
            assert path.name == "demo.py", f"line {node.lineno}"


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCES if path.name.startswith("test_") and path.is_relative_to(ROOT / "tests")],
    ids=name,
)
def test_every_test_says_what_it_shows_and_can_fail(path: Path) -> None:
    """A test has a docstring, and asserts something itself or through what it calls."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            assert ast.get_docstring(node), f"{node.name} does not say what it shows"
            source = ast.unparse(node)
            can_fail = ("assert", "pytest.raises", "check", "run_state_machine")
            assert any(word in source for word in can_fail), f"{node.name} asserts nothing"


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_every_module_says_what_it_exports(path: Path) -> None:
    """Each module has a docstring and, but for `__main__` guards, an `__all__` of names that exist, sorted."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "no docstring"
    exported = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    assert len(exported) == 1, "no __all__"
    names = ast.literal_eval(exported[0])
    defined = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {
        getattr(node, "name", "") for node in tree.body
    }
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert len(names) == len(set(names))
    assert set(names) <= defined | imported

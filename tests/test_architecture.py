"""The walls of the house: who may import whom, how large things may grow, who may make a phase.

One test a rule; each lists everything that offends it, by file and line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FLOORS: Final = (
    "engine",
    "effects",
    "codec",
    "tokens",
    "render",
    "chat",
    "stores",
    "bundle",
    "session",
    "memory",
    "demo",
    "agent",
    "llm",
    "trajectories",
    "integrations",
    "arena",
    "explorer",
    "testing",
    "cli",
)
ENGINE_MAY_IMPORT: Final = {
    "__future__",
    "typing",
    "collections.abc",
    "enum",
    "hashlib",
    "itertools",
    "attrs",
    "rpds",
    "returns.result",
}
DATABASES: Final = {
    "sqlite3": ("mage/stores/sqlite.py", "mage/stores/doctor/reading.py"),
    "psycopg": ("mage/stores/postgres.py",),
}
"""Where each database's driver is imported."""
PROTOCOLS: Final = {"mcp", "mcp_types", "uvicorn"}
CLIENTS: Final = {"openai", "httpx", "httpx2", "httpcore", "httpcore2"}
CAN_FAIL: Final = ("assert", "pytest.raises", "check", "run_state_machine")
MODULES: Final = sorted((ROOT / "mage").rglob("*.py"))
SOURCES: Final = sorted(
    path
    for room in ("mage", "specs", "tests", "benchmarks", "examples")
    for path in (ROOT / room).rglob("*.py")
)
TESTS: Final = [path for path in SOURCES if path.name.startswith("test_") and ROOT / "tests" in path.parents]


@cache
def text_of(path: Path) -> str:
    """Return what stands in a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file as Python reads it."""
    return ast.parse(text_of(path))


def place(path: Path, line: int = 1) -> str:
    """Return where something stands, as editors open it."""
    return f"{path.relative_to(ROOT)}:{line}"


def none_of(offenders: Iterable[str]) -> None:
    """Ask that nothing offends.

    Raises:
        AssertionError: it lists what does, a line each.
    """
    found = list(offenders)
    assert not found, "\n" + "\n".join(found)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and module of everything that a file imports, anywhere in it; "" for a relative one."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module if node.module and node.level == 0 else ""


def room_of(path: Path) -> str:
    """Return the room of a file of mage: that of `mage/engine/tree.py` is the engine."""
    return path.relative_to(ROOT / "mage").parts[0].removesuffix(".py")


def test_no_import_is_relative() -> None:
    """An import says its floor: none is relative."""
    none_of(place(path, line) for path in SOURCES for line, module in imports(path) if not module)


def test_a_room_imports_only_from_floors_below() -> None:
    """Every module of a room imports from its own room or a lower one."""
    none_of(
        f"{place(path, line)}: {room_of(path)} imports {module}"
        for path in MODULES
        if room_of(path) in FLOORS
        for line, module in imports(path)
        if module.startswith("mage.") and FLOORS.index(module.split(".")[1]) > FLOORS.index(room_of(path))
    )


def test_every_room_has_a_floor() -> None:
    """A room that is not in the list could import whatever it likes."""
    none_of(place(path) for path in MODULES if room_of(path) not in (*FLOORS, "__init__", "__main__"))


def test_the_engine_imports_little() -> None:
    """The pure core knows values, maps, results and a hash function; nothing that could perform anything."""
    none_of(
        f"{place(path, line)}: {module}"
        for path in MODULES
        if room_of(path) == "engine"
        for line, module in imports(path)
        if module not in ENGINE_MAY_IMPORT and not module.startswith("mage.engine")
    )


def test_only_a_databases_own_module_imports_its_driver() -> None:
    """PostgreSQL's driver is an extra, and SQLite is loaded by those who use it: what else imports one would load it for everybody."""
    none_of(
        f"{place(path, line)}: {module}"
        for path in MODULES
        for line, module in imports(path)
        if str(path.relative_to(ROOT))
        not in DATABASES.get(module.split(".")[0], (str(path.relative_to(ROOT)),))
    )


def test_only_the_room_of_models_imports_a_client() -> None:
    """OpenAI's client, and what it speaks HTTP with, are loaded by `mage.llm` and by nothing else."""
    none_of(
        f"{place(path, line)}: {module}"
        for path in MODULES
        if room_of(path) != "llm"
        for line, module in imports(path)
        if module.split(".")[0] in CLIENTS
    )


def test_only_integrations_import_other_peoples_protocols() -> None:
    """The SDK of MCP, and the server that it brings, are loaded by what serves by it and by nothing else."""
    none_of(
        f"{place(path, line)}: {module}"
        for path in MODULES
        if room_of(path) != "integrations" and path.relative_to(ROOT).as_posix() != "mage/cli/hosts.py"
        for line, module in imports(path)
        if module.split(".")[0] in PROTOCOLS
    )


def test_files_hold_one_idea() -> None:
    """A file has at most 700 lines, code and docstrings: what is longer is more than one idea."""
    none_of(
        f"{place(path)}: {text_of(path).count(chr(10))} lines"
        for path in SOURCES
        if text_of(path).count("\n") > 700
    )


def test_functions_stay_small() -> None:
    """A function has at most 50 lines beside its docstring."""
    none_of(
        f"{place(path, node.lineno)}: {node.name} has {length} lines"
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (length := lines_of(node)) > 50
    )


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines a function has beside its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_only_the_machine_makes_a_phase() -> None:
    """Anybody could construct a phase; in mage only the operations do (`folding` has one that keeps it), and what rebuilds a saved tree."""
    none_of(
        f"{place(path, node.lineno)}: {node.func.id}(...)"
        for path in MODULES
        if path.name not in ("machine.py", "folding.py", "assemble.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("Active", "Unverified", "Rejected")
    )


def test_nothing_is_swallowed_unsaid() -> None:
    """A blanket except stands only where other people's code runs, and its line says so in a comment."""
    none_of(
        place(path, node.lineno)
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler)
        and (ast.unparse(node.type) if node.type else "") in ("", "Exception", "BaseException")
        and not has_reason(text_of(path).splitlines()[node.lineno - 1])
    )


def has_reason(line: str) -> bool:
    """Tell whether a line has a comment that is more than a word to a linter."""
    _, _, comment = line.partition("#")
    return any(
        not part.strip().startswith(("noqa", "type: ignore")) for part in comment.split("#") if part.strip()
    )


def test_nothing_sleeps() -> None:
    """Nothing sleeps but the demo, for its pace."""
    none_of(
        place(path, node.lineno)
        for path in SOURCES
        if path.relative_to(ROOT).as_posix() != "mage/cli/live.py"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr == "sleep"
    )


def each_test(path: Path) -> Iterator[ast.FunctionDef]:
    """Yield the tests of a file."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


def test_every_test_says_what_it_shows() -> None:
    """A test has a docstring."""
    none_of(
        f"{place(path, node.lineno)}: {node.name}"
        for path in TESTS
        for node in each_test(path)
        if not ast.get_docstring(node)
    )


def test_every_test_can_fail() -> None:
    """A test asserts something, itself or through a function that it calls; its docstring does not count."""
    none_of(
        f"{place(path, node.lineno)}: {node.name}"
        for path in TESTS
        for node in each_test(path)
        if not any(
            word in ast.unparse(statement) for statement in node.body[1:] for word in (*CAN_FAIL, "none_of")
        )
    )


def test_every_module_says_what_it_is_for() -> None:
    """Each module has a docstring."""
    none_of(place(path) for path in SOURCES if text_of(path).strip() and not ast.get_docstring(tree_of(path)))


def test_every_package_says_what_it_exports() -> None:
    """Each package of mage has an `__all__` that names what exists, once; a module has none."""
    none_of(
        f"{place(path)}: {problem}" for path in MODULES if (problem := problem_of_exports(path)) is not None
    )


def problem_of_exports(path: Path) -> str | None:
    """Return what is wrong with the `__all__` of a file."""
    tree = tree_of(path)
    exported = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    if path.name != "__init__.py":
        return "an __all__ outside of a package's __init__" if exported else None
    if not exported:
        return "no __all__"
    names = ast.literal_eval(exported[-1])
    if len(exported) > 1 or len(names) != len(set(names)):
        return "something is exported twice"
    unknown = set(names) - defined_in(tree)
    return f"{sorted(unknown)} is not there" if unknown else None


def defined_in(tree: ast.Module) -> set[str]:
    """Return the names that a module defines or imports."""
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    defined = {getattr(node, "name", "") for node in tree.body}
    imported = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return names | defined | imported

"""What `import mage` gives, exactly, and what it loads."""

from __future__ import annotations

import subprocess
import sys

import mage
import mage.engine

HEAVY = ("openai", "hypothesis", "typer", "rich", "jsonschema", "pydantic", "json", "asyncio", "toktok")


def test_all_is_exact() -> None:
    """Every public name of the packages is in `__all__`, and nothing else is."""
    for package in (mage, mage.engine):
        public = {
            name
            for name, value in vars(package).items()
            if not name.startswith("_") and type(value).__name__ != "module"
        }
        assert set(package.__all__) - {"__version__"} == public - {"annotations"}


def test_mage_gives_what_the_engine_gives() -> None:
    """Everything public in mage.engine is importable from mage, as the same object."""
    for name in mage.engine.__all__:
        assert getattr(mage, name) is getattr(mage.engine, name)


def test_importing_mage_loads_nothing_heavy() -> None:
    """`import mage` loads attrs, rpds and returns, and none of what extras bring."""
    ran = subprocess.run(
        [sys.executable, "-c", "import mage, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {module.split(".")[0] for module in ran.stdout.split()}
    assert not loaded & set(HEAVY)
    assert {"attr", "rpds", "returns"} <= loaded

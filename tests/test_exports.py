"""What `import mage` gives, exactly, and what it loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mage
import mage.engine
import mage.memory
import mage.session
import mage.testing

HEAVY = ("openai", "hypothesis", "typer", "rich", "jsonschema", "pydantic", "json", "asyncio", "toktok")

LATER = {
    mage.session: ("AsyncSession", "Conflict", "Refused", "Session"),
    mage.memory: ("AsyncMemory", "Memory"),
}


def test_all_is_exact() -> None:
    """Every public name of the packages is in `__all__`, and nothing else is."""
    for package in (mage, mage.engine, mage.testing):
        public = {
            name
            for name, value in vars(package).items()
            if not name.startswith("_") and type(value).__name__ != "module"
        }
        later = [name for names in LATER.values() for name in names] if package is mage else ()
        assert set(package.__all__) - {"__version__", *later} == public - {"annotations"}


def test_mage_gives_what_the_engine_gives() -> None:
    """Everything public in mage.engine is importable from mage, as the same object."""
    for name in mage.engine.__all__:
        assert getattr(mage, name) is getattr(mage.engine, name)


def test_sessions_and_memories_are_there_when_asked_for() -> None:
    """What mage gives of them is what their rooms give; any other name is none."""
    for room, names in LATER.items():
        for name in names:
            assert name in mage.__all__
            assert getattr(mage, name) is getattr(room, name)
    with pytest.raises(AttributeError, match="'Sesion'"):
        mage.Sesion  # type: ignore[attr-defined]  # noqa: B018


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


def test_the_test_kit_names_its_extra() -> None:
    """`import mage.testing` without hypothesis ends in one line that says what to install."""
    ran = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['hypothesis'] = None; import mage.testing"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stderr.rstrip().endswith(
        "ModuleNotFoundError: mage.testing needs its extra: pip install 'mage-state[testing]'"
    )
    assert "During handling" not in ran.stderr

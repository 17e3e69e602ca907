"""What `import mage` gives, exactly, and what it loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mage
import mage.agent
import mage.effects
import mage.engine
import mage.memory
import mage.session
import mage.stores
import mage.testing

HEAVY = (
    *("openai", "hypothesis", "typer", "rich", "jsonschema", "pydantic", "json", "asyncio", "toktok"),
    *("agents", "langchain", "langgraph", "pydantic_ai"),
)


def test_all_is_exact() -> None:
    """Every public name of the packages is in `__all__`, and nothing else is."""
    for package in (mage.engine, mage.testing):
        public = {
            name
            for name, value in vars(package).items()
            if not name.startswith("_") and type(value).__name__ != "module"
        }
        assert set(package.__all__) == public - {"annotations"}


def test_mage_shows_what_one_begins_with() -> None:
    """Some 25 names, each the same object as in its room, all of them there for completion; any other name is none."""
    rooms = (mage.engine, mage.effects, mage.stores, mage.session, mage.memory, mage.agent)
    for name in set(mage.__all__) - {"__version__"}:
        assert any(getattr(mage, name) is getattr(room, name, None) for room in rooms), name
        assert name in dir(mage)
    assert len(mage.__all__) < 30
    with pytest.raises(AttributeError, match="'Sesion'"):
        mage.Sesion  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"'grow'; it is in mage\.engine"):
        mage.grow  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("room", "loads"), [("mage", set[str]()), ("mage.engine", {"attr", "rpds", "returns"})]
)
def test_importing_loads_nothing_heavy(room: str, loads: set[str]) -> None:
    """`import mage` loads none of its rooms; the engine loads attrs, rpds and returns, and none of what extras bring."""
    ran = subprocess.run(
        [sys.executable, "-c", f"import {room}, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {module.split(".")[0] for module in ran.stdout.split()}
    assert not loaded & set(HEAVY)
    assert loads == loaded & {"attr", "rpds", "returns"}


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

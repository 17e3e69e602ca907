"""Each example runs as it stands there, needs no key and no network, and goes on when it is run again."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from mage.engine import Command, Compress, Failed
from mage.memory import Memory

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PACKAGES = {"langchain": "langchain", "openai_agents": "agents", "pydantic_ai": "pydantic_ai"}
EXTRAS = {"langchain": "langchain", "openai_agents": "openai-agents", "pydantic_ai": "pydantic-ai"}


@pytest.mark.parametrize("name", PACKAGES)
def test_an_example_runs_and_goes_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with the answer both times; the second time nothing is done again."""
    pytest.importorskip(PACKAGES[name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    commands: list[Command] = []
    lengths: list[int] = []
    for _ in range(2):
        runpy.run_path(str(EXAMPLES / f"{name}_agent.py"), run_name="__main__")
        assert capsys.readouterr().out == "The study has an oak desk and a linen chair.\n"
        with Memory.open("study.db", "monday") as kept:
            commands = [entry.command for entry in kept.session.history()]
        lengths.append(len(commands))
    assert [each.text for each in commands if isinstance(each, Compress)][-1] == "Chair: linen chair, $145."
    assert any(isinstance(getattr(each, "verdict", None), Failed) for each in commands)
    assert lengths[0] == lengths[1]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_missing_package_is_said_in_one_line(name: str) -> None:
    """With what to install; nothing of the framework is loaded by mage itself."""
    missing = f"import sys; sys.modules[{PACKAGES[name]!r}] = None; import mage.integrations.{name}"
    ran = subprocess.run([sys.executable, "-c", missing], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.rstrip().endswith(
        f"ModuleNotFoundError: mage.integrations.{name} needs its extra: pip install 'mage-state[{EXTRAS[name]}]'"
    )
    assert "During handling" not in ran.stderr

"""Runs of an agent from the command line: where they are kept in a test, and how they are interrupted for real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from mage.demo import shop
from tests.cli.gated import ARRIVED, NEVER
from tests.cli.runner import Ran, mage

ROOT: Final = Path(__file__).resolve().parents[2]
KEY: Final = "sk-test-1b7e55d0"
STORY: Final = ("--script", str(Path(__file__).with_name("story.jsonl")))
"""Plays what the demo's model and judge say, in any environment."""
PLAYED: Final = (shop.TASK, *STORY)
"""The same, for a new run."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of one's own, with a key and no server in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return tmp_path


def in_one_line(ran: Ran, *said: str) -> bool:
    """Tell whether a command was refused in one line that says all this."""
    return ran.status == 1 and len(ran.err.splitlines()) == 1 and all(word in ran.err for word in said)


def exported(session: str) -> str:
    """Return the tree of a session, as bytes that differ where it does."""
    return mage("export", session, "--to", "json").out


@pytest.fixture
def gate(place: Path) -> Path:
    """Give a folder with the pipes of the gate."""
    folder = place / "gate"
    folder.mkdir()
    for name in (ARRIVED, NEVER):
        os.mkfifo(folder / name)
    return folder


def child(*arguments: str, **how: Any) -> subprocess.Popen[str]:  # Any: as Popen takes it
    """Start `mage run` in a process of its own."""
    command = [sys.executable, "-m", "mage", "run", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.Popen(command, env=environment, text=True, **piped)


def interrupted(
    gate: Path, action: int, how: signal.Signals, *arguments: str, environment: str = "Gated"
) -> Ran:
    """Run until an action is begun, and then interrupt the process, inside of it."""
    session = [*PLAYED, "--session", "sqlite:///w.db#a"]
    with child(
        *session, "--environment", f"tests.cli.gated:{environment}:{gate}={action}", *arguments
    ) as process:
        (gate / ARRIVED).read_text()  # to its end: the action is begun
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
    return Ran(process.returncode, out, err)

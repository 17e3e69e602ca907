"""Tasks over a Ray of this machine; `make ray` brings it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.arena.__main__ import main
from benchmarks.arena.domains.series import run_series
from benchmarks.arena.domains.settings import Settings

ROOT: Final = Path(__file__).resolve().parents[3]
SHOP: Final = Settings(domain="shopping", size="small")


def told(settings: Settings, number: int) -> dict[str, Any]:
    """Run a task that is over at once."""
    return {"settings": settings.document(), "number": number, "outcome": "finished", "sr": 1.0, "ps": 1.0}


def failing(settings: Settings, number: int) -> dict[str, Any]:
    """Run three tasks: one kills its process, one raises, one is well."""
    if number == 0:
        os._exit(3)
    if number == 1:
        raise ValueError("no")
    return told(settings, number)


def holding(_settings: Settings, _number: int) -> dict[str, Any]:
    """Say that a task is running, and never end it."""
    with open(os.environ["ARENA_PIPE"], "w", encoding="utf-8") as pipe:
        pipe.write("here\n")
    threading.Event().wait()
    return {}


def test_without_ray_its_option_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has no Ray is told which group brings it, and nothing else ever imports it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    asked = ["run", "--domain", "shopping", "--tasks", "1", "--ray", "local", "--out", str(tmp_path / "rows")]
    assert main(asked) == 2
    assert capsys.readouterr().err == "Error: --ray needs Ray: `make .venv/ray/made` brings it\n"


@pytest.mark.ray
def test_a_file_over_ray_is_that_of_one_worker(tmp_path: Path) -> None:
    """Whoever runs the tasks, the file is the same, byte for byte; and what is there is not run again."""
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    run_series(SHOP, 3, here)
    assert len(run_series(SHOP, 3, there, ray="local")) == 3
    assert there.read_bytes() == here.read_bytes()
    there.write_text(here.read_text().partition("\n")[0] + "\n")
    run_series(SHOP, 3, there, ray="local")
    assert there.read_bytes() == here.read_bytes()


@pytest.mark.ray
def test_a_task_that_kills_its_worker_stops_no_other(tmp_path: Path) -> None:
    """It is a failed row, as with workers; so is one that raises, and the last one is run."""
    rows = run_series(SHOP, 3, tmp_path / "rows.jsonl", ray="local", run=failing)
    assert [row["outcome"] for row in rows] == ["failed", "failed", "finished"]
    assert [row.get("detail") for row in rows] == ["the process that ran it died", "ValueError: no", None]


@pytest.mark.ray
def test_ctrl_c_ends_it_and_its_workers(tmp_path: Path) -> None:
    """While a task runs for ever, an interrupt ends the command, and the same file can be gone on with."""
    pipe, out = tmp_path / "pipe", tmp_path / "rows.jsonl"
    os.mkfifo(pipe)
    program = (
        "import sys; from pathlib import Path\n"
        "from tests.arena.domains.test_remote import SHOP, holding\n"
        "from benchmarks.arena.domains.series import run_series\n"
        "try: run_series(SHOP, 1, Path(sys.argv[1]), ray='local', run=holding)\n"
        "except KeyboardInterrupt: sys.exit(130)"
    )
    environment = {**os.environ, "ARENA_PIPE": str(pipe), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", program, str(out)], env=environment) as running:
        with open(pipe, encoding="utf-8") as told_by:
            assert told_by.readline() == "here\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 130
    assert len(run_series(SHOP, 1, out, ray="local", run=told)) == 1


@pytest.mark.ray
def test_an_address_without_a_ray_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is run, and the line says where there is none."""
    asked = ["run", "--domain", "shopping", "--tasks", "1", "--ray", "ray://127.0.0.1:1"]
    assert main([*asked, "--out", str(tmp_path / "rows")]) == 2
    assert "there is no Ray at 'ray://127.0.0.1:1'" in capsys.readouterr().err

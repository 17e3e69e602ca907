"""Tasks for `mage run` and for playing by hand: by an address, as a script, and marked from their session."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from benchmarks.arena.__main__ import main
from benchmarks.arena.domains.addresses import BadTask, script, task_at, world
from benchmarks.arena.domains.registry import NAMES, VERSION
from tests.arena.domains.cases import FULL, SMALL, actions_of, seen_by
from tests.cli.runner import mage


@pytest.mark.parametrize("name", NAMES)
def test_a_task_is_played_by_the_command(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`mage run` plays the script of a task in its world, and the session that it leaves is worth everything."""
    monkeypatch.chdir(tmp_path)
    address = f"{name}:3:1:small"
    for asked, file in (([], "task.txt"), (["--script"], "plan.jsonl")):
        assert main(["task", address, *asked]) == 0
        Path(file).write_text(capsys.readouterr().out, encoding="utf-8")
    acting = [
        "--environment",
        f"benchmarks.arena.domains.addresses:world:{address}",
        "--script",
        "plan.jsonl",
    ]
    ran = mage("run", "@task.txt", *acting, "--session", "work.db#a", "--json")
    assert (ran.status, json.loads(ran.out)["outcome"]) == (0, "finished"), ran.err
    assert main(["mark", address, "work.db", "a"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["sr"], said["ps"], said["answered"]) == (1, 1, 1)
    assert set(said["endings"]) == {"answered"}


def test_an_address_is_a_task() -> None:
    """Domain, seed and number, and the small size where it is named."""
    assert task_at("shopping:7:2").text == FULL["shopping"].task(7, 2).text
    assert task_at("search:7:2:small").plan == SMALL["search"].task(7, 2).plan
    assert world("travel:1:0").rules.instructions == FULL["travel"].task(1, 0).rules.instructions
    assert len(list(script(task_at("math:1:0:small")))) == len(actions_of(task_at("math:1:0:small"))) + 4 + 1


@pytest.mark.parametrize(
    "address", ["", "shopping", "shopping:1", "shop:1:0", "search:x:0", "math:1:-1", "math:1:0:big"]
)
def test_what_is_no_address_is_refused(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said what an address looks like, with status 2."""
    with pytest.raises(BadTask, match="it is DOMAIN:SEED:NUMBER"):
        task_at(address)
    assert main(["task", address]) == 2
    assert main(["mark", address, "x.db", "a"]) == 2
    assert "names no task" in capsys.readouterr().err


def test_a_session_that_is_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is created where a name is wrong."""
    assert main(["mark", "math:1:0:small", str(tmp_path / "x.db"), "a"]) == 2
    assert capsys.readouterr().err.startswith("Error: ")


def test_the_tasks_of_a_version_stay() -> None:
    """A change after which a seed makes another task raises `registry.VERSION`: rows of both would not compare."""
    known = {2: "16d190470199a675"}
    tasks = [of_size[name].task(1, 0) for of_size in (SMALL, FULL) for name in NAMES]
    told = [
        line for task in tasks for line in (*seen_by(task, actions_of(task)), *map(str, task.rules.tools))
    ]
    assert hashlib.sha256("\n".join(told).encode()).hexdigest()[:16] == known[VERSION]

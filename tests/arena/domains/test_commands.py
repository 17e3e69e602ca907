"""The commands: what they print, what they refuse, and with which status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.arena.__main__ import main
from benchmarks.arena.domains import commands, registry
from benchmarks.arena.domains.registry import NAMES, MissingPackage


def test_a_first_look(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One command runs every domain in small size, another one says as JSON what came of it."""
    out = tmp_path / "rows.jsonl"
    assert main(["run", "--domain", "all", "--size", "small", "--tasks", "1", "--out", str(out)]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "[1/1] shopping-0-0: finished, SR 1, PS 1.00" in told.err
    assert main(["report", str(out), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert sorted(row["domain"] for row in rows) == sorted(NAMES)
    assert {row["sr"] for row in rows} == {1}
    assert main(["report", str(out)]) == 0
    told_of = [line for line in capsys.readouterr().out.splitlines() if ", MAGE " in line]
    assert sorted(line.partition(",")[0] for line in told_of[:5]) == sorted(NAMES)


@pytest.mark.parametrize("memory", ["mage-without-compress", "mage-without-revise", "full-history"])
def test_a_memory_is_a_policy(tmp_path: Path, memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan succeeds under each, and takes more tokens where every step is shown."""
    out = str(tmp_path / "rows.jsonl")
    for name in ("mage", memory):
        asked = ["--domain", "shopping", "--size", "small", "--tasks", "1", "--memory", name]
        assert main(["run", *asked, "--out", out]) == 0
    capsys.readouterr()
    assert main(["report", out, "--json"]) == 0
    tokens = {row["memory"]: row["tokens"] for row in json.loads(capsys.readouterr().out)["rows"]}
    shows_all = memory != "mage-without-revise"
    assert (tokens[memory] > tokens["mage"]) == shows_all


def test_a_policy_can_be_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a low mark a plan still succeeds, in fewer tokens; its rows are a series of their own, which says so."""
    out = str(tmp_path / "rows.jsonl")
    run = ["run", "--domain", "shopping", "--tasks", "1", "--out", out]
    assert main(run) == 0
    assert main([*run, "--policy", "high_water=3000", "--policy", "point_out=false"]) == 0
    capsys.readouterr()
    assert main(["report", out, "--json"]) == 0
    one, other = json.loads(capsys.readouterr().out)["rows"]
    assert one["settings"]["policy"] == {"high_water": 3000, "point_out": False}
    assert "policy" not in other["settings"]
    assert one["tokens"] < other["tokens"]
    assert (one["sr"], other["sr"]) == (1, 1)


def test_what_cannot_be_run_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No model, no data, no SymPy, no rows: each is one line and status 2, before anything is run."""
    out = tmp_path / "rows.jsonl"
    run = ["run", "--domain", "travel", "--tasks", "1", "--out", str(out)]
    assert main([*run, "--agent", "model"]) == 2
    assert capsys.readouterr().err == "Error: --agent model needs --model NAME\n"
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert main([*run, "--agent", "model", "--model", "m"]) == 2
    assert "no key for OpenAI" in capsys.readouterr().err
    assert main([*run, "--agent", "model", "--model", "m", "--base-url", "http://a..b/v1"]) == 2
    assert "no address of a server" in capsys.readouterr().err
    assert main([*run, "--model", "m"]) == 2
    assert capsys.readouterr().err == "Error: --model and --judge are for --agent model\n"
    assert main(["run", "--domain", "search", "--data", "x", "--out", str(out)]) == 2
    assert capsys.readouterr().err == "Error: --data is for --domain travel, or for --rows\n"
    assert main([*run, "--data", str(tmp_path / "missing")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main([*run, "--policy", "high_water=x"]) == 2
    assert capsys.readouterr().err == "Error: high_water must be a whole number that is not negative\n"
    assert main([*run, "--policy", "speed=1"]) == 2
    assert "no 'speed' in a policy" in capsys.readouterr().err
    assert main(["report", str(out)]) == 2
    assert "there is no file" in capsys.readouterr().err
    assert main(["run", "--domain", "search", "--out", str(tmp_path / "no" / "rows.jsonl")]) == 2
    assert "cannot be written" in capsys.readouterr().err

    def lacking(_name: str, _parts: int) -> None:
        raise MissingPackage("SymPy")

    monkeypatch.setattr(registry, "_formal", lacking)
    assert main(["run", "--domain", "formal", "--out", str(out)]) == 2
    assert capsys.readouterr().err == "Error: this domain needs SymPy: `make .venv/arena` brings it\n"
    with pytest.raises(SystemExit):
        main(["run", "--domain", "shopping", "--tasks", "0", "--out", str(out)])
    assert not out.exists()


def test_the_context_reader_plays_in_the_runner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A reader that never errs has all right under each memory, and its row says how it errs and that nobody was asked."""
    out = tmp_path / "rows.jsonl"
    run = [
        "run",
        "--domain",
        "shopping",
        "--size",
        "small",
        "--tasks",
        "1",
        "--agent",
        "reader",
        "--out",
        str(out),
    ]
    for memory in ("mage", "full-history"):
        assert main([*run, "--memory", memory, "--reader", "mistakes=0"]) == 0
    for line in out.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert (row["sr"], row["outcome"]) == (1, "finished")
        assert row["settings"]["reader"]["mistakes"] == 0
        assert row["settings"]["reader"]["misses"] == 0.1
        assert "no model was asked" in row["origin"]["tokens"]
    capsys.readouterr()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ["--domain", "travel", "--agent", "reader"],
            "--agent reader can read the prompts of --domain shopping alone",
        ),
        (
            ["--domain", "all", "--agent", "reader"],
            "--agent reader can read the prompts of --domain shopping alone",
        ),
        (["--domain", "shopping", "--reader", "loss=0.1"], "--reader is for --agent reader"),
        (
            ["--domain", "shopping", "--agent", "reader", "--reader", "luck=1"],
            "there is no 'luck' in a reader",
        ),
        (
            ["--domain", "shopping", "--agent", "reader", "--reader", "loss=1.5"],
            "a number from 0 to 1, and not 1.5",
        ),
        (
            ["--domain", "shopping", "--agent", "reader", "--reader", "loss=true"],
            "a number from 0 to 1, and not True",
        ),
        (["--domain", "shopping", "--agent", "reader", "--reader", "recall=GPT"], "no curve is called 'GPT'"),
    ],
)
def test_what_a_reader_cannot_be_is_refused(
    asked: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another domain, an unknown habit, a share that is none: one line and status 2, before anything is run."""
    out = tmp_path / "rows.jsonl"
    assert main(["run", *asked, "--tasks", "1", "--out", str(out)]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_an_interrupted_run_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C is status 130 and one line."""

    def interrupted(*_given: object, **_named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "run_series", interrupted)
    out = tmp_path / "rows.jsonl"
    assert main(["run", "--domain", "search", "--tasks", "1", "--out", str(out)]) == 130
    assert f"the same command goes on, with what {out} has" in capsys.readouterr().err

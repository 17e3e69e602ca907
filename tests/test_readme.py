"""README is true: its code runs, its commands work, its table is the machine's."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from mage.cli.answerers import read_script
from mage.codec import encode_journal
from mage.engine import Accept, Compress, Grow, Start
from specs.table import table
from tests.cli.runner import mage

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def fenced(language: str) -> list[str]:
    """Return the code blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands(first: str) -> list[list[str]]:
    """Return the shell lines that begin with this word, without their comments."""
    lines = [line for block in fenced("sh") for line in block.splitlines()]
    bare = [
        re.sub(r"\s#.*", "", line) for line in lines
    ]  # in a word a # begins no comment, as shells have it
    return [shlex.split(line) for line in bare if line.startswith(f"{first} ")]


def test_the_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Python blocks run one after the other, and what a model reads is printed as it stands there."""
    monkeypatch.chdir(tmp_path)
    # Not under the file's name: Hypothesis would look for a test's source there, at lines that are others.
    exec(compile("\n".join(fenced("python")), "<README>", "exec"), {})
    (shown,) = fenced("text")
    assert shown in capsys.readouterr().out


def test_the_commands_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mage line works in the order given, on a chat saved as trace.json and a longer session."""
    monkeypatch.chdir(tmp_path)
    chat = '[{"role":"system","content":"help"},{"role":"user","content":"hi"},{"role":"assistant","content":"yes?"}]'
    Path("trace.json").write_text(chat, encoding="utf-8")
    lines = commands("mage")
    assert len(lines) >= 8
    for line in lines:
        ran = mage(*line[1:], *(["--pace", "0"] if line[1] == "demo" else []))
        assert ran.status == 0, f"{line}: {ran.err}"
        assert ran.out
        if "--out" in line:
            steps = [Grow(f"a{number}", "o") for number in range(10)]
            longer = encode_journal([Start("task"), *steps, Compress("done"), Accept()])
            Path(line[-1]).write_bytes(b"".join(longer))


def test_the_scripts_it_shows_are_scripts(tmp_path: Path) -> None:
    """The whole one, and all forms of a line: replies of the model, of the judge and of the summarizer."""
    counts = []
    for number, shown in enumerate(fenced("json")):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(shown, encoding="utf-8")
        script = read_script(str(path))
        counts.append((len(script.decisions), len(script.verdicts), len(script.summaries)))
    assert counts == [(3, 1, 0), (8, 3, 1)]


def test_the_whole_script_plays_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The counter, its file as README says that it must be, and the command line finish the task."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    [block] = [each for each in fenced("python") if "class Counter" in each]
    imports = next(line for line in block.splitlines() if "Capabilities" in line)
    whole = re.search(r"^class Counter:\n(?:(?:    .*)?\n)+", block, re.MULTILINE)
    assert whole is not None
    Path("counter.py").write_text(f"{imports}\n{whole[0]}", encoding="utf-8")
    Path("lamps.jsonl").write_text(fenced("json")[0], encoding="utf-8")
    [told] = re.findall(r"`(mage run 'Light three lamps.' \S+ \S+ --script lamps.jsonl)`", README)
    ran = mage(*shlex.split(told)[1:])
    sys.modules.pop("counter", None)  # other tests have counters of their own
    assert ran.status == 0, ran.err
    assert "finished: Three are lit." in ran.out


def test_the_two_commands_of_a_first_run_are_targets() -> None:
    """The two of a first run come first, and all that is named is in the Makefile."""
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = [line[1] for line in commands("make")]
    assert named == ["demo", "test", "specs"]
    assert set(named) <= set(targets)


def test_the_table_is_the_machines() -> None:
    """The table of operations is the one that `python -m specs.table` prints."""
    assert f"compared by a test -->\n{table()}<!-- end" in README


def test_the_files_it_names_are_there() -> None:
    """No dead links within the repository."""
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_size_of_the_engine_is_told() -> None:
    """The number of lines is right to a tenth."""
    told = re.search(r"the engine is some ([\d,]+) lines", README)
    assert told is not None
    lines = sum(
        path.read_text(encoding="utf-8").count("\n") for path in (ROOT / "mage" / "engine").glob("*.py")
    )
    assert abs(lines - int(told[1].replace(",", ""))) < lines / 10

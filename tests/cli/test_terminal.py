"""At a terminal, no command prints a character that it would obey, or that nobody sees; into a pipe bytes are exact."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from mage import Session
from mage.bundle import encode_bundle, pack
from mage.cli.naming import spelled
from mage.render import printable
from mage.stores import open_store

pty = pytest.importorskip("pty")

ROOT: Final = Path(__file__).resolve().parents[2]
EVIL: Final = (
    "\x1b[31mred\x1b]0;title\x07 \x00\x08\x0b\x7f \x9b1m\x90\x85 \u202eback\u2066wards\u2069 \u200b\u200d\u2060\ufeff\xad"
    " \u061c\u180e\u3164\u115f\u2800\u034f \U000e0041\U000e0101\ufe0f \r\u2028\u2029 \ud800 end"
)
"""Controls, overrides of direction, and what is not seen."""
NAME: Final = EVIL.replace("\0", "").replace("\ud800", "")
STYLE: Final = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\r?\x1b\[[0-9]*[AGKJ]|\r(?=\x1b|replaying|\n|$)")
"""What rich writes of its own: colours, and the movements of what is drawn anew."""


def evil(path: Path) -> str:
    """Make a store with a session whose name, texts and meta are hostile, and a fork of it."""
    url = f"sqlite:///{path / 'work.db'}"
    with Session.open(url, NAME, task=EVIL) as session:
        session.instruct(EVIL, standing=True)
        session.grow(EVIL, EVIL, meta={EVIL.replace("\ud800", ""): 1})
        session.compress(EVIL)
        session.accept()
        session.grow(EVIL + "2", EVIL)
        session.revise(1, EVIL)
        for each in ("2", "to be revised", "to be run"):
            session.fork(NAME + each).grow(EVIL, "other")
    return url


def at_terminal(
    folder: Path, *arguments: str, columns: int = 120, typed: bytes = b"", **more: str
) -> tuple[int, str]:
    """Run the command at a terminal; return its status and all that the terminal was sent.

    Args:
        folder: where it is run.
        arguments: the command's.
        columns: how wide the terminal is.
        typed: what is typed there.
        more: variables of the environment.
    """
    ours, theirs = pty.openpty()
    os.write(ours, typed)
    words = ["-m", "mage", *arguments]
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **more}
    environment["COLUMNS"] = str(columns)
    with subprocess.Popen(
        [sys.executable, *words], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment
    ) as ran:
        os.close(theirs)
        sent = b""
        while True:
            try:
                some = os.read(ours, 65536)
            except OSError:  # so Linux says that nobody writes any more
                break
            if not some:
                break
            sent += some
    os.close(ours)
    return ran.returncode, sent.decode(errors="surrogateescape")


COMMANDS: Final = {
    "sessions": (["sessions", "{url}"], 0),
    "sessions --json": (["sessions", "{url}", "--json"], 0),
    "log": (["log", "{session}", "--texts"], 0),
    "tree": (["tree", "{session}", "--full"], 0),
    "show": (["show", "{session}"], 0),
    "show --json": (["show", "{session}", "--json"], 0),
    "check": (["check", "{session}"], 0),
    "diff": (["diff", "{session}@4", "{session}2"], 1),
    "fork": (["fork", "{session}", "{name}3"], 0),
    "revise": (["revise", "{session}to%20be%20revised", "0", "--lesson", "x"], 0),
    "export": (["export", "{session}"], 0),
    "export --lineage": (["export", "{session}2", "--lineage"], 0),
    "export journal": (["export", "{session}", "--to", "journal"], 0),
    "export json": (["export", "{session}", "--to", "json"], 0),
    "export text": (["export", "{session}", "--to", "text"], 0),
    "export mermaid": (["export", "{session}", "--to", "mermaid"], 0),
    "export dot": (["export", "{session}", "--to", "dot"], 0),
    "export --out": (["export", "{session}", "--out", "{bidi}.jsonl"], 0),
    "import": (["import", "bundle.jsonl", "{session}4"], 0),
    "replay": (["replay", "trace.json", "--budget", "10", "--out", "{bidi}.jsonl"], 0),
    "redact": (["redact", "{session}", "back", "--dry-run"], 1),
    "doctor": (["doctor", "{session}", "--expect-head", "{name}@99"], 1),
    "gc": (["gc", "{url}", "--name", "{name}*", "--dry-run"], 0),
    "rerun": (["rerun", "{session}"], 1),
    "run": (["run", "--offline", "--environment", "shop", "--session", "{session}to%20be%20run"], 0),
    "an unknown session": (["tree", "{url}#{bidi}"], 1),
    "an unknown file": (["tree", "{bidi}"], 1),
    "an unknown option": (["tree", "--{bidi}"], 2),
    "an unknown command": (["{bidi}"], 2),
    "no number": (["log", "{session}", "--last", "{bidi}"], 2),
    "no format": (["replay", "trace.json", "--format", "{bidi}"], 2),
    "no age": (["gc", "{url}", "--older-than", "{bidi}"], 2),
    "no pattern": (["redact", "{session}", "({bidi}"], 1),
    "no name": (["gc", "{url}", "--name", "{bidi}"], 1),
    "no store": (["sessions", "{bidi}"], 1),
    "no environment": (["run", "--offline", "--environment", "{bidi}"], 2),
    "no script": (["run", "t", "--environment", "shop", "--script", "{bidi}"], 1),
}
BIDI: Final = "x\u202ey\x9b1m\x1b[31m\u200bz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a hostile store, a bundle of it and a hostile trace."""
    folder = tmp_path_factory.mktemp("terminal")
    with open_store(evil(folder)) as store:
        (folder / "bundle.jsonl").write_bytes(b"".join(encode_bundle(pack(store, NAME))))
    chat = [{"role": "user", "content": EVIL}, {"role": "assistant", "content": EVIL * 9}] * 3
    runs = [{"task_id": EVIL, "trial": 0, "reward": 0, "info": {}, "traj": chat}]
    (folder / "trace.json").write_text(json.dumps(runs), encoding="utf-8")
    return folder


@pytest.mark.parametrize("case", COMMANDS)
def test_a_terminal_is_sent_nothing_that_it_obeys(folder: Path, case: str) -> None:
    """Whatever a session, a trace, a name, a path or an option holds, all that arrives can be seen."""
    arguments, expected = COMMANDS[case]
    url = f"sqlite:///{folder / 'work.db'}"
    words = {"url": url, "name": spelled(NAME), "session": f"{url}#{spelled(NAME)}", "bidi": BIDI}
    status, sent = at_terminal(folder, *[each.format(**words) for each in arguments])
    (folder / f"{BIDI}.jsonl").unlink(missing_ok=True)
    assert status == expected, sent
    for line in STYLE.sub("", sent).replace("\t", " ").split("\n"):
        assert printable(line) == line
    assert "Traceback" not in sent


def test_what_json_says_at_a_terminal_is_what_it_says_in_a_file(folder: Path) -> None:
    """There it is escaped as JSON escapes: what is copied from there means the same."""
    session = f"sqlite:///work.db#{spelled(NAME)}"
    for arguments in (
        ["export", session, "--to", "journal"],
        ["export", session],
        ["show", session, "--json"],
    ):
        command = [sys.executable, "-m", "mage", *arguments]
        environment = {**os.environ, "PYTHONPATH": os.getcwd(), "PYTHONIOENCODING": "ascii"}
        piped = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True).stdout
        _, sent = at_terminal(folder, *arguments)
        if "--json" in arguments:
            assert json.loads(sent) == json.loads(piped)
        else:
            lines = [json.loads(line) for line in piped.decode().split("\n")[:-1]]
            assert [json.loads(line) for line in sent.split("\r\n")[:-1]] == lines


def test_a_pipe_gets_the_very_bytes(folder: Path) -> None:
    """A bundle in a pipe is the bundle, whatever encoding the terminal has."""
    session = f"sqlite:///work.db#{spelled(NAME)}"
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "mage", "export", session]
    piped = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True).stdout
    assert piped == (folder / "bundle.jsonl").read_bytes()

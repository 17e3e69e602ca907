"""What the command says of itself: helps that lose nothing, all that is missing at once, and a quiet end."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final, cast

import pytest

from mage.cli import COMMANDS, command_named
from tests.cli.children import in_one_line, place
from tests.cli.runner import mage

__all__ = ["place"]

ROOT: Final = Path(__file__).resolve().parents[2]
NAMES: Final = sorted(COMMANDS)
BRACKETS: Final = re.compile(r"\\?(\[[^\]\s]*\])")
"""What a help says in brackets; the backslash is for rich, which would take it for markup."""


def said_in_brackets(name: str) -> set[str]:
    """Return what stands in brackets in the texts of a command: its own, and those of what it takes."""
    command = command_named(name)
    texts = [
        command.help,
        *(part for each in command.params for part in (each.metavar, getattr(each, "help", ""))),
    ]
    return {found for text in texts for found in BRACKETS.findall(cast("str | None", text) or "")}


@pytest.mark.parametrize("name", NAMES)
def test_no_help_loses_what_stands_in_brackets(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is shown, and no backslash with it."""
    monkeypatch.setenv("COLUMNS", "240")
    ran = mage(name, "--help")
    assert ran.status == 0
    assert "\\[" not in ran.out
    assert {each for each in said_in_brackets(name) if each not in ran.out} == set()


def test_some_help_says_something_in_brackets() -> None:
    """The patterns of gc do, so the test above is of something."""
    assert "[abc]" in said_in_brackets("gc")


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_overview_says_what_each_command_says_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command is in it under its group, with the first paragraph of its function's docstring."""
    monkeypatch.setenv("COLUMNS", "200")
    said = mage("--help").out
    for name in NAMES:
        first = " ".join(str(command_named(name).help).split("\n\n")[0].split())
        assert re.search(rf"\│ {name} +{re.escape(first)} +│", said), name
    assert {group for group, _, _ in COMMANDS.values()} <= set(re.findall(r"╭─ (.+?) ─", said))


def test_the_overview_fits_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 columns no line is longer, and no sentence of a command is cut."""
    monkeypatch.setenv("COLUMNS", "80")
    said = mage("--help").out
    assert max(map(len, said.splitlines())) <= 80
    assert "…" not in said


@pytest.mark.parametrize(
    ("arguments", "needless"),
    [
        (["--help"], ["mage.agent", "mage.session", "mage.stores", "mage.codec", "psycopg"]),
        (["--version"], ["mage.agent", "mage.session", "mage.stores", "mage.codec", "psycopg"]),
        (["sessions", "--help"], ["mage.agent", "psycopg"]),
        (["nope"], ["mage.agent", "psycopg"]),
    ],
)
def test_nobody_waits_for_what_a_command_does_without(arguments: list[str], needless: list[str]) -> None:
    """What is not needed is not loaded; and what was asked for is said."""
    ran = python(f"""
import sys
from mage.__main__ import main

sys.argv = ["mage", *{arguments!r}]
try:
    main()
finally:
    print([name for name in {needless!r} if name in sys.modules])
""")
    assert ran.stdout.endswith("[]\n")
    assert len(ran.stdout + ran.stderr) > 10


def test_a_slip_is_told_the_command_that_was_meant() -> None:
    """Though the room of that command was not loaded."""
    ran = python("import sys; from mage.__main__ import main; sys.argv = ['mage', 'sesions']; main()")
    assert ran.returncode == 2
    assert "sessions" in ran.stderr


@pytest.mark.parametrize("module", ["typer", "mage.engine.text", "mage.cli.run"])
def test_an_interrupt_while_modules_are_loaded_ends_quietly(module: str) -> None:
    """Ctrl-C before the command has begun: status 130, and nothing is said."""
    ran = python(f"""
import sys
from mage.__main__ import main

class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.modules.pop({module!r}, None)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["mage", "run", "--help"]
main()
""")
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("missing", "options", "said"),
    [
        (
            ("openai", "psycopg"),
            ("task", "--environment", "shop", "--model", "m", "--session", "postgresql://h/d#a"),
            "'mage-state[openai,postgres]'",
        ),
        (("openai",), ("task", "--environment", "shop", "--model", "m"), "'mage-state[openai]'"),
        (("psycopg",), ("--offline", "--session", "postgresql://h/d#a"), "'mage-state[postgres]'"),
    ],
)
def test_all_that_is_missing_is_told_at_once(
    missing: tuple[str, ...], options: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line to install it all, before a file is made; no key is needed to be told so."""
    monkeypatch.delenv("OPENAI_API_KEY")
    for package in missing:
        monkeypatch.setitem(sys.modules, package, None)
    assert in_one_line(mage("run", *options), f"pip install {said}")
    assert list(Path.cwd().iterdir()) == []


def test_a_run_that_needs_nothing_more_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline and kept nowhere, the extra of the command is enough."""
    for package in ("openai", "psycopg"):
        monkeypatch.setitem(sys.modules, package, None)
    assert mage("run", "--offline").status == 0

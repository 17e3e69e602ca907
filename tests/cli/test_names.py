"""A name that is printed can be pasted: every command takes it as it was printed, and finds the session."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.cli.naming import as_name, spelled
from mage.codec import encode_journal
from mage.engine import Start
from mage.stores import open_store
from mage.testing.stores import following, recorded
from tests.cli.runner import mage

NAMES: Final = (
    "plain",
    "-leading dash",
    "--name",
    "a#b@3%25",
    " spaces  within and behind ",
    "'quotes\" and \\ `$(x)`!",
    "*[a]?{b,c}",
    "~home;a|b&c<d>",
    "tab\tline\nbreak\x1b[31m\x7f\x9b1m",
    "\u202eback\u2066wards\u200b\ufe0f\u3164",
    "desk ✓ Стол 机 \U0001f4dd",
    "\u00a0",
    "n" * 251,
    "\u202e" * 251,
    "parent.run",
)


def legal(name: str) -> bool:
    """Tell whether a journal can have this name."""
    return "\0" not in name and not any("\ud800" <= char <= "\udfff" for char in name)


@given(st.one_of(st.sampled_from(NAMES), st.text(min_size=1).filter(legal)))
def test_a_printed_name_is_one_plain_word_that_says_it_exactly(name: str) -> None:
    """No shell changes it, no option parser takes it for an option, no pattern is in it; and it is read back."""
    shown = spelled(name)
    assert as_name(shown) == name
    assert shlex.split(shown) == [shown]
    assert shown.isprintable()
    assert not shown.startswith("-")
    assert not set(shown) & set(" #@*?[]{}~!$`'\"\\<>|&;()^=")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a store whose sessions have all of these names, each with two versions and a fork."""
    url = f"sqlite:///{tmp_path_factory.mktemp('names') / 'work.db'}"
    with open_store(url) as store:
        for number, name in enumerate(NAMES):
            head = store.create(name, recorded([Start("task")]))
            store.append(name, head, following(head, "step"))
            store.fork(name, f"fork {number}", 2)
    return url


def names_in(url: str) -> set[str]:
    """Return the names of the sessions in a store."""
    with open_store(url) as store:
        return {info.name for info in store.journals()}


def listed(url: str) -> list[tuple[str, str]]:
    """Return what `mage sessions` prints as names, each with what it prints as the session that it was forked from."""
    lines = mage("sessions", url).out.splitlines()[1:]
    found = [re.search(r"\(from (\S+)\) task$", line) for line in lines]
    return [
        (line.split()[0], "" if each is None else each[1]) for line, each in zip(lines, found, strict=True)
    ]


def test_each_session_is_listed_under_a_name_that_says_it_exactly(url: str) -> None:
    """Whole, on one line; so is that of the session that it was forked from, and `--json` has both spellings."""
    names = sorted([*NAMES, *(f"fork {number}" for number in range(len(NAMES)))])
    assert sorted(as_name(shown) for shown, _ in listed(url)) == names
    assert sorted(as_name(parent.removesuffix("@2")) for _, parent in listed(url) if parent) == sorted(NAMES)
    for each in json.loads(mage("sessions", url, "--json").out)["sessions"]:
        assert as_name(each["spelled"]) == each["name"]


COMMANDS: Final = {
    "tree": ["tree", "{url}#{name}"],
    "show": ["show", "{url}#{name}@1"],
    "check": ["check", "{url}#{name}"],
    "log": ["log", "{url}#{name}"],
    "diff": ["diff", "{url}#{name}@2", "{url}#{name}"],
    "fork": ["fork", "{url}#{name}", "{name}.new"],
    "revise": ["revise", "{url}#{name}.new", "0"],
    "export": ["export", "{url}#{name}"],
    "redact": ["redact", "{url}#{name}", "no such text", "--dry-run"],
    "doctor": ["doctor", "{url}#{name}", "--expect-head", "{name}@2"],
    "import": ["import", "{journal}", "{url}#{name}.copy"],
    "gc": ["gc", "{url}", "--name", "{name}.copy"],
    "gc again": ["gc", "{url}", "--name", "{name}.new"],
}


def test_every_command_takes_every_name_as_it_is_printed(url: str, tmp_path: Path) -> None:
    """Behind `#`, before `@`, as an argument and as an option; and what is made by such a name has that name."""
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(b"".join(encode_journal([Start("task")])))
    for shown in [spelled(name) for name in NAMES if len(name) < 200]:
        made = {as_name(f"{shown}.new"), as_name(f"{shown}.copy")}
        for command, arguments in COMMANDS.items():
            given = [each.format(url=url, name=shown, journal=journal) for each in arguments]
            ran = mage(*given)
            assert (ran.status, ran.err) == (0, ""), given
            if command == "import":
                assert made <= names_in(url)
        assert not made & names_in(url)


def test_what_is_refused_is_refused_by_a_name_that_can_be_pasted(url: str) -> None:
    """A name that is taken, one that is not there, and one that is no UTF-8."""
    for name in NAMES:
        shown = f"{url}#{spelled(name)}"
        assert (
            f"{shown} is there already" in mage("fork", f"{url}#plain", spelled(name)).err or len(name) > 200
        )
        assert f"{shown}x: there is no such session" in mage("tree", f"{shown}x").err or len(name) > 200
    for name in ("%ff", "a%25\udcff"):
        assert "not UTF-8" in mage("tree", f"{url}#{name}").err


def test_gc_takes_names_in_any_spelling_and_patterns(url: str) -> None:
    """What `%XX` spells stands for itself, also where it is `*`; the other characters of a pattern are as ever."""

    def chosen(*patterns: str) -> list[str]:
        told = mage(
            "gc", url, "--dry-run", "--json", *(word for each in patterns for word in ("--name", each))
        )
        assert told.err == ""
        found = json.loads(told.out)
        return sorted(each["name"] for kind in ("dropped", "kept") for each in found[kind])

    assert chosen("%2a%5Ba%5d%3F{b,c}") == ["*[a]?{b,c}"]
    assert chosen("%2a*") == ["*[a]?{b,c}"]
    assert chosen("a%23b@3%2525", "plai?") == ["a#b@3%25", "plain"]
    assert chosen("fork 1") == chosen("fork%201") == ["fork 1"]
    assert len(chosen("fork *")) == len(NAMES)
    for pattern in ("fork  1", "Plain", "[[]a]", "plain ", "%2a"):
        ran = mage("gc", url, "--name", pattern, "--name", "fork 1")
        assert (ran.status, ran.out) == (1, "")
        assert "nothing was dropped" in ran.err

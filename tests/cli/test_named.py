"""Names that fit in a hand: a path is a store, its only session needs no name, and MAGE_STORE says the rest."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.cli.naming import InFile, InStore, StoreName, parse_reference, spelled
from mage.codec import decode_journal, encode_journal
from mage.engine import Grow, Start
from mage.stores import open_store
from mage.testing.stores import recorded
from tests.cli.children import in_one_line, place
from tests.cli.runner import mage
from tests.cli.test_sessions import story

__all__ = ["place"]

READING: Final = (
    ["tree"],
    ["show"],
    ["log"],
    ["check"],
    ["export", "--to", "text"],
    ["export"],
    ["tree", "--json"],
)
"""Commands that take a session at a version."""


@pytest.fixture(autouse=True)
def work(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a store with the story alone, and one with three sessions."""
    monkeypatch.delenv("MAGE_STORE", raising=False)
    Path("story.jsonl").write_bytes(b"".join(encode_journal(story())))
    assert (
        mage("import", "story.jsonl", "work.db").out
        == "made work.db#story, with the 13 versions of story.jsonl\n"
    )
    for name in ("monday", "tuesday", "a#b@3"):
        assert mage("import", "story.jsonl", f"three.db#{spelled(name)}").status == 0


@pytest.mark.parametrize("command", READING, ids=" ".join)
@pytest.mark.parametrize("version", ["", "@9"])
def test_every_spelling_of_a_session_is_understood_everywhere(
    monkeypatch: pytest.MonkeyPatch, command: list[str], version: str
) -> None:
    """Path and URL, with the name and without, with MAGE_STORE: the same is printed; so it is of a session file."""
    name, *options = command
    said = mage(name, f"work.db#story{version}", *options)
    assert (said.status, said.err) == (0, "")
    spellings = [f"work.db{version}", f"./work.db#story{version}", f"sqlite:///work.db{version}"]
    alike = [mage(name, each, *options).out for each in spellings]
    monkeypatch.setenv("MAGE_STORE", "work.db")
    alike += [mage(name, each, *options).out for each in (f"story{version}", f"#story{version}")]
    alike.append(mage(name, *([version] if version else []), *options).out)
    assert {each.replace("sqlite:///", "").replace("./", "") for each in alike} == {said.out}


def test_a_version_stands_behind_the_last_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a store alone, of a session, of a session file, and in `diff` on both sides."""
    nine = mage("show", "story.jsonl@9").out
    assert (
        nine
        == mage("show", "work.db@9").out
        == mage("show", "three.db#a%23b%403@9").out
        != mage("show", "work.db").out
    )
    assert mage("diff", "work.db@9", "story.jsonl@9").status == 0
    assert mage("diff", "work.db@9", "three.db#monday@10").status == 1
    assert len(mage("log", "work.db@9").out.splitlines()) == 9
    assert (
        mage("log", "work.db@9", "--last", 2).out.splitlines() == mage("log", "work.db").out.splitlines()[7:9]
    )
    assert mage("export", "work.db@9", "--out", "nine.jsonl").status == 0
    assert mage("show", "nine.jsonl").out == nine
    journal = mage("export", "work.db@9", "--to", "journal").out
    assert decode_journal(journal.encode()).unwrap() == tuple(story()[:9])
    monkeypatch.setenv("MAGE_STORE", "work.db")
    assert mage("diff", "@9", "story@9").status == 0
    for command in (["revise", "work.db@9", "0"], ["rm", "work.db@9", "--yes"], ["rerun", "work.db@9"]):
        assert in_one_line(mage(*command), "leave" if command[0] == "run" else "fork the version first")
    assert in_one_line(mage("export", "work.db@14"), "versions 1 to 13")


def test_of_several_sessions_one_must_be_named() -> None:
    """The refusal lists them as they are to be typed; an empty store says what makes a session."""
    assert in_one_line(mage("tree", "three.db"), "3 sessions", "three.db#a%23b%403", "monday, tuesday")
    with open_store("sqlite:///none.db"):
        pass
    assert in_one_line(mage("tree", "none.db"), "none.db holds no session", "mage run")


def test_mage_store_stands_for_a_store_that_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that is there is meant before a session of that name; `#` always means a session; what is said wins."""
    assert in_one_line(mage("tree", "#monday"), "MAGE_STORE=work.db")
    assert in_one_line(mage("tree", "monday"), "work.db#monday", "MAGE_STORE")
    assert mage("tree").status == 2
    monkeypatch.setenv("MAGE_STORE", "three.db")
    assert (
        mage("tree", "monday@3").status
        == mage("sessions").status
        == mage("doctor").status
        == mage("gc").status
        == 0
    )
    assert len(json.loads(mage("sessions", "--json").out)["sessions"]) == 3
    assert len(json.loads(mage("sessions", "work.db", "--json").out)["sessions"]) == 1
    assert in_one_line(mage("tree"), "3 sessions")
    Path("monday").mkdir()
    assert mage("tree", "monday").status == 0
    Path("tuesday").write_bytes(Path("story.jsonl").read_bytes()[:60])
    assert "tuesday: line" in mage("tree", "tuesday").err
    assert mage("tree", "#tuesday").status == 0
    assert in_one_line(mage("tree", "nobody"), "three.db#nobody: there is no such session")
    for wrong in ("three.db#monday", "story.jsonl"):
        monkeypatch.setenv("MAGE_STORE", wrong)
        assert in_one_line(mage("tree", "#monday"), f"MAGE_STORE={wrong}") or wrong == "story.jsonl"
        assert mage("tree", "#monday").status == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("work.db#new", "type the name alone, new"),
        ("sqlite:///work.db#new", "type the name alone, new"),
        ("sqlite:///work.db", "a name such as tuesday"),
        ("a#b", "%23 spells a #"),
        ("new@9", "type new, and the version behind"),
        ("new.jsonl", "mage export writes a session to a file"),
        ("other.db", "mage import to another store"),
        ("", "it is empty"),
        ("%00", "NUL"),
    ],
)
def test_a_new_name_is_a_name_alone(given: str, said: str) -> None:
    """What says more than a name is refused with what to type, by `fork` and `rename`; nothing is made."""
    for command in ("fork", "rename"):
        assert in_one_line(mage(command, "work.db", given), said)
    assert [each["name"] for each in json.loads(mage("sessions", "work.db", "--json").out)["sessions"]] == [
        "story"
    ]


def test_what_is_made_is_said() -> None:
    """`fork`, `import` and `run` name the session that was not there before."""
    assert (
        mage("fork", "work.db@9", "a%23b").out
        == "made work.db#a%23b: it begins at version 9 of work.db#story\n"
    )
    assert "made session work.db#study" in mage("run", "--offline", "--session", "work.db#study").out
    assert "went on with session work.db#study" in mage("run", "--offline", "--session", "work.db#study").out
    assert "made session new.db#run" in mage("run", "--offline", "--session", "new.db").out
    assert "went on with session new.db#run" in mage("run", "--offline", "--session", "new.db").out
    assert in_one_line(mage("run", "--offline", "--session", "three.db"), "3 sessions")
    assert mage("export", "work.db#story", "--out", "out.jsonl").status == 0
    assert mage("import", "out.jsonl", "new.db").out.startswith(
        "made new.db#story, with the 13 versions of out.jsonl"
    )


def test_a_run_is_kept_in_the_store_that_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """With MAGE_STORE a run needs no place; a bare name is one there."""
    monkeypatch.setenv("MAGE_STORE", "runs.db")
    assert "made session runs.db#mage-run-" in mage("run", "--offline").out
    assert "made session runs.db#study" in mage("run", "--offline", "--session", "study").out
    assert mage("rerun", "study").status == 0
    assert in_one_line(mage("run", "--offline", "--session", "study@3"), "leave out @3")


@pytest.mark.parametrize("name", ["notes.txt", "other.db", "empty.db", "trace.json", "store.bin"])
def test_a_path_that_is_no_store_of_mage_is_refused_with_what_helps(name: str) -> None:
    """A text, somebody else's database, an empty file, a trace; a store under any name is one."""
    Path("notes.txt").write_text("to do\n")
    with sqlite3.connect("other.db") as other:
        other.execute("CREATE TABLE x (y)")
    other.close()
    Path("empty.db").touch()
    Path("trace.json").write_text('[{"role":"user","content":"hi"},{"role":"assistant","content":"yes?"}]')
    Path("store.bin").write_bytes(Path("work.db").read_bytes())
    before = Path(name).read_bytes()
    ran = mage("tree", name)
    said = {
        "notes.txt": "a store is a SQLite file",
        "other.db": "other.db: it is a SQLite database, but no store of mage; it was left as it is",
        "empty.db": "this file is empty",
        "trace.json": "mage replay trace.json",
    }
    assert in_one_line(ran, said[name]) if name in said else ran.status == 0
    assert Path(name).read_bytes() == before


def test_a_session_file_is_read_and_never_written() -> None:
    """What changes a session refuses it, and says which command makes a session in a store of it."""
    before = Path("story.jsonl").read_bytes()
    for command in (
        ["fork", "story.jsonl", "new"],
        ["revise", "story.jsonl", "0"],
        ["rename", "story.jsonl", "new"],
        ["rm", "story.jsonl", "--yes"],
        ["redact", "story.jsonl", "desk"],
        ["run", "--offline", "--session", "story.jsonl"],
        ["import", "story.jsonl", "other.jsonl"],
        ["sessions", "story.jsonl"],
        ["gc", "story.jsonl"],
    ):
        assert in_one_line(mage(*command), "store"), command
    assert Path("story.jsonl").read_bytes() == before
    assert sorted(each.name for each in Path.cwd().iterdir()) == ["story.jsonl", "three.db", "work.db"]


def legal(name: str) -> bool:
    """Tell whether a journal can have this name."""
    return "\0" not in name and not any("\ud800" <= char <= "\udfff" for char in name)


@given(
    st.text(min_size=1).filter(legal),
    st.sampled_from(["no.db", "/no/where/a b.db", "sqlite:///no#.db"]),
    st.none() | st.integers(0, 10**15 - 1),
)
def test_every_name_is_read_back_behind_every_store(name: str, store: str, version: int | None) -> None:
    """Store, name and version, spelled as they are printed, are the same again; a password in a URL is no version."""
    at = "" if version is None else f"@{version}"
    url = store if ":" in store else f"sqlite:///{store}"
    said = parse_reference(f"{store}#{spelled(name)}{at}")
    assert (said.place, said.name, said.version) == (StoreName(url), name, version)
    assert str(said) == f"{store}#{spelled(name)}{at}"
    assert str(InStore(StoreName(url, None if ":" in store else store), name)) == f"{store}#{spelled(name)}"
    server = parse_reference(f"postgresql://me:p@5#w@host:1/d#{spelled(name)}")
    assert (server.name, "p@5#w" in str(server)) == (name, False)


def test_a_path_that_is_there_is_meant_as_it_stands() -> None:
    """Though it holds the marks that part store, name and version."""
    for name in ("a#b.db", "a@9", "c@9.db"):
        with open_store(f"sqlite:///{name}") as store:
            store.create("main", recorded([Start("t"), Grow("a", "o")]))
        assert (
            mage("tree", name).status
            == mage("tree", f"{name}@1").status
            == mage("tree", f"{name}#main@2").status
            == 0
        )
    Path("d@9").write_bytes(Path("story.jsonl").read_bytes())
    assert parse_reference("d@9").place == InFile(Path("d@9"))

"""`mage export` and `mage import`: a session out of one store and into another, and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mage.codec import decode_journal, encode_journal
from mage.engine import replay
from mage.stores import open_store
from mage.testing.stores import state_of
from tests.cli.runner import mage
from tests.cli.test_sessions import story


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return the URL of a store with the story, a fork of it and a fork of that."""
    path = tmp_path / "story.jsonl"
    path.write_bytes(b"".join(encode_journal(story())))
    url = f"sqlite:///{tmp_path / 'work.db'}"
    mage("import", path, f"{url}#main")
    mage("fork", f"{url}#main@8", "try")
    mage("revise", f"{url}#try", 1, "--lesson", "glass")
    mage("fork", f"{url}#try", "deep")
    mage("revise", f"{url}#deep", 0, "--lesson", "another room")
    return url


def heads(url: str) -> dict[str, str]:
    """Return the digest of each session's head."""
    return {
        each["name"]: each["head"] for each in json.loads(mage("sessions", url, "--json").out)["sessions"]
    }


@pytest.mark.parametrize("options", [[], ["--lineage"]])
def test_a_session_goes_round_with_its_digests(url: str, tmp_path: Path, options: list[str]) -> None:
    """Out of one file, into another under another name: same state, same head; and out again, same bytes."""
    out, again, other = tmp_path / "out.jsonl", tmp_path / "again.jsonl", f"sqlite:///{tmp_path / 'other.db'}"
    assert mage("export", f"{url}#deep", *options, "--out", out).status == 0
    assert mage("import", out, f"{other}#deep%20copy").status == 0
    assert heads(other)["deep copy"] == heads(url)["deep"]
    with open_store(url) as store, open_store(other) as copy:
        assert state_of(copy, "deep copy") == state_of(store, "deep")
        assert list(copy.read("deep copy")) == list(store.read("deep"))
    assert sorted(heads(other)) == (["deep copy", "main", "try"] if options else ["deep copy"])
    mage("import", out, f"{other}#deep")
    mage("export", f"{other}#deep", *options, "--out", again)
    assert again.read_bytes() == out.read_bytes()


def test_on_standard_output_it_is_the_same(url: str, tmp_path: Path) -> None:
    """A bundle can be piped; --json says where it went, or wraps it."""
    out = tmp_path / "out.jsonl"
    told = json.loads(mage("export", f"{url}#main", "--out", out, "--json").out)
    assert told == {"session": f"{url}#main", "to": "bundle", "file": str(out)}
    assert mage("export", f"{url}#main").out.encode() == out.read_bytes()
    assert json.loads(mage("export", f"{url}#main", "--json").out)["content"].encode() == out.read_bytes()


def test_a_journal_comes_out_as_it_went_in(url: str, tmp_path: Path) -> None:
    """Commands alone, which any mage replays; a bundle can be read as a session of its own."""
    ran = mage("export", f"{url}#main", "--to", "journal")
    assert replay(decode_journal(ran.out.encode()).unwrap()) == replay(story())
    mage("export", f"{url}#deep", "--out", tmp_path / "deep.jsonl")
    for command in (["tree"], ["show"], ["log", "--texts"]):
        assert mage(*command, tmp_path / "deep.jsonl").out == mage(*command, f"{url}#deep").out
    assert "a session file is read, and never written" in mage("revise", tmp_path / "deep.jsonl", 0).err


def test_nothing_is_overwritten(url: str, tmp_path: Path) -> None:
    """Neither a file by an export nor a session by an import."""
    path = tmp_path / "story.jsonl"
    before = path.read_bytes()
    assert mage("export", f"{url}#main", "--out", path).status == 1
    assert path.read_bytes() == before
    known = heads(url)
    assert mage("import", path, f"{url}#try").status == 1
    assert heads(url) == known


def test_a_lineage_that_does_not_fit_is_refused_with_what_helps(url: str, tmp_path: Path) -> None:
    """Where the parent's name is taken by another session, --flatten imports it all the same."""
    out, other = tmp_path / "out.jsonl", f"sqlite:///{tmp_path / 'other.db'}"
    mage("export", f"{url}#try", "--lineage", "--out", out)
    mage("import", tmp_path / "story.jsonl", f"{other}#main")
    ran = mage("import", out, f"{other}#try")
    assert ran.status == 1
    assert "--flatten" in ran.err
    assert mage("import", out, f"{other}#try", "--flatten").status == 0
    assert heads(other)["try"] == heads(url)["try"]


def test_a_name_that_is_too_long_is_refused(url: str, tmp_path: Path) -> None:
    """By fork and by both kinds of import, in one line, and nothing is made."""
    bundle, before = tmp_path / "out.jsonl", heads(url)
    mage("export", f"{url}#main", "--out", bundle)
    name = "n" * 256
    for arguments in (
        ("fork", f"{url}#main", name),
        ("import", bundle, f"{url}#{name}"),
        ("import", tmp_path / "story.jsonl", f"{url}#{name}"),
    ):
        ran = mage(*arguments)
        assert ran.status == 1
        assert ran.err.count("\n") == 1
        assert "more than 255" in ran.err
    assert heads(url) == before


def test_a_damaged_bundle_is_one_line_and_makes_nothing(url: str, tmp_path: Path) -> None:
    """The line is named, no store is made for it."""
    out = tmp_path / "out.jsonl"
    mage("export", f"{url}#main", "--out", out)
    out.write_bytes(out.read_bytes().replace(b"buy[desk]", b"buy[dusk]"))
    other = tmp_path / "other.db"
    ran = mage("import", out, f"sqlite:///{other}#main")
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert "line 5: $: record 3 is damaged" in ran.err
    assert not other.exists()
    assert mage("show", out).status == 1
    told = json.loads(mage("doctor", out, "--json").out)
    assert [each["fault"] for each in told["findings"]] == ["damaged bundle", "damaged record"]


def test_of_a_bundle_the_head_that_is_expected_is_looked_at(url: str, tmp_path: Path) -> None:
    """A bundle that is older than it should be is a finding; a version alone is that of its session."""
    out = tmp_path / "out.jsonl"
    mage("export", f"{url}#deep", "--lineage", "--out", out)
    with open_store(url) as store:
        last = store.head("deep").version
    for expected, status in ((last, 0), (f"deep@{last}", 0), (last + 1, 1), ("main@99", 1), ("none@1", 1)):
        assert mage("doctor", out, "--expect-head", expected).status == status
    for expected in ("x", "deep@x", "deep@"):
        assert mage("doctor", out, "--expect-head", expected).status == 2


@pytest.mark.parametrize(("end", "sound"), [(-9, 12), (200, 3), (10, 0)])
def test_the_doctor_repairs_a_journal_that_was_cut(tmp_path: Path, end: int, sound: int) -> None:
    """What is sound of a .jsonl session goes into a new file; the old one stays."""
    path, new = tmp_path / "cut.jsonl", tmp_path / "new.jsonl"
    path.write_bytes(b"".join(encode_journal(story()))[:end])
    before = path.read_bytes()
    ran = mage("doctor", path, "--repair", new, "--expect-head", 13, "--json")
    assert ran.status == 1
    assert path.read_bytes() == before
    assert new.exists() == (sound > 0)  # nothing is written of what holds nothing sound
    assert not sound or decode_journal(new.read_bytes()).unwrap() == tuple(story()[:sound])
    found = [(each["fault"], each["version"]) for each in json.loads(ran.out)["findings"]]
    assert found[0] == ("damaged journal", sound + 1)
    assert ("lost tail", sound + 1) in found


def test_what_the_doctor_cannot_do_with_a_file_is_said(url: str, tmp_path: Path) -> None:
    """A journal has no digests, is repaired into a file, can be refused by the engine; versions are numbers."""
    out, path = tmp_path / "out.jsonl", tmp_path / "wrong.jsonl"
    mage("export", f"{url}#main", "--out", out)
    assert mage("doctor", out).out.endswith("1 session, all as written\n")
    path.write_bytes(b"".join(encode_journal(story()[:3])))
    assert "names a session" in mage("doctor", out, "--repair", f"{url}#new").err
    assert "a journal has no digests" in mage("doctor", path, "--rest", tmp_path / "rest.jsonl").err
    assert "into a file" in mage("doctor", path, "--repair", "sqlite:///new.db").err
    path.write_bytes(b"".join(encode_journal([*story()[:3], story()[8]])))
    told = json.loads(mage("doctor", path, "--json").out)
    assert [(each["fault"], each["version"]) for each in told["findings"]] == [("refused command", 4)]
    path.write_bytes(b"".join(encode_journal([])))
    assert mage("doctor", path).status == 1
    for expected in ("x", "main@x", "@3"):
        assert mage("doctor", path, "--expect-head", expected).status == 2
        assert mage("doctor", f"{url}#main", "--expect-head", expected).status == 2

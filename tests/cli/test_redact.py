"""`mage redact`: the secret is gone from every record, fork, snapshot and file; all else is as it was."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.cli import sessions
from mage.cli.change import families, places_in, redact_store
from mage.cli.output import Refused
from mage.codec import encode_journal
from mage.engine import Command, Grow, Start, State, apply, check
from mage.engine.text import is_blank
from mage.session import Session
from mage.stores import (
    NOTHING,
    JournalInfo,
    JournalStore,
    MemoryStore,
    Record,
    Redacted,
    UnknownJournal,
    open_store,
    snapshot_digest,
    verify,
)
from mage.testing import HOSTILE, journals
from mage.testing.stores import following, recorded, state_of
from tests.cli.runner import mage
from tests.cli.test_sessions import story

SECRET = "hunter2-✓"


def bytes_of(folder: Path) -> bytes:
    """Return all that stands in a folder's files."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return the URL of a store into which a secret got by every way, in a folder of its own."""
    (tmp_path / "store").mkdir()
    url = f"sqlite:///{tmp_path / 'store' / 'work.db'}"
    with Session.open(url, "main", task=f"log in with {SECRET}", snapshot_every=2) as session:
        session.instruct(f"never say {SECRET}", standing=True)
        session.grow(f"login[{SECRET}]", f"{SECRET} is wrong\n" * 300, meta={"call": f"id {SECRET}"})
        session.grow("wait", "ok")
        session.compress(f"tried {SECRET}")
        session.retext(f"tried {SECRET} once")
        session.accept()
        with session.fork("fork") as fork:
            fork.grow("in the fork", SECRET)
            with fork.fork("fork of fork") as deeper:
                deeper.revise(0, f"not {SECRET}")
        session.grow("after the fork", SECRET)
    with open_store(url) as store:
        head = store.head("main")
        data = SECRET.encode() * 50
        store.keep_snapshot("main", head.version, data, snapshot_digest(head, data))
    return url


class Leaking:
    """A store into which somebody writes the secret again, so many times, right after it was taken out."""

    def __init__(self, store: JournalStore, times: int) -> None:
        self._store = store
        self._left = times

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def replace_parts(self, name: str, records: Iterable[Record]) -> None:
        self._store.replace_parts(name, records)
        if self._left:
            self._left -= 1
            head = self._store.head(name)
            self._store.append(name, head, following(head, f"{SECRET} again"))


def redacted_while_it_leaks(store: JournalStore, times: int) -> list[int]:
    """Redact a session with a secret in its task, and return the versions where it was found."""
    store.create("main", recorded([Start(f"log in with {SECRET}")]))
    leaking = cast("JournalStore", Leaking(store, times))
    places = redact_store(leaking, "main", re.compile(SECRET))
    assert len(places) == len(set(places))
    return sorted({place.version for place in places})


@pytest.mark.parametrize("times", [1, 5])
def test_a_secret_that_is_written_meanwhile_is_taken_out_too(times: int) -> None:
    """It is looked for until a whole round finds none, and each place is told once."""
    with MemoryStore() as store:
        assert redacted_while_it_leaks(store, times) == list(range(1, times + 2))
        kept = [part.text for record in store.read("main") for part in record.parts]
        assert not any(SECRET in text for text in kept)
        assert len(tuple(verify(NOTHING, store.read("main"), store.head("main")))) == times + 1


def test_a_secret_that_is_written_without_end_is_told() -> None:
    """Where others write it as fast as it is taken out, nobody is told that it is gone."""
    said = "texts were taken out, and others write what matches"
    with MemoryStore() as store, pytest.raises(Refused, match=said):
        redacted_while_it_leaks(store, 1_000)


class Vanishing:
    """A store of which somebody drops a session, right after its sessions were listed."""

    def __init__(self, store: JournalStore, name: str) -> None:
        self._store = store
        self._name: str | None = name

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def journals(self) -> tuple[JournalInfo, ...]:
        found = self._store.journals()
        if self._name is not None:
            self._store.delete(self._name)
            self._name = None
        return found


def test_a_session_that_is_dropped_meanwhile_keeps_no_other_from_being_redacted() -> None:
    """What is gone needs no redaction; the sessions before and behind it are redacted as ever."""
    with MemoryStore() as store:
        for name in ("a", "b", "c"):
            store.create(name, recorded([Start(f"{name} with {SECRET}")]))
        vanishing = cast("JournalStore", Vanishing(store, "b"))
        assert [place.journal for place in redact_store(vanishing, None, re.compile(SECRET))] == ["a", "c"]
        assert [info.name for info in store.journals()] == ["a", "c"]


def test_a_session_that_is_dropped_before_it_is_redacted_is_told() -> None:
    """Where it is gone from the listing already, there is no such session."""
    with MemoryStore() as store:
        store.create("a", recorded([Start(SECRET)]))
        with pytest.raises(UnknownJournal):
            families(store.journals(), "b")


def structures(store: JournalStore) -> dict[str, object]:
    """Return the structure of the state of each session, and its digests."""
    return {info.name: (info.head, structure(state_of(store, info.name))) for info in store.journals()}


def structure(state: State) -> object:
    """Return all of a state but its texts: ids, parents, covers, verdicts' kinds, places, phase."""
    tree = state.tree
    return (
        type(state),
        [(step.id, step.parent, is_blank(step.action), is_blank(step.observation)) for step in tree.steps()],
        [
            (each.id, each.parent, each.label, each.covers, each.kind, type(each.verdict), each.base)
            for each in tree.summaries()
        ],
        [(step.id, len(tree.lessons_at(step.id))) for step in tree.steps()],
        [[each.standing for each in tree.instructions_at(step.id)] for step in tree.steps()],
        (tree.step_head, tree.summary_head, tree.next_step),
    )


def test_no_byte_of_the_secret_is_left(url: str, tmp_path: Path) -> None:
    """Not in the database, its log, nor anything beside it; the chain verifies and every digest stays."""
    with open_store(url) as store:
        before = structures(store)
    assert SECRET.encode() in bytes_of(tmp_path / "store")
    ran = mage("redact", f"{url}#fork", "hunter2.✓", "--json")
    assert (ran.status, ran.err) == (0, "")
    assert SECRET.encode() not in bytes_of(tmp_path / "store")
    assert b"hunter2" not in bytes_of(tmp_path / "store")
    with open_store(url) as store:
        assert structures(store) == before
        assert store.snapshot("main") is None
    assert mage("doctor", url).status == 0
    places = {(each["session"], each["version"], each["text"]) for each in json.loads(ran.out)["redacted"]}
    assert places == {
        ("main", 1, "task"),
        ("main", 2, "text"),
        ("main", 3, "action"),
        ("main", 3, "observation"),
        ("main", 3, "meta"),
        ("main", 5, "text"),
        ("main", 6, "text"),
        ("main", 8, "observation"),
        ("fork", 8, "observation"),
        ("fork of fork", 9, "lesson"),
    }


def test_what_is_said_does_not_repeat_the_secret(url: str) -> None:
    """Neither on standard output nor in a complaint, also where a session's name holds it."""
    mage("fork", f"{url}#main", f"about {SECRET}")
    for arguments in (["--dry-run"], ["--dry-run", "--json"], [], ["--json"]):
        ran = mage("redact", url, "hunter2-.", *arguments)
        assert "hunter2" not in ran.out + ran.err
        assert ran.status == 1
        assert "names of sessions match too" in ran.err


def test_a_dry_run_changes_nothing(url: str, tmp_path: Path) -> None:
    """It says what it would do, and what it says is what is done then."""
    with open_store(url) as store:
        store.reclaim()
    before = (tmp_path / "store" / "work.db").read_bytes()
    dry = json.loads(mage("redact", url, "hunter2", "--dry-run", "--json").out)
    assert (tmp_path / "store" / "work.db").read_bytes() == before
    done = json.loads(mage("redact", url, "hunter2", "--json").out)
    assert dry["redacted"] == done["redacted"]
    assert mage("redact", url, "hunter2").out == "nothing matches\n"


def test_only_the_family_is_redacted_where_a_session_is_named(url: str) -> None:
    """What it was forked from and all their forks; another session of the store is not touched."""
    with Session.open(url, "other", task=f"also {SECRET}"):
        pass
    mage("redact", f"{url}#fork of fork", "hunter2")
    assert "hunter2" in mage("show", f"{url}#other").out
    assert "hunter2" not in mage("show", f"{url}#main").out
    mage("redact", url, "hunter2")
    assert "hunter2" not in mage("show", f"{url}#other").out


def test_a_secret_is_found_in_meta_however_it_is_spelled(tmp_path: Path) -> None:
    """JSON escapes some characters: what goes with a record is looked at string by string."""
    url = f"sqlite:///{tmp_path / 'work.db'}"
    with Session.open(url, "main", task="t") as session:
        session.grow("a", "o", meta={"usage": {'quo"te\n': 1}, "list": [["tab\there"]]})
        session.grow("b", "o", meta={"fine": 1})
    ran = json.loads(mage("redact", f"{url}#main", '^quo"te\\n$', "--json").out)
    assert [(each["version"], each["text"]) for each in ran["redacted"]] == [(2, "meta")]
    assert mage("redact", f"{url}#main", "tab\\there").out == "nothing matches\n"


def test_a_log_that_somebody_reads_is_told(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a reader holds the old pages they cannot be overwritten: that is said, with status 1."""
    monkeypatch.setattr(sessions, "open_store", partial(open_store, patience=0.1))
    with closing(sqlite3.connect(tmp_path / "store" / "work.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM mage_records").fetchone()
        ran = mage("redact", f"{url}#main", "hunter2")
    assert ran.status == 1
    assert "mage gc" in ran.err
    assert "hunter2" not in ran.out + ran.err
    assert mage("gc", url).status == 0
    assert b"hunter2" not in bytes_of(tmp_path / "store")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [("x*", "empty text"), ("(", "no regular expression"), ("[z-a]", "no regular expression")],
)
def test_a_pattern_that_is_none_is_refused(url: str, pattern: str, said: str) -> None:
    """One line, and nothing is changed."""
    ran = mage("redact", f"{url}#main", pattern)
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert said in ran.err
    assert "hunter2" in mage("show", f"{url}#main").out


def test_the_pattern_can_come_from_standard_input(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the secret stands in no shell history and no list of processes."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("hunter2\n"))
    assert mage("redact", f"{url}#main", "-").status == 0
    assert "hunter2" not in mage("show", f"{url}#main").out


def test_a_session_file_is_not_redacted(tmp_path: Path) -> None:
    """It is never written: what is to be done instead is said, and the file stays as it was."""
    path = tmp_path / "story.jsonl"
    path.write_bytes(b"".join(encode_journal(story())))
    before = path.read_bytes()
    ran = mage("redact", path, "chrome")
    assert (ran.status, ran.out, path.read_bytes()) == (1, "", before)
    assert f"mage import {path} work.db" in ran.err


def changing(commands: tuple[Command, ...]) -> list[Command]:
    """Return the commands without those that change nothing (L10)."""
    changes: list[Command] = []
    state: State | None = None
    for command in commands:
        after = apply(state, command).unwrap()
        if after is not state:
            changes.append(command)
        state = after
    return changes


PATTERNS = st.sampled_from(
    [re.escape(text) for text in HOSTILE if not is_blank(text)] + ["a", "[^x]", "(?s)."]
)


@given(journals(), PATTERNS)
def test_the_structure_stays_whatever_is_taken_out(commands: tuple[Command, ...], pattern: str) -> None:
    """Ids, parents, covers, kinds, places and phase before and after are equal, and so are all digests.

    Of what a session records: no command that changes nothing.
    """
    compiled = re.compile(pattern)
    with MemoryStore() as store:
        store.create("main", recorded(changing(commands)))
        before = structures(store)
        redact_store(store, "main", compiled)
        records = list(verify(NOTHING, store.read("main"), store.head("main")))
        after = structures(store)
        check(state_of(store, "main"))
        assert after == before
        assert not any(places_in(record, compiled) for record in records)


@given(journals(), PATTERNS)
def test_a_redacted_journal_file_has_the_same_structure(commands: tuple[Command, ...], pattern: str) -> None:
    """Also where one instruction or lesson stands twice: equal texts get one marker there."""
    from mage.cli.change import redacted_records
    from mage.cli.naming import InFile
    from mage.cli.sessions import recorded as records_of_file
    from mage.stores import fold

    records = records_of_file(InFile(Path("x")), commands)
    changed, _ = redacted_records("x", records, re.compile(pattern))
    after = fold([changed.get(record.version, record) for record in records])
    assert structure(after) == structure(fold(records))


@given(st.text(min_size=1, max_size=9), st.text(max_size=9))
def test_blank_texts_stay(action: str, blank: str) -> None:
    """That nothing was said is kept as it is."""
    spaces = "".join(" " for _ in blank)
    with MemoryStore() as store:
        store.create("main", recorded([Start(spaces), Grow(action, spaces)]))
        redact_store(store, "main", re.compile("(?s)."))
        start, step = store.read("main")
        assert start.parts[0].text == step.parts[1].text == spaces
        assert isinstance(step.parts[0], Redacted) != is_blank(action)

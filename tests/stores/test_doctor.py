"""The doctor: every fault is named, nothing is changed in place, and what is sound can be had elsewhere."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage.engine import Command, Grow, Start
from mage.session.loading import pack
from mage.stores import NOTHING, Draft, Head, MemoryStore, fold, open_store, seal, snapshot_digest, verify
from mage.stores.doctor import examine, kept_at, reading, repair
from mage.testing import journals
from mage.testing.stores import chain, following, recorded
from tests.cli.runner import mage
from tests.stores.corrupted import FAULTS, acknowledged, write
from tests.stores.lost_locks import LOST_LOCKS

HISTORY = acknowledged()
EVERY = {**FAULTS, **LOST_LOCKS}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a sound store's file, which nobody has open."""
    path = tmp_path_factory.mktemp("sound") / "work.db"
    with open_store(f"sqlite:///{path}") as store:
        write(store)
    return path


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    """Return a copy of it, alone in its folder."""
    folder = tmp_path / "store"
    folder.mkdir()
    shutil.copy(sound, folder / "work.db")
    return folder / "work.db"


def histories(name: str) -> list[Head]:
    """Return the heads that a journal had, the last twice; "main" may have got one more record."""
    history = HISTORY.get(name, HISTORY["try again"])
    return [*history, following(history[-1], "one more")[0].head if name == "main" else history[-1]]


def content(path: Path) -> dict[str, bytes]:
    """Return every byte of a store, and of what stands beside it."""
    return {each.name: each.read_bytes() for each in path.parent.iterdir()}


def kept(url: str) -> Iterator[tuple[str, Head]]:
    """Yield the journals of a store that open and verify, with their heads."""
    with open_store(url) as store:
        for info in store.journals():
            fold(verify(NOTHING, store.read(info.name), info.head))
            yield info.name, info.head


def test_a_sound_store_has_no_findings(copy: Path) -> None:
    """Status 0, and every session counted."""
    ran = mage("doctor", f"sqlite:///{copy}")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith("3 sessions, all as written\n")


@pytest.mark.parametrize("name", EVERY)
def test_each_fault_is_named_and_nothing_is_changed(copy: Path, name: str) -> None:
    """The doctor says which record and why, exits with 1, and leaves every byte where it was."""
    fault = EVERY[name]
    fault.make(copy)
    before = content(copy)
    ran = mage("doctor", f"sqlite:///{copy}", "--json")
    assert content(copy) == before
    assert ran.status == 1
    said = json.loads(ran.out)
    assert not said["sound"]
    found = [(each["fault"], each["session"], each["version"]) for each in said["findings"]]
    assert (fault.fault, fault.journal, fault.version) in found
    assert all(each["reason"] for each in said["findings"])


@pytest.mark.parametrize("name", EVERY)
def test_a_repaired_copy_is_a_beginning_of_what_was_acknowledged(copy: Path, name: str) -> None:
    """Each journal of the copy is sound and a prefix of its history; what is missing is told."""
    fault = EVERY[name]
    fault.make(copy)
    before = content(copy)
    url = f"sqlite:///{copy.parent.parent / 'repaired.db'}"
    ran = mage("doctor", f"sqlite:///{copy}", "--repair", url, "--json")
    assert content(copy) == before
    left = {each["session"]: each["first"] for each in json.loads(ran.out)["left_out"]}
    repaired = dict(kept(url))
    for journal, head in repaired.items():
        assert head in histories(journal)
        assert left.get(journal, head.version + 1) == head.version + 1
    whole = {name for name, head in repaired.items() if head in histories(name)[-2:]}
    assert fault.lasting == (len(whole) + (fault.fault == "name") < 3)
    assert mage("doctor", url).status == 0


def test_there_are_at_least_twenty_five() -> None:
    """The corpus keeps its size."""
    assert len(FAULTS) >= 25


def test_names_that_only_look_alike_are_no_fault(copy: Path) -> None:
    """Two names that Unicode would make one are two sessions, as everywhere in mage."""
    with open_store(f"sqlite:///{copy}") as store:
        store.create("caf\u00e9", chain(2))
        store.create("cafe\u0301", chain(3))
    assert mage("doctor", f"sqlite:///{copy}").status == 0


def test_a_lost_tail_shows_where_the_head_is_known(copy: Path) -> None:
    """What a sound store cannot know of itself, its user can: the version that it had."""
    url = f"sqlite:///{copy}"
    for known, status in (("try@43", 0), ("try@44", 1), ("try%20again@43", 0), ("nobody@1", 1)):
        assert mage("doctor", url, "--expect-head", known).status == status
    told = mage("doctor", f"{url}#main", "--expect-head", 90)
    assert (told.status, "version 90 is expected, and the head is 66" in told.out) == (1, True)
    assert mage("doctor", url, "--expect-head", 90).status == 2


def test_a_file_of_several_names_is_a_finding_and_copied(copy: Path, tmp_path: Path) -> None:
    """The doctor says so, and writes what is there to a file that has one name."""
    copy.with_name("other.db").hardlink_to(copy)
    out = f"sqlite:///{tmp_path / 'out.db'}"
    ran = mage("doctor", f"sqlite:///{copy}", "--repair", out)
    assert ran.status == 1
    assert "the store: hard links: the file has 2 names" in ran.out
    assert "not in it" not in ran.out
    assert mage("doctor", out).status == 0


def test_a_session_that_is_not_there_is_a_finding(copy: Path) -> None:
    """Who asks for one session is not told that all is well because of the others; it is said once."""
    for options in ([], ["--expect-head", "3"]):
        told = json.loads(mage("doctor", f"sqlite:///{copy}#nobody", *options, "--json").out)
        found = [(each["fault"], each["session"]) for each in told["findings"]]
        assert (told["sound"], found) == (False, [("lost session", "nobody")])


@pytest.mark.parametrize("meta", ["[]", "no JSON", "", "7"])
def test_meta_that_is_no_object_is_a_finding(meta: str) -> None:
    """Whatever wrote it: the record is named, and those behind it are still sound."""
    records = recorded([Start("t"), Grow("a", "b")])
    last = records[-1]
    texts = (*[part.text for part in last.parts[:-1]], meta)
    wrong = seal(records[-2].head, Draft(last.body, texts), lambda: "s" * 16)
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/work.db"
        with open_store(url) as store:
            head = store.create("a", [*records[:-1], wrong])
            store.append("a", head, following(head, "c"))
        with kept_at(url) as kept:
            examined = examine(kept)
        assert [(each.fault, each.version) for each in examined.findings] == [("meta", 2)]
        assert [sound.upto for sound in examined.sound] == [3]


def test_one_fault_hides_no_other(copy: Path) -> None:
    """Two damaged records, a missing one and a fork of the damaged: four findings, not one."""
    for name in ("flipped byte in a text", "flipped byte in the meta", "missing record"):
        FAULTS[name].make(copy)
    with kept_at(f"sqlite:///{copy}") as found:
        told = [(finding.journal, finding.version) for finding in examine(found).findings]
    assert told == [("main", 5), ("main", 9), ("main", 11), ("try", 5), ("try again", 5)]


def test_a_flipped_record_is_told_once(copy: Path) -> None:
    """The record behind it, which goes on from its digest, is not blamed."""
    FAULTS["flipped byte in a text"].make(copy)
    lines = mage("doctor", f"sqlite:///{copy}").out.splitlines()
    assert len([line for line in lines if "session 'main', record" in line]) == 1
    assert lines[0].startswith("session 'main', record 5: damaged record: its content does not match")


def test_many_findings_are_counted(copy: Path) -> None:
    """A store that is wrong everywhere is told in a page."""
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("UPDATE mage_records SET body = '{}' WHERE journal = 1")
    lines = mage("doctor", f"sqlite:///{copy}").out.splitlines()
    assert len([line for line in lines if "session 'main'" in line]) == 50 + 1 + 1  # and what is sound of it
    assert any(f"{66 - 50} more findings" in line for line in lines)


def test_a_store_in_use_is_examined_without_disturbing_it(copy: Path) -> None:
    """What stands in the log of a store that somebody has open is seen, and the log is left alone."""
    with open_store(f"sqlite:///{copy}") as store:
        store.create("new", chain(5))
        before = content(copy)
        assert any(name.endswith("-wal") and data for name, data in before.items())
        ran = mage("doctor", f"sqlite:///{copy}", "--expect-head", "new@5")
        assert (ran.status, content(copy)) == (0, before)
        assert ran.out.endswith("4 sessions, all as written\n")


def test_a_store_that_is_written_all_the_time_is_left_alone(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that was written to while it was made is not looked at: it might be of two moments."""
    stamps = iter(range(1000))
    monkeypatch.setattr(reading, "_stamps", lambda _: next(stamps))
    ran = mage("doctor", f"sqlite:///{copy}")
    assert ran.status == 1
    assert "it is written all the time" in ran.err


def test_the_repaired_copy_overwrites_nothing(copy: Path) -> None:
    """A file that is there, the store itself above all, is no place for a copy."""
    url = f"sqlite:///{copy}"
    before = content(copy)
    assert "something already" in mage("doctor", url, "--repair", url).err
    assert mage("doctor", url, "--repair", copy).status == 1
    assert content(copy) == before


@settings(max_examples=20)
@given(journals(), st.data())
def test_whatever_an_agent_did_is_sound(commands: tuple[Command, ...], data: st.DataObject) -> None:
    """Any history, forked anywhere, has no findings; its repaired copy is equal to it."""
    records = recorded(commands)
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/work.db"
        with open_store(url) as store, MemoryStore() as into:
            store.create("main", records)
            for name, source in (("one", "main"), ("two", "one")):
                store.fork(source, name, data.draw(st.integers(1, store.head(source).version)))
            with kept_at(url) as kept:
                examined = examine(kept)
                assert examined.findings == ()
                assert repair(kept, examined, into) == ()
            for info in store.journals():
                assert list(into.read(info.name)) == list(store.read(info.name))


@pytest.mark.parametrize("url", ["sqlite:////nowhere/at/all.db", "memory:", "sqlite:///", "ftp://x"])
def test_what_is_no_store_is_one_line(url: str) -> None:
    """No traceback, status 1, and nothing is made."""
    ran = mage("doctor", url)
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (1, "", 1)


def test_a_snapshot_that_leads_elsewhere_is_named(copy: Path) -> None:
    """Its digest is right and it is tied to its record, but it holds another state: whoever made it erred."""
    url = f"sqlite:///{copy}"
    with open_store(url) as store:
        for name, version, packed in (("main", 30, 30), ("try again", 43, 42)):
            records = list(store.read(name, upto=version))
            data = pack(fold(records[:packed]))
            store.keep_snapshot(name, version, data, snapshot_digest(records[-1].head, data))
    lines = mage("doctor", url).out.splitlines()
    assert lines == [
        "session 'try again', record 43: snapshot: it leads to another state than the records do"
    ]

"""Damaged bundles and journals: whatever was cut or changed, every record that is whole and sound is salvaged."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from returns.pipeline import is_successful

from mage.bundle import Bundle, KeptBundle, decode_bundle, encode_bundle, pack, unpack, was_bundle
from mage.codec import decode_journal, encode_journal
from mage.stores import NOTHING, Head, MemoryStore, Record, fold, verify
from mage.stores.doctor import Examined, examine, repair
from mage.testing.stores import chain, following
from tests.cli.runner import mage
from tests.cli.test_sessions import story


def family() -> Bundle:
    """Return a session with the fork and the journal that it reads through."""
    with MemoryStore() as store:
        store.create("main", chain(9))
        head = store.fork("main", "try", 5)
        store.append("try", head, following(head, "a", "b"))
        at = store.fork("try", "deep", 6)
        store.append("deep", at, following(at, "c", "d"))
        return pack(store, "deep", lineage=True)


BUNDLE = family()
WHOLE = b"".join(encode_bundle(BUNDLE))


def salvaged(data: bytes) -> tuple[Examined, dict[str, Head]]:
    """Return what is found in a bundle, and the heads of what could be repaired of it, each verified and folded."""
    kept = KeptBundle(data)
    examined = examine(kept)
    with MemoryStore() as into:
        repair(kept, examined, into)
        for info in into.journals():
            fold(verify(NOTHING, into.read(info.name), info.head))
        return examined, {info.name: info.head for info in into.journals()}


def whole_lines(data: bytes) -> dict[str, int]:
    """Return for each journal the version of its last record that stands in a line of its own before the cut."""
    last: dict[str, int] = {}
    name = ""
    for line in data.split(b"\n")[:-1]:
        document = json.loads(line)
        if "journal" in document:
            name = document["journal"]
            last[name] = document["forked_at"]
        elif "record" in document:
            last[name] = document["record"]
    return last


def test_a_whole_bundle_has_no_findings() -> None:
    """Looked at line by line, what is sound is sound: all of it, with its heads."""
    examined, heads = salvaged(WHOLE)
    assert examined.findings == ()
    assert heads == {journal.name: journal.head for journal in BUNDLE.journals}


@pytest.mark.parametrize("part", range(8))
def test_cut_at_any_byte_every_whole_record_before_it_is_salvaged(part: int) -> None:
    """Wherever the end was lost: each record whose line is there is in the repaired copy, and the loss is named."""
    for end in range(part, len(WHOLE), 8):
        examined, heads = salvaged(WHOLE[:end])
        assert examined.findings or end == len(WHOLE) - 1  # nothing but the last newline: all is there
        for name, version in whole_lines(WHOLE[:end]).items():
            if version:
                assert heads[name].version >= version, end


@pytest.mark.parametrize("part", range(8))
def test_a_journal_cut_at_any_byte_keeps_every_whole_command(tmp_path: Path, part: int) -> None:
    """The same of a journal of commands alone, by the command itself; nothing but a cut in a line is a finding."""
    data = b"".join(encode_journal(story()))
    path = tmp_path / "cut.jsonl"
    for number, end in enumerate(range(part, len(data), 64)):
        path.write_bytes(data[:end])
        out = tmp_path / f"{number}.jsonl"
        ran = mage("doctor", path, "--repair", out)
        whole = max(data[:end].count(b"\n") - 1, 0)
        assert out.exists() == (whole > 0)  # nothing is written of what holds nothing sound
        assert not whole or decode_journal(out.read_bytes()).unwrap() == tuple(story()[:whole])
        assert ran.status == (0 if data[:end].endswith(b"\n") and whole else 1)


@pytest.mark.parametrize("seed", range(12))
def test_a_byte_changed_anywhere_costs_one_line(seed: int) -> None:
    """No other record is lost by it: what stands before is sound, and nothing that was not written is taken."""
    chance = random.Random(seed)
    histories = {name: [record.head for record in records] for name, records in read_through(BUNDLE).items()}
    for _ in range(40):
        data = bytearray(WHOLE)
        at = chance.randrange(len(data))
        data[at] ^= 1 << chance.randrange(8)
        if not was_bundle(bytes(data)):
            continue
        _, heads = salvaged(bytes(data))
        before = whole_lines(WHOLE[: WHOLE.rfind(b"\n", 0, at) + 1])
        assert all(heads[name].version >= version for name, version in before.items() if version)
        for name, head in heads.items():
            known = [histories[name]] if name in histories else list(histories.values())
            assert any(head in history for history in known)


def read_through(bundle: Bundle) -> dict[str, Sequence[Record]]:
    """Return all records that each journal of a bundle reads."""
    with MemoryStore() as store:
        unpack(bundle, store, bundle.session.name)
        return {info.name: tuple(store.read(info.name)) for info in store.journals()}


def test_the_line_of_a_journal_is_not_needed() -> None:
    """Its records say their versions and are chained to the journal above: only its name and its head are lost."""
    lines = WHOLE.splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if b'"journal":"try"' in line)
    lines[place] = b"?" * 40 + b"\n"
    _, heads = salvaged(b"".join(lines))
    assert heads["main"].version == 9
    assert Head(7, BUNDLE.journals[1].head.digest) in heads.values()


def test_the_command_repairs_a_cut_bundle(tmp_path: Path) -> None:
    """Into a bundle that reads and imports, or into a store; what is lost is named, status 1."""
    path, out = tmp_path / "cut.jsonl", tmp_path / "new.jsonl"
    end = WHOLE.index(b'{"end"') - 25
    path.write_bytes(WHOLE[:end])
    ran = mage("doctor", path, "--repair", out)
    assert ran.status == 1
    assert "session 'deep', record 8: lost tail" in ran.out
    assert "not in it: session 'deep': record 8 left out" in ran.out
    bundle = decode_bundle(out.read_bytes()).unwrap()
    assert [journal.head.version for journal in bundle.journals] == [9, 7, 7]
    assert mage("doctor", out).status == 0
    url = f"sqlite:///{tmp_path / 'new.db'}"
    assert mage("doctor", path, "--repair", url).status == 1
    assert mage("doctor", url, "--expect-head", "main@9", "--expect-head", "deep@7").status == 0
    assert mage("show", f"{url}#deep").status == 0


def test_what_holds_nothing_is_not_repaired(tmp_path: Path) -> None:
    """A bundle that was cut in its first lines has no session that could be written."""
    path, out = tmp_path / "cut.jsonl", tmp_path / "new.jsonl"
    path.write_bytes(WHOLE[:120])
    ran = mage("doctor", path, "--repair", out)
    assert (ran.status, out.exists(), "nothing" in ran.out) == (1, False, True)
    assert mage("doctor", path).status == 1


def test_a_journal_file_is_not_said_to_be_as_written(tmp_path: Path) -> None:
    """It has no digests: a line that is missing in its middle cannot be seen, and the report says so."""
    lines = list(encode_journal(story()))
    path = tmp_path / "short.jsonl"
    path.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    assert is_successful(decode_journal(path.read_bytes()))
    path.write_bytes(b"".join([*lines[:2], *lines[2:4]]))
    ran = mage("doctor", path)
    assert ran.status == 0
    assert "as written" not in ran.out
    assert "a journal has no digests" in ran.out
    assert json.loads(mage("doctor", path, "--json").out)["chained"] is False

"""Bundles: what goes out comes back, under any name and into any store; what was damaged is named."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Iterator
from typing import Any, cast, final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.pipeline import is_successful

from mage.bundle import Bundle, decode_bundle, encode_bundle, is_bundle, names_for, pack, unpack
from mage.engine import Command, Grow, Start
from mage.stores import (
    NOTHING,
    BadName,
    DamagedRecord,
    Draft,
    Head,
    JournalStore,
    MemoryStore,
    NameTaken,
    Record,
    UnknownJournal,
    fold,
    redacted,
    seal,
    verify,
)
from mage.stores.protocol import name_beside
from mage.testing import journals
from mage.testing.stores import chain, following, recorded, salts, state_of


def written(bundle: Bundle) -> bytes:
    """Return a bundle as a file holds it."""
    return b"".join(encode_bundle(bundle))


def family(store: JournalStore) -> None:
    """Write a journal, a fork of it and a fork of that."""
    store.create("main", chain(9))
    head = store.fork("main", "try", 5)
    head = store.append("try", head, following(head, "a", "b"))
    store.append("deep", store.fork("try", "deep", 6), following(_at(store, "try", 6).head, "c"))


def _at(store: JournalStore, name: str, version: int) -> Record:
    return next(store.read(name, version - 1, version))


@given(journals(), st.text(min_size=1, max_size=20).filter(lambda name: "\0" not in name), st.booleans())
def test_a_session_comes_back_equal(commands: tuple[Command, ...], name: str, lineage: bool) -> None:
    """The state, every digest, salt and meta: in another store, under another name, with hostile texts."""
    try:
        name.encode()
    except UnicodeEncodeError:
        name = "x"
    with MemoryStore() as store, MemoryStore() as other:
        store.create(name, recorded(commands))
        data = written(pack(store, name, lineage=lineage))
        bundle = decode_bundle(data).unwrap()
        assert written(bundle) == data
        assert unpack(bundle, other, "new") == store.head(name)
        assert list(other.read("new")) == list(store.read(name))
        assert state_of(other, "new") == state_of(store, name)


@pytest.mark.parametrize("lineage", [False, True])
def test_a_fork_of_a_fork_comes_back_equal(lineage: bool) -> None:
    """As one journal, or with its lineage: the same records, the same head."""
    with MemoryStore() as store, MemoryStore() as other:
        family(store)
        bundle = pack(store, "deep", lineage=lineage)
        assert unpack(decode_bundle(written(bundle)).unwrap(), other, "copy") == store.head("deep")
        assert list(other.read("copy")) == list(store.read("deep"))
        expected = ["copy", "main", "try"] if lineage else ["copy"]
        assert [info.name for info in other.journals()] == expected
        assert sum(info.records for info in other.journals()) == (9 + 2 + 1 if lineage else 7)


def test_a_lineage_that_is_there_is_used_again() -> None:
    """Imported twice, the journals that both read through are there once; flat, none is needed."""
    with MemoryStore() as store, MemoryStore() as other:
        family(store)
        for name, kept in (("deep", "one"), ("deep", "two"), ("try", "three")):
            unpack(pack(store, name, lineage=True), other, kept)
        assert [info.name for info in other.journals()] == ["main", "one", "three", "try", "two"]
        assert [info.records for info in other.journals()] == [9, 1, 2, 2, 1]
        flat = pack(store, "deep", lineage=True).flat
        assert flat == Bundle((pack(store, "deep").session,))


def test_a_name_that_is_too_long_is_refused() -> None:
    """Nothing is made then."""
    store = MemoryStore()
    family(store)
    other = MemoryStore()
    with pytest.raises(BadName):
        unpack(pack(store, "main"), other, "n" * 256)
    assert other.journals() == ()


@final
class _Watched:
    """A store in which somebody writes on the first journal that appears, and takes the name of the last."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def fork(self, source: str, name: str, at: int) -> Head:
        """Fork, but first somebody appends to the source; the name of the session is taken."""
        head = self._store.head(source)
        self._store.append(source, head, following(head, "theirs"))
        if name == "taken":
            raise NameTaken(name)
        return self._store.fork(source, name, at)


def test_what_others_have_written_on_outlives_an_import_that_fails() -> None:
    """What was made is deleted again, unless somebody has an acknowledged record in it by then."""
    source, store = MemoryStore(), MemoryStore()
    source.create("main", chain(9))
    source.fork("main", "try", 5)
    with pytest.raises(NameTaken):
        unpack(pack(source, "try", lineage=True), cast("JournalStore", _Watched(store)), "taken")
    assert [(info.name, info.head.version) for info in store.journals()] == [("main", 10)]


def test_another_journal_of_the_same_name_is_not_mistaken_for_it() -> None:
    """Where a name is taken by other records the import is refused, and nothing of it stays."""
    with MemoryStore() as store, MemoryStore() as other:
        family(store)
        other.create("try", chain(9, "x"))
        with pytest.raises(NameTaken, match="'try'"):
            unpack(pack(store, "deep", lineage=True), other, "copy")
        assert [info.name for info in other.journals()] == ["try"]
        with pytest.raises(NameTaken, match="'try'"):
            unpack(pack(store, "deep"), other, "try")
        unpack(pack(store, "deep", lineage=True).flat, other, "copy")
        assert other.head("copy") == store.head("deep")


def test_redacted_texts_stay_redacted() -> None:
    """A marker goes out and comes back with its digest, and the chain verifies."""
    with MemoryStore() as store, MemoryStore() as other:
        store.create("main", chain(4))
        store.replace_parts("main", [redacted(_at(store, "main", 2), [0, 1])])
        data = written(pack(store, "main"))
        unpack(decode_bundle(data).unwrap(), other, "main")
        assert list(verify(NOTHING, other.read("main"))) == list(store.read("main"))
        assert b"act 2" not in data


def test_what_cannot_be_carried_out_goes_neither_out_nor_in() -> None:
    """A sound chain of commands that the engine refuses is no session."""
    start = recorded([Start("task")])
    wrong = seal(start[0].head, Draft('{"op":"accept"}', ("{}",)), salts())
    with MemoryStore() as store:
        store.create("wrong", [*start, wrong])
        with pytest.raises(DamagedRecord, match="accept is not legal"):
            pack(store, "wrong")
        with pytest.raises(UnknownJournal):
            pack(store, "none")
    with MemoryStore() as store, MemoryStore() as other:
        store.create("main", start)
        forged = pack(store, "main").session
        bundle = Bundle((type(forged)("main", None, 0, (*start, wrong), wrong.head),))
        assert decode_bundle(written(bundle)).unwrap() == bundle
        with pytest.raises(DamagedRecord):
            unpack(bundle, other, "main")
        assert other.journals() == ()


def test_a_journal_that_nobody_reads_is_refused() -> None:
    """A bundle is one session: what it does not read through does not belong in it."""
    with MemoryStore() as store:
        family(store)
        journals = (pack(store, "main").session, pack(store, "try").session)
        decoded = decode_bundle(written(Bundle(journals)))
        assert "does not read through" in str(decoded.failure())


def sample() -> bytes:
    """Return the bytes of a bundle with a lineage."""
    with MemoryStore() as store:
        family(store)
        return written(pack(store, "deep", lineage=True))


@pytest.mark.parametrize("seed", range(8))
def test_every_flipped_bit_is_seen(seed: int) -> None:
    """Wherever it is, the bundle is refused with the line, and no exception."""
    chance = random.Random(seed)
    sound = sample()
    for _ in range(50):
        data = bytearray(sound)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        decoded = decode_bundle(bytes(data))
        assert not is_successful(decoded)
        assert str(decoded.failure()).startswith("line ")


def test_every_cut_is_seen() -> None:
    """A bundle that ends too early is refused, wherever that is."""
    sound = sample()
    for end in range(0, len(sound), 7):
        assert not is_successful(decode_bundle(sound[:end]))
    assert not is_successful(decode_bundle(sound + b"\n"))
    assert is_successful(decode_bundle(sound))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Reading is total: behind a sound header too."""
    assert not is_successful(decode_bundle(data))
    assert not is_successful(decode_bundle(b'{"format":"mage-bundle","version":1,"journals":1}\n' + data))
    assert not is_bundle(data)


CHANGES: dict[str, tuple[int, dict[str, object], str]] = {
    "no journal": (0, {"journals": 0}, "at least one journal"),
    "too few journals": (0, {"journals": 2}, "no key but"),
    "a later version": (0, {"version": 2}, "the version that this mage reads"),
    "another format": (0, {"format": "mage-journal"}, "mage-bundle"),
    "a fork of nothing": (1, {"forked_at": 3}, "a fork of nothing"),
    "an unknown parent": (1, {"parent": "x"}, "does not stand above"),
    "no name": (1, {"journal": ""}, "it is empty"),
    "a name twice": (11, {"journal": "main"}, "a journal of this name stands above"),
    "a version that the parent does not have": (11, {"forked_at": 10}, "no such version"),
    "a head before its beginning": (11, {"head": {"version": 4, "digest": "0" * 64}}, "before its beginning"),
    "a head that is none": (1, {"head": {"version": 9, "digest": "0"}}, "64 hexadecimal digits"),
    "another head": (1, {"head": {"version": 9, "digest": "0" * 64}}, "but the head says"),
    "another version": (3, {"record": 3}, "it is missing"),
    "another body": (3, {"body": {"op": "accept"}}, "does not match its digest"),
    "a nested body": (3, {"body": {"op": []}}, "an object without arrays"),
    "odd parts": (3, {"parts": ["a"]}, "an array of salts and texts"),
    "a short salt": (3, {"parts": ["a", "b"]}, "expected a salt and a text"),
    "another digest": (3, {"digest": "0" * 64}, "does not match its digest"),
    "another end": (-1, {"end": "0" * 64}, "some byte before this line"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_wrong_is_said(change: str) -> None:
    """Each field that says something else is refused with its reason."""
    line, fields, said = CHANGES[change]
    lines = sample().splitlines()
    document = json.loads(lines[line])
    lines[line] = json.dumps({**document, **fields}, ensure_ascii=False, separators=(",", ":")).encode()
    decoded = decode_bundle(b"\n".join(lines) + b"\n")
    assert not is_successful(decoded)
    assert said in str(decoded.failure())


def test_a_journal_is_no_bundle() -> None:
    """The two formats are told by their first line."""
    assert is_bundle(sample())
    assert not is_bundle(b'{"format":"mage-journal","version":1}\n')
    assert fold(pack_one()) is not None


def pack_one() -> tuple[Record, ...]:
    """Return the records of a bundle of one step."""
    with MemoryStore() as store:
        store.create("one", recorded([Start("t"), Grow("a", "o")]))
        return decode_bundle(written(pack(store, "one"))).unwrap().session.records


def chain_of_forks(store: JournalStore, depth: int) -> str:
    """Write a journal, a fork of it, a fork of that and so on, each with records of its own behind its fork."""
    store.create("0", chain(2))
    for number in range(1, depth):
        head = store.fork(f"{number - 1}", f"{number}", store.head(f"{number - 1}").version)
        head = store.append(f"{number}", head, following(head, "mine"))
    return f"{depth - 1}"


def test_twice_the_forks_take_twice_the_memory_to_decode() -> None:
    """What was read of each journal is kept once, however many forks read it."""
    held: list[int] = []
    for depth in (200, 400):
        with MemoryStore() as store:
            data = written(pack(store, chain_of_forks(store, depth), lineage=True))
        tracemalloc.start()
        try:
            bundle = decode_bundle(data).unwrap()
            held.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert len(bundle.journals) == depth
    assert held[1] < 2.5 * held[0]


@final
class _Counting:
    """A store that counts its calls, and the records that are read."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store
        self.calls = 0
        self.records = 0

    def __getattr__(self, name: str) -> Any:
        self.calls += 1
        return getattr(self._store, name)

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """Read, and count."""
        self.calls += 1
        for record in self._store.read(name, after, upto):
            self.records += 1
            yield record


def test_a_lineage_is_packed_and_unpacked_in_work_that_grows_as_it_does() -> None:
    """Each record is read once, and each journal takes some calls of the store, not one for each above it."""
    for depth in (50, 100):
        with MemoryStore() as store, MemoryStore() as other:
            last = chain_of_forks(store, depth)
            counting = _Counting(store)
            bundle = pack(cast("JournalStore", counting), last, lineage=True)
            assert (counting.calls, counting.records) == (3, depth + 1)
            counting = _Counting(other)
            unpack(bundle, cast("JournalStore", counting), "new")
            assert counting.calls <= 3 * depth
            unpack(bundle, cast("JournalStore", counting), "again")
            assert counting.records <= depth


@pytest.mark.parametrize("name", ["main", "try", "deep", "main.parent"])
def test_a_session_is_imported_under_any_name_also_of_one_that_it_reads_through(name: str) -> None:
    """That one then has another name; all that is read is the same, and imported again it is used again."""
    with MemoryStore() as store, MemoryStore() as other:
        family(store)
        bundle = pack(store, "deep", lineage=True)
        for times in (1, 2):
            assert unpack(bundle, other, name) == store.head("deep")
            assert list(other.read(name)) == list(store.read("deep"))
            known = {info.name: info for info in other.journals()}
            assert (len(known), [known[name].forked_at, known[name].head.version]) == (3, [6, 7])
            assert set(names_for(bundle, name).values()) == set(known)
            if times == 1:
                with pytest.raises(NameTaken):
                    unpack(bundle, other, name)
                other.delete(name)


def test_a_name_beside_is_free_and_no_longer_than_a_name_may_be() -> None:
    """Counted on where it is taken, cut where it would be too long."""
    assert name_beside("a", {"a"}) == "a.parent"
    assert name_beside("a", {"a", "a.parent", "a.parent2"}) == "a.parent3"
    assert len(name_beside("n" * 255, {"n" * 255})) == 255

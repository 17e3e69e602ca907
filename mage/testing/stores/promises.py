"""Promises about journals (create, name, append, read, delete, close), and about forks, snapshots and redactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import attrs

from mage.engine import ApplyVerdict, Command, Compress, Grow, Passed, Start, compress, grow, start, view
from mage.stores import (
    NOTHING,
    BadName,
    Conflict,
    DamagedRecord,
    HasForks,
    Head,
    JournalStore,
    NameTaken,
    OtherRecord,
    OutdatedTexts,
    Plain,
    Record,
    Redacted,
    StoreUnavailable,
    UnknownJournal,
    UnknownVersion,
    fold,
    meta_of,
    redacted,
    snapshot_digest,
    verify,
    write_parts,
)
from mage.stores.records import chained
from mage.testing.stores.kit import (
    Kit,
    chain,
    expect,
    expect_equal,
    expect_raised,
    following,
    recorded,
    state_of,
)

_NAMES: Final = (
    "a", " ", "a ", "A", "ä", "a\u0308", "#", "a#b", "a/b\\c", "'; DROP TABLE mage_journals; --", '"', "%", "_",
    "\n", "\u202e", "日本語", "🙂", "null", "0", "x" * 255, "🙂" * 255,
)  # fmt: skip
_HOSTILE: Final = (
    "", "\0", "a\0b", "\ud800", "\udfff\ud800", "\\ud800", "\u2028", "\r\n", '"', "\\", "[redacted 000000000000]",
    "\x7f\x1b[31m", "\ufeff", "🙂", "e\u0301", "x" * 1_000_000, "\0" * 1000, "\ud800" * 1000,
)  # fmt: skip


@contextmanager
def _holding(kit: Kit, records: tuple[Record, ...]) -> Iterator[tuple[JournalStore, tuple[Record, ...]]]:
    """Open the store, with these records as the journal `a`."""
    with kit.open() as store:
        store.create("a", records)
        yield store, records


def what_was_created_is_read_back(kit: Kit) -> None:
    """A journal has the records that it was created with, and its head is that of the last."""
    with kit.open() as store:
        records = chain(5)
        expect_equal(store.create("a", iter(records)), records[-1].head, "the head that create returns")
        expect_equal(store.head("a"), records[-1].head, "the head")
        for time in ("first", "second"):
            expect_equal(tuple(store.read("a")), records, f"the records, read for the {time} time")


def nothing_unsound_is_created(kit: Kit) -> None:
    """A journal begins with record 1 and goes on without a gap; nothing else is written."""
    records = chain(4)
    forged = attrs.evolve(records[2], body='{"op":"walk","step":1}')
    with kit.open() as store:
        gap, twice = (records[0], records[2]), records[:1] * 2
        for beginning in ((), records[1:], gap, twice, (*records[:2], forged)):
            expect_raised(DamagedRecord, "an unsound beginning", store.create, "a", beginning)
        expect_equal(store.journals(), (), "the journals")


def nothing_unreadable_is_written(kit: Kit) -> None:
    """A record whose parts could not be read back is refused, also where its digest is right, and nothing is written."""
    first = chain(1)
    with kit.open() as store:
        for part in (
            Plain("text", "short"),
            Plain("text", "x" * 17),
            Plain("text", "\u00e4" * 16),
            Plain("\ud83d\ude00", "x" * 16),
            Redacted("0" * 63),
        ):
            body, parts = '{"op":"grow"}', (part, *first[0].parts)
            digest = chained(first[0].digest, 2, body, parts)
            wrong = Record(2, body, parts, digest)
            expect_raised(DamagedRecord, "an unreadable record", store.create, "a", (*first, wrong))
            expect_equal(store.journals(), (), "the journals")
            head = store.create("a", first)
            expect_raised(DamagedRecord, "an unreadable record", store.append, "a", head, (wrong,))
            expect_equal(tuple(store.read("a")), first, "the records")
            store.delete("a")


def names_are_data(kit: Kit) -> None:
    """Any text is a name, and names are compared exactly; a text that databases cannot keep is refused."""
    records = chain(1)
    with kit.open() as store:
        for name in _NAMES:
            store.create(name, records)
        expect_equal([info.name for info in store.journals()], sorted(_NAMES), "the names")
        for name in _NAMES:
            expect_equal(store.head(name), records[-1].head, f"the head of {name[:20]!r}")
        for name in ("", "\0", "a\0", "\ud800", "x" * 256):
            expect_raised(BadName, f"the name {name[:9]!r}", store.create, name, records)
            expect_raised(BadName, f"the name {name[:9]!r}", store.head, name)
            expect_raised(BadName, f"a fork {name[:9]!r}", store.fork, "a", name, 1)
        expect_equal(len(store.journals()), len(_NAMES), "the number of journals")


def a_name_is_taken_once(kit: Kit) -> None:
    """A second journal of one name is refused, created or forked, and the first stays as it is."""
    with kit.open() as store:
        first, second = chain(3, "first"), chain(2, "second")
        store.create("a", first)
        store.create("b", second)
        expect_raised(NameTaken, "creating again", store.create, "a", second)
        expect_raised(NameTaken, "forking onto it", store.fork, "b", "a", 1)
        expect_raised(NameTaken, "forking onto itself", store.fork, "a", "a", 1)
        expect_equal(tuple(store.read("a")), first, "the records of the first")


def what_is_not_there_is_named(kit: Kit) -> None:
    """Every operation on an unknown journal or version is refused, and makes neither."""
    records = chain(3)
    with kit.open() as store:
        for work in (
            lambda: store.head("a"),
            lambda: list(store.read("a")),
            lambda: store.append("a", NOTHING, records),
            lambda: store.append("a", NOTHING, ()),
            lambda: store.fork("a", "b", 1),
            lambda: store.delete("a"),
            lambda: store.rename("a", "b"),
            lambda: store.replace_parts("a", records),
            lambda: store.keep_snapshot("a", 1, b"", ""),
            lambda: store.snapshot("a"),
            lambda: store.redactions("a"),
            lambda: store.drop_snapshots("a"),
        ):
            expect_equal(expect_raised(UnknownJournal, "no journal", work).name, "a", "its name")
        store.create("a", records)
        for version in (-1, 0, 4, 2**40):
            expect_raised(UnknownVersion, "fork", store.fork, "a", "b", version)
            expect_raised(UnknownVersion, "snapshot", store.keep_snapshot, "a", version, b"", "")
        expect_raised(UnknownVersion, "read up to 4", lambda: list(store.read("a", 0, 4)))
        expect_raised(UnknownVersion, "read after 4", lambda: list(store.read("a", 4)))
        expect_raised(UnknownVersion, "read after -1", lambda: list(store.read("a", -1)))
        expect_equal([info.name for info in store.journals()], ["a"], "the journals")


def appending_moves_the_head(kit: Kit) -> None:
    """One record or many are written behind the head that they follow; an append of none changes nothing."""
    with kit.open() as store:
        records = chain(9)
        head = store.create("a", records[:1])
        head = store.append("a", head, records[1:2])
        expect_equal(head, records[1].head, "the head that append returns")
        expect_equal(store.append("a", head, iter(records[2:])), records[-1].head, "the head after a batch")
        expect_equal(store.append("a", records[-1].head, ()), records[-1].head, "the head after nothing")
        expect_equal(tuple(store.read("a")), records, "the records")


def a_stale_writer_gets_a_conflict(kit: Kit) -> None:
    """A writer that names another head than the journal's, by version or digest, writes nothing and learns the head."""
    with _holding(kit, chain(4)) as (store, records):
        head = records[-1].head
        wrong = (Head(4, records[1].digest), Head(9, head.digest), Head(9, "0" * 64))
        for expected in (NOTHING, *[record.head for record in records[:-1]], *wrong):
            for batch in (following(expected, "x"), following(expected, "x", "y"), ()):
                error = expect_raised(Conflict, f"{expected}", store.append, "a", expected, batch)
                expect_equal((error.expected, error.found), (expected, head), "what the conflict says")
        expect_equal(tuple(store.read("a")), records, "the records")


def a_batch_is_whole(kit: Kit) -> None:
    """A batch that is broken anywhere, in whichever text, is not written at all, also where its source raises."""
    with kit.open() as store:
        head = store.create("a", chain(2))
        batch = following(head, "x", "y", "z")
        forged = (batch[0], attrs.evolve(batch[1], digest="0" * 64), batch[2])
        touched = [(batch[0], each) for each in _touched(batch[1])]
        for broken in (forged, *touched, batch[:1] * 2, batch[::-1], batch[1:], (batch[0], batch[2])):
            expect_raised(DamagedRecord, "a broken batch", store.append, "a", head, broken)
        expect_raised(OSError, "a source that raises", store.append, "a", head, _raising(batch))
        expect_equal((store.head("a"), len(list(store.read("a")))), (head, 2), "what is there")
        expect_equal(store.append("a", head, batch), batch[-1].head, "the whole batch")


def _touched(record: Record) -> Iterator[Record]:
    """Yield the record with one of its texts changed, for each text."""
    for place, part in enumerate(record.parts):
        changed = Plain(part.text + "!", "0" * 16)
        yield attrs.evolve(record, parts=(*record.parts[:place], changed, *record.parts[place + 1 :]))


def _raising(records: tuple[Record, ...]) -> Iterator[Record]:
    yield from records
    raise OSError("the source is gone")


def any_range_is_read(kit: Kit) -> None:
    """Reading yields exactly the records after one version up to another, also none."""
    with _holding(kit, chain(6)) as (store, records):
        for after in range(7):
            expect_equal(tuple(store.read("a", after)), records[after:], f"after {after}")
            for upto in range(7):
                found = tuple(store.read("a", after, upto))
                expect_equal(found, records[after:upto], f"after {after} up to {upto}")


def a_reader_sees_what_was_there(kit: Kit) -> None:
    """A reader sees no record that was appended after it began, and is not disturbed."""
    with _holding(kit, chain(300)) as (store, records):
        head = records[-1].head
        reading = store.read("a")
        first = next(reading)
        store.append("a", head, following(head, "more"))
        expect_equal((first, *reading), records, "what the reader saw")


def a_reader_of_a_deleted_journal_is_told(kit: Kit) -> None:
    """A reader of a journal that is deleted meanwhile gets all records, or `UnknownJournal`; never only some."""
    with _holding(kit, chain(300)) as (store, records):
        reading = store.read("a")
        seen = [next(reading)]
        store.delete("a")
        store.create("a", chain(2, "another"))
        try:
            seen += reading
        except UnknownJournal:
            return
        expect_equal(tuple(seen), records, "what the reader saw")


def any_text_is_kept(kit: Kit) -> None:
    """NUL, lone surrogates, a megabyte: every text comes back as it was, and so does the meta."""
    commands: list[Command] = [
        Start("\0\ud800"),
        *(Grow(f"{number}{text}", text) for number, text in enumerate(_HOSTILE)),
    ]
    with _holding(kit, recorded(commands)) as (store, records):
        expect_equal(tuple(store.read("a")), records, "the records")
        observations = [step.observation for step in state_of(store, "a").tree.steps()]
        expect_equal(observations, list(_HOSTILE), "texts")
        meta = meta_of(next(store.read("a")))
        expect_equal(meta, {"at": 1_700_000_000_000_000}, "what goes with the start")


def much_is_kept(kit: Kit) -> None:
    """Ten thousand records, created and appended in batches, come back as they were."""
    with kit.open() as store:
        records = chain(10_000)
        head = store.create("a", records[:4000])
        head = store.append("a", head, records[4000:4001])
        head = store.append("a", head, records[4001:])
        expect_equal(tuple(store.read("a")), records, "the records")
        expect_equal(tuple(store.read("a", 9_990)), records[9_990:], "the last of them")


def a_journal_says_what_it_is(kit: Kit) -> None:
    """The list of journals follows their records: head, payload, steps, and the time of the last change."""
    pending = compress(grow(start("t"), "a", "o"), "s").unwrap()
    commands = (Start("t"), Grow("a", "o"), Compress("s"), ApplyVerdict(Passed(), pending.digest))
    with kit.open() as store:
        records = recorded(commands)
        store.create("b", records)
        store.create("a", records[:2])
        before = store.journals()
        expect_equal([info.name for info in before], ["a", "b"], "the names, in order")
        head = store.append("a", records[1].head, records[2:])
        one, other = store.journals()
        expect_equal((one.head, other.head), (head, head), "the heads")
        size = sum(len(write_parts(record.parts)) for record in records)
        for info in (one, other):
            found = (info.parent, info.forked_at, info.records, info.grows, info.payload)
            expect_equal(found, (None, 0, 4, 1, size), f"what is said of {info.name}")
        expect_equal(
            (other.created, other.changed), (before[1].created, before[1].changed), "b has not changed"
        )
        expect_equal(one.created, before[0].created, "when a was created")
        expect(one.changed >= before[0].changed, "appending changes when it was changed")


def what_is_deleted_is_gone(kit: Kit) -> None:
    """A deleted journal is gone, the others are not; its name is free, and a writer of the old journal is refused."""
    with kit.open() as store:
        head = store.create("a", chain(3, "old"))
        other = chain(2, "other")
        store.create("b", other)
        store.delete("a")
        expect_raised(UnknownJournal, "reading it", lambda: list(store.read("a")))
        expect_raised(UnknownJournal, "its head", store.head, "a")
        new = chain(3, "new")
        store.create("a", new)
        expect_raised(Conflict, "a writer of the old", store.append, "a", head, following(head, "x"))
        expect_equal((tuple(store.read("a")), tuple(store.read("b"))), (new, other), "what is there")


def what_is_renamed_is_the_same_under_another_name(kit: Kit) -> None:
    """A rename keeps records, times, snapshots and parent, and frees the old name; a name that is taken is refused."""
    records = chain(4)
    with kit.open() as store:
        store.create("a", records)
        store.fork("a", "b", 3)
        store.append("b", records[2].head, following(records[2].head, "more"))
        digest = snapshot_digest(store.head("b"), b"s")
        store.keep_snapshot("b", store.head("b").version, b"s", digest)
        before, read, kept = store.journals()[1], tuple(store.read("b")), store.snapshot("b")
        for taken in ("a", "b"):
            expect_raised(NameTaken, f"renaming to {taken}", store.rename, "b", taken)
        expect_raised(BadName, "renaming to no name", store.rename, "b", "")
        store.rename("b", "#c")
        expect_equal(store.journals()[0], attrs.evolve(before, name="#c"), "what is known of it")
        expect_equal(tuple(store.read("#c")), read, "its records")
        expect_equal(store.snapshot("#c"), kept, "its snapshot")
        expect_raised(UnknownJournal, "the old name", store.head, "b")
        head = store.append("#c", store.head("#c"), following(store.head("#c"), "on"))
        expect_equal(store.create("b", records), records[-1].head, "another of the old name")
        expect_equal(store.head("#c"), head, "the head of the renamed")


def what_a_fork_reads_through_is_not_renamed(kit: Kit) -> None:
    """A parent is not renamed: the error names its forks, until they are gone."""
    with kit.open() as store:
        store.create("a", chain(2))
        for name in ("c", "b"):
            store.fork("a", name, 1)
        expect_equal(expect_raised(HasForks, "a", store.rename, "a", "d").forks, ("b", "c"), "forks of a")
        store.delete("b")
        store.delete("c")
        store.rename("a", "d")
        expect_equal([info.name for info in store.journals()], ["d"], "the names")


def what_moved_is_not_deleted(kit: Kit) -> None:
    """A deletion that names a head gets a conflict where the journal has another head, and deletes nothing."""
    with kit.open() as store:
        seen = store.create("a", chain(3))
        moved = store.append("a", seen, following(seen, "x"))
        conflict = expect_raised(Conflict, "deleting what has moved", store.delete, "a", expected=seen)
        expect_equal((conflict.expected, conflict.found), (seen, moved), "what the conflict says")
        expect_equal(store.head("a"), moved, "the head")
        other = Head(moved.version, "0" * 64)
        expect_raised(Conflict, "deleting another of that length", store.delete, "a", expected=other)
        expect_equal(len(tuple(store.read("a"))), 4, "the number of records that are left")
        expect_raised(UnknownJournal, "deleting none", store.delete, "b", expected=seen)
        store.delete("a", expected=moved)
        expect_raised(UnknownJournal, "its head", store.head, "a")


def what_is_written_is_there_again(kit: Kit) -> None:
    """After closing and opening everything is as it was, and the writer goes on."""
    if not kit.durable:
        return
    records = chain(3)
    with kit.open() as store:
        head = store.create("a", records)
        store.append("a", head, following(head, "x"))
        store.fork("a", "b", 2)
        before = store.journals()
    with kit.open() as store, kit.open() as beside:
        expect_equal(store.journals(), before, "the journals")
        expect_equal(tuple(store.read("a", 0, 3)), records, "the records")
        head = store.append("a", store.head("a"), following(store.head("a"), "y"))
        expect_equal(beside.head("a"), head, "the head, as another opening sees it")


def a_closed_store_is_closed(kit: Kit) -> None:
    """Closing twice is no error; using a closed store is one."""
    store: JournalStore = kit.open()
    store.create("a", chain(1))
    store.close()
    store.close()
    expect_raised(StoreUnavailable, "its head", store.head, "a")
    expect_raised(StoreUnavailable, "creating", store.create, "b", chain(1))
    expect_raised(StoreUnavailable, "listing", store.journals)
    expect_raised(StoreUnavailable, "reading", lambda: list(store.read("a")))
    expect_raised(StoreUnavailable, "reclaiming", store.reclaim)


# -- forks, snapshots, redactions ----------------------------------------------------------------------


def a_fork_reads_through_its_parent(kit: Kit) -> None:
    """A fork has its parent's records up to where it starts, at any version, and stores none of them."""
    with _holding(kit, chain(5)) as (store, records):
        for at in range(1, 6):
            name = f"fork {at}"
            expect_equal(store.fork("a", name, at), records[at - 1].head, f"the head of a fork at {at}")
            expect_equal(
                (store.head(name), tuple(store.read(name))), (records[at - 1].head, records[:at]), name
            )
        for info in store.journals()[1:]:
            at = int(info.name.removeprefix("fork "))
            found = (info.parent, info.forked_at, info.records, info.payload, info.grows)
            expect_equal(found, ("a", at, 0, 0, 0), f"what is said of {info.name}")


def forks_go_their_own_ways(kit: Kit) -> None:
    """A journal's new records are not seen in its forks, nor the other way round."""
    with _holding(kit, chain(3)) as (store, records):
        head = records[-1].head
        fork = store.fork("a", "b", 2)
        mine, theirs = following(head, "mine"), following(fork, "theirs", "more")
        store.append("b", fork, theirs)
        store.append("a", head, mine)
        expect_equal(tuple(store.read("a")), (*records, *mine), "the journal")
        expect_equal(tuple(store.read("b")), (*records[:2], *theirs), "the fork")
        steps = [step.action for step in state_of(store, "b").tree.steps()]
        expect_equal(steps[1:], ["theirs", "more"], "the steps of the fork after the fork point")


def forks_have_forks(kit: Kit) -> None:
    """Forks of forks read through the chain, in any range; twenty deep, each going on by one step."""
    with kit.open() as store:
        whole = list(chain(2))
        head = store.create("0", whole)
        for depth in range(1, 21):
            head = store.fork(str(depth - 1), str(depth), len(whole))
            new = following(head, f"step {depth}")
            head = store.append(str(depth), head, new)
            whole += new
        expect_equal(tuple(store.read("20")), tuple(whole), "the deepest")
        expect_equal(tuple(store.read("20", 7, 15)), tuple(whole[7:15]), "a range of it")
        expect_equal(tuple(store.read("9")), tuple(whole[:11]), "one half-way")
        expect_equal(len(view(state_of(store, "20")).raw), 21, "the steps of the deepest")


def a_fork_below_a_fork_point_is_the_ancestors(kit: Kit) -> None:
    """A fork at a version that its source has from its parent is a fork of that parent."""
    with _holding(kit, chain(6)) as (store, records):
        fork = store.fork("a", "b", 4)
        store.append("b", fork, following(fork, "x"))
        for at in (1, 4):
            expect_equal(store.fork("b", f"c{at}", at), records[at - 1].head, "the head")
            expect_equal(tuple(store.read(f"c{at}")), records[:at], "its records")
        parents = {info.name: info.parent for info in store.journals()}
        expect_equal(parents, {"a": None, "b": "a", "c1": "a", "c4": "a"}, "the parents")
        store.delete("b")
        expect_equal(tuple(store.read("c4")), records[:4], "its records, with the source deleted")


def forks_hold_their_parent(kit: Kit) -> None:
    """A journal that forks read through is not deleted; after its forks it can be."""
    with kit.open() as store:
        head = store.create("a", chain(3))
        store.fork("a", "b", 3)
        store.fork("a", "c", 1)
        store.append("b", head, following(head, "x"))
        store.fork("b", "d", 4)
        expect_equal(expect_raised(HasForks, "a", store.delete, "a").forks, ("b", "c"), "forks of a")
        expect_equal(expect_raised(HasForks, "b", store.delete, "b").forks, ("d",), "forks of b")
        expect_equal(len(list(store.read("d"))), 4, "the records of d")
        for name in ("d", "c", "b", "a"):
            store.delete(name)
        expect_equal(store.journals(), (), "the journals")


def snapshots_are_caches(kit: Kit) -> None:
    """The newest snapshot at or before a version is found, byte for byte; dropping them loses nothing."""
    with _holding(kit, chain(6)) as (store, records):
        expect_equal(store.snapshot("a"), None, "no snapshot")
        for version, data in ((2, b"two"), (5, b"\0\xff" * 40_000), (5, b"five"), (4, b"")):
            store.keep_snapshot("a", version, data, snapshot_digest(records[version - 1].head, data))
        wanted = {None: (5, b"five"), 6: (5, b"five"), 5: (5, b"five"), 4: (4, b""), 3: (2, b"two"), 1: None}
        wanted |= {0: None, -(2**70): None, 2**70: (5, b"five")}
        for upto, expected in wanted.items():
            found = store.snapshot("a", upto)
            expect_equal(found and (found.version, found.data), expected, f"the snapshot up to {upto}")
            if found is not None:
                sound = snapshot_digest(records[found.version - 1].head, found.data)
                expect_equal(found.digest, sound, "its digest")
        store.drop_snapshots("a")
        expect_equal((store.snapshot("a"), tuple(store.read("a"))), (None, records), "without snapshots")


def forks_share_snapshots(kit: Kit) -> None:
    """A fork finds its ancestors' snapshots at or before the fork point, and none after it."""
    with _holding(kit, chain(6)) as (store, _):
        store.keep_snapshot("a", 2, b"2", "d2")
        store.keep_snapshot("a", 5, b"5", "d5")
        fork = store.fork("a", "b", 4)
        expect_equal(_version(store, "b"), 2, "the fork's")
        head = store.append("b", fork, following(fork, "x", "y"))
        expect_equal(_version(store, "b"), 2, "the fork's, further on")
        store.keep_snapshot("b", head.version, b"6", "d6")
        expect_equal((_version(store, "b"), _version(store, "b", 5)), (6, 2), "its own, and before that")
        expect_equal(_version(store, "a"), 5, "the parent's")
        store.keep_snapshot("b", 3, b"3", "d3")
        expect_equal((_version(store, "a", 4), _version(store, "b", 4)), (3, 3), "one of a shared version")
        store.drop_snapshots("b")
        expect_equal(_version(store, "b"), 3, "its ancestors' are left")
        store.delete("b")
        expect_equal(_version(store, "a"), 5, "the parent's, with the fork deleted")


def _version(store: JournalStore, name: str, upto: int | None = None) -> int | None:
    found = store.snapshot(name, upto)
    return None if found is None else found.version


_WORDS: Final = "swordfish 1234"


def _with_a_secret() -> tuple[Record, ...]:
    steps = [Grow("login", f"token {_WORDS}"), Grow("look", "a desk"), Grow(f"use {_WORDS}", "done")]
    return recorded([Start("Buy a desk"), *steps])


def what_is_redacted_is_gone_everywhere(kit: Kit) -> None:
    """A text taken out of a journal is gone from every fork that reads it, and every chain still verifies."""
    with _holding(kit, _with_a_secret()) as (store, records):
        head = records[-1].head
        fork = store.fork("a", "b", 2)
        store.append("b", fork, following(fork, "elsewhere"))
        store.fork("b", "c", 3)
        store.fork("a", "d", 1)
        store.replace_parts("c", [redacted(records[1], [1])])
        store.replace_parts("a", [redacted(records[3], [0, 2])])
        for info in store.journals():
            texts = "".join(part.text for record in store.read(info.name) for part in record.parts)
            expect(_WORDS not in texts, f"{info.name} still says it")
            fold(verify(NOTHING, store.read(info.name), info.head))
        expect_equal(store.head("a"), head, "the head")
        step = state_of(store, "c").tree.steps()
        expect(next(step).observation.startswith("[redacted "), "the marker stands where it was")
        last = next(store.read("a", 3))
        expect_equal(meta_of(last), {}, "what goes with a record whose meta was taken out")
        size = sum(len(write_parts(record.parts)) for record in store.read("a"))
        expect_equal(store.journals()[0].payload, size, "the payload that is left")
        store.reclaim()
        store.append("a", head, following(head, "on"))
        state_of(store, "a")


def snapshots_forget_what_is_redacted(kit: Kit) -> None:
    """Snapshots at or behind a record are dropped with its texts, in every fork; others stay."""
    with _holding(kit, _with_a_secret()) as (store, records):
        for version in (1, 2, 4):
            store.keep_snapshot("a", version, b"", "d")
        heads = {at: store.fork("a", f"fork {at}", at) for at in (2, 1)}
        for at, head in heads.items():
            store.append(f"fork {at}", head, following(head, "x"))
            store.keep_snapshot(f"fork {at}", at + 1, b"", "d")
        store.fork("fork 2", "deep", 3)
        store.append("deep", store.head("deep"), following(store.head("deep"), "y"))
        store.keep_snapshot("deep", 4, b"", "d")
        store.replace_parts("a", [redacted(records[1], [1])])
        found = {info.name: _version(store, info.name) for info in store.journals()}
        expect_equal(found, {"a": 1, "fork 1": 2, "fork 2": 1, "deep": 1}, "the newest snapshots")


def what_is_redacted_does_not_come_back(kit: Kit) -> None:
    """A snapshot of texts read before a redaction is refused; a snapshot of texts read after it is kept."""
    with _holding(kit, _with_a_secret()) as (store, records):
        before = store.redactions("a")
        store.keep_snapshot("a", 1, b"x", "d", redactions=before)
        store.replace_parts("a", [redacted(records[1], [1])])
        store.fork("a", "b", 3)
        store.fork("a", "c", 1)
        store.replace_parts("b", [redacted(records[1], [0, 1])])
        for name in ("a", "b"):
            for version in (1, 3):
                keep = partial(store.keep_snapshot, redactions=before)
                expect_raised(OutdatedTexts, name, keep, name, version, b"y", "d")
        expect_equal([_version(store, name) for name in ("a", "b", "c")], [1, 1, 1], "what is kept")
        expect(before < store.redactions("c") < store.redactions("b"), "a fork counts what was before it")
        for name in ("a", "b"):
            store.keep_snapshot(name, 3, b"z", "d", redactions=store.redactions(name))
        expect_equal(_version(store, "b"), 3, "what was read again")


def only_texts_are_taken_out(kit: Kit) -> None:
    """Only the same record with redacted texts replaces a record; a batch with any other is refused whole."""
    with _holding(kit, _with_a_secret()) as (store, records):
        other = following(records[0].head, "other")[0]
        parts = records[1].parts
        changed = (
            other,
            attrs.evolve(records[1], body='{"op":"accept"}'),
            attrs.evolve(records[1], parts=(parts[0], Plain("another", "0" * 16), parts[2])),
            attrs.evolve(records[1], parts=(parts[0], Redacted("0" * 64), parts[2])),
            attrs.evolve(records[1], parts=parts[:2]),
            attrs.evolve(records[1], digest="0" * 64),
        )
        for record in changed:
            batch = [redacted(records[3], [0]), record]
            expect_raised(OtherRecord, "another record", store.replace_parts, "a", batch)
        beyond = attrs.evolve(records[3], version=5)
        expect_raised(UnknownVersion, "version 5", store.replace_parts, "a", [beyond])
        expect_raised(UnknownJournal, "no journal", store.replace_parts, "b", records)
        expect_equal(tuple(store.read("a")), records, "the records")
        once = redacted(records[1], [1])
        store.replace_parts("a", [once])
        store.replace_parts("a", [once])
        expect_raised(OtherRecord, "undoing it", store.replace_parts, "a", [records[1]])
        expect_equal(tuple(store.read("a", 1, 2)), (once,), "the record")


def reclaiming_keeps_everything(kit: Kit) -> None:
    """Reclaiming room changes no journal."""
    with _holding(kit, chain(50)) as (store, records):
        store.create("b", records)
        store.fork("a", "c", 20)
        store.keep_snapshot("a", 3, b"x", "d")
        store.delete("b")
        before = store.journals()
        store.reclaim()
        expect_equal(store.journals(), before, "the journals")
        expect_equal((tuple(store.read("a")), tuple(store.read("c"))), (records, records[:20]), "the records")
        expect_equal(_version(store, "c"), 3, "the snapshot")

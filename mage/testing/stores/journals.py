"""Promises about journals: creating, naming, appending, reading, deleting, closing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs

from mage.engine import ApplyVerdict, Command, Compress, Grow, Passed, Start, compress, grow, start
from mage.stores import (
    NOTHING,
    BadName,
    Conflict,
    DamagedRecord,
    HasForks,
    Head,
    JournalStore,
    NameTaken,
    Plain,
    Record,
    Redacted,
    StoreUnavailable,
    UnknownJournal,
    UnknownVersion,
    meta_of,
    snapshot_digest,
    write_parts,
)
from mage.stores.records import chained
from mage.testing.stores.kit import (
    Kit,
    Promise,
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


def what_was_created_is_read_back(kit: Kit) -> None:
    """A journal holds the records it was created with, and its head is the last of them."""
    with kit.open() as store:
        records = chain(5)
        expect_equal(store.create("a", iter(records)), records[-1].head, "the head that create returns")
        expect_equal(store.head("a"), records[-1].head, "the head")
        expect_equal(tuple(store.read("a")), records, "the records")
        expect_equal(tuple(store.read("a")), records, "the records, read again")


def nothing_unsound_is_created(kit: Kit) -> None:
    """A journal begins with record 1 and goes on without a gap; nothing else is written."""
    records = chain(4)
    forged = attrs.evolve(records[2], body='{"op":"walk","step":1}')
    with kit.open() as store:
        for beginning in (
            (),
            records[1:],
            (records[0], records[2]),
            (records[0],) * 2,
            (*records[:2], forged),
        ):
            expect_raised(DamagedRecord, "an unsound beginning", store.create, "a", beginning)
        expect_equal(store.journals(), (), "the journals")


def nothing_unreadable_is_written(kit: Kit) -> None:
    """A record whose chain is right and whose parts could not be read back is refused, and nothing is written."""
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
    """Any text is a name, compared exactly; what databases cannot keep is refused."""
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
    """Journals and versions that are not there are refused by every operation, and none is made."""
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
    """Records that follow the head are written behind it, one or many; none at all changes nothing."""
    with kit.open() as store:
        records = chain(9)
        head = store.create("a", records[:1])
        head = store.append("a", head, records[1:2])
        expect_equal(head, records[1].head, "the head that append returns")
        expect_equal(store.append("a", head, iter(records[2:])), records[-1].head, "the head after a batch")
        expect_equal(store.append("a", records[-1].head, ()), records[-1].head, "the head after nothing")
        expect_equal(tuple(store.read("a")), records, "the records")


def a_stale_writer_gets_a_conflict(kit: Kit) -> None:
    """Who names another head than the journal's, by version or digest, writes nothing and learns the head."""
    with kit.open() as store:
        records = chain(4)
        store.create("a", records)
        head = records[-1].head
        others = (
            NOTHING,
            records[1].head,
            Head(4, records[1].digest),
            Head(9, head.digest),
            Head(9, "0" * 64),
        )
        for expected in others:
            for batch in (following(expected, "x"), following(expected, "x", "y"), ()):
                error = expect_raised(Conflict, f"{expected}", store.append, "a", expected, batch)
                expect_equal((error.expected, error.found), (expected, head), "what the conflict says")
        expect_equal(tuple(store.read("a")), records, "the records")


def a_writer_that_wakes_up_late_writes_nothing(kit: Kit) -> None:
    """A record sealed for a head that others have passed since is refused, however late it comes."""
    with kit.open() as store:
        head = store.create("a", chain(2))
        late = following(head, "late")
        for number in range(5):
            head = store.append("a", head, following(head, f"step {number}"))
            error = expect_raised(Conflict, "late", store.append, "a", chain(2)[-1].head, late)
            expect_equal(error.found, head, "the head that the late one should look at")
        texts = [record.parts[0].text for record in store.read("a", 2)]
        expect_equal(texts, [f"step {number}" for number in range(5)], "what was written")


def a_batch_is_whole(kit: Kit) -> None:
    """Of a batch that is broken anywhere nothing is written, also where its source raises."""
    with kit.open() as store:
        head = store.create("a", chain(2))
        batch = following(head, "x", "y", "z")
        forged = (batch[0], attrs.evolve(batch[1], digest="0" * 64), batch[2])
        for broken in (forged, batch[:1] * 2, batch[::-1], batch[1:], (batch[0], batch[2])):
            expect_raised(DamagedRecord, "a broken batch", store.append, "a", head, broken)
        expect_raised(OSError, "a source that raises", store.append, "a", head, _raising(batch))
        expect_equal((store.head("a"), len(list(store.read("a")))), (head, 2), "what is there")
        expect_equal(store.append("a", head, batch), batch[-1].head, "the whole batch")


def _raising(records: tuple[Record, ...]) -> Iterator[Record]:
    yield from records
    raise OSError("the source is gone")


def any_range_is_read(kit: Kit) -> None:
    """Reading gives exactly the records after one version up to another, also none."""
    with kit.open() as store:
        records = chain(6)
        store.create("a", records)
        for after in range(7):
            expect_equal(tuple(store.read("a", after)), records[after:], f"after {after}")
            for upto in range(7):
                found = tuple(store.read("a", after, upto))
                expect_equal(found, records[after:upto], f"after {after} up to {upto}")


def a_reader_sees_what_was_there(kit: Kit) -> None:
    """What is appended while somebody reads is not seen by them, and does not disturb them."""
    with kit.open() as store:
        records = chain(300)
        head = store.create("a", records)
        reading = store.read("a")
        first = next(reading)
        store.append("a", head, following(head, "more"))
        expect_equal((first, *reading), records, "what the reader saw")


def a_reader_of_a_deleted_journal_is_told(kit: Kit) -> None:
    """Whoever reads a journal that is deleted meanwhile gets all of it, or is told that it is gone; never a part."""
    with kit.open() as store:
        records = chain(300)
        store.create("a", records)
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
    """NUL, lone surrogates, a megabyte: every text comes back as it was, with what goes with it."""
    commands: list[Command] = [
        Start("\0\ud800"),
        *(Grow(f"{number}{text}", text) for number, text in enumerate(_HOSTILE)),
    ]
    with kit.open() as store:
        records = recorded(commands)
        store.create("a", records)
        expect_equal(tuple(store.read("a")), records, "the records")
        expect_equal(
            [step.observation for step in state_of(store, "a").tree.steps()], list(_HOSTILE), "texts"
        )
        expect_equal(
            meta_of(next(store.read("a"))), {"at": 1_700_000_000_000_000}, "what goes with the start"
        )


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
    """What is listed of a journal follows its records: head, payload, steps, and when it changed."""
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
    """A deleted journal is gone, others are not; its name is free, and a stale writer finds no way in."""
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
    """Records, times, snapshots and what it was forked from stay; the old name is free; a name that is taken stays."""
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
    """It is refused with the names of the forks, until they are gone."""
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
    """Who deletes a journal by the head that was seen gets a conflict where it has moved; all of it is kept."""
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
        expect_equal(beside.head("a"), head, "the head, as somebody beside sees it")


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


JOURNALS: Final[tuple[Promise, ...]] = (
    what_was_created_is_read_back,
    nothing_unsound_is_created,
    nothing_unreadable_is_written,
    names_are_data,
    a_name_is_taken_once,
    what_is_not_there_is_named,
    appending_moves_the_head,
    a_stale_writer_gets_a_conflict,
    a_writer_that_wakes_up_late_writes_nothing,
    a_batch_is_whole,
    any_range_is_read,
    a_reader_sees_what_was_there,
    a_reader_of_a_deleted_journal_is_told,
    any_text_is_kept,
    much_is_kept,
    a_journal_says_what_it_is,
    what_is_deleted_is_gone,
    what_is_renamed_is_the_same_under_another_name,
    what_a_fork_reads_through_is_not_renamed,
    what_moved_is_not_deleted,
    what_is_written_is_there_again,
    a_closed_store_is_closed,
)

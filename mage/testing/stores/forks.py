"""Promises about what journals share: forks, snapshots, texts that are taken out."""

from __future__ import annotations

from typing import Final

import attrs

from mage.engine import Grow, Start, view
from mage.stores import (
    NOTHING,
    DamagedRecord,
    HasForks,
    JournalStore,
    OtherRecord,
    OutdatedTexts,
    Plain,
    Record,
    Redacted,
    UnknownJournal,
    UnknownVersion,
    fold,
    meta_of,
    redacted,
    snapshot_digest,
    verify,
    write_parts,
)
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


def a_fork_reads_through_its_parent(kit: Kit) -> None:
    """A fork has its parent's records up to where it starts, at any version, and stores none of them."""
    with kit.open() as store:
        records = chain(5)
        store.create("a", records)
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
    """What is appended to a journal is not seen in its forks, nor the other way round."""
    with kit.open() as store:
        records = chain(3)
        head = store.create("a", records)
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
    with kit.open() as store:
        records = chain(6)
        store.create("a", records)
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
    """A journal that forks read through is not deleted; leaf by leaf everything can be."""
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
    with kit.open() as store:
        records = chain(6)
        store.create("a", records)
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
    with kit.open() as store:
        records = chain(6)
        store.create("a", records)
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
    with kit.open() as store:
        records = _with_a_secret()
        head = store.create("a", records)
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
    """Snapshots that saw a record are dropped with its texts, in every fork; others stay."""
    with kit.open() as store:
        records = _with_a_secret()
        store.create("a", records)
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
    """Who read a journal before a text was taken out of it cannot keep a snapshot any more; who read it after can."""
    with kit.open() as store:
        records = _with_a_secret()
        store.create("a", records)
        before = store.redactions("a")
        store.keep_snapshot("a", 1, b"x", "d", redactions=before)
        store.replace_parts("a", [redacted(records[1], [1])])
        store.fork("a", "b", 3)
        store.fork("a", "c", 1)
        store.replace_parts("b", [redacted(records[1], [0, 1])])
        for name in ("a", "b"):
            for version in (1, 3):
                expect_raised(
                    OutdatedTexts, name, store.keep_snapshot, name, version, b"y", "d", redactions=before
                )
        expect_equal([_version(store, name) for name in ("a", "b", "c")], [1, 1, 1], "what is kept")
        expect(before < store.redactions("c") < store.redactions("b"), "a fork counts what was before it")
        for name in ("a", "b"):
            store.keep_snapshot(name, 3, b"z", "d", redactions=store.redactions(name))
        expect_equal(_version(store, "b"), 3, "what was read again")


def only_texts_are_taken_out(kit: Kit) -> None:
    """In a record's place goes that record with texts redacted; of a batch with another, nothing."""
    with kit.open() as store:
        records = _with_a_secret()
        store.create("a", records)
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
    """Giving back room changes nothing that is there."""
    with kit.open() as store:
        records = chain(50)
        store.create("a", records)
        store.create("b", records)
        store.fork("a", "c", 20)
        store.keep_snapshot("a", 3, b"x", "d")
        store.delete("b")
        before = store.journals()
        store.reclaim()
        expect_equal(store.journals(), before, "the journals")
        expect_equal((tuple(store.read("a")), tuple(store.read("c"))), (records, records[:20]), "the records")
        expect_equal(_version(store, "c"), 3, "the snapshot")


def damage_has_no_way_in(kit: Kit) -> None:
    """A record that is not sound is never written, whichever of its texts was touched."""
    with kit.open() as store:
        head = store.create("a", chain(1))
        (record,) = following(head, "x")
        for place, part in enumerate(record.parts):
            parts = list(record.parts)
            parts[place] = Plain(part.text + "!", "0" * 16)
            touched = attrs.evolve(record, parts=tuple(parts))
            expect_raised(DamagedRecord, "touched", store.append, "a", head, [touched])
        expect_equal(store.head("a"), head, "the head")


FORKS: Final[tuple[Promise, ...]] = (
    a_fork_reads_through_its_parent,
    forks_go_their_own_ways,
    forks_have_forks,
    a_fork_below_a_fork_point_is_the_ancestors,
    forks_hold_their_parent,
    snapshots_are_caches,
    forks_share_snapshots,
    what_is_redacted_is_gone_everywhere,
    snapshots_forget_what_is_redacted,
    what_is_redacted_does_not_come_back,
    only_texts_are_taken_out,
    reclaiming_keeps_everything,
    damage_has_no_way_in,
)

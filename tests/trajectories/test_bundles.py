"""Bundles that `mage export` wrote, as traces."""

from __future__ import annotations

from functools import partial

import pytest

from mage.bundle import Bundle, Bundled, encode_bundle
from mage.engine import Accept, Compress, Grow, Revise, Start, StepId
from mage.stores import Record, draft, seal
from mage.trajectories import load, placed
from mage.trajectories.formats import is_bundle
from mage.trajectories.trajectory import Entry
from tests.trajectories.samples import BUNDLE, COMMANDS, bundled, calls_made, records, refused

FORKED = (*COMMANDS[:4], Grow("fish", "a pike"), Compress("One pike caught."), Accept())


def test_sessions_of_a_bundle_have_their_names() -> None:
    """The exported session is last and whole; the one that it was forked from is marked, and whole too."""
    pond, ice = load(BUNDLE, file="out.jsonl").unwrap()
    assert (pond.name, pond.commands, pond.lineage) == ("pond", COMMANDS, True)
    assert (ice.name, ice.commands, ice.lineage) == ("ice", FORKED, False)
    assert pond.summarized
    assert ice.summarized


def test_flat_bundle_is_one_session() -> None:
    """Without its lineage a session is the only one of its bundle, with the same commands."""
    (ice,) = load(bundled(lineage=False), file="out.jsonl").unwrap()
    assert (ice.name, ice.commands, ice.lineage, ice.remarks) == ("ice", FORKED, False, ())


def test_other_sessions_are_said() -> None:
    """The exported session says which others its file holds, and how to see them."""
    ice = load(BUNDLE, file="out.jsonl").unwrap()[-1]
    assert list(map(str, ice.remarks)) == [
        "session 'pond', which this one was forked from; --task shows it at $"
    ]


def test_records_are_placed() -> None:
    """Each record of a session is one of the file, its own or its parent's; one that grew a step stands at it."""
    ice = load(BUNDLE, file="out.jsonl").unwrap()[-1]
    assert placed(ice) == {
        Entry("record 1 of pond", 0): (StepId(0),),
        Entry("record 2 of pond", 1): (StepId(1),),
        Entry("record 5 of ice", 4): (StepId(2),),
    }


def test_record_that_cannot_be_carried_out_is_refused_at_its_place() -> None:
    """Digests can be right where a command is not: the session and the record are said."""
    sound = records((Start("t"), Grow("a", "o")))
    bad: Record = seal(sound[-1].head, draft(None, Revise(StepId(7), ""), {}), lambda: "no secret, no 16")
    bundle = Bundle((Bundled("pond", None, 0, (*sound, bad), bad.head),))
    error = refused(b"".join(encode_bundle(bundle)))
    assert (error.record, error.good) == ("record 3 of pond", 2)
    assert "[Step 7]" in error.problem


@pytest.mark.parametrize("first", [None, 5, [], {}, {"format": "mage-journal"}, {"format": ["mage-bundle"]}])
def test_looks_alone_decide(first: object) -> None:
    """Only the header of a bundle begins one."""
    assert not is_bundle(first)  # type: ignore[arg-type]  # any JSON value
    assert is_bundle({"format": "mage-bundle"})


def test_deep_lineage_is_carried_out_once() -> None:
    """Twice as many forks of forks take about twice the calls to read, though each holds all before it."""

    def bundle(depth: int) -> bytes:
        every = records((Start("t"), *(Grow(f"a{place}", "o") for place in range(3 * depth))))
        journals = [Bundled("0", None, 0, tuple(every[:4]), every[3].head)]
        for place in range(1, depth):
            at = 3 * place + 1
            own = tuple(every[at : at + 3])
            journals.append(Bundled(str(place), str(place - 1), at, own, own[-1].head))
        return b"".join(encode_bundle(Bundle(tuple(journals))))

    once, twice = (calls_made(partial(load, bundle(depth), file="t.jsonl")) for depth in (40, 80))
    assert twice <= 3 * once

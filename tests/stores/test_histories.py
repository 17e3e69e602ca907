"""Any history, kept by any store: forked, closed and opened again it is the one that was lived."""

from __future__ import annotations

from itertools import count
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mage.engine import Command, replay
from mage.stores import NOTHING, JournalStore, Record, fold, redacted, verify
from mage.testing import journals
from mage.testing.stores import Kit, recorded, state_of

_NAMES = count()
_ON_ONE_STORE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)


@_ON_ONE_STORE
@given(journals(), st.data())
def test_a_history_forked_and_opened_again_is_the_one_lived(
    kit: Kit, commands: tuple[Command, ...], data: st.DataObject
) -> None:
    """Written in any batches, a journal leads to the live state; a fork at any version to the state then."""
    records = recorded(commands)
    name = f"history {next(_NAMES)}"
    with kit.open() as store:
        write(store, name, records, data)
        at = data.draw(st.integers(1, len(records)))
        store.fork(name, f"{name}, forked", at)
        check_lived(store, name, commands, at)
    if kit.durable:
        with kit.open() as store:
            check_lived(store, name, commands, at)


def write(store: JournalStore, name: str, records: tuple[Record, ...], data: st.DataObject) -> None:
    """Write a journal in batches of any size."""
    cut = data.draw(st.integers(1, len(records)))
    head = store.create(name, records[:cut])
    while cut < len(records):
        more = data.draw(st.integers(1, len(records) - cut))
        head = store.append(name, head, records[cut : cut + more])
        cut += more


def check_lived(store: JournalStore, name: str, commands: tuple[Command, ...], at: int) -> None:
    """Check that a journal and its fork lead to the states that were lived, read from wherever."""
    live, then = replay(commands).unwrap(), replay(commands[:at]).unwrap()
    assert state_of(store, name) == live
    assert state_of(store, f"{name}, forked") == then
    head = store.head(f"{name}, forked")
    assert fold(verify(head, store.read(name, at)), then) == live


@_ON_ONE_STORE
@given(journals(), st.randoms(use_true_random=False))
def test_a_redacted_history_still_opens(kit: Kit, commands: tuple[Command, ...], chance: Random) -> None:
    """With any texts taken out the journal verifies to the same head, and has the same phase and ids."""
    records = recorded(commands)
    name = f"redacted {next(_NAMES)}"
    with kit.open() as store:
        head = store.create(name, records)
        places = [[place for place in range(len(kept.parts)) if chance.random() < 0.3] for kept in records]
        store.replace_parts(name, map(redacted, records, places))
        state = fold(verify(NOTHING, store.read(name), head))
    live = replay(commands).unwrap()
    assert type(state) is type(live)
    assert (state.tree.next_step, state.tree.next_summary) == (live.tree.next_step, live.tree.next_summary)

"""`mage gc`: what matches is dropped, what a session left reads through never is, and room comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast, final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.cli import doctor
from mage.cli.doctor import _dropped, _lines_of_plan, plan
from mage.cli.naming import StoreName
from mage.cli.sessions import LOOKS, sessions_in
from mage.engine import Start
from mage.stores import (
    NOTHING,
    Head,
    JournalInfo,
    JournalStore,
    MemoryStore,
    draft,
    open_store,
    random_salt,
    seal,
)
from mage.testing.stores import chain, following, state_of
from tests.cli.runner import mage

HOUR = 3_600_000_000


@st.composite
def forests(draw: st.DrawFn) -> tuple[list[JournalInfo], set[str]]:
    """Draw journals of which each may be a fork of an earlier one, and names to be dropped."""
    count = draw(st.integers(0, 9))
    parents = [draw(st.none() | st.integers(0, number - 1)) if number else None for number in range(count)]
    journals = [
        JournalInfo(
            name=f"j{number}",
            head=Head(2, ""),
            parent=None if parent is None else f"j{parent}",
            forked_at=0 if parent is None else 1,
            created=0,
            changed=0,
            payload=0,
            grows=0,
        )
        for number, parent in enumerate(parents)
    ]
    order = draw(st.permutations(journals))
    return order, draw(
        st.sets(st.sampled_from([journal.name for journal in journals]))
    ) if journals else set()


@given(forests())
def test_nothing_is_dropped_that_a_session_left_needs(drawn: tuple[list[JournalInfo], set[str]]) -> None:
    """All that is dropped was chosen; forks go first; nobody who stays reads through one that goes."""
    journals, chosen = drawn
    planned = plan(journals, chosen)
    gone = [journal.name for journal in planned.drop]
    kept = {journal.name: forks for journal, forks in planned.keep}
    parents = {journal.name: journal.parent for journal in journals}
    assert set(gone) | set(kept) == chosen
    assert len(gone) == len(set(gone))
    assert set(gone).isdisjoint(kept)
    for name, parent in parents.items():
        if parent in gone:
            assert name in gone[: gone.index(parent)]
    for name, forks in kept.items():
        assert forks
        assert all(parents[fork] == name and fork not in gone for fork in forks)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return the URL of a store with an old session and its fork, and a newer one."""
    url = f"sqlite:///{tmp_path / 'work.db'}"
    with open_store(url, clock=lambda: HOUR) as store:
        store.create("old", chain(400))
        head = store.fork("old", "old fork", 300)
        store.append("old fork", head, following(head, "a"))
    with open_store(url) as store:
        store.create("new", chain(3))
    return url


def left(url: str) -> list[str]:
    """Return the names of the sessions of a store."""
    return [each["name"] for each in json.loads(mage("sessions", url, "--json").out)["sessions"]]


def test_a_dry_run_drops_nothing(url: str) -> None:
    """It says what would be dropped, in the words of people and of machines."""
    path = Path(url.removeprefix("sqlite:///"))
    before = path.read_bytes()
    told = json.loads(mage("gc", url, "--name", "old*", "--dry-run", "--json").out)
    assert [each["name"] for each in told["dropped"]] == ["old fork", "old"]
    assert mage("gc", url, "--name", "old*", "--dry-run").out.startswith("would drop old%20fork: 1 records")
    assert path.read_bytes() == before
    assert left(url) == ["new", "old", "old fork"]


def test_old_sessions_are_dropped_and_the_file_shrinks(url: str) -> None:
    """By age: the file gives the room back, what is left is whole."""
    told = json.loads(mage("gc", url, "--older-than", "1d", "--trust-clocks", "--json").out)
    assert left(url) == ["new"]
    assert told["file_after"] < told["file_before"] / 2
    with open_store(url) as store:
        assert state_of(store, "new").tree.next_step == 3
    assert mage("doctor", url).status == 0


def test_a_parent_that_a_fork_needs_is_kept_with_its_reason(url: str) -> None:
    """Chosen by name, but read through by a session that stays."""
    ran = mage("gc", url, "--name", "old")
    assert "kept old: read through by old%20fork" in ran.out
    assert left(url) == ["new", "old", "old fork"]
    assert mage("gc", url, "--name", "old fork", "--older-than", "1h", "--trust-clocks").status == 0
    assert mage("gc", url, "--name", "old").status == 0
    assert left(url) == ["new"]


def test_without_a_choice_nothing_is_dropped(url: str) -> None:
    """Free room is given back, and that is all."""
    assert "nothing to drop" in mage("gc", url).out
    ran = mage("gc", url, "--name", "nobody", "--name", "old*")
    assert (ran.status, ran.out) == (1, "")
    assert "no session has a name such as nobody; nothing was dropped" in ran.err
    assert left(url) == ["new", "old", "old fork"]


@pytest.mark.parametrize("age", ["", "d", "1", "1y", "-1d", "1.5h", "9999999999d"])
def test_an_age_that_is_none_is_a_usage_error(url: str, age: str) -> None:
    """Status 2, and nothing is dropped."""
    assert mage("gc", url, "--older-than", age).status == 2
    assert left(url) == ["new", "old", "old fork"]


def at(monkeypatch: pytest.MonkeyPatch, time: int) -> None:
    """Let the clock of whoever collects show a time."""
    monkeypatch.setattr(doctor, "now", lambda: time)


def test_a_live_session_of_a_machine_whose_clock_is_wrong_is_kept(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its times say 1970 and are no evidence: it is written between two looks, so it stays; what rests is dropped."""
    at(monkeypatch, 100 * HOUR)
    first = json.loads(mage("gc", url, "--older-than", "1d", "--json").out)
    assert (first["dropped"], first["too_new_to_tell"]) == ([], ["old", "old fork"])
    assert "old by the clocks of those who wrote" in mage("gc", url, "--older-than", "1d").out
    with open_store(url, clock=lambda: HOUR) as store:
        head = store.head("old fork")
        store.append("old fork", head, following(head, "alive"))
        store.create("rests", chain(2))
    at(monkeypatch, 123 * HOUR)
    assert json.loads(mage("gc", url, "--older-than", "1d", "--json").out)["dropped"] == []
    at(monkeypatch, 125 * HOUR)
    told = json.loads(mage("gc", url, "--older-than", "1d", "--json").out)
    assert [each["name"] for each in told["dropped"]] == ["new"]
    assert told["kept"] == [{"name": "old", "forks": ["old fork"]}]
    assert left(url) == ["old", "old fork", "rests"]
    at(monkeypatch, 148 * HOUR)
    assert mage("gc", url, "--older-than", "1d").status == 0
    assert left(url) == []
    assert mage("doctor", url).status == 0


def test_looks_that_tell_nothing_drop_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a collector whose clock was ahead, damaged ones and a dry run's: less is old then, never more."""
    at(monkeypatch, 1000 * HOUR)
    mage("gc", url, "--older-than", "1d")
    at(monkeypatch, 100 * HOUR)
    mage("gc", url, "--older-than", "1d", "--dry-run")
    assert json.loads(mage("gc", url, "--older-than", "1d", "--json").out)["dropped"] == []
    at(monkeypatch, 125 * HOUR)
    dry = json.loads(mage("gc", url, "--older-than", "1d", "--dry-run", "--json").out)
    assert [each["name"] for each in dry["dropped"]] == ["old fork", "old", "new"]
    with open_store(url) as store:
        store.delete(LOOKS)
    assert json.loads(mage("gc", url, "--older-than", "1d", "--json").out)["dropped"] == []
    assert left(url) == ["new", "old", "old fork"]


@given(
    st.dictionaries(
        st.sampled_from(["a", "b"]), st.none() | st.integers() | st.lists(st.integers() | st.text(max_size=3))
    ),
    st.integers(0, 1000),
)
def test_whatever_a_look_says_nothing_is_older_than_it_can_be(seen: dict[str, object], time: int) -> None:
    """Of any meta of that journal: a session is old only where a look names its very head, and no time ahead."""
    with MemoryStore() as store:
        head = store.create("a", chain(2))
        kept = seal(NOTHING, draft(None, Start(doctor._TASK), {"seen": seen}), random_salt)
        store.create(LOOKS, [kept])
        since = doctor.looked_at(store, sessions_in(store), time)
        assert since.keys() == {"a"}
        assert since["a"] == time or seen["a"] == [head.version, head.digest, since["a"]]
        assert since["a"] <= time


def test_somebody_elses_session_of_that_name_is_not_touched(url: str) -> None:
    """It is refused then, and the session stays."""
    with open_store(url) as store:
        store.create(LOOKS, chain(2))
    ran = mage("gc", url, "--older-than", "1d")
    assert (ran.status, "a session has it" in ran.err) == (1, True)
    with open_store(url) as store:
        assert store.head(LOOKS).version == 2
    assert mage("gc", url, "--trust-clocks").status == 2


def test_what_gc_saw_is_no_session_to_list(url: str) -> None:
    """It is not listed, and no pattern drops it."""
    mage("gc", url, "--older-than", "1d")
    assert left(url) == ["new", "old", "old fork"]
    mage("gc", url, "--name", "*")
    with open_store(url) as store:
        assert [journal.name for journal in store.journals()] == [LOOKS]


@final
class Late:
    """A store in which somebody forks one session, drops another and writes on a third just before they are deleted."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store

    def delete(self, name: str, *, expected: Head | None = None) -> None:
        """Delete a journal, too late."""
        if name == "new":
            self._store.delete(name)
        if name == "old fork":
            self._store.fork(name, "meanwhile", 301)
        if name == "busy":
            head = self._store.head(name)
            self._store.append(name, head, following(head, "acknowledged"))
        self._store.delete(name, expected=expected)


def test_what_others_do_meanwhile_is_respected(url: str) -> None:
    """A session that got a fork is kept with it, one that was written on is kept, one that is gone is not counted."""
    with open_store(url) as store:
        store.create("busy", chain(3))
        planned = plan(store.journals(), {"old", "old fork", "new", "busy"})
        done = _dropped(cast("JournalStore", Late(store)), planned)
        assert done.drop == ()
        assert {journal.name: forks for journal, forks in done.keep} == {
            "old fork": ("meanwhile",),
            "old": ("old fork",),
            "busy": (),
        }
        told = _lines_of_plan(StoreName(url), done, None, dry_run=False)
        assert "kept busy: somebody has written on it meanwhile\n" in told
        assert {info.name for info in store.journals()} == {"old", "old fork", "meanwhile", "busy"}
        assert len(list(store.read("busy"))) == 4

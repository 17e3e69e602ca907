"""Clocks and salts that are none: refused when they are given, and before anything is written; the doctor finds them."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any, cast, final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.stores import NOTHING, BadSource, Draft, MemoryStore, open_store, random_salt, seal
from mage.stores.protocol import checked_clock, is_time
from mage.stores.records import checked_salts, is_salt
from mage.testing.stores import chain, following
from tests.cli.runner import mage
from tests.session.twins import Twin, both

CLOCKS: dict[str, object] = {
    "seconds": time.time,
    "nanoseconds": time.time_ns,
    "too large": lambda: 2**63,
    "larger than Python spells": lambda: 10**5000,
    "before 1970": lambda: -1,
    "a truth": lambda: True,
    "a text": lambda: "1700000000000000",
    "nothing": lambda: None,
    "no number": lambda: float("nan"),
    "no function": 1_700_000_000_000_000,
}
SALTS: dict[str, object] = {
    "short": lambda: "x" * 15,
    "long": lambda: "x" * 17,
    "empty": lambda: "",
    "bytes": lambda: b"x" * 16,
    "nothing": lambda: None,
    "a pair of surrogates": lambda: "\ud83d\ude00" * 8,
    "no function": "x" * 16,
}


@pytest.mark.parametrize("name", CLOCKS)
def test_a_clock_that_is_none_is_refused_when_a_store_is_opened(tmp_path: Path, name: str) -> None:
    """By its type and in one line, and no file is made."""
    clock = cast("Any", CLOCKS[name])
    with pytest.raises(BadSource, match="the clock cannot be used"):
        open_store("memory:", clock=clock)
    with pytest.raises(BadSource):
        MemoryStore(clock=clock)
    with pytest.raises(BadSource):
        open_store(f"sqlite:///{tmp_path / 'work.db'}", clock=clock)
    assert not any(tmp_path.iterdir())


@both
@pytest.mark.parametrize("name", SALTS)
def test_salts_that_are_none_make_no_file(twin: Twin, tmp_path: Path, name: str) -> None:
    """A session that is begun with them is refused before its store is made."""
    with pytest.raises(BadSource):
        twin.open(f"sqlite:///{tmp_path / 'work.db'}", "s", task="t", salts=SALTS[name])
    assert not any(tmp_path.iterdir())


@final
class Breaking:
    """A source that is right until it breaks."""

    def __init__(self, right: object, wrong: object) -> None:
        self._given = right
        self._wrong = wrong

    def __call__(self) -> Any:
        """Give what is right, or wrong."""
        return self._given

    def break_now(self) -> None:
        """Give what is wrong from now on."""
        self._given = self._wrong


def wrong_of(given: object) -> object:
    """Return what a source gives; what is no function cannot break later, and gives another wrong thing."""
    return given() if callable(given) else "no function"


@pytest.mark.parametrize("name", CLOCKS)
def test_a_clock_that_breaks_later_writes_nothing(url: str, name: str) -> None:
    """Whatever it gives then, in SQL stores and in memory: a typed refusal, and everything is as it was."""
    for place in ("memory:", url):
        clock = Breaking(5, wrong_of(CLOCKS[name]))
        with open_store(place, clock=clock) as store:
            head = store.create("a", chain(2))
            before = store.journals()
            clock.break_now()
            with pytest.raises(BadSource):
                store.create("b", chain(1))
            with pytest.raises(BadSource):
                store.append("a", head, following(head, "x"))
            with pytest.raises(BadSource):
                store.fork("a", "c", 1)
            assert store.journals() == before
            assert len(list(store.read("a"))) == 2


@both
@pytest.mark.parametrize("name", CLOCKS)
def test_a_session_refuses_a_clock_that_is_none(twin: Twin, name: str) -> None:
    """When it is opened, also where nothing would be written; and later before the store is asked."""
    store, given = MemoryStore(), CLOCKS[name]
    with pytest.raises(BadSource):
        twin.open(store, "s", task="t", clock=given)
    assert store.journals() == ()
    twin.open(store, "s", task="t")
    with pytest.raises(BadSource):
        twin.open(store, "s", clock=given)
    clock = Breaking(5, wrong_of(given))
    with twin.open(store, "s", clock=clock) as session:
        clock.break_now()
        with pytest.raises(BadSource):
            session.grow("a", "b")
        assert session.head == store.head("s")
        assert session.head.version == 1


@both
@pytest.mark.parametrize("name", SALTS)
def test_a_session_refuses_salts_that_are_none(twin: Twin, name: str) -> None:
    """The same of salts; what was given is not repeated in the message."""
    store, given = MemoryStore(), SALTS[name]
    with pytest.raises(BadSource, match="the salts cannot be used"):
        twin.open(store, "s", task="t", salts=given)
    assert store.journals() == ()
    twin.open(store, "s", task="t")
    salts = Breaking("s" * 16, wrong_of(given))
    with twin.open(store, "s", salts=salts) as session:
        salts.break_now()
        with pytest.raises(BadSource):
            session.grow("a", "b")
        assert session.head == store.head("s")
        assert session.head.version == 1


def test_a_record_is_not_sealed_with_a_salt_that_is_none() -> None:
    """Also for those who seal records themselves."""
    with pytest.raises(BadSource):
        seal(NOTHING, Draft('{"op":"start"}', ("t", "{}")), lambda: "short")


@given(st.integers() | st.floats() | st.booleans() | st.text() | st.none() | st.binary())
def test_what_is_no_time_is_never_given(value: object) -> None:
    """Of any value: the clock gives it if it is a time, and else raises."""
    clock = Breaking(0, value)
    checked = checked_clock(clock)
    clock.break_now()
    if is_time(value):
        assert checked() == value
    else:
        with pytest.raises(BadSource):
            checked()
    assert checked_clock(checked) is checked


@given(st.text(max_size=20) | st.text("abc", min_size=15, max_size=17) | st.binary(max_size=17) | st.none())
def test_what_is_no_salt_is_never_given(value: object) -> None:
    """Of any value: it is given if it is a salt, and else refused."""
    salts = Breaking(random_salt(), value)
    checked = checked_salts(salts)
    salts.break_now()
    if is_salt(value):
        assert checked() == value
    else:
        with pytest.raises(BadSource):
            checked()
    assert checked_salts(checked) is checked


@pytest.mark.parametrize("time_of_row", ["1700000000.5", "9223372036854775807", "'yesterday'", "-5"])
def test_the_doctor_finds_rows_with_times_that_are_none(tmp_path: Path, time_of_row: str) -> None:
    """As an older mage may have written them: the session is named, and is sound all the same."""
    path = tmp_path / "work.db"
    with open_store(f"sqlite:///{path}") as store:
        store.create("a", chain(3))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE mage_journals SET changed = {time_of_row}")
    told = json.loads(mage("doctor", f"sqlite:///{path}", "--json").out)
    assert [(each["session"], each["fault"]) for each in told["findings"]] == [("a", "time")]
    assert told["salvaged"] == []


@pytest.mark.parametrize("at", ["1.5", "9223372036854775808", '"now"', "-1", "true"])
def test_the_doctor_finds_records_with_times_that_are_none(tmp_path: Path, at: str) -> None:
    """What goes with a record says its time; one that is none is named with its record."""
    path = tmp_path / "work.db"
    first = chain(1)
    wrong = seal(first[0].head, Draft('{"op":"grow"}', ("a", "b", f'{{"at":{at}}}')), lambda: "s" * 16)
    with open_store(f"sqlite:///{path}") as store:
        store.create("a", [*first, wrong])
    told = json.loads(mage("doctor", f"sqlite:///{path}", "--json").out)
    assert [(each["version"], each["fault"]) for each in told["findings"]] == [(2, "time")]

"""Interrupts at any line, and openings that meet closings: the file stays usable in this process, and nothing is lost."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from linecache import getline
from pathlib import Path
from threading import RLock, Thread
from types import FrameType
from typing import Any, Final

import pytest

import mage.stores
from mage.stores import JournalStore, StoreUnavailable, open_store, sqlite
from mage.stores.doctor import examine, kept_at
from mage.stores.sqlite import Place, Watched
from mage.testing.stores import chain, following
from tests.stores.moments import heard
from tests.stores.test_sqlite import at

STORES: Final = str(Path(mage.stores.__file__).parent)
FORKS: Final = sys.platform != "win32"


def names_above(frame: FrameType | None) -> Iterator[str]:
    """Yield the names of the functions that a frame is called by: what is raised in a finalizer Python keeps to itself."""
    while frame is not None:
        yield frame.f_code.co_name
        frame = frame.f_back


class Interrupts:
    """Raises `KeyboardInterrupt` at one line of the stores, as a signal handler does between any two steps.

    Not where a `with` is left: Python calls `__exit__` behind the body before it looks for a signal, but tells of the
    line in between. What is raised there keeps a lock for ever, and no signal could.
    """

    def __init__(self, line: int) -> None:
        self._left = line
        self._last: dict[int, int] = {}  # by the id of a frame, which it must not keep
        self.came = False

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        """Follow what is called in the stores."""
        if not frame.f_code.co_filename.startswith(STORES) or "__del__" in names_above(frame):
            return None
        if event == "call":
            self._last.pop(id(frame), None)
        if event == "line" and not self.came and not self._leaves_with(frame):
            self._left -= 1
            if self._left < 0:
                self.came = True
                raise KeyboardInterrupt
        return self

    def _leaves_with(self, frame: FrameType) -> bool:
        is_back = frame.f_lineno <= self._last.get(id(frame), 0)
        self._last[id(frame)] = frame.f_lineno
        return is_back and getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")

    def during(self, work: Callable[[], object]) -> None:
        """Carry out work, as far as it comes."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            with suppress(KeyboardInterrupt):
                work()
        finally:
            sys.settrace(before)


def appended(store: JournalStore, text: str) -> None:
    """Append to "a"."""
    head = store.head("a")
    store.append("a", head, following(head, text))


def opens_in_child(url: str) -> bool:
    """Tell whether a child can use the file: it cannot where its parent left a transaction or a connection open."""
    gc.collect()  # a connection that was interrupted while it opened is freed by the collector alone
    child = os.fork()
    if not child:
        status = 1
        try:
            with open_store(url) as store:
                appended(store, "by a child")
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def another_thread_gets(lock: RLock) -> bool:
    """Tell whether a lock is free: this thread could enter one that it holds itself."""
    got: list[bool] = []

    def enter() -> None:
        got.append(lock.acquire(blocking=False))
        if got[0]:
            lock.release()

    thread = Thread(target=enter)
    thread.start()
    thread.join()
    return got[0]


def _open_append_close(url: str, told: list[str], text: str) -> None:
    with open_store(url) as store:
        appended(store, text)
        told.append(text)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.slow)])
def test_an_interrupt_at_any_line_leaves_the_file_usable(tmp_path: Path, step: int, beside: bool) -> None:
    """Opened, written and closed with an interrupt at each line in turn, alone or beside another opening: what was told is
    there, the next opening works, and so does one in a child.
    """
    url = at(tmp_path)
    with open_store(url) as store:
        store.create("a", chain(1))
    told: list[str] = []
    other = open_store(url) if beside else None
    line, came = 0, True
    gc.collect()
    gc.disable()  # what an interrupt leaves must not stand in the way until a collection
    while came:
        interrupts = Interrupts(line)
        interrupts.during(partial(_open_append_close, url, told, f"line {line}"))
        came = interrupts.came
        with open_store(url, patience=0) as store:
            appended(store, f"after {line}")
            told.append(f"after {line}")
        if FORKS and line % 5 == 0:
            assert opens_in_child(url), line
        assert another_thread_gets(sqlite._LOCK[0]), line
        line += step
    gc.enable()
    assert line > 100
    if other is not None:
        other.close()
    with open_store(url) as store:
        there = [record.parts for record in store.read("a")]
        texts = {text for text in told if any(text in str(parts) for parts in there)}
        assert texts == set(told)
    with kept_at(url) as kept:
        assert examine(kept).findings == ()


def take_its_inodes(path: Path) -> None:
    """Make files, so that a log that is made anew gets another inode than the one that was removed."""
    for number in range(4):
        path.with_name(f"{path.name}.{number}").touch()


@pytest.mark.parametrize("how", ["closed", "dropped"])
@pytest.mark.parametrize("moment", ["adopt", "note_log"])
def test_the_last_may_close_while_another_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, moment: str
) -> None:
    """A thread closes, or drops, the last store of a file while another opens one: the log is SQLite's to make anew."""
    path = tmp_path / "work.db"
    stores = [open_store(at(tmp_path))]
    head = stores[0].create("a", chain(2))
    real = getattr(Place, moment)

    def meanwhile(place: Place, connection: Watched) -> None:
        if moment == "adopt":
            real(place, connection)
        while stores:
            store = stores.pop()
            if how == "closed":
                store.close()
            del store
            gc.collect()
            take_its_inodes(path)
        if moment == "note_log":
            real(place, connection)

    monkeypatch.setattr(Place, moment, meanwhile)
    with open_store(at(tmp_path)) as store:
        assert not stores
        assert store.head("a") == head
        appended(store, "x")
        path.with_name("work.db-wal").unlink()  # and this is noticed again
        with pytest.raises(StoreUnavailable, match="write-ahead log"):
            store.head("a")


@pytest.mark.skipif(not FORKS, reason="nothing forks there")
@pytest.mark.parametrize("moment", ["begin", "statement", "done", "commit", "rollback"])
def test_an_interrupt_leaves_nobody_inside(url: str, moment: str) -> None:
    """Interrupted at each moment of a transaction, a store of either kind goes on, and a fork need not wait for it."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    store, moments = heard(url)
    with store:
        head = store.create("a", chain(2))
        moments.once(interrupt, moment)
        with pytest.raises(KeyboardInterrupt):
            store.append("a", head, following(head, "x"))
        moments.quiet()
        assert store.head("a").version in (2, 3)  # what was committed already stays
        appended(store, "y")
        assert opens_in_child(url)

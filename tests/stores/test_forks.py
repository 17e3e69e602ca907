"""Processes that fork: what was opened before is refused after it, the file can be opened anew, and nothing hangs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mage.stores import open_store, verify
from mage.stores.records import NOTHING
from tests.stores.test_locks import python
from tests.stores.test_sqlite import at

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")

_CHILD = """
import os, sys, traceback
import warnings

warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of forks beside threads: that is what is tried


def in_child(work):
    '''Fork, work in the child, and end it as a program ends: by its last line. Return what it told.'''
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(reading)
        told = "?"
        try:
            told = str(work())
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(writing, told.encode())
        os.close(writing)
        sys.exit(7)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 7, status
    return text


url = sys.argv[1]
"""

_STORE = (
    _CHILD
    + """
from mage.stores import in_thread, open_store
from mage.testing.stores import chain, following
import asyncio

store = open_store(url)
awaited = in_thread(store)
head = store.create("a", chain(2))
asyncio.run(awaited.head("a"))
uses = {
    "append": lambda: store.append("a", head, following(head, "child")),
    "create": lambda: store.create("b", chain(2)),
    "fork": lambda: store.fork("a", "c", 1),
    "head": lambda: store.head("a"),
    "read": lambda: list(store.read("a")),
    "journals": lambda: store.journals(),
    "delete": lambda: store.delete("a"),
    "replace_parts": lambda: store.replace_parts("a", []),
    "redactions": lambda: store.redactions("a"),
    "keep_snapshot": lambda: store.keep_snapshot("a", 1, b"", ""),
    "snapshot": lambda: store.snapshot("a"),
    "drop_snapshots": lambda: store.drop_snapshots("a"),
    "reclaim": lambda: store.reclaim(),
    "awaited": lambda: asyncio.run(awaited.head("a")),
}
for name, use in uses.items():
    told = in_child(use)
    print(name, told.split(":")[0], "after the fork" in told)
print("close", in_child(store.close))
print("awaited close", in_child(lambda: asyncio.run(awaited.close())))
print(store.append("a", head, following(head, "parent")).version)
"""
)


@pytest.mark.parametrize("kind", ["memory", "durable"])
def test_a_store_is_refused_in_a_child(kind: str, url: str) -> None:
    """Each operation on a store that was opened before a fork is refused at once in the child; closing does no harm."""
    ran = python(_STORE, "memory:" if kind == "memory" else url)
    assert ran.returncode == 0, ran.stderr
    *uses, close, awaited, last = ran.stdout.splitlines()
    assert [use.split()[1:] for use in uses] == [["WrongProcess", "True"]] * 14
    assert (close, awaited, last) == ("close None", "awaited close None", "3")


_SESSION = (
    _CHILD
    + """
import asyncio
from mage import AsyncSession, Passed, Session
from mage.stores import MemoryStore

where = MemoryStore() if url == "memory:" else url
session = Session.open(where, "a", task="t", judge=lambda request: Passed())
session.grow("x", "y")
uses = [
    lambda: session.grow("child", "y"), lambda: session.instruct("z"), lambda: session.compress("z"),
    lambda: session.retext("z"), lambda: session.judge(Passed(), ""), lambda: session.accept(),
    lambda: session.revise(0), lambda: session.fork("f"), lambda: session.at(1), lambda: session.history(),
    lambda: session.refresh(),
]
print({in_child(use).split(":")[0] for use in uses})
with session._lock:  # as a thread would hold it at that moment
    print(in_child(lambda: session.grow("child", "y")).split(":")[0], in_child(session.close))
print(in_child(lambda: session.state().raw[0].action))


async def awaited():
    kept = await AsyncSession.open(where, "b", task="t")
    await kept.grow("x", "y")
    for use in (lambda: kept.grow("child", "y"), kept.close):
        child = os.fork()
        if not child:
            try:
                print(await use(), flush=True)
            except BaseException as error:
                print(type(error).__name__, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
    await kept.close()


asyncio.run(awaited())
session.grow("parent", "y")
session.close()
"""
)


@pytest.mark.parametrize("kind", ["memory", "durable"])
def test_a_session_is_refused_in_a_child(kind: str, url: str) -> None:
    """Each operation of both twins is refused, also where a thread held the session; what was read can be read."""
    ran = python(_SESSION, "memory:" if kind == "memory" else url)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["{'WrongProcess'}", "WrongProcess None", "x", "WrongProcess", "None"]


_RUN = (
    _CHILD
    + """
from mage.agent import Agent
from mage.effects import Capabilities, Decision, Observed

decisions = iter([Decision.act("look"), Decision.act("go"), Decision.finish("done")])


class Forks:
    '''An environment that comes back from its second action twice: in a child too.'''

    capabilities = Capabilities()

    def reset(self):
        return Observed("here")

    def act(self, action):
        self.child = 0
        if action == "go":
            self.child = os.fork()
            self.is_child = not self.child
            if self.child:
                os.waitpid(self.child, 0)
        return Observed("seen")


world = Forks()
outcome = Agent(model=lambda request: next(decisions), environment=world).run(url, "a", task="t")
print(type(outcome).__name__, getattr(outcome, "detail", ""), flush=True)
if world.is_child:
    os._exit(0)
"""
)


def test_a_run_that_forks_goes_on_in_the_parent_alone(url: str) -> None:
    """A run whose environment comes back in a child too ends there, saying why, and goes on where it was begun."""
    ran = python(_RUN, url)
    child, parent = ran.stdout.splitlines()
    assert child.startswith("RunFailed"), ran
    assert "process" in child
    assert parent.startswith("RunFinished"), ran


_DAEMON = (
    _CHILD
    + """
from mage import Session

session = Session.open(url, "a", task="t")
session.grow("before", "y")
if os.fork():
    os._exit(0)  # the parent is gone, and its locks with it
with Session.open(url, "a") as mine:
    for number in range(20):
        mine.grow(f"daemon {number}", "y")
        print(mine.version, flush=True)
"""
)


def test_a_daemon_opens_its_own(url: str) -> None:
    """A process that becomes a daemon opens the session anew: what it is told is written is there."""
    ran = python(_DAEMON, url)
    assert ran.stdout.split()[-1:] == ["22"], ran.stderr
    with open_store(url) as store:
        assert store.head("a").version == 22


_BUSY = (
    _CHILD
    + """
from threading import Event, Thread
from mage.stores import Conflict, open_store
from mage.testing.stores import chain, following, write_many

with open_store(url) as store:
    store.create("shared", chain(1))
store = open_store(url)
ended = Event()
acknowledged = []


def write(thread):
    number = 0
    while not ended.is_set():
        number += 1
        written = write_many(store, "shared", [f"thread {thread}, {number}"])
        acknowledged.extend(written.acknowledged.items())


def be(child):
    told = []
    try:
        store.head("shared")
    except Exception as error:
        told.append(type(error).__name__)
    with open_store(url) as mine:
        written = write_many(mine, "shared", [f"child {child}, {number}" for number in range(3)])
    return told, sorted(written.acknowledged.items())


threads = [Thread(target=write, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
children = [in_child(lambda: be(child)) for child in range(12)]
ended.set()
for thread in threads:
    thread.join()
store.close()
for child in children:
    told, written = eval(child)
    assert told == ["WrongProcess"]
    acknowledged += written
with open_store(url) as store:
    there = {record.parts[0].text: record.version for record in store.read("shared", 1)}
assert there == dict(acknowledged), (len(there), len(acknowledged))
print("all there")
"""
)


def test_forks_beside_threads_that_write(url: str) -> None:
    """Forked while threads write: each child is refused the store, opens another, writes and ends; nothing is lost."""
    ran = python(_BUSY, url)
    assert ran.stdout == "all there\n", ran.stderr
    with open_store(url) as store:
        assert len(list(verify(NOTHING, store.read("shared")))) == store.head("shared").version


_HELD = (
    _CHILD
    + """
from threading import Event, Thread
from mage.stores import open_store
from mage.stores import transactions

transactions._LONGEST = 0.05
store = open_store(url)
inside, end = Event(), Event()


def hold():
    def work(connection):
        connection.execute("SELECT 1")
        inside.set()
        end.wait()

    store._transactions.read(work)


thread = Thread(target=hold)
thread.start()
inside.wait()
print(in_child(lambda: open_store(url)))
end.set()
thread.join()
print(len(store.journals()), in_child(lambda: len(open_store(url).journals())))
"""
)


def test_a_file_in_use_at_the_fork_is_not_opened_in_the_child(url: str) -> None:
    """Where a transaction outlasts the fork's patience, SQLite in the child would trust the parent's locks: refused."""
    ran = python(_HELD, url)
    first, last = ran.stdout.splitlines()
    assert last == "0 0"
    if url.startswith("sqlite"):
        assert first.startswith("WrongProcess: the file")
        assert "close its stores there before a fork" in first
    else:
        assert "SqlStore" in first


_HOOKS = """
import os, sys

url, when = sys.argv[1:]
session = None


def use():
    if session is not None and when == "close before":
        session.close()
    elif session is not None and when != "in the child":
        session.refresh()
    elif session is not None:
        with mage.Session.open(url, "b", task="t") as mine:
            mine.grow("x", "y")


where = {"close before": "before", "before": "before", "in the parent": "after_in_parent"}
os.register_at_fork(**{where.get(when, "after_in_child"): use})  # before mage has any hook
import mage

session = mage.Session.open(url, "a", task="t")
child = os.fork()
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
with mage.Session.open(url, "a") as again:
    print(again.grow("x", "y").tree.next_step)
"""


@pytest.mark.parametrize("when", ["close before", "before", "in the parent", "in the child"])
def test_hooks_of_the_host_may_use_a_store(when: str, url: str) -> None:
    """A host that closes, uses or opens a session in hooks of its own at a fork, before ours or after, is not held up."""
    ran = python(_HOOKS, url, when)
    assert (ran.stdout, ran.returncode) == ("2\n", 0), ran.stderr
    assert "Exception ignored" not in ran.stderr


_INTERRUPTED = (
    _CHILD
    + """
import signal
from threading import Event, Thread
from mage.stores import open_store

store = open_store(url)
inside, end = Event(), Event()


def hold():
    def work(connection):
        connection.execute("SELECT 1")
        inside.set()
        end.wait()

    store._transactions.read(work)


def interrupt(*_):
    raise KeyboardInterrupt


thread = Thread(target=hold)
thread.start()
inside.wait()
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
finally:
    end.set()
thread.join()
print(len(store.journals()), in_child(lambda: len(open_store(url).journals())))
"""
)


def test_a_fork_that_is_interrupted_holds_nobody_up(url: str) -> None:
    """Ctrl-C while a fork waits for a transaction: afterwards the store goes on, and forks do."""
    ran = python(_INTERRUPTED, url)
    assert ran.stdout == "0 0\n", ran.stderr


_LATE = (
    _CHILD
    + """
import asyncio
from mage import AsyncSession
from mage.stores import in_thread, open_store

store = open_store(url)
asyncio.run(in_thread(store).journals())
print(in_child(lambda: asyncio.run(in_thread(store).journals())).split(":")[0])
print(in_child(lambda: asyncio.run(AsyncSession.open(store, "a", task="t"))).split(":")[0])
"""
)


def test_a_twin_that_is_made_in_the_child_is_refused_too(url: str) -> None:
    """The threads of the parent's twins are none in a child: a new twin of the old store is refused, and waits for none."""
    ran = python(_LATE, url)
    assert ran.stdout.splitlines() == ["WrongProcess", "WrongProcess"], ran.stderr


_CLOCK = (
    _CHILD
    + """
from mage.stores import WrongProcess, open_store
from mage.testing.stores import chain, following

child = None


def clock():
    global child
    if forks:
        forks.clear()
        child = os.fork()
    return 5


forks = []
store = open_store(url, clock=clock)
head = store.create("a", chain(2))
for use in (
    lambda: store.create("b", chain(2)), lambda: store.fork("a", "c", 1),
    lambda: store.append("a", head, following(head, "x")),
):
    forks.append(1)
    try:
        version = use().version
    except WrongProcess:
        os._exit(7)
    if not child:
        os._exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), version)
"""
)


def test_what_a_clock_forks_off_writes_nothing(url: str) -> None:
    """Where a clock forks, the child is refused, and the parent goes on."""
    ran = python(_CLOCK, url)
    assert ran.stdout.split("\n") == ["7 2", "7 1", "7 3", ""], ran.stderr


_LOST = (
    _CHILD
    + """
from pathlib import Path
from mage.stores import StoreUnavailable, open_store
from mage.testing.stores import chain
from tests.stores.test_locks import _PASSES_BY, python, strip_locks

store = open_store(url)
store.create("a", chain(50))
strip_locks(Path(url.removeprefix("sqlite:///")))
assert python(_PASSES_BY, url, "by").returncode == 0
try:
    store.head("a")
except StoreUnavailable as error:
    print("write-ahead log" in str(error))
for _ in range(2):
    store.close()
print(in_child(lambda: open_store(url)).split(":")[0])
"""
)


def test_a_child_does_not_use_a_file_whose_log_its_parent_has_lost(tmp_path: Path) -> None:
    """What its parent may not use any more a child may not either: SQLite would share the old index there too."""
    ran = python(_LOST, at(tmp_path))
    assert ran.stdout.splitlines() == ["True", "WrongProcess"], ran.stderr

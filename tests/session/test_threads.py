"""Several at once: threads on one session, sessions on one journal, processes on one file."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event, Semaphore
from typing import Any

from mage import Conflict, Failed, FoldRequest, JudgeRequest, Session, Verdict
from mage.engine import Grow, Rejected, replay
from mage.stores import Head, JournalStore, MemoryStore

WRITERS = 4
EACH = 25


def test_threads_share_a_session(store: JournalStore) -> None:
    """Whatever threads grow on one session is there exactly once, each thread's in its own order, no conflict."""
    with Session.open(store, "s", task="t") as session, ThreadPoolExecutor(WRITERS) as pool:
        together = Barrier(WRITERS)

        def write(writer: int) -> None:
            together.wait()
            for number in range(EACH):
                session.grow(f"{writer} {number}", "o")

        for done in [pool.submit(write, writer) for writer in range(WRITERS)]:
            done.result()
        _check_all_there(session, [f"{w} {n}" for w in range(WRITERS) for n in range(EACH)])


def _check_all_there(session: Session, acknowledged: list[str]) -> None:
    commands = [entry.command for entry in session.history()]
    grown = [command.action for command in commands if isinstance(command, Grow)]
    assert Counter(grown) == Counter(acknowledged)
    for writer in {action.split()[0] for action in grown}:
        numbers = [int(action.split()[1]) for action in grown if action.split()[0] == writer]
        assert numbers == sorted(numbers)
    assert replay(commands).unwrap() == session.phase


class OneAtATime:
    """A store that waits a moment in each append for another one to come in, and counts those who did."""

    def __init__(self) -> None:
        self.inner = MemoryStore()
        self.inside = Semaphore(1)
        self.met = 0
        self._nobody = Event()

    def append(self, *given: Any) -> Head:
        alone = self.inside.acquire(blocking=False)
        self.met += not alone
        self._nobody.wait(0.02)
        try:
            return self.inner.append(*given)
        finally:
            if alone:
                self.inside.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_turns_of_one_session_never_overlap() -> None:
    """Two threads on one session wait for each other, even where the store is slow: neither meets a conflict."""
    store = OneAtATime()
    with Session.open(store, "s", task="t") as session, ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(session.grow, f"a{number}", "o") for number in range(6)]:
            done.result()
        assert session.version == 7
    assert store.met == 0


def test_sessions_share_a_journal(store: JournalStore) -> None:
    """Each acknowledged command of many sessions is there exactly once; every loser is told, and tries again."""
    Session.open(store, "s", task="t").close()
    together = Barrier(WRITERS)

    def write(writer: int) -> tuple[list[str], int]:
        acknowledged: list[str] = []
        told = 0
        with Session.open(store, "s") as session:
            together.wait()
            while len(acknowledged) < EACH:
                action = f"{writer} {len(acknowledged)}"
                before = session.version
                try:
                    session.grow(action, "o")
                except Conflict:
                    assert session.version == before
                    told += 1
                    session.refresh()
                else:
                    acknowledged.append(action)
        return acknowledged, told

    with ThreadPoolExecutor(WRITERS) as pool:
        results = [done.result() for done in [pool.submit(write, writer) for writer in range(WRITERS)]]
    with Session.open(store, "s") as session:
        _check_all_there(session, [action for acknowledged, _ in results for action in acknowledged])
        assert session.version == 1 + WRITERS * EACH


WRITER = """
import sys
from mage import Conflict, Session
url, writer = sys.argv[1:]
session = Session.open(url, "s", task="t")
told = number = 0
while number < 25:
    try:
        session.grow(f"{writer} {number}", "o")
    except Conflict:
        told += 1
        session.refresh()
    else:
        number += 1
session.close()
print(told)
"""


def test_processes_share_a_file(tmp_path: Path) -> None:
    """Processes that open and create one session in one file at once lose nothing and double nothing."""
    url = f"sqlite:///{tmp_path / 'work.db'}"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, str(writer)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).resolve().parents[2],
        )
        for writer in range(3)
    ]
    for process in running:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out.strip().isdigit()
    with Session.open(url, "s") as session:
        _check_all_there(session, [f"{w} {n}" for w in range(3) for n in range(EACH)])


def test_others_go_on_while_the_judge_thinks(store: JournalStore) -> None:
    """A slow judge keeps nobody waiting: another thread grows the same session, and the verdict lands behind that."""
    asked, may_answer = Event(), Event()

    def slow(request: JudgeRequest | FoldRequest, /) -> Verdict:
        asked.set()
        assert may_answer.wait(30)
        return Failed("no")

    with Session.open(store, "s", task="t", judge=slow) as session, ThreadPoolExecutor(1) as pool:
        session.grow("a", "o")
        compressing = pool.submit(session.compress, "s")
        assert asked.wait(30)
        session.grow("b", "o")
        may_answer.set()
        assert isinstance(compressing.result(), Rejected)
        session.accept()
        assert [step.action for step in session.state().raw] == ["b"]

"""SQLite's locks, which a process loses with any descriptor of the file that it closes; and files that are taken away."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mage.session import Session
from mage.stores import Head, StoreUnavailable, open_store
from mage.stores.doctor import examine, kept_at
from mage.testing.stores import chain, following
from tests.stores.moments import heard
from tests.stores.test_sqlite import at

ROOT = Path(__file__).resolve().parents[2]


def python(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


_OPENED = """
import sys
from pathlib import Path

place = Path(sys.argv[1])
found = set()


def hear(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)) and Path(str(arguments[0])).name == "work.db":
        found.add(doing)


doing = "setting up"
sys.addaudithook(hear)
import os

os.chdir(place)
from mage import Session
from mage.stores import open_store
from mage.stores.doctor import examine, kept_at
from tests.cli.runner import mage

URL = "sqlite:///work.db"
session = Session.open(URL, "a", task="t")
other = Session.open(URL, "b", task="t")
for number in range(3):
    session.grow(f"act {number}", "a secret")
for doing in (
    "sessions URL", "log URL#a", "tree URL#a", "show URL#a", "check URL#a", "fork URL#a f", "diff URL#a URL#a",
    "export URL#a --lineage --out=a.jsonl", "import a.jsonl URL#c", "redact URL#a secret --dry-run",
    "redact URL#a secret", "redact URL secret", "doctor URL", "doctor URL --repair sqlite:///copy.db", "gc URL --name c",
    "revise URL#b 0", "run --offline --session URL#run", "rerun URL#run", "rerun URL#run --policy maintain=false --offline --into URL#again",
):
    ran = mage(*doing.replace("URL", URL).split())
    if ran.status not in (0, 1) or ran.err:  # 1: what was run again differs
        print(doing, ran)
doing = "the doctor in Python"
with kept_at(URL) as kept:
    if examine(kept).findings:
        print(examine(kept).findings)
doing = "a second store"
open_store(URL).close()
print(sorted(found))
"""


def test_nothing_opens_the_database_beside_sqlite(tmp_path: Path) -> None:
    """No command and no call opens the file itself, whose locks would be gone when it is closed."""
    ran = python(_OPENED, tmp_path)
    assert (ran.stdout, ran.returncode) == ("[]\n", 0), ran.stderr


_BESIDE = """
import os, subprocess, sys
from mage import Session
from mage.stores.doctor import kept_at

url, what = sys.argv[1:]
a, b = Session.open(url, "a", task="t"), Session.open(url, "b", task="t")
commands = {
    "log": [["log", f"{url}#a"]],
    "doctor": [["doctor", url]],
    "rerun": [["run", "--offline", "--session", f"{url}#r"], ["rerun", f"{url}#r", "--policy", "maintain=false", "--offline", "--into", f"{url}#again"]],
}
if what == "kept_at":
    with kept_at(url):
        pass
    what = "log"
for command in commands[what]:
    ran = subprocess.run([sys.executable, "-m", "mage", *command], stdout=subprocess.DEVNULL)
    assert ran.returncode in (0, 1)  # 1: what was run again differs
for number in range(20):
    a.grow(f"act {number}", "seen")
    b.grow(f"act {number}", "seen")
    print(a.version, b.version, flush=True)
os._exit(9)
"""


@pytest.mark.parametrize("what", ["log", "doctor", "rerun", "kept_at"])
def test_two_openings_outlast_others_that_come_and_go(tmp_path: Path, what: str) -> None:
    """Two sessions in one process, a command beside them that closes the store, a kill: nothing acknowledged is lost."""
    ran = python(_BESIDE, at(tmp_path), what)
    assert ran.returncode == 9, ran.stderr
    last = tuple(map(int, ran.stdout.split()[-2:]))
    assert last == (21, 21)
    with open_store(at(tmp_path)) as store:
        assert (store.head("a").version, store.head("b").version) == last
    with kept_at(at(tmp_path)) as kept:
        assert examine(kept).findings == ()


def test_a_rename_in_the_log_alone_is_the_files_own(tmp_path: Path) -> None:
    """After a kill behind a rename only the log has the new name: the log is no other store's, and nothing of it is lost."""
    killed = tmp_path / "killed.db"
    with open_store(at(tmp_path)) as store:
        store.create("monday", chain(3))
    with open_store(at(tmp_path)) as store:
        store.rename("monday", "tuesday")
        head = store.append("tuesday", store.head("tuesday"), following(store.head("tuesday"), "x"))
        for ending in ("", "-wal"):
            shutil.copy(tmp_path / f"work.db{ending}", f"{killed}{ending}")
    with kept_at(f"sqlite:///{killed}") as kept:
        examined = examine(kept)
    assert examined.findings == ()
    assert [(sound.name, sound.upto) for sound in examined.sound] == [("tuesday", head.version)]


def strip_locks(path: Path) -> None:
    """Do what nobody should: open and close the file in a process that has it open in SQLite."""
    path.read_bytes()


_PASSES_BY = """
import sys
from mage.stores import open_store
from mage.testing.stores import following
with open_store(sys.argv[1]) as store:
    for text in sys.argv[2:]:
        head = store.head("a")
        store.append("a", head, following(head, text))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="locks are mandatory there")
def test_a_log_that_was_taken_away_is_noticed(tmp_path: Path) -> None:
    """Where another process has removed the log under an opening, nothing is acknowledged in this process any more."""
    path = tmp_path / "work.db"
    store, idle = open_store(at(tmp_path)), open_store(at(tmp_path))
    head = store.create("a", chain(50))
    assert idle.head("a") == head
    strip_locks(path)
    assert python(_PASSES_BY, at(tmp_path), "by").returncode == 0
    for each in (store, idle):
        with pytest.raises(StoreUnavailable, match="write-ahead log was removed or replaced"):
            each.append("a", head, following(head, "late"))
        with pytest.raises(StoreUnavailable, match="write-ahead log was removed or replaced"):
            each.head("a")
        each.close()
        with pytest.raises(StoreUnavailable, match="this process can use the file no more"):
            open_store(at(tmp_path))
    assert python(_PASSES_BY, at(tmp_path), "again").returncode == 0
    with kept_at(at(tmp_path)) as kept:  # closing has not copied an old log over what the others wrote
        assert examine(kept).findings == ()
        assert [row.head for row in kept.journals] == [52]


_LOOKS = """
import sys
from mage.stores import open_store
with open_store(sys.argv[1]) as store:
    print(store.head("a").version, end="")
"""


def remove_log(path: Path) -> None:
    """Remove the log."""
    path.with_name("work.db-wal").unlink()


def replace_log(path: Path) -> None:
    """Put a copy in the place of the log."""
    log = path.with_name("work.db-wal")
    shutil.copy(log, log.with_suffix(".copy"))
    log.with_suffix(".copy").replace(log)


def replace_file(path: Path) -> None:
    """Put a copy in the place of the file."""
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


def remove_file(path: Path) -> None:
    """Remove the file."""
    path.unlink()


def remove_all(path: Path) -> None:
    """Remove the file and what stands beside it."""
    for each in list(path.parent.iterdir()):
        each.unlink()


def remove_all_for_another(path: Path) -> None:
    """Remove it all, and begin another store there."""
    remove_all(path)
    open_store(f"sqlite:///{path}").close()


TAKEN: list[Callable[[Path], None]] = [
    remove_log,
    replace_log,
    replace_file,
    remove_file,
    remove_all,
    remove_all_for_another,
]


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open cannot be removed there")
@pytest.mark.parametrize("moment", ["before", "at the commit"])
@pytest.mark.parametrize("take", TAKEN)
def test_what_was_taken_away_is_not_acknowledged(
    tmp_path: Path, take: Callable[[Path], None], moment: str
) -> None:
    """Whatever is removed or replaced under an opening, and when: what it acknowledges, another one finds there."""
    store, moments = heard(at(tmp_path))
    head = store.create("a", chain(2))
    acknowledged: Head | None = None
    try:
        if moment == "before":
            take(tmp_path / "work.db")
            acknowledged = store.append("a", head, following(head, "x"))
        else:
            moments.once(lambda *_: take(tmp_path / "work.db"), "commit")
            acknowledged = store.append("a", head, following(head, "x"))
    except StoreUnavailable:
        assert acknowledged is None
    store.close()
    if acknowledged is not None:
        assert str(acknowledged.version) == python(_LOOKS, at(tmp_path)).stdout


def test_what_was_moved_away_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    """A store that is closed while its file is elsewhere leaves its log in place: moved back, the file has everything."""
    path, moved = tmp_path / "work.db", tmp_path / "moved.db"
    store = open_store(at(tmp_path))
    head = store.create("a", chain(5))
    path.rename(moved)
    with pytest.raises(StoreUnavailable, match="moved or replaced"):
        store.append("a", head, following(head, "x"))
    store.close()
    moved.rename(path)
    with open_store(at(tmp_path)) as again:
        assert again.head("a") == head


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes there")
def test_a_store_is_for_its_owner_alone(tmp_path: Path) -> None:
    """A file that is made, and what stands beside it, can be read by nobody else; one that was there keeps its mode."""
    old = os.umask(0)
    try:
        with Session.open(at(tmp_path), "a", task="t") as session:
            session.grow("x", "y")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert modes == {"work.db": 0o600, "work.db-wal": 0o600, "work.db-shm": 0o600}
        (tmp_path / "work.db").chmod(0o640)
        with open_store(at(tmp_path)) as store:
            store.create("b", chain(1))
            assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o640}
    finally:
        os.umask(old)


_DROPPED = """
import gc, os, sys
from mage.stores import StoreUnavailable
from mage.testing.stores import chain, following
from tests.stores.moments import heard
from tests.stores.test_locks import _LOOKS, _PASSES_BY, python
from pathlib import Path

url, path, how = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
store, moments = heard(url)
head = store.create("a", chain(50))


def lose(*_):
    path.read_bytes()
    assert python(_LOOKS, url).stdout == "50"


moments.once(lose, "commit")
try:
    store.append("a", head, following(head, "mine"))
except StoreUnavailable:
    pass
assert python(_PASSES_BY, url, *range(60)).returncode == 0
if how == "close":
    store.close()
elif how == "dropped":
    del store, moments
    gc.collect()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="locks are mandatory there")
@pytest.mark.parametrize("how", ["close", "dropped", "still open at the end"])
def test_an_old_log_is_never_copied_into_the_file(tmp_path: Path, how: str) -> None:
    """Closed, dropped or open when the process ends: what others wrote since the log was lost stays as it is."""
    ran = python(_DROPPED, at(tmp_path), tmp_path / "work.db", how)
    assert ran.returncode == 0, ran.stderr
    with kept_at(at(tmp_path)) as kept:
        assert examine(kept).findings == ()
        assert [row.head for row in kept.journals] == [110]


def close_idle() -> None:
    """Fork, so that idle connections are closed."""
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_a_connection_to_another_file_is_never_used(tmp_path: Path) -> None:
    """Where another file has taken the name for a while, no connection to it is kept for later."""
    path, aside, backup = (tmp_path / f"{name}.db" for name in ("work", "aside", "backup"))
    with open_store(f"sqlite:///{backup}") as other:
        other.create("a", chain(2))
    with open_store(at(tmp_path)) as store:
        head = store.create("a", chain(2))
        path.rename(aside)
        backup.rename(path)
        close_idle()
        with pytest.raises(StoreUnavailable, match="moved or replaced"):
            store.head("a")
        path.rename(backup)
        aside.rename(path)
        written = store.append("a", head, following(head, "x"))
        assert store.head("a") == written
    with open_store(f"sqlite:///{backup}") as other:
        assert other.head("a").version == 2

"""Stores by URL: what opens, and what each refusal says."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mage.stores import (
    BadAddress,
    BadSource,
    MemoryStore,
    StoreError,
    StoreFull,
    StoreUnavailable,
    open_store,
)
from mage.stores.opening import without_password
from mage.stores.protocol import checked_patience
from mage.testing.stores import chain


def test_memory_is_opened() -> None:
    """`memory:` is a new store each time."""
    with open_store("memory:") as one, open_store("memory:") as other:
        assert isinstance(one, MemoryStore)
        one.create("a", chain(1))
        assert other.journals() == ()


def test_the_clock_is_injected(tmp_path: Path) -> None:
    """Times of creation and change come from the clock that was given."""
    times = iter(range(100, 200))
    for url in ("memory:", f"sqlite:///{tmp_path / 'work.db'}"):
        with open_store(url, clock=lambda: next(times)) as store:
            records = chain(2)
            head = store.create("a", records[:1])
            store.append("a", head, records[1:])
            (info,) = store.journals()
            assert info.changed == info.created + 1


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("work", "a URL begins with its kind"),
        ("", "a URL begins with its kind"),
        ("mysql://host/db", "unknown kind"),
        ("SQLITE:///work.db", "unknown kind"),
        ("memory:name", "use memory:"),
        ("memory://", "use memory:"),
        ("sqlite:work.db", "three slashes"),
        ("sqlite://work.db", "three slashes"),
        ("sqlite:///", "three slashes"),
        ("sqlite:///a\0b", "three slashes"),
        ("sqlite:///:memory:", "memory:"),
        ("sqlite:///work.db?mode=ro", "takes no parameters"),
        ("sqlite:////", "this is a directory"),
        ("sqlite:////nowhere/at/all/work.db", "there is no directory"),
        ("postgresql://host:port/db", "cannot be read"),
        ("postgresql://u@h/d\0", "cannot be read"),
        ("postgresql://u@\udcff/d", "cannot be read"),
        ("postgresql://u:\ud800@h/d", "cannot be read"),
        (f"postgresql://u@{'a' * 70}/d", "a name that no host can have"),
        ("postgresql://u@a..b/d", "a name that no host can have"),
        (f"sqlite:///{'a' * 300}", "file name too long"),
        (f"sqlite:///{'a' * 250}", "has 250 bytes, and 247 are possible"),
        ("sqlite:///\ud800.db", "what no file's name can hold"),
    ],
)
def test_an_address_that_says_no_store_is_refused(url: str, words: str) -> None:
    """The refusal is one line that says what is wrong."""
    with pytest.raises(BadAddress) as caught:
        open_store(url)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("url", ["postgresql://u:secret@nowhere.invalid/d", "mysql://u:secret@h/d"])
def test_a_password_is_never_shown(url: str) -> None:
    """An error about a URL leaves its password out."""
    with pytest.raises(StoreError) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(caught.value)


def test_passwords_are_left_out_wherever_they_stand() -> None:
    """Also one with an at sign or a slash, one of a user with an at sign, and those among the parameters."""
    for url in (
        "postgresql://u:se@cret@h/d",
        "postgresql://u:se/cret@h/d",
        "postgresql://u:se/c@cret@h/d",
        "postgresql://u@x:se@cret@h/d",
        "postgresql://u:se\ncret@h/d",
        "postgresql://h/d?user=u&password=se@cret&a=b",
        "postgresql://h:5432/d?password=se@cret",
        "postgresql://h/d?sslkey=k&sslpassword=secret",
    ):
        assert "cret" not in without_password(url)
    for url in ("postgresql://u@h/d", "postgresql://u@h:5432/d?sslmode=require", "postgresql://[::1]:5432/d"):
        assert without_password(url) == url


_WITHOUT_DRIVER = """
import sys
sys.modules["psycopg"] = None
from mage.stores import MissingExtra, open_store
from mage.stores.doctor import kept_at

for ask in (open_store, lambda url: kept_at(url).__enter__()):
    try:
        ask("postgresql://h/d")
    except MissingExtra as error:
        print(error)
with open_store(sys.argv[1]) as store:
    print(store.journals())
"""


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    """Without PostgreSQL's driver the error says what to install; a SQLite store needs nothing."""
    ran = subprocess.run(
        [sys.executable, "-c", _WITHOUT_DRIVER, f"sqlite:///{tmp_path / 'work.db'}"],
        capture_output=True,
        text=True,
        check=True,
    )
    told = "a PostgreSQL store needs its extra: pip install 'mage-state[postgres]'"
    assert ran.stdout.splitlines() == [told, told, "()"]


def test_no_server_is_an_error_of_a_store(tmp_path: Path) -> None:
    """Where no server listens the store is unavailable, in one line."""
    with pytest.raises(StoreUnavailable) as caught:
        open_store(f"postgresql:///d?host={tmp_path}")
    assert "\n" not in str(caught.value)
    assert not caught.value.in_doubt


def test_importing_the_stores_loads_no_database() -> None:
    """`import mage.stores` and a store in memory load no driver."""
    code = "import sys, mage.stores; mage.stores.open_store('memory:'); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {module.split(".")[0] for module in ran.stdout.split()}
    assert not loaded & {"psycopg", "sqlite3", "_sqlite3", "hypothesis", "pytest"}


def test_a_path_is_a_sqlite_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word with a dot or a slash and no colon is a file, in the working directory or anywhere."""
    monkeypatch.chdir(tmp_path)
    for path, url in [("work.db", "sqlite:///work.db"), (f"{tmp_path}/other", f"sqlite:///{tmp_path}/other")]:
        with open_store(path) as store:
            head = store.create("a", chain(3))
        with open_store(url) as store:
            assert store.head("a") == head


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such names there")
@pytest.mark.parametrize(
    "name", ["\udcff.db", "%00.db", "a?b#c%41.db", ":memory:", " .db", "\n", "\u202e", "file:a.db"]
)
def test_any_name_of_a_file_is_one_of_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whatever a file may be called, also by bytes that are no text: it is made, and found again by that name."""
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with open_store(f"sqlite:///./{name}") as store:
            if not store.journals():
                store.create("a", chain(2))
            assert store.head("a").version == 2
    assert os.listdir(tmp_path) == [name]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such paths there")
def test_a_path_that_leads_nowhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link to itself, a path that SQLite does not open for its length, a working directory that is gone: nothing is made."""
    (tmp_path / "loop").symlink_to("loop")
    deep = tmp_path.joinpath(*["d" * 50] * 12)
    deep.mkdir(parents=True)
    gone = tmp_path / "gone"
    gone.mkdir()
    for url, words in [
        (f"sqlite:///{tmp_path}/loop", "link that leads to itself"),
        (f"sqlite:///{deep}/work.db", "504 are possible"),
    ]:
        with pytest.raises(BadAddress, match=words):
            open_store(url)
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(BadAddress, match="cannot be looked at"):
        open_store("sqlite:///work.db")
    monkeypatch.chdir(tmp_path)
    assert not list(deep.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="only there the file is made before SQLite opens it")
@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StoreFull),
        (errno.EDQUOT, StoreFull),
        (errno.EROFS, StoreUnavailable),
        (errno.EACCES, StoreUnavailable),
        (errno.EPERM, StoreUnavailable),
        (errno.ENOENT, StoreUnavailable),  # the directory was removed meanwhile
        (errno.EIO, StoreUnavailable),
    ],
)
def test_a_file_that_cannot_be_made_is_an_error_of_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[StoreError]
) -> None:
    """A full or read-only disk, a directory that is closed or gone: typed, in one line, and in the system's words."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "mknod", refuse)
    with pytest.raises(kind, match=f"the file cannot be made: {os.strerror(number).lower()}") as caught:
        open_store(f"sqlite:///{tmp_path / 'work.db'}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("patience", [-1, float("nan"), "1", None, True])
@pytest.mark.parametrize("url", ["memory:", "sqlite:///work.db", "postgresql://nowhere.invalid/d"])
def test_a_patience_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, patience: Any
) -> None:
    """Typed, of each kind of store, before anything is made or asked."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadSource, match="patience cannot be used: it is a number of seconds"):
        open_store(url, patience=patience)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("patience", [3e6, 1e300, float("inf"), 10**400])
def test_a_long_patience_is_no_short_one(patience: float) -> None:
    """Both databases count milliseconds in 31 bits: what is longer is 24 days, and not no time at all."""
    milliseconds = checked_patience(patience) * 1000
    assert 10**9 < milliseconds < 2**31

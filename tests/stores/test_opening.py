"""Stores by URL: what opens, and what each refusal says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mage.stores import BadAddress, MemoryStore, StoreError, StoreUnavailable, open_store
from mage.stores.opening import without_password
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

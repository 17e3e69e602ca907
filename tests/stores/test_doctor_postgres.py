"""The commands on PostgreSQL: the same sessions, the same digests, the same faults by name."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from mage.stores import NOTHING, fold, open_store, verify
from mage.stores.doctor import examining
from tests.cli.runner import mage
from tests.stores.corrupted import acknowledged, write
from tests.stores.postgres import Cluster

pytestmark = pytest.mark.postgres
HISTORY = acknowledged()
FAULTS: dict[str, tuple[str, str, str | None, int | None]] = {
    "a body": (
        'UPDATE mage_records SET body = \'{"op":"grow"}\' WHERE journal = 1 AND version = 2',
        "damaged record",
        "main",
        2,
    ),
    "a text": (
        "UPDATE mage_records SET parts = set_byte(parts, 30, 65) WHERE journal = 1 AND version = 5",
        "damaged record",
        "main",
        5,
    ),
    "a digest": (
        "UPDATE mage_records SET digest = set_byte(digest, 3, 65) WHERE journal = 1 AND version = 7",
        "damaged digest",
        "main",
        7,
    ),
    "a missing record": (
        "DELETE FROM mage_records WHERE journal = 1 AND version = 11",
        "missing record",
        "main",
        11,
    ),
    "a head beyond": ("UPDATE mage_journals SET head = 99 WHERE id = 1", "lost tail", "main", 67),
    "a head before": (
        "UPDATE mage_journals SET head = 50 WHERE id = 1",
        "records behind the head",
        "main",
        51,
    ),
    "a circle": ("UPDATE mage_journals SET parent = 3 WHERE id = 2", "circle of parents", "try", None),
    "a snapshot": ("UPDATE mage_snapshots SET data = ''::bytea WHERE journal = 1", "snapshot", "main", 20),
    "a newer schema": ("INSERT INTO mage_schema VALUES (99)", "unknown schema", None, None),
}


@pytest.fixture
def place(server: Cluster, request: pytest.FixtureRequest) -> str:
    """Return the URL of a schema of this test alone, with the three journals."""
    name = "doctor_" + "".join(char if char.isalnum() else "_" for char in request.node.name)[-40:].lower()
    url = server.room(name)
    with open_store(url) as store:
        write(store)
    return url


def test_a_sound_database_has_no_findings(place: str) -> None:
    """Every journal, and a tail that is gone where it is known."""
    ran = mage("doctor", place, "--expect-head", "main@66")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith("3 sessions, all as written\n")
    assert mage("doctor", place, "--expect-head", "main@67").status == 1


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_named_and_repaired_elsewhere(place: str, tmp_path: Path, name: str) -> None:
    """By the same names as in a file; the copy holds beginnings of what was acknowledged."""
    statement, fault, journal, version = FAULTS[name]
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(statement)
    copy = f"sqlite:///{tmp_path / 'repaired.db'}"
    ran = mage("doctor", place, "--json", "--repair", copy)
    assert ran.status == 1
    found = [(each["fault"], each["session"], each["version"]) for each in json.loads(ran.out)["findings"]]
    assert (fault, journal, version) in found
    with open_store(copy) as store:
        for info in store.journals():
            fold(verify(NOTHING, store.read(info.name), info.head))
            assert info.head in HISTORY[info.name]


def test_a_database_without_tables_is_left_so(server: Cluster) -> None:
    """The doctor makes no tables."""
    url = server.room("doctor_empty")
    ran = mage("doctor", url)
    assert ran.status == 1
    assert "no tables of mage" in ran.out
    with psycopg.connect(url) as connection:
        assert connection.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'doctor_empty'"
        ).fetchone() == (0,)


def test_a_session_goes_into_the_other_kind_of_store_and_back(place: str, tmp_path: Path) -> None:
    """Out of PostgreSQL into SQLite and out again: the same digests, the same bytes of the bundle."""
    out, other = tmp_path / "out.jsonl", f"sqlite:///{tmp_path / 'other.db'}"
    assert mage("export", f"{place}#try again", "--lineage", "--out", out).status == 0
    assert mage("import", out, f"{other}#try again").status == 0
    assert mage("export", f"{other}#try again", "--lineage").out.encode() == out.read_bytes()
    assert mage("import", out, f"{place}#once more").status == 0
    assert mage("diff", f"{place}#once more", f"{other}#try again").status == 0
    assert mage("import", out, f"{place}#flat", "--flatten").status == 0
    with open_store(place) as store:
        assert store.head("flat") == store.head("once more") == HISTORY["try again"][-1]


def test_a_secret_is_gone_from_every_table(place: str) -> None:
    """Redacted in the family, vacuumed, and the chain verifies; then dropped."""
    ran = mage("redact", f"{place}#try", "chair")
    assert ran.status == 0
    assert "replicas and backups keep the bytes" in ran.out
    with psycopg.connect(place) as connection:
        left = connection.execute(
            "SELECT count(*) FROM mage_records WHERE position(convert_to('chair', 'UTF8') IN parts) > 0"
        ).fetchone()
        assert left == (0,)
    assert mage("doctor", place).status == 0
    assert mage("gc", place, "--name", "*").status == 0
    assert mage("sessions", place).out.endswith("holds no session\n")


def test_the_password_is_not_repeated(place: str) -> None:
    """Where something is refused, the URL is shown without it."""
    with_password = f"{place}&password=secret"
    ran = mage("show", f"{with_password}#none")
    assert ran.status == 1
    assert "secret" not in ran.err


def test_a_repair_into_a_database_that_is_cut_short_is_known(
    server: Cluster, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until all is written a journal says so: the doctor names it, and no second repair goes into it."""
    out = server.room("doctor_cut_short")
    with monkeypatch.context() as patched:
        patched.setattr(examining, "_write", _interrupted)
        assert mage("doctor", place, "--repair", out).status == 130
    ran = mage("doctor", out)
    assert (ran.status, "unfinished repair" in ran.out) == (1, True)
    assert "cut short" in mage("doctor", place, "--repair", out).err
    assert mage("gc", out, "--name", "*").status == 0
    assert mage("doctor", place, "--repair", out).status == 0
    assert mage("doctor", out, "--expect-head", "main@66").status == 0


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt

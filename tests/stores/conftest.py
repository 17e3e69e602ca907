"""Stores that the tests run on: memory, a SQLite file, and where they are installed a PostgreSQL and a PgBouncer of our own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from mage.testing.stores import Kit, kit_for
from tests.stores import pgbouncer
from tests.stores.pgbouncer import Pooler, pooler
from tests.stores.postgres import Cluster, absent, cluster

_NUMBERS = count()


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    """Run a PostgreSQL for this session; without one the test is skipped, but never in CI."""
    _require_one(absent())
    with cluster() as running:
        yield running


@pytest.fixture(scope="session")
def bouncer(server: Cluster) -> Iterator[Pooler]:
    """Run a PgBouncer before that PostgreSQL; without one the test is skipped, but never in CI."""
    _require_one(pgbouncer.absent())
    with pooler(server) as running:
        yield running


def _require_one(reason: str | None) -> None:
    if reason is not None:
        if os.environ.get("MAGE_CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.postgres),
        pytest.param("pgbouncer", marks=pytest.mark.postgres),
    ]
)
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Kit:
    """Return the kit of an empty store of each kind."""
    if request.param == "memory":
        return kit_for("memory:")
    return kit_for(url_of(str(request.param), request, tmp_path))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an empty store of each kind that outlives its process."""
    return url_of(str(request.param), request, tmp_path)


def url_of(kind: str, request: pytest.FixtureRequest, place: Path) -> str:
    """Return the URL of a new store."""
    if kind == "sqlite":
        return f"sqlite:///{place / 'work.db'}"
    return new_room(request.getfixturevalue("bouncer" if kind == "pgbouncer" else "server"))


def new_room(running: Cluster | Pooler) -> str:
    """Return the URL of a new, empty schema."""
    return running.room(f"test_{next(_NUMBERS)}")

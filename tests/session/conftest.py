"""The event loop of awaited sessions is closed after the last test, and every store when its test is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mage.stores import JournalStore, open_store
from tests.session.rooms import Rooms
from tests.session.twins import close_runner
from tests.stores.conftest import new_room, server, url_of

__all__ = ["server"]  # the fixture, which tests here use too


@pytest.fixture(scope="package", autouse=True)
def _event_loop() -> Iterator[None]:
    yield
    close_runner()


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JournalStore]:
    """A store of each kind."""
    url = "memory:" if request.param == "memory" else url_of(str(request.param), request, tmp_path)
    with open_store(url) as opened:
        yield opened


@pytest.fixture(
    scope="module", params=["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def rooms(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Rooms:
    """What makes empty stores of each kind."""
    if request.param == "memory":
        return Rooms(None)
    if request.param == "sqlite":
        folder = tmp_path_factory.mktemp("rooms")
        return Rooms(lambda number: f"sqlite:///{folder / f'{number}.db'}")
    running = request.getfixturevalue("server")
    return Rooms(lambda _: new_room(running))

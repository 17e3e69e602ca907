"""The game is generated once for a session; where TextWorld is not installed, its tests are skipped, but never in CI."""

from __future__ import annotations

import os

import pytest

from tests.agent.textworld.game import Game, absent, generate


@pytest.fixture(scope="session")
def game(tmp_path_factory: pytest.TempPathFactory) -> Game:
    """Return the game, compiled into a temporary folder."""
    reason = absent()
    if reason is not None:
        if os.environ.get("MAGE_CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return generate(tmp_path_factory.mktemp("textworld"))

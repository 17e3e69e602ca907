"""Malformed journals and trees at the command line: one line that says where, status 1, nothing touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import mage
from tests.codec.malformed import MALFORMED_JOURNALS, MALFORMED_TREES


@pytest.mark.parametrize("fault", MALFORMED_JOURNALS)
def test_a_malformed_journal_is_one_line_that_says_where(tmp_path: Path, fault: str) -> None:
    """Every command that reads a session refuses it, and leaves the file as it was."""
    data, said = MALFORMED_JOURNALS[fault]
    path = tmp_path / "session.jsonl"
    path.write_bytes(data)
    for command in ("check", "show") if len(data) < 1_000_000 else ("check",):
        ran = mage(command, path)
        assert ran.status == 1
        assert ran.out == ""
        assert len(ran.err.splitlines()) == 1
        assert len(ran.err) < 1_000
        assert said in ran.err
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("fault", sorted(MALFORMED_TREES.keys() - {"a_journal"}))
def test_a_malformed_tree_is_no_session_either(tmp_path: Path, fault: str) -> None:
    """A tree where a journal is expected is refused in one line too."""
    path = tmp_path / "tree.json"
    path.write_bytes(MALFORMED_TREES[fault][0])
    ran = mage("check", path)
    assert ran.status == 1
    assert len(ran.err.splitlines()) == 1


def test_there_are_at_least_thirty() -> None:
    """The corpus keeps its size."""
    assert len(MALFORMED_JOURNALS) + len(MALFORMED_TREES) >= 30

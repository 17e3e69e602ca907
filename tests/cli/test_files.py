"""Files that are written on or anew: whole or not at all, and never over what somebody else wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mage.cli.files import add_line, replace_file
from mage.cli.output import Refused


def test_a_line_is_added_at_the_end(tmp_path: Path) -> None:
    """And what was there stays."""
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    add_line(path, b"two\n", behind=4)
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_file_that_has_grown_meanwhile_is_left(tmp_path: Path) -> None:
    """Somebody else has written: nothing is added behind their words."""
    path = tmp_path / "a"
    path.write_bytes(b"one\nother\n")
    with pytest.raises(Refused, match="somebody else has written"):
        add_line(path, b"two\n", behind=4)
    assert path.read_bytes() == b"one\nother\n"


def test_a_line_that_cannot_be_kept_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk fails after half of it, the file is what it was."""
    path = tmp_path / "a"
    path.write_bytes(b"one\n")

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Refused, match="Input/output error"):
        add_line(path, b"two\n", behind=4)
    assert path.read_bytes() == b"one\n"


def test_a_file_is_replaced_with_its_rights(tmp_path: Path) -> None:
    """The new content under the old name and mode; a link stays a link."""
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to(path)
    replace_file(link, [b"ne", b"w"])
    assert (path.read_bytes(), path.stat().st_mode & 0o777, link.is_symlink()) == (b"new", 0o600, True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "link"]


def test_what_cannot_be_read_cannot_be_written_on(tmp_path: Path) -> None:
    """A folder, or nothing at all, is one line."""
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(Refused):
            add_line(path, b"x\n", behind=0)

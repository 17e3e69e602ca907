"""Files that the command writes can be read by their owner alone, whatever the umask."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from mage.codec import encode_journal
from tests.cli.runner import mage
from tests.cli.test_sessions import story

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such modes there")

WRITERS: Final = {
    "export a bundle": ["export", "{url}#main", "--out", "{new}"],
    "export a lineage": ["export", "{url}#try", "--lineage", "--out", "{new}"],
    "export a journal": ["export", "{url}#main", "--to", "journal", "--out", "{new}"],
    "export text": ["export", "{old}", "--to", "text", "--out", "{new}"],
    "export mermaid": ["export", "{old}", "--to", "mermaid", "--out", "{new}"],
    "export dot": ["export", "{old}", "--to", "dot", "--out", "{new}"],
    "export json": ["export", "{old}", "--to", "json", "--out", "{new}"],
    "replay": ["replay", "{old}", "--out", "{new}"],
    "repair": ["doctor", "{old}", "--repair", "{new}"],
}
"""Every command that writes a file which is no store."""


def modes(folder: Path) -> dict[str, int]:
    """Return the modes of the files in a folder, but for stores."""
    return {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if ".db" not in path.name
    }


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Set a umask for one test."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize("command", WRITERS)
@pytest.mark.parametrize("had", [0o600, 0o640, 0o644, 0o400])
def test_what_is_written_is_private_from_its_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int, command: str, had: int
) -> None:
    """A new file is for its owner alone, at any moment; one that is read keeps its mode."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new"
    old.write_bytes(b"".join(encode_journal(story())))
    url = "sqlite:///none"
    if "{url}" in WRITERS[command][1]:
        url = f"sqlite:///{tmp_path / 'work.db'}"
        assert mage("import", old, f"{url}#main").status == 0
        assert mage("fork", f"{url}#main@5", "try").status == 0
    old.chmod(had)
    seen: list[dict[str, int]] = []
    opened = os.open

    def watched(path: object, flags: int, mode: int = 0o777, **more: object) -> int:
        found = opened(path, flags, mode, **more)  # type: ignore[arg-type]  # as it was given
        seen.append(modes(tmp_path))
        return found

    for name in ("link", "replace", "fsync"):
        _watch(monkeypatch, name, seen, tmp_path)
    monkeypatch.setattr(os, "open", watched)
    given = [each.format(url=url, old=old, new=new) for each in WRITERS[command]]
    assert mage(*given).status in ((0, 1) if had == 0o400 else (0,))
    seen.append(modes(tmp_path))
    assert len(seen) > 1 or had == 0o400
    for each in seen:
        assert each.pop("old.jsonl") == had
        assert not any(mode & ~0o600 for mode in each.values()), each


def _watch(monkeypatch: pytest.MonkeyPatch, name: str, seen: list[dict[str, int]], folder: Path) -> None:
    """Note the modes of a folder's files before each call of a function of `os`."""
    function = getattr(os, name)

    def watched(*arguments: object, **more: object) -> object:
        seen.append(modes(folder))
        return function(*arguments, **more)

    monkeypatch.setattr(os, name, watched)


def test_a_file_system_without_links_gets_no_open_file_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    """What holds the name until the file is renamed is private too."""
    path = tmp_path / "old.jsonl"
    path.write_bytes(b"".join(encode_journal(story())))
    seen: list[dict[str, int]] = []

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    for name in ("rename", "replace", "fsync"):
        _watch(monkeypatch, name, seen, tmp_path)
    assert mage("export", path, "--out", tmp_path / "new").status == 0
    assert [each["new"] for each in [*seen, modes(tmp_path)] if "new" in each] == [0o600, 0o600]

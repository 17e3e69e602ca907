"""Files that are read: to their end, or not at all where they have none."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from mage.cli import output
from mage.cli.output import Refused, read_bytes
from tests.cli.runner import mage

READING = (
    ["show", "{file}"],
    ["tree", "{file}"],
    ["check", "{file}"],
    ["log", "{file}"],
    ["diff", "{file}", "{file}"],
    ["export", "{file}"],
    ["import", "{file}", "sqlite:///{new}#a"],
    ["doctor", "{file}"],
    ["doctor", "sqlite:///{file}"],
    ["replay", "{file}"],
    ["run", "@{file}", "--offline"],
)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices here")
@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_device_is_refused_by_every_command(tmp_path: Path, command: list[str]) -> None:
    """One that never ends is not read at all: one line, no new file."""
    new = tmp_path / "new.db"
    for file in ("/dev/zero", tmp_path):
        ran = mage(*[each.format(file=file, new=new) for each in command])
        assert (ran.status in (1, 2), ran.out, "Traceback" in ran.err) == (True, "", False)
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """As a shell gives one, in place of a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(pipe.write_bytes, b"x" * 3_000_000)
        assert read_bytes(pipe) == b"x" * 3_000_000
        writing.result()


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
def test_what_has_no_end_is_read_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a pipe no more than the limit is read; a file that says that it is longer is not read at all."""
    monkeypatch.setattr(output, "_MOST", 1 << 16)
    monkeypatch.setattr(output, "_AT_ONCE", 1 << 12)
    given = 0

    def chunks() -> Iterator[bytes]:
        nonlocal given
        while True:
            given += 1 << 12
            yield bytes(1 << 12)

    pipe, long = tmp_path / "pipe", tmp_path / "long"
    os.mkfifo(pipe)

    def write() -> None:
        with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            for chunk in chunks():
                file.write(chunk)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        with pytest.raises(Refused, match="has no end"):
            read_bytes(pipe)
        writing.result()
    assert given < 1 << 20
    with long.open("wb") as file:
        file.truncate((1 << 16) + 1)
    with pytest.raises(Refused, match="has no end"):
        read_bytes(long)
    long.write_bytes(bytes(1 << 16))
    assert read_bytes(long) == bytes(1 << 16)

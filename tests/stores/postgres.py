"""A private PostgreSQL for the tests: made in a temporary directory, heard on a socket in it, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final

import attrs
import psycopg
from psycopg.sql import SQL, Identifier

_SOMEBODY: Final = "postgres"
"""Who runs the server where we are root: PostgreSQL refuses to be run by root."""
_SETTINGS: Final = (
    "listen_addresses = ''",
    "fsync = on",
    "max_connections = 60",
    "shared_buffers = 16MB",
    "max_wal_size = 256MB",
    "log_min_messages = fatal",
)


@final
@attrs.frozen
class Cluster:
    """A server that runs.

    Attributes:
        directory: where its data and its socket are.
        programs: where PostgreSQL's programs are.
        user: who runs it, None where it is ourselves.
    """

    directory: Path
    programs: Path
    user: str | None

    @property
    def url(self) -> str:
        """The address of its database."""
        return f"postgresql:///postgres?host={self.directory}&user=tester"

    def room(self, name: str) -> str:
        """Make an empty schema and return an address at which it is all there is: cheaper than a database."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(name)))
        return f"{self.url}&options=-csearch_path%3D{name}"

    def control(self, *arguments: str) -> None:
        """Start or stop the server."""
        data = str(self.directory / "data")
        self.run("pg_ctl", "-D", data, "-s", "-w", "-t", "60", *arguments)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.control("start", "-l", str(self.directory / "log"), "-o", f"-k {self.directory}")

    def stop(self, how: str = "fast") -> None:
        """Stop the server: `fast` closes connections, `immediate` is a crash."""
        self.control("stop", "-m", how)

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs as the server's user."""
        command = [str(self.programs / program), *arguments]
        ran = subprocess.run(
            command,
            user=self.user,
            cwd=self.directory,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(self.directory)},
            stdout=subprocess.DEVNULL,  # the server inherits it, and would keep a pipe open
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if ran.returncode:
            log = self.directory / "log"
            said = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
            raise RuntimeError(f"{program} failed with {ran.returncode}: {said[-2000:]}")


def absent() -> str | None:
    """Return why no PostgreSQL can be run here, None if one can."""
    if _programs() is None:
        return "PostgreSQL's server is not installed (apt-get install postgresql)"
    if os.geteuid() == 0 and _somebody() is None:
        return "root may not run PostgreSQL, and there is no user postgres"
    return None


def _programs() -> Path | None:
    config = shutil.which("pg_config")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if config is not None:
        found = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=True)
        places.insert(0, Path(found.stdout.strip()))
    return next((place for place in places if (place / "initdb").is_file()), None)


def _somebody() -> str | None:
    try:
        return pwd.getpwnam(_SOMEBODY).pw_name
    except KeyError:
        return None


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Run a server of our own as long as the context is open."""
    programs = _programs()
    assert programs is not None
    user = _SOMEBODY if os.geteuid() == 0 else None
    directory = Path(tempfile.mkdtemp(prefix="mage-pg-"))
    try:
        if user is not None:
            shutil.chown(directory, user)
        server = Cluster(directory, programs, user)
        data = directory / "data"
        server.run("initdb", "-D", str(data), "-A", "trust", "-U", "tester", "-E", "UTF8", "--no-sync")
        with (data / "postgresql.conf").open("a", encoding="utf-8") as settings:
            settings.write("\n".join(_SETTINGS) + "\n")
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(directory, ignore_errors=True)

"""A private PgBouncer before a private PostgreSQL, in transaction mode: each transaction may get another backend."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final

import attrs
import psycopg
from psycopg.sql import SQL, Identifier

from tests.stores.postgres import Cluster

BACKENDS: Final = 3
"""Of each user, for all its sessions."""
_SETTINGS: Final = """
[databases]
* = host={server}

[pgbouncer]
pool_mode = transaction
default_pool_size = {backends}
server_idle_timeout = 2
listen_addr =
listen_port = 6432
unix_socket_dir = {directory}
auth_type = trust
auth_file = {directory}/users
auth_user = tester
auth_query = SELECT usename, passwd FROM pg_shadow WHERE usename = $1
log_connections = 0
log_disconnections = 0
log_stats = 0
"""
_UP: Final = "process up"
"""What it says once it listens."""


@final
@attrs.frozen
class Pooler:
    """A PgBouncer that runs.

    Attributes:
        directory: where its socket is.
        server: what stands behind it.
    """

    directory: Path
    server: Cluster

    def room(self, name: str) -> str:
        """Make an empty schema and its user, and return an address at which it is all there is."""
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute(SQL("CREATE ROLE {} LOGIN").format(Identifier(name)))
            connection.execute(SQL("CREATE SCHEMA AUTHORIZATION {}").format(Identifier(name)))
        return f"postgresql:///postgres?host={self.directory}&port=6432&user={name}"


def _program() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def absent() -> str | None:
    """Return why no PgBouncer can be run here, None if one can."""
    return "PgBouncer is not installed (apt-get install pgbouncer)" if _program() is None else None


@contextmanager
def pooler(server: Cluster) -> Iterator[Pooler]:
    """Run a pooler before a server as long as the context is open."""
    program = _program()
    assert program is not None
    directory = server.directory / "pooler"
    directory.mkdir()
    settings = _SETTINGS.format(server=server.directory, directory=directory, backends=BACKENDS)
    (directory / "settings").write_text(settings, encoding="utf-8")
    (directory / "users").write_text('"tester" ""\n', encoding="utf-8")
    if server.user is not None:
        shutil.chown(directory, server.user)
    command = [program, str(directory / "settings")]
    with subprocess.Popen(command, user=server.user, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        try:
            said: list[str] = []
            for line in running.stderr:
                said.append(line)
                if _UP in line:
                    break
            else:
                raise RuntimeError(f"pgbouncer ended: {''.join(said)[-2000:]}")
            yield Pooler(directory, server)
        finally:
            running.terminate()
    shutil.rmtree(directory, ignore_errors=True)

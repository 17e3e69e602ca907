"""How stores, sessions and versions are named on the command line.

    work.db              a store: the path of a SQLite file, or a URL such as postgresql://host/database
    work.db#monday       a session in it
    work.db#monday@12    the same session at version 12
    work.db@12           the only session of a store, at version 12
    session.jsonl        a session file: a journal, or a bundle that was exported; @12 behind it too
    monday, #monday@12   where MAGE_STORE names a store: a session in that

The last `#` separates store and name, the last `@` the version. An existing path means that file, whatever characters
it has. In a name `%23` stands for `#`, `%40` for `@`, `%25` for `%`, and `%XX` for any byte of UTF-8, as in a URL.
Every command takes a name as it was printed, in any quotes or none: what a shell would change or a terminal would not
show is spelled with `%XX`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, final
from urllib.parse import unquote_to_bytes

import attrs

from mage.cli.output import Refused, exists, refusing
from mage.render.blocks import printable
from mage.stores import protocol
from mage.stores.errors import BadName
from mage.stores.opening import without_password

STORE_VARIABLE: Final = "MAGE_STORE"
"""The environment variable that names the store where the arguments of a command name none."""

_URL: Final = re.compile(r"(?:memory|sqlite|postgresql):|[A-Za-z][A-Za-z0-9+.-]*://")
_SQLITE: Final = "sqlite:///"
STORE_HEADER: Final = b"SQLite format 3\0"
"""The first bytes of a SQLite file."""
OF_STORES: Final = (".db", ".sqlite", ".sqlite3")
_OF_FILES: Final = (".jsonl", ".json")
_ODD: Final = re.compile(r"[^A-Za-z0-9_.:/+,-]|\A-")
"""Characters that a shell, a pattern or an option gives another meaning, or that a terminal does not show."""
_VERSION: Final = re.compile(r"(?P<named>.*)@(?P<version>[0-9]{1,15})", re.DOTALL)


@final
@attrs.frozen
class StoreName:
    """A store: its URL, and its path if the user gave one. It is shown as the user named it, without a password."""

    url: str
    path: str | None = attrs.field(default=None, eq=False)

    def __str__(self) -> str:
        return without_password(self.url) if self.path is None else self.path

    @property
    def file(self) -> Path | None:
        """The file of the store; None for a store without one."""
        return Path(self.url.removeprefix(_SQLITE)) if self.url.startswith(_SQLITE) else None


@final
@attrs.frozen
class InStore:
    """A session in a store, by the name under which the store knows it."""

    store: StoreName
    name: str

    def __str__(self) -> str:
        return f"{self.store}#{spelled(self.name)}"


@final
@attrs.frozen
class InFile:
    """A session file: a journal, or a bundle that was exported."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


if TYPE_CHECKING:
    SessionName: TypeAlias = InStore | InFile
else:
    SessionName = object  # typer reads annotations and takes no union; the parser returns one of the two


@final
@attrs.frozen
class AtVersion:
    """A version of a session; None is its head."""

    session: SessionName
    version: int | None

    def __str__(self) -> str:
        return f"{self.session}" if self.version is None else f"{self.session}@{self.version}"


@final
@attrs.frozen
class Reference:
    """The store or session file that an argument names; None stands for a name or a version that it leaves out."""

    place: StoreName | InFile
    name: str | None
    version: int | None

    def __str__(self) -> str:
        named = f"{self.place}" if self.name is None else f"{self.place}#{spelled(self.name)}"
        return named if self.version is None else f"{named}@{self.version}"


# -- names of sessions -----------------------------------------------------------------------------------


def spelled(name: str) -> str:
    """Return a name as every command takes it, behind a `#` or alone; `as_name` reads it."""
    return _ODD.sub(_escaped, name)


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    if not char.isascii() and printable(char) == char:
        return char
    return "".join(f"%{byte:02X}" for byte in char.encode(errors="surrogatepass"))


def as_name(given: str) -> str:
    """Return the name that `spelled` writes so, or refuse bytes that are not UTF-8."""
    if "%" not in given:
        return given
    try:
        return unquote_to_bytes(given).decode()
    except UnicodeError:
        raise Refused(f"{given}: what %XX spells is not UTF-8; %25 stands for a plain %") from None


def new_name(given: str) -> str:
    """Return the name that the user gives to a new session in the store of another session.

    Raises:
        Refused: the argument names a store, a file or a version too, or no session can have the name; says what to
            type.
    """
    alone = given.rpartition("#")[2]
    if _URL.match(given) or "#" in given:
        hint = f"the name alone, {alone}" if "#" in given and alone else "a name such as tuesday"
        raise Refused(f"{given}: the new session is made in the same store: type {hint} (%23 spells a #)")
    if (found := _VERSION.fullmatch(given)) is not None:
        raise Refused(
            f"{given}: a new name has no version: type {found['named'] or 'a name'}, and the version behind the"
            " session that is forked (%40 spells an @)"
        )
    if Path(given).suffix in (*OF_STORES, *_OF_FILES):
        raise Refused(
            f"{given}: this looks like a file, and the new session is made in the same store: type a name such as"
            f" {Path(given).stem}; mage export writes a session to a file, and mage import to another store"
        )
    return checked_name(as_name(given))


def checked_name(name: str) -> str:
    """Return the name of a new session, or refuse one that no session can have."""
    try:
        return protocol.as_name(name)
    except BadName as error:
        raise Refused(str(error)) from None


# -- names of stores and files ---------------------------------------------------------------------------


def parse_reference(given: str) -> Reference:
    """Return the store, session or file that an argument names; a store is not opened, and may not be there.

    Raises:
        Refused: the argument names nothing; says what to type.
    """
    if (place := _place_there(given)) is not None:
        return Reference(place, None, None)
    found = _VERSION.fullmatch(given)
    rest, version = (given, None) if found is None else (found["named"], int(found["version"]))
    if version is not None and (place := _place_there(rest)) is not None:
        return Reference(place, None, version)
    left, mark, name = rest.rpartition("#")
    if mark:
        return Reference(_store(left) if left else default_store(), as_name(name) if name else None, version)
    if not rest:
        return Reference(default_store(), None, version)
    return _reference_alone(given, rest, version)


def _reference_alone(given: str, rest: str, version: int | None) -> Reference:
    """Return what an argument names that has no `#` and is no existing path; `rest` is without the version."""
    if _URL.match(rest) or Path(rest).suffix in OF_STORES:
        return Reference(_store(rest), None, version)
    if Path(rest).suffix in _OF_FILES or os.sep in rest:
        return Reference(InFile(Path(rest)), None, version)
    if STORE_VARIABLE in os.environ:
        return Reference(default_store(), as_name(rest), version)
    raise Refused(
        f"{given}: there is no such file; a session in a store is named STORE#NAME, such as"
        f" work.db#{spelled(rest)}, and by its name alone where {STORE_VARIABLE} names the store"
    )


def parse_store(given: str) -> StoreName:
    """Return the store that the user named, or refuse an argument that names a session, a file or nothing."""
    said = parse_reference(given)
    if isinstance(said.place, InFile):
        raise Refused(_no_store(given))
    if said.name is not None or said.version is not None:
        raise Refused(f"{given}: this names a session; name its store alone: {said.place}")
    return said.place


def default_store() -> StoreName:
    """Return the store that `MAGE_STORE` names, or refuse where it is not set, or names no store."""
    given = os.environ.get(STORE_VARIABLE, "")
    if not given:
        raise Refused(
            f"no store is named: say it before the #, as in work.db#monday, or set {STORE_VARIABLE}=work.db"
        )
    there = _place_there(given)
    place = _store(given) if there is None else there
    if isinstance(place, InFile) or (there is None and "#" in given):
        raise Refused(f"{STORE_VARIABLE}={given}: it names a store, such as work.db, and nothing behind it")
    return place


def _place_there(given: str) -> StoreName | InFile | None:
    """Return the existing store or file of exactly this path, which may hold a `#` or an `@`."""
    path = Path(given.removeprefix(_SQLITE))
    if not given or (_URL.match(given) and not given.startswith(_SQLITE)):
        return None
    try:
        if not exists(path):
            return None
    except Refused:  # a path too long, say
        if "#" in given:
            return None
        raise
    if given.startswith(_SQLITE):
        return StoreName(given)
    if path.is_dir() and STORE_VARIABLE in os.environ and os.sep not in given:
        return None  # a session of this name is meant
    return StoreName(f"{_SQLITE}{given}", given) if _is_store(path) else InFile(path)


def _is_store(path: Path) -> bool:
    """Tell whether a file is a SQLite file, or has the name of one."""
    if path.suffix in OF_STORES:
        return True
    if not path.is_file():  # bytes that are read from a pipe are gone
        return False
    with refusing(path), path.open("rb") as file:
        return file.read(len(STORE_HEADER)) == STORE_HEADER


def _store(given: str) -> StoreName:
    """Return the store that stands before a `#`, or alone."""
    if _URL.match(given):
        return StoreName(given)
    path = Path(given)
    if path.suffix in _OF_FILES or (path.is_file() and path.stat().st_size and not _is_store(path)):
        raise Refused(_no_store(given))
    return StoreName(f"{_SQLITE}{given}", given)


def _no_store(given: str) -> str:
    path = Path(given)
    if not exists(path) and path.suffix not in _OF_FILES:
        return f"{given}: there is no such file; a store is a SQLite file such as work.db, or a URL"
    hint = "; a session file holds one session: name it without a #, or mage import it into a store"
    return f"{given}: this is no store of mage, which is a SQLite file or a URL{hint * (path.suffix == '.jsonl')}"

"""How a session is named on the command line: `URL#name` in a store, or the path of a .jsonl file.

The last `#` parts URL and name, so that a path may hold others. In a name `%23` stands for `#`, `%40` for
`@`, `%25` for `%`, and `%XX` for any byte of UTF-8, as in a URL: a name with a space may be spelled as it is
(in quotes, as the shell wants it) or with `%20`. Names are printed so that every command takes them as they were
printed, in any quotes or none: whatever a shell would change or a terminal not show is spelled with `%XX`. Where a command takes a version too, it stands behind a
last `@`: `sqlite:///work.db#monday@12`, `session.jsonl@12`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, final
from urllib.parse import unquote_to_bytes

import attrs
import typer

from mage.cli.files import exists
from mage.cli.output import Refused, printable
from mage.stores.opening import KNOWN_URLS, without_password

__all__ = [
    "AtVersion",
    "InFile",
    "InStore",
    "Session",
    "SessionName",
    "Store",
    "StoreName",
    "Target",
    "as_name",
    "parse_session",
    "parse_store",
    "parse_target",
    "spelled",
]

_URL: Final = re.compile(r"(?:memory|sqlite|postgresql):|[A-Za-z][A-Za-z0-9+.-]*://")
_ODD: Final = re.compile(r"[^A-Za-z0-9_.:/+,-]|\A-")
"""What a shell, a pattern or the end of an option could take for something else, or a terminal not show."""
_VERSION: Final = re.compile(r"(?P<session>.+)@(?P<version>[0-9]{1,15})", re.DOTALL)


@final
@attrs.frozen
class StoreName:
    """A store, by its URL; it is shown without its password."""

    url: str

    def __str__(self) -> str:
        return without_password(self.url)


@final
@attrs.frozen
class InStore:
    """A session in a store.

    Attributes:
        store: the store.
        name: the session's name, as the store knows it.
    """

    store: StoreName
    name: str

    def __str__(self) -> str:
        return f"{self.store}#{spelled(self.name)}"


@final
@attrs.frozen
class InFile:
    """A session in a file of its own: a journal, or a bundle that was exported."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


if TYPE_CHECKING:
    SessionName: TypeAlias = InStore | InFile
else:
    SessionName = object  # typer looks at annotations and takes no union; the parser says what it is


@final
@attrs.frozen
class AtVersion:
    """A version of a session; None is its head."""

    session: SessionName
    version: int | None

    def __str__(self) -> str:
        return f"{self.session}" if self.version is None else f"{self.session}@{self.version}"

    @staticmethod
    def parse(given: str) -> AtVersion:
        """Return what `SESSION` or `SESSION@VERSION` names.

        Raises:
            Refused: it names nothing.
        """
        found = _VERSION.fullmatch(given)
        if found is None or (not _URL.match(given) and exists(Path(given))):
            return AtVersion(parse_session(given), None)
        return AtVersion(parse_session(found["session"]), int(found["version"]))


def spelled(name: str) -> str:
    """Return a name as every command takes it, behind a `#` or alone; `as_name` reads it."""
    return _ODD.sub(_escaped, name)


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    if not char.isascii() and printable(char) == char:
        return char
    return "".join(f"%{byte:02X}" for byte in char.encode(errors="surrogatepass"))


def as_name(given: str) -> str:
    """Return the name that is spelled so.

    Raises:
        Refused: its bytes are no UTF-8.
    """
    if "%" not in given:
        return given
    try:
        return unquote_to_bytes(given).decode()
    except UnicodeError:
        raise Refused(f"{given}: what %XX spells is not UTF-8; %25 stands for a plain %") from None


def parse_session(given: str) -> SessionName:
    """Return the session that the user named.

    Raises:
        Refused: a store is named, but no session in it.
    """
    if not _URL.match(given):
        return InFile(Path(given))
    url, mark, name = given.rpartition("#")
    if not mark or not name:
        store = StoreName(given.rstrip("#"))
        raise Refused(
            f"{store}: this names a store; name a session in it: {store}#NAME (mage sessions {store} lists them)"
        )
    return InStore(StoreName(url), as_name(name))


def parse_store(given: str) -> StoreName:
    """Return the store that the user named.

    Raises:
        Refused: it is no URL.
    """
    if _URL.match(given):
        return StoreName(given)
    hint = f"sqlite:///{given}" if Path(given).suffix in (".db", ".sqlite", ".sqlite3") else KNOWN_URLS
    raise Refused(f"{given}: a store is named by a URL, such as {hint}")


def parse_target(given: str) -> SessionName | StoreName:
    """Return the session, or the whole store, that the user named; a store whose path holds a `#` ends in one.

    Raises:
        Refused: it names neither.
    """
    if not _URL.match(given):
        return InFile(Path(given))
    url, mark, name = given.rpartition("#")
    if not mark:
        return StoreName(given)
    return InStore(StoreName(url), as_name(name)) if name else StoreName(url)


Session = Annotated[
    SessionName,
    typer.Argument(
        parser=parse_session,
        metavar="SESSION",
        help="URL#NAME, a session in a store; or the path of a .jsonl file.",
        show_default=False,
    ),
]
Store = Annotated[
    StoreName,
    typer.Argument(
        parser=parse_store, metavar="STORE", help=f"A store's URL: {KNOWN_URLS}.", show_default=False
    ),
]

if TYPE_CHECKING:
    Target: TypeAlias = InStore | InFile | StoreName
else:
    Target = Annotated[
        object,
        typer.Argument(
            parser=parse_target,
            metavar="SESSION|STORE",
            help="A session, or a store's URL: every session in it.",
            show_default=False,
        ),
    ]

"""From bytes to trajectories: read JSON or JSON Lines, find the format by the content, and import it.

The reader is stricter than `json.loads`, which would lose a field that stands twice, take NaN for a number and fail
without a place on a value that is nested too deep. Every error names its place.
"""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, Protocol, final

import attrs
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from mage.engine import MageError, replay
from mage.trajectories.atif import is_atif, load_atif
from mage.trajectories.claude_code import is_claude_code, load_claude_code
from mage.trajectories.coding import is_codex, load_codex
from mage.trajectories.formats import (
    is_bundle,
    is_chat,
    is_journal,
    is_swe_agent,
    is_tau_bench,
    is_tot_crosswords,
    is_who_and_when,
    load_bundle,
    load_chat,
    load_journal,
    load_swe_agent,
    load_tau_bench,
    load_tot_crosswords,
    load_who_and_when,
)
from mage.trajectories.trajectory import (
    Json,
    Line,
    Malformed,
    Path,
    Remark,
    Spot,
    Steps,
    TraceError,
    Trajectory,
)

# -- formats that other packages bring ----------------------------------------------------------------------


if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "mage.importers"


class Importer(Protocol):
    """The object or module that an entry point names; it knows one format."""

    def fits(self, data: bytes, /) -> bool:
        """Tell whether a file looks like one of this format. mage asks where none of its own formats fits."""
        ...

    def load(self, data: bytes, name: str, steps: Steps, /) -> Iterable[Trajectory]:
        """Return the trajectories of a file; a single one has this name. `steps` says what a step of a chat is.

        An exception becomes one line, the reason why the file cannot be read.
        """
        ...


@final
@attrs.frozen
class Installed:
    """A format of another package. Its code is loaded at the first question."""

    point: EntryPoint

    @property
    def name(self) -> str:
        """The name of the format."""
        return self.point.name

    def fits(self, data: bytes) -> bool:
        """Tell whether a file looks like one of this format; False where the importer fails."""
        try:
            importer: Importer = self.point.load()
            return bool(importer.fits(data))
        except Exception:  # of their code: a file of another format is not refused for it
            return False

    def load(self, data: bytes, name: str, steps: Steps) -> tuple[Trajectory, ...]:
        """Return the trajectories of a file, each of which replays.

        Raises:
            Malformed: the importer fails, or returns no history.
        """
        try:
            importer: Importer = self.point.load()
            found = tuple(importer.load(data, name, steps))
            faults = [self._fault(each) for each in found]
        except Exception as error:  # of their code
            raise Malformed((), f"{self._named} has raised {type(error).__name__}: {error}") from error
        for fault in [*faults, *([] if found else ["has found nothing"])]:
            if fault:
                raise Malformed((), f"{self._named} {fault}")
        return found

    def _fault(self, trajectory: object) -> str:
        if not isinstance(trajectory, Trajectory):
            return f"has returned a {type(trajectory).__name__}, and no Trajectory"
        try:
            replayed = replay(trajectory.commands)
        except MageError as error:
            return f"has returned what is no history: {error}"
        return "" if is_successful(replayed) else f"has returned what is no history: {replayed.failure()}"

    @property
    def _named(self) -> str:
        return f"the importer {self.point.value} of the format {self.name}"


def installed() -> dict[str, Installed]:
    """Return the formats of other packages by their names. Cost: a look at every installed package."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow to load, and rarely needed

    return {point.name: Installed(point) for point in sorted(entry_points(group=GROUP))}


# -- from bytes to trajectories -----------------------------------------------------------------------------


DEEPEST: Final = 100
"""Levels of nesting at most; no trace needs as many."""
_LONGEST_NUMBER: Final = 400  # characters
_LONGEST_HEADER: Final = 10_000  # bytes
_WIDE: Final = "UTF-16 or UTF-32: save it as UTF-8"
_FOREIGN: Final = {
    BOM_UTF16_LE: _WIDE,  # UTF-32 of that order begins with it too
    BOM_UTF16_BE: _WIDE,
    b"\x1f\x8b": "a gzip archive: unpack it first",
    b"PK\x03\x04": "a zip archive: unpack it first",
}
_BLANK: Final = " \t\r\n"
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[\[\]{},]', re.DOTALL)
"""A bracket, a comma, or a string; an empty group 1 tells that the string does not end."""


@final
@attrs.frozen
class _Format:
    """One format: whether a document fits it, and its importer."""

    name: str
    fits: Callable[[Spot], bool]
    load: Callable[[Spot, str, Steps], tuple[Trajectory, ...]]
    tools: bool  # whether its records can hold tool calls


_JOURNAL: Final = "journal"
_BUNDLE: Final = "bundle"
_LOGS: Final = (
    _Format("claude-code", is_claude_code, load_claude_code, tools=True),
    _Format("codex", is_codex, load_codex, tools=True),
)
"""Formats that a client writes line by line while it runs: a line that is no JSON, which the last may be, is left out."""
_JSON_FORMATS: Final = (
    *_LOGS,
    _Format("atif", is_atif, load_atif, tools=True),
    _Format("chat", is_chat, load_chat, tools=True),
    _Format("swe-agent", is_swe_agent, load_swe_agent, tools=True),
    _Format("tau-bench", is_tau_bench, load_tau_bench, tools=True),
    _Format("tot-crosswords", is_tot_crosswords, load_tot_crosswords, tools=False),
    _Format("who-and-when", is_who_and_when, load_who_and_when, tools=False),
)
FORMATS: Final[tuple[str, ...]] = (_JOURNAL, _BUNDLE, *(known.name for known in _JSON_FORMATS))
"""The names of the formats, as `--format` takes them."""


def detect(data: bytes) -> str | None:
    """Return the name of the format of `data`, by its content; None where it fits none or is no JSON. Cost: O(length)."""
    try:
        found = _ours(data) or _fitting(_document(data, None)[0])
    except Malformed:
        found = None
    if found is None:
        brought = _brought(data)
        return None if brought is None else brought.name
    return found if isinstance(found, str) else found.name


def load(
    data: bytes,
    *,
    file: str,
    format: str | None = None,  # noqa: A002  # named as the option it comes from
    steps: Steps = "messages",
) -> Result[tuple[Trajectory, ...], TraceError]:
    """Return the trajectories that a file holds. Any bytes.

    Args:
        data: the content of the file.
        file: the file's name in errors; its stem names the trajectory of a file that holds one.
        format: one of `formats()`, or None to find the format by the content.
        steps: what a step is in a chat with tool calls (chat, SWE-agent, tau-bench); `"tools"` is refused for a
            format without tool calls.

    Returns:
        At least one trajectory, or the first record that is not what its format says.
        Cost: O(length), and a replay where revisions need it.
    """
    stem = PurePath(file).stem or "trace"
    named = format or _ours(data)
    try:
        if named not in (_JOURNAL, _BUNDLE):
            return Success(_load(data, format, stem, steps))
        if steps == "tools":
            raise _toolless(named)
    except Malformed as malformed:
        return Failure(malformed.in_file(file))
    return load_journal(data, file, stem) if named == _JOURNAL else load_bundle(data, file)


def formats() -> tuple[str, ...]:
    """Return the names of all formats: `FORMATS`, and those of other packages (`Importer`)."""
    return (*FORMATS, *[name for name in installed() if name not in FORMATS])


def _brought(data: bytes) -> Installed | None:
    """Return the format of another package that a file looks like."""
    return next((known for known in installed().values() if known.fits(data)), None)


def _load(data: bytes, format_name: str | None, stem: str, steps: Steps) -> tuple[Trajectory, ...]:
    """Return the trajectories of a file that is neither journal nor bundle; a file that fits no format here goes to other packages."""
    if format_name is not None and format_name not in FORMATS:
        theirs = installed()
        if format_name not in theirs:
            known = ", ".join([*FORMATS, *theirs])
            raise Malformed((), f"{format_name!r} is no format; known are {known}")
        return theirs[format_name].load(data, stem, steps)
    try:
        document, remarks = _document(data, format_name)
        found = _fitting(document, format_name)
        if found is None and document.value != []:
            known = ", ".join(formats())
            raise Malformed((), f"fits none of the formats {known}; name one with --format")
    except Malformed:
        brought = _brought(data) if format_name is None else None
        if brought is None:
            raise
        return brought.load(data, stem, steps)
    if found is None or document.value == []:
        raise document.expected("at least one record")
    if steps == "tools" and not found.tools:
        raise _toolless(found.name)
    first, *others = found.load(document, stem, steps)
    return (attrs.evolve(first, remarks=(*first.remarks, *remarks)), *others)


def _document(data: bytes, format_name: str | None) -> tuple[Spot, tuple[Remark, ...]]:
    """Return the value of a file; of a log without the lines that cannot be read, and a remark on these."""
    try:
        return read(data), ()
    except Malformed:
        document, remarks = read_log(data)
        found = _fitting(document, format_name)
        if found not in _LOGS or not found.fits(document):
            raise
        return document, remarks


def _ours(data: bytes) -> str | None:
    """Return the name of our own format of which the first line is; None for other formats."""
    first = first_record(data)
    return _BUNDLE if is_bundle(first) else _JOURNAL if is_journal(first) else None


def _toolless(name: str) -> Malformed:
    return Malformed(
        (), f"the format {name} has no tool calls, so --steps tools means nothing here; leave it out"
    )


def _fitting(document: Spot, name: str | None = None) -> _Format | None:
    """Return the format of this name, or else the first that a document fits."""
    return next(
        (known for known in _JSON_FORMATS if (known.name == name if name else known.fits(document))), None
    )


# -- from bytes to JSON --------------------------------------------------------------------------------


@final
@attrs.define
class _Broken(Exception):
    """A text stops being readable at the character `at`."""

    at: int
    problem: str


@final
class _Twice(dict[str, "Json"]):
    """An object in which a field stands twice."""

    field: str = ""


def read(data: bytes) -> Spot:
    """Return the value of a file; that of JSON Lines as one list that knows its lines. Cost: O(length).

    Raises:
        Malformed: the file is empty, or neither JSON nor JSON Lines.
    """
    foreign = _foreign(data)
    if foreign:
        raise Malformed((), f"expected UTF-8, found {foreign}")
    text, undecoded = _decoded(data)
    if not text.strip(_BLANK):
        raise Malformed((), "expected a trace, found an empty file")
    try:
        value = _parse(text)
    except _Broken as broken:
        if _is_lines(text):
            return _read_lines(text, undecoded)
        raise _located(text, undecoded if undecoded and undecoded.at <= broken.at else broken, ()) from None
    if undecoded is not None:
        raise _located(text, undecoded, ())
    _check(value, ())
    return Spot(value)


def read_log(data: bytes) -> tuple[Spot, tuple[Remark, ...]]:
    """Return the sound lines, and a remark on the others. Cost: O(length).

    A client writes its log while it runs: the last line may be half a line.
    """
    values: list[Json] = []
    numbers: list[int] = []
    broken: list[int] = []
    for number, line in enumerate(data.removeprefix(BOM_UTF8).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            value = _parse(line.decode())
            _check(value, ())
        except (_Broken, Malformed, UnicodeDecodeError):
            broken.append(number)
            continue
        values.append(value)
        numbers.append(number)
    what = "a line that cannot be read, left out"
    remarks = (Remark(what, len(broken), f"line {broken[0]}"),) if broken else ()
    return Spot(values, (), tuple(numbers)), remarks


def first_record(data: bytes) -> Json:
    """Return the value of the first line; None where it is no JSON or longer than any header.

    Cost: O(1), and O(white space before it).
    """
    start = data.removeprefix(BOM_UTF8).lstrip()[:_LONGEST_HEADER]
    try:
        return _parse(start.partition(b"\n")[0].decode(errors="replace"))
    except _Broken:
        return None


def _foreign(data: bytes) -> str:
    """Return in words which known kind of file begins like this and is no UTF-8, and what to do; else the empty text.

    JSON begins with two characters of ASCII, so a zero beside others among the first bytes is half a character.
    """
    for mark, what in _FOREIGN.items():
        if data.startswith(mark):
            return what
    return _WIDE if 0 in data[:2] and any(data[:4]) else ""


def _decoded(data: bytes) -> tuple[str, _Broken | None]:
    """Return the text, and the first place that is not UTF-8; from there on a surrogate stands for each such byte."""
    data = data.removeprefix(BOM_UTF8)
    try:
        return data.decode(), None
    except UnicodeDecodeError as problem:
        before = len(data[: problem.start].decode())
        told = f"not UTF-8: byte 0x{data[problem.start]:02x} at offset {problem.start}"
        return data.decode(errors="surrogateescape"), _Broken(before, told)


def _parse(text: str) -> Json:
    try:
        value: Json = json.loads(text, object_pairs_hook=_object, parse_int=_number)
    except json.JSONDecodeError as problem:
        told = problem.msg.removesuffix(" at")
        rest = ", but the text ends" * (problem.pos >= len(text.rstrip(_BLANK)))
        raise _Broken(problem.pos, f"not JSON: {told[:1].lower()}{told[1:]}{rest}") from None
    except RecursionError:
        raise _Broken(_too_deep(text), f"nested deeper than {DEEPEST} levels") from None
    return value


def _number(digits: str) -> int | float:
    """Read a whole number; one longer than any float becomes infinite, because int() raises on thousands."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice = _Twice(found)
    twice.field = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
    return twice


def _is_lines(text: str) -> bool:
    """Tell whether the first record is complete on its own line and more follows."""
    first, _, rest = text.lstrip(_BLANK).partition("\n")
    try:
        return bool(rest.strip(_BLANK)) and isinstance(_parse(first), list | dict)
    except _Broken:
        return False


def _read_lines(text: str, undecoded: _Broken | None) -> Spot:
    values: list[Json] = []
    numbers: list[int] = []
    start = 0
    for number, line in enumerate(text.split("\n"), start=1):
        end = start + len(line)
        if line.strip(_BLANK):
            path: Path = (Line(number, len(values)),)
            if undecoded is not None and undecoded.at < end:
                raise Malformed(path, undecoded.problem)
            try:
                value = _parse(line)
            except _Broken as broken:
                raise _located(line, broken, path) from None
            _check(value, path)
            values.append(value)
            numbers.append(number)
        start = end + 1
    return Spot(values, (), tuple(numbers))


def _located(text: str, broken: _Broken, above: Path) -> Malformed:
    """Return the error with the place in the JSON where the text breaks, and where no line leads there, the line too."""
    at = broken.at
    row, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    where = f" at column {column}" if above else f" at line {row}, column {column}"
    return Malformed((*above, *_place(text, at)), broken.problem + where)


def _too_deep(text: str) -> int:
    """Return the place of the character at which nesting gets too deep."""
    at = depth = 0
    for token in _TOKEN.finditer(text):
        at = token.start()
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth > DEEPEST:
            break
    return at


def _place(text: str, end: int) -> Path:
    """Return the path that leads to character `end`. Cost: O(`end`)."""
    open_at: list[str | int] = []
    named = False
    for token in _TOKEN.finditer(text, 0, end):
        match token[0]:
            case "[":
                open_at.append(0)
            case "{":
                open_at.append("")
                named = False
            case "]" | "}":
                del open_at[-1:]
                named = True
            case ",":
                named = False
                if open_at:
                    open_at[-1] = open_at[-1] + 1 if isinstance(open_at[-1], int) else ""
            case string:
                if token[1] and open_at and isinstance(open_at[-1], str) and not named:
                    open_at[-1], named = _unquoted(string), True
    return tuple(part for part in open_at if part != "")


def _unquoted(string: str) -> str:
    try:
        return str(_parse(string))
    except _Broken:
        return string[1:-1]


def _check(root: Json, path: Path) -> None:
    """Refuse a value that Python reads and that JSON, or a trace, does not have. Cost: O(number of values).

    Raises:
        Malformed: the first one, in the order of the text.
    """
    walk = [iter([(path, root)])]
    top = len(path)
    while walk:
        found = next(walk[-1], None)
        if found is None:
            walk.pop()
            continue
        place, value = found
        if isinstance(value, float):
            if not math.isfinite(value):
                raise Malformed(place, f"expected a finite number, found {value}")
        elif len(place) - top >= DEEPEST:
            raise Malformed(place, f"nested deeper than {DEEPEST} levels")
        elif isinstance(value, _Twice):
            raise Malformed((*place, value.field), "this field stands twice in one object")
        else:
            walk.append(_below(place, value))


def _below(path: Path, value: Json) -> Iterator[tuple[Path, Json]]:
    """Yield the values below a value that `_check` may refuse, or that hold such a value."""
    children: Iterable[tuple[str | int, Json]] = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    for name, child in children:
        if isinstance(child, float | list | dict):
            yield (*path, name), child

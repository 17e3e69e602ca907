"""Find the format of a trace by looking at its content, and import it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Final, final

import attrs
from returns.result import Failure, Result, Success

from mage.trajectories.fields import Spot
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
from mage.trajectories.reading import first_record, read
from mage.trajectories.trajectory import Malformed, Steps, TraceError, Trajectory, trace_error


@final
@attrs.frozen
class _Format:
    """How one format is told from the others, and imported."""

    name: str
    fits: Callable[[Spot], bool]
    load: Callable[[Spot, str, Steps], tuple[Trajectory, ...] | Malformed]
    tools: bool  # whether its records can hold tool calls


_JOURNAL: Final = "journal"
_BUNDLE: Final = "bundle"
_JSON_FORMATS: Final = (
    _Format("chat", is_chat, load_chat, tools=True),
    _Format("swe-agent", is_swe_agent, load_swe_agent, tools=True),
    _Format("tau-bench", is_tau_bench, load_tau_bench, tools=True),
    _Format("tot-crosswords", is_tot_crosswords, load_tot_crosswords, tools=False),
    _Format("who-and-when", is_who_and_when, load_who_and_when, tools=False),
)
FORMATS: Final[tuple[str, ...]] = (_JOURNAL, _BUNDLE, *(known.name for known in _JSON_FORMATS))
"""The names of the formats, as `--format` takes them."""


def detect(data: bytes) -> str | None:
    """Return the name of the format that `data` is in, or None where it fits none or is no JSON.

    It looks at the content, never at a file's name. Cost: O(length).
    """
    ours = _ours(data)
    if ours is not None:
        return ours
    document = read(data)
    found = None if isinstance(document, Malformed) else _fitting(document)
    return None if found is None else found.name


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
        file: what errors call it; its stem names the trajectory of a file that holds one.
        format: one of `FORMATS`, or None to look at the content.
        steps: what a step is where the messages are those of a chat with tool calls (chat, SWE-agent,
            tau-bench); `"tools"` is refused where a format has none.

    Returns:
        At least one trajectory, or the first record that is not what its format says.
        Cost: O(length), and a replay where revisions need it.
    """
    if format is not None and format not in FORMATS:
        return Failure(TraceError(file, "$", f"{format!r} is no format; known are {', '.join(FORMATS)}", 0))
    stem = PurePath(file).stem or "trace"
    named = format or _ours(data)
    if named in (_JOURNAL, _BUNDLE):
        if steps == "tools":
            return Failure(trace_error(file, _toolless(named)))
        return load_journal(data, file, stem) if named == _JOURNAL else load_bundle(data, file)
    loaded = _load_json(data, format, stem, steps)
    return Failure(trace_error(file, loaded)) if isinstance(loaded, Malformed) else Success(loaded)


def _load_json(
    data: bytes, format_name: str | None, stem: str, steps: Steps
) -> tuple[Trajectory, ...] | Malformed:
    document = read(data)
    if isinstance(document, Malformed):
        return document
    if document.value == []:
        return document.expected("at least one record")
    found = _fitting(document) if format_name is None else _named(format_name)
    if found is None:
        return Malformed((), f"fits none of the formats {', '.join(FORMATS)}; name one with --format")
    if steps == "tools" and not found.tools:
        return _toolless(found.name)
    return found.load(document, stem, steps)


def _ours(data: bytes) -> str | None:
    """Return which of our own formats the first line is of."""
    first = first_record(data)
    return _BUNDLE if is_bundle(first) else _JOURNAL if is_journal(first) else None


def _toolless(name: str) -> Malformed:
    return Malformed(
        (), f"the format {name} has no tool calls, so --steps tools means nothing here; leave it out"
    )


def _fitting(document: Spot) -> _Format | None:
    return next((known for known in _JSON_FORMATS if known.fits(document)), None)


def _named(name: str) -> _Format | None:
    return next((known for known in _JSON_FORMATS if known.name == name), None)

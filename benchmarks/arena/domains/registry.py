"""The domains by name, in two sizes: about the paper's, and a small one for a first look and for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypeAlias, final

import attrs

from benchmarks.arena.domains.published import published
from benchmarks.arena.domains.search import settling as searching
from benchmarks.arena.domains.search.tasks import Searching
from benchmarks.arena.domains.shopping import stocking as shopping
from benchmarks.arena.domains.shopping.tasks import Shopping
from benchmarks.arena.domains.task import Domain
from benchmarks.arena.domains.travel.rows import Row, read_rows
from benchmarks.arena.domains.travel.tasks import Travelling

VERSION: Final = 2
"""Of the tasks: it rises whenever the same seed makes another task, in its contents or its words."""

SizeName: TypeAlias = Literal["full", "small"]
SIZES: Final[tuple[SizeName, ...]] = ("full", "small")
NAMES: Final = ("shopping", "travel", "search", "math", "physics")
GROUPS: Final = {"formal": ("math", "physics"), "all": NAMES}
"""Names that stand for several domains: the paper has mathematics and physics as one domain, in two columns."""

_SMALL_SHOP: Final = shopping.Size(errands=3, options=3, near=2, qualities=3, reviews=1)
_SMALL_CORPUS: Final = searching.Size(
    towns=6, persons=12, institutes=6, books=12, bridges=8, filler=3, questions=4
)


@final
@attrs.frozen
class MissingPackage(Exception):
    """A package is needed that is not installed; a target of the Makefile brings it."""

    package: str
    who: str = "this domain"
    target: str = ".venv/arena"

    def __str__(self) -> str:
        return f"{self.who} needs {self.package}: `make {self.target}` brings it"


def domains_of(name: str) -> tuple[str, ...]:
    """Return the domains that a name stands for: itself, or those of a group."""
    return GROUPS.get(name, (name,))


def domain(name: str, size: SizeName = "full", data: Path | None = None, rows: Path | None = None) -> Domain:
    """Return a domain: of tasks of our own, or of the rows of a file of the user's.

    Args:
        name: one of `NAMES`.
        size: about the paper's, or small.
        data: of travel: a file of TravelPlanner's reference data, in place of made-up trips. With rows: what their
            answers are found in, see `published`.
        rows: a file of rows in MemoryArena's public schema, in place of tasks of our own. They have one size.

    Raises:
        BadPublished: the rows, or the data behind them, are not as expected.
        BadRow: the reference data of travel is none.
        MissingData: the rows cannot be played without data that is not given.
        MissingPackage: the domain needs a package that is not installed.
        OSError: a file of rows cannot be read.
    """
    if rows is not None:
        if name in GROUPS["formal"]:
            _formal(name, 1)  # which says so where SymPy is missing
        return published(name, rows, data)
    is_small = size == "small"
    if name == "shopping":
        return Shopping(_SMALL_SHOP if is_small else shopping.FULL)
    if name == "search":
        return Searching(_SMALL_CORPUS if is_small else searching.FULL)
    if name == "travel":
        trips: tuple[Row, ...] = () if data is None else read_rows(data)
        return Travelling(members=2, wishes=2, rows=trips) if is_small else Travelling(rows=trips)
    return _formal(name, 4 if is_small else 7)


def _formal(name: str, parts: int) -> Domain:
    try:
        from benchmarks.arena.domains.formal.tasks import Formal  # noqa: PLC0415  # SymPy is for those who ask for it
    except ModuleNotFoundError as missing:
        if missing.name != "sympy":
            raise
        raise MissingPackage("SymPy") from None
    return Formal("math" if name == "math" else "physics", parts)

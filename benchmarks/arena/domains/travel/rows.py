"""Trips from rows of TravelPlanner's reference data (`train_ref_info.jsonl`): flights, restaurants, hotels, attractions.

A row names its legs in their order, `"Flight from A to B on 2022-03-16"`; the days follow from their dates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from benchmarks.arena.domains.travel.trip import Day, Option, OptionKind, Trip

Row: TypeAlias = Mapping[str, Any]  # Any: JSON of others

_LEG: Final = re.compile(r"Flight from (.+) to (.+) on (\d{4}-\d{2}-\d{2})")
_ROAD: Final = re.compile(r"(Self-driving|Taxi) from (.+) to (.+)")
_PLACES: Final[tuple[tuple[str, OptionKind], ...]] = (
    ("Restaurants in ", "restaurant"),
    ("Accommodations in ", "hotel"),
    ("Attractions in ", "attraction"),
)
_COST: Final = re.compile(r"cost: (\d+)")
_TOOK: Final = re.compile(r"duration: ([^,]+)")


@final
@attrs.frozen
class BadRow(ValueError):
    """A row of reference data is not one; the message says which, and what is wrong."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def read_rows(path: Path) -> tuple[Row, ...]:
    """Return the rows of a file of JSON Lines.

    Raises:
        BadRow: the file cannot be read, or a line is no JSON object.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadRow(f"{path} cannot be read: {error}") from None
    return tuple(_row(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip())


def _row(line: str, where: str) -> Row:
    try:
        row: object = json.loads(line)
    except ValueError:
        raise BadRow(f"{where}: this is no JSON") from None
    if not isinstance(row, dict):
        raise BadRow(f"{where}: this is no JSON object")
    return row


def trip_of(row: Row) -> Trip:
    """Return the trip of a row.

    Raises:
        BadRow: it has no legs, or their dates are in no order, or an option lacks something.
    """
    legs = [found.groups() for key in row if (found := _LEG.fullmatch(key))]
    if len(legs) < 2:
        raise BadRow('a row has at least two keys "Flight from A to B on DATE": there and back')
    try:
        dates = [date.fromisoformat(day) for _, _, day in legs]
        options = tuple(_options(row))
    except (KeyError, TypeError, ValueError) as error:
        raise BadRow(f"a row has an entry that is not as expected: {error!r}") from None
    if any(later <= earlier for earlier, later in pairwise(dates)):
        raise BadRow("the legs of a row are in the order of their dates")
    days = []
    for place, (start, end, _) in enumerate(legs[:-1]):
        nights = (dates[place + 1] - dates[place]).days
        days += [Day(end, f"{start} to {end}"), *(Day(end) for _ in range(nights - 1))]
    start, end, _ = legs[-1]
    return Trip((*days, Day(start, f"{start} to {end}")), options)


def _options(row: Row) -> Iterator[Option]:
    for key, value in row.items():
        leg, road = _LEG.fullmatch(key), _ROAD.fullmatch(key)
        if leg and isinstance(value, list):
            yield from (_flight(each, f"{leg[1]} to {leg[2]}") for each in value)
        elif road and isinstance(value, str) and _COST.search(value):
            yield _ride(value, road)
        for beginning, kind in _PLACES:
            if key.startswith(beginning) and isinstance(value, list):
                yield from (_place(kind, each, key.removeprefix(beginning)) for each in value)


def _flight(entry: Row, leg: str) -> Option:
    times = (f"departs {entry['DepTime']}", f"arrives {entry['ArrTime']}")
    return Option("transport", str(entry["Flight Number"]), leg, round(entry["Price"]), 0.0, times)


def _ride(text: str, road: re.Match[str]) -> Option:
    cost, took = _COST.search(text), _TOOK.search(text)
    assert cost is not None  # such a text is no ride
    tags = (f"takes {took[1]}",) if took else ()
    return Option("transport", road[1], f"{road[2]} to {road[3]}", int(cost[1]), 0.0, tags)


def _place(kind: OptionKind, entry: Row, city: str) -> Option:
    if kind == "restaurant":
        tags = tuple(each.strip() for each in str(entry["Cuisines"]).split(","))
        return Option(
            kind,
            _name(entry["Name"]),
            city,
            _dollars(entry["Average Cost"]),
            _stars(entry["Aggregate Rating"]),
            tags,
        )
    if kind == "hotel":
        tags = (str(entry["room type"]),)
        return Option(
            kind,
            _name(entry["NAME"]),
            city,
            _dollars(entry["price"]),
            _stars(entry["review rate number"]),
            tags,
        )
    return Option(kind, _name(entry["Name"]), city, 0, 0.0, ())


def _name(given: object) -> str:
    return " ".join(str(given).split())


def _dollars(given: object) -> int:
    return round(given) if isinstance(given, int | float) and given == given else 0  # noqa: PLR0124  # NaN


def _stars(given: object) -> float:
    return float(given) if isinstance(given, int | float) and given == given else 0.0  # noqa: PLR0124  # NaN

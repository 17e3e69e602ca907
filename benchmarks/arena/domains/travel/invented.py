"""Rows in the schema of TravelPlanner's reference data, made up from a seed: no place in them exists."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any, Final

from benchmarks.arena.domains.travel.alike import is_like_any
from benchmarks.arena.domains.travel.rows import Row
from benchmarks.arena.domains.words import name, names, several

_CUISINES: Final = several("Soups; Noodles; Grill; Bakery; Seafood; Vegetarian; Curry; Cafe; Dumplings")
_TABLES: Final = ("Kitchen", "Table", "House", "Cellar", "Garden", "Corner", "Terrace", "Spoon")
_SIGHTS: Final = ("Tower", "Museum", "Market Hall", "Old Mill", "Lighthouse", "Gallery", "Gardens", "Ruins")
_ROOMS: Final = ("Entire home", "Private room", "Shared room")
_STAYS: Final = ("Loft", "Studio", "Cottage", "Guest Room", "Rooftop Flat", "Courtyard Room")
_MINUTES: Final = 60


def invented_row(draw: random.Random, *, cities: int = 1, nights: int = 2) -> Row:
    """Return a row: a trip from a home to so many cities and back, some nights in each."""
    home, *stops = names(draw, cities + 1)
    row: dict[str, Any] = {}
    for city in stops:
        row[f"Attractions in {city}"] = [{"Name": name} for name in _named(draw, _SIGHTS, 12)]
        row[f"Restaurants in {city}"] = [_restaurant(draw, name) for name in _named(draw, _TABLES, 24)]
        row[f"Accommodations in {city}"] = [_stay(draw, name) for name in _named(draw, _STAYS, 12)]
    day = date(2031, draw.randint(1, 11), draw.randint(1, 20))
    for start, end in zip([home, *stops], [*stops, home], strict=True):
        flights = [_flight(draw, number) for number in _numbers(draw, draw.randint(2, 5))]
        row[f"Flight from {start} to {end} on {day}"] = sorted(flights, key=lambda each: str(each["DepTime"]))
        for by, rate in (("Self-driving", 0.05), ("Taxi", 1.0)):
            row[f"{by} from {start} to {end}"] = _ride(draw, by, start, end, rate)
        day += timedelta(nights)
    return row


def _named(draw: random.Random, kinds: tuple[str, ...], count: int) -> list[str]:
    """Return names of which no two count as one, or the scores would take one for the other."""
    found: list[str] = []
    while len(found) < count:
        new = f"{name(draw)} {draw.choice(kinds)}"
        if not is_like_any(new, found):
            found.append(new)
    return found


def _numbers(draw: random.Random, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        new = f"Q{draw.randrange(1_000_000, 9_999_999)}"
        if not is_like_any(new, found):
            found.append(new)
    return found


def _restaurant(draw: random.Random, name: str) -> Row:
    cuisines = ", ".join(draw.sample(_CUISINES, draw.randint(2, 4)))
    return {
        "Name": name,
        "Average Cost": draw.randint(9, 99),
        "Cuisines": cuisines,
        "Aggregate Rating": draw.randint(25, 49) / 10,
    }


def _stay(draw: random.Random, name: str) -> Row:
    return {
        "NAME": name,
        "price": float(draw.randint(60, 900)),
        "room type": draw.choice(_ROOMS),
        "review rate number": float(draw.randint(2, 5)),
    }


def _flight(draw: random.Random, number: str) -> dict[str, object]:
    start, took = draw.randrange(6 * _MINUTES, 20 * _MINUTES), draw.randint(50, 180)
    return {
        "Flight Number": number,
        "Price": draw.randint(80, 600),
        "DepTime": _clock(start),
        "ArrTime": _clock(start + took),
    }


def _clock(minutes: int) -> str:
    return f"{minutes // _MINUTES:02d}:{minutes % _MINUTES:02d}"


def _ride(draw: random.Random, by: str, start: str, end: str, rate: float) -> str:
    distance = draw.randint(200, 900)
    took = f"{distance // 90} hours {draw.randint(1, 59)} mins"
    return f"{by}, from {start} to {end}, duration: {took}, distance: {distance} km, cost: {round(distance * rate)}"

"""A JSON value that knows where it stands, and the few questions that importers put to it."""

from __future__ import annotations

import json
from typing import Final, TypeAlias, final

import attrs

from mage.trajectories.trajectory import Line, Malformed, Path

__all__ = ["Json", "Spot", "canonical", "field", "items_at", "number_at", "text_at", "whole_at"]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
_SHOWN: Final = 40  # characters of a value that an error shows


def canonical(value: Json) -> str:
    """Return a value as JSON in one spelling: sorted keys, no spaces, every character as it is.

    Cost: O(size).
    """
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@final
@attrs.frozen
class Spot:
    """A value and its place.

    Attributes:
        value: any JSON value, not too deep to recurse over (`reading` sees to that).
        path: where it stands.
        lines: for the whole of a JSON Lines file, the line of each record; else empty.
    """

    value: Json
    path: Path = ()
    lines: tuple[int, ...] = ()

    def expected(self, what: str) -> Malformed:
        """Return the error that says that something else should stand here."""
        return Malformed(self.path, f"expected {what}, found {_shown(self.value)}")

    def get(self, name: str) -> Spot | None:
        """Return a field, or None where this is no object or has no such field."""
        if not isinstance(self.value, dict) or name not in self.value:
            return None
        return Spot(self.value[name], (*self.path, name))

    def has(self, name: str) -> bool:
        """Tell whether this is an object with such a field."""
        return isinstance(self.value, dict) and name in self.value

    def items(self, what: str) -> list[Spot] | Malformed:
        """Return what a list holds; `what` says which list is expected. Cost: O(its length)."""
        if not isinstance(self.value, list):
            return self.expected(what)
        if self.lines:
            return [
                Spot(value, (Line(number, place),))
                for place, (value, number) in enumerate(zip(self.value, self.lines, strict=True))
            ]
        return [Spot(value, (*self.path, place)) for place, value in enumerate(self.value)]

    def text(self) -> str | Malformed:
        """Return a string."""
        return self.value if isinstance(self.value, str) else self.expected("a string")


def field(spot: Spot, name: str) -> Spot | Malformed:
    """Return a field that must be there."""
    if not isinstance(spot.value, dict):
        return spot.expected(f"an object with {name}")
    found = spot.get(name)
    return Malformed((*spot.path, name), "expected this field, found none") if found is None else found


def text_at(spot: Spot, name: str) -> str | Malformed:
    """Return a string that must stand in a field."""
    found = field(spot, name)
    return found if isinstance(found, Malformed) else found.text()


def whole_at(spot: Spot, name: str) -> int | Malformed:
    """Return a whole number that must stand in a field."""
    found = field(spot, name)
    if isinstance(found, Malformed):
        return found
    if isinstance(found.value, int) and not isinstance(found.value, bool):
        return found.value
    return found.expected("a whole number")


def number_at(spot: Spot, name: str) -> float | Malformed:
    """Return a number that must stand in a field."""
    found = field(spot, name)
    if isinstance(found, Malformed):
        return found
    if isinstance(found.value, int | float) and not isinstance(found.value, bool):
        return found.value
    return found.expected("a number")


def items_at(spot: Spot, name: str, what: str) -> list[Spot] | Malformed:
    """Return what a list in a field holds; `what` says which list is expected."""
    found = field(spot, name)
    return found if isinstance(found, Malformed) else found.items(what)


def _shown(value: Json) -> str:
    match value:
        case list():
            return "an empty list" if not value else f"a list of {len(value)}"
        case dict():
            names = ", ".join(json.dumps(name[:_SHOWN]) for name in list(value)[:3])
            more = ", ..." * (len(value) > 3)
            return f"an object with {names}{more}" if value else "an empty object"
        case str():
            return json.dumps(value) if len(value) <= _SHOWN else f"{json.dumps(value[:_SHOWN])}..."
        case _:
            told = json.dumps(value)
            return told if len(told) <= _SHOWN else f"{told[:_SHOWN]}..."

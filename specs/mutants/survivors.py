"""The list of survivors: which mutants nobody can tell from the engine, and why."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, final

import attrs

from specs.mutants.generate import Name

SURVIVORS: Final = Path(__file__).with_name("survivors.toml")


class ListError(ValueError):
    """The list cannot be read: something is missing, blank or there twice."""


def listed(text: str) -> dict[Name, str]:
    """Return the survivors that a list names, each with its reason.

    Raises:
        ListError: it is no list of survivors, a reason is blank, or a mutant is named twice.
    """
    survivors: dict[Name, str] = {}
    for group in _tables(tomllib.loads(text), "equivalent"):
        reason = group.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            raise ListError(f"a group has no reason: {group}")
        for entry in _tables(group, "mutants"):
            name = _name_from(entry)
            if name in survivors:
                raise ListError(f"named twice: {name}")
            survivors[name] = reason
    return survivors


def _tables(table: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    found = table.get(key)
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
        raise ListError(f"there should be {key} here: {table}")
    return found


def _name_from(entry: Mapping[str, object]) -> Name:
    match {"nth": 1, **entry}:
        case {
            "file": str(file),
            "where": str(where),
            "before": str(before),
            "after": str(after),
            "nth": int(nth),
            **rest,
        } if not rest:
            return Name(file, where, before, after, nth)
        case _:
            raise ListError(f"a mutant is named by file, where, before, after and nth, not by {entry}")


@final
@attrs.frozen
class Verdict:
    """How a run and the list agree.

    Attributes:
        new: survivors that the list does not name.
        killed: mutants that the list names, and that did not survive.
        gone: names to which no mutant belongs.
    """

    new: tuple[Name, ...]
    killed: tuple[Name, ...]
    gone: tuple[Name, ...]

    @property
    def holds(self) -> bool:
        """Whether the list says what the run found."""
        return not (self.new or self.killed or self.gone)


def judged(known: Iterable[Name], outcomes: Mapping[Name, str], every: Iterable[Name]) -> Verdict:
    """Compare a run with the list.

    Args:
        known: the names in the list.
        outcomes: of the mutants that were run; a name that was not run is neither new nor killed.
        every: the names of all mutants that there are, run or not.
    """
    names = tuple(known)
    there = set(every)
    return Verdict(
        new=tuple(name for name, outcome in outcomes.items() if outcome == "survived" and name not in names),
        killed=tuple(name for name in names if outcomes.get(name, "survived") != "survived"),
        gone=tuple(name for name in names if name not in there),
    )


def as_toml(names: Iterable[Name]) -> str:
    """Return these mutants as the list has them, for someone to find the reason, or a test."""
    entries = "".join(f"    {{ {_entry(name)} }},\n" for name in names)
    return f'[[equivalent]]\nreason = ""\nmutants = [\n{entries}]\n'


def _entry(name: Name) -> str:
    values = attrs.asdict(name, filter=lambda field, value: (field.name, value) != ("nth", 1))
    return ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())

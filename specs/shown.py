"""What a run of `specs.check` has shown, as one table, and whether the README's rows stand on it.

Every check leaves its result in `build/specs`. The two tables of properties in `specs/README.md` name
theorems, models, laws and tests; a name there counts where a result says that it was checked in this run.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from specs.proofs import BUILD, SPECS

DEPTHS: Final = {"wide": 5, "ways": 10, "chapters": 11}
"""How long the sequences are that are tried over each alphabet but `small`, where it is 7."""

_NAME: Final = re.compile(r"`([\w./:]+)`")
_TABLES: Final = ("Properties: where each is shown", "What else is proved")


def property_rows(readme: Path = SPECS / "README.md") -> list[list[str]]:
    """Return the cells of every row of the tables of properties."""
    parts = re.split(r"^## (.+)$", readme.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = [parts[parts.index(title) + 1] for title in _TABLES]
    lines = [line for section in sections for line in section.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if row[1].startswith("`")]


def named_in(row: list[str]) -> tuple[str, ...]:
    """Return the names of checks in a row, beside that of the property itself."""
    return tuple(name for cell in row[2:] for name in _NAME.findall(cell))


def checked_names(build: Path = BUILD) -> frozenset[str]:
    """Return the name of everything that was checked: theorems with their files, TLC's properties with
    `tlc:` before them, laws and invariants of the explorer with `explore:`, and tests that passed.
    """
    proofs, models = (_result(build, name) for name in ("proofs", "models"))
    explored = [_result(build, name) for name in ("explored", *_each("explored"))]
    return frozenset(
        [
            *(f"{theorem['file']}.{theorem['name']}" for theorem in proofs["theorems"]),
            *(f"tlc:{name}" for model in models["models"] for name in model["properties"]),
            *(f"explore:{name}" for seen in explored for name in (*seen["invariants"], *seen["laws"])),
            *(f"oracle:{name}" for name in ("exhaustive", "differential") if _result(build, name)),
            *_passed(build / "laws.xml"),
        ]
    )


def _each(check: str) -> list[str]:
    """Return the names of the runs of a check over all alphabets but the smallest."""
    return [f"{check}-{alphabet}" for alphabet in DEPTHS]


def _result(build: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((build / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _passed(junit: Path) -> Iterator[str]:
    """Yield the tests that a JUnit file says have passed, as pytest names them."""
    for case in ET.parse(junit).getroot().iter("testcase"):  # which pytest wrote a moment ago
        if all(child.tag not in ("failure", "error", "skipped") for child in case):
            path = case.attrib["classname"].replace(".", "/")
            yield f"{path}.py::{case.attrib['name'].split('[')[0]}"


def rows_without_a_check(build: Path = BUILD, readme: Path = SPECS / "README.md") -> list[str]:
    """Return the rows that name nothing that was checked, and the names of what was not, as one reads them."""
    checked = checked_names(build)
    wrong: list[str] = []
    for row in property_rows(readme):
        names = named_in(row)
        unknown = [name for name in names if name not in checked]
        if unknown or not names:
            wrong.append(f"{row[0]} {row[1]}: {', '.join(unknown) or 'no check at all'}")
    return wrong


def counted_otherwise(build: Path = BUILD, readme: Path = SPECS / "README.md") -> list[str]:
    """Return the models whose states the README counts otherwise than TLC did."""
    text = readme.read_text(encoding="utf-8").split("## Models")[1]
    stated = {row[0]: row[2] for row in _cells(text) if len(row) == 4}
    found = {model["model"]: f"{model['distinct']:,}" for model in _result(build, "models")["models"]}
    stated.pop("model", None)
    return [
        f"{name}: {stated.get(name, 'no')} states, TLC found {found.get(name, 'none')}"
        for name in {**stated, **found}
        if (set(stated.get(name, "-")) != {"-"} and stated.get(name) != found.get(name)) or name not in stated
    ]


def explored_otherwise(build: Path = BUILD, readme: Path = SPECS / "README.md") -> list[str]:
    """Return where the README counts states, edges or refusals otherwise than the explorer did, or not at all."""
    text = readme.read_text(encoding="utf-8").split("## What was explored")[1].split("\n## ")[0]
    wrong: list[str] = []
    for part in text.split("\nThe alphabet ")[1:]:
        name = part.split("`")[1]
        stated = {cells[0]: cells for cells in _cells(part) if len(cells) == 4}
        run = "explored" if name == "small" else f"explored-{name}"
        for level in _result(build, run)["levels"]:
            seen = [f"{level[key]:,}" for key in ("depth", "states", "edges", "refused")]
            if stated.get(seen[0]) != seen:
                wrong.append(f"{name}: {stated.get(seen[0], 'nothing')} stated, {seen} seen")
    return wrong


def _cells(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]


def fell_short(build: Path = BUILD) -> list[str]:
    """Return what was done less of than `make specs` promises: a check that is made smaller must not stay green."""
    drawn = _result(build, "differential")
    said = [
        f"{name} only {drawn[name]:,} of {least:,}"
        for name, least in (("sequences", 20_000), ("long", 5_000))
        if drawn[name] < least
    ]
    for check in ("explored", "exhaustive"):
        for name, depth in zip((check, *_each(check)), (7, *DEPTHS.values()), strict=True):
            levels = _result(build, name)["levels"]
            if not levels or levels[-1]["depth"] < depth:
                said.append(f"{name}: not to depth {depth}")
    return said


def summary(seconds: float, wrong: int, build: Path = BUILD) -> str:
    """Return the table that a run ends with; `wrong` says of how many rows no check ran."""
    rows = [*_formal(build), *_compared(build), *_strength(build)]
    rows.append(
        (
            "rows of the property table",
            f"{len(property_rows()) - wrong} of {len(property_rows())} with a check that ran",
        )
    )
    rows.append(("all of it", f"{seconds / 60:.1f} minutes"))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


def _formal(build: Path) -> Iterator[tuple[str, str]]:
    proofs, models = _result(build, "proofs"), _result(build, "models")
    yield "theorems", f"{len(proofs['theorems'])} in {proofs['lines']:,} lines of Coq"
    yield "axioms", str(proofs["axioms"])
    for model in models["models"]:
        alike = "" if model["explored"] is None else ", as many as the explorer"
        properties = f"{len(model['properties'])} properties"
        yield f"TLC, {model['model']}", f"{model['distinct']:,} states{alike}, {properties}"
    controls = models["controls"]
    right = sum(not control["wrong"] for control in controls)
    yield "controls that failed as they should", f"{right} of {len(controls)}"


def _compared(build: Path) -> Iterator[tuple[str, str]]:
    drawn = _result(build, "differential")
    mean = drawn["accepted"] / drawn["sequences"]
    yield (
        "sequences compared with the oracle",
        f"{drawn['sequences']:,}, {drawn['long']:,} of them over 100 accepted commands, mean {mean:.1f},"
        f" {drawn['tried']:,} commands, seed {drawn['seed']}",
    )
    for name in ("exhaustive", *_each("exhaustive")):
        found = _result(build, name)
        level = found["levels"][-1]
        tried = level["edges"] + level["refused"]
        yield (
            f"every sequence to depth {level['depth']}, {found['alphabet']}",
            f"{tried:,} commands, {level['states']:,} states, as the oracle has them",
        )
    for name in ("explored", *_each("explored")):
        explored = _result(build, name)
        level = explored["levels"][-1]
        yield (
            f"explored on the real code, {explored['alphabet']}",
            f"{level['states']:,} states, {level['edges']:,} edges to depth {level['depth']};"
            f" every edge: {len(explored['laws'])} laws and the reference",
        )


def _strength(build: Path) -> Iterator[tuple[str, str]]:
    matrix = _result(build, "faults")
    caught = sum(len(checks) >= 2 for checks in matrix.values())
    yield "faults caught by two or more", f"{caught} of {len(matrix)}"
    changed = _result(build, "mutants")["total"]
    every = json.loads((SPECS / "mutants" / "last.json").read_text(encoding="utf-8"))["total"]
    for name, total in (
        ("mutants of this change", changed),
        ("mutants of the whole engine, last run", every),
    ):
        yield (
            name,
            f"{total['killed']:,} of {total['mutants']:,} killed, {total['survived']} survived, all listed,"
            f" {total['timeouts']} timeouts",
        )

"""specs/README.md says what is there: every sentence, every name, every test."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from specs import reference, reference_nodes
from specs.check import CHECKS
from specs.invariants import INVARIANTS
from specs.laws import EDGE_LAWS
from specs.proofs import theorems
from specs.shown import (
    DEPTHS,
    counted_otherwise,
    explored_otherwise,
    fell_short,
    named_in,
    property_rows,
    rows_without_a_check,
)
from specs.tla.models import CONTROLS, MODELS, config_of, property_names
from tests.engine import test_laws
from tests.specs.readme import ROOT, rows, section, words

STATED = rows(section("Invariants")) + rows(section("Laws"))
PROPERTIES = rows(section("Properties: where each is shown"))


def test_every_decision_stands_there() -> None:
    """D1 to D19 have a row each, in order, with a question and an answer."""
    decisions = rows(section("Decisions"))
    assert [row[0] for row in decisions] == [f"D{number}" for number in range(1, 20)]
    assert all(len(row) == 3 and all(row) for row in decisions)


def test_the_reference_cites_what_it_decides() -> None:
    """Every decision but those of policy, D11 and D13, is cited in the reference."""
    sources = [
        ROOT / "specs" / f"{module.__name__.split('.')[1]}.py" for module in (reference, reference_nodes)
    ]
    cited = set(re.findall(r"\bD\d+\b", "".join(source.read_text(encoding="utf-8") for source in sources)))
    assert cited == {f"D{number}" for number in range(1, 20)} - {"D11", "D13"}


def test_invariants_and_laws_are_all_there() -> None:
    """I1 to I12 and L1 to L14 have a row each, in order, then the decisions that read like laws."""
    laws = [number for number in EDGE_LAWS if number.startswith("D")]
    numbers = [f"I{number}" for number in range(1, 13)] + [f"L{number}" for number in range(1, 15)]
    assert [row[0] for row in STATED] == numbers + laws


@pytest.mark.parametrize(("number", "name", "sentence"), STATED)
def test_a_sentence_is_the_same_everywhere(number: str, name: str, sentence: str) -> None:
    """The docstring of a property and of its test is the sentence that stands in the table."""
    stated = {f"I{place}": invariant for place, invariant in enumerate(INVARIANTS, start=1)} | EDGE_LAWS
    test = getattr(test_laws, f"test_{name.strip('`')}")
    assert words([test.__doc__ or ""]) == words([f"{number}: {sentence}"])
    if number in stated:
        assert stated[number].__name__ == name.strip("`")
        assert words([stated[number].__doc__ or ""]) == words([f"{number}: {sentence}"])


def test_every_property_has_a_row() -> None:
    """Each stated property has a row in the table of where it is shown, under its name, and no other has."""
    assert PROPERTIES[0][:2] == ["D1..D19", "`every_version_agrees_with_the_reference`"]
    assert [row[:2] for row in PROPERTIES[1:]] == [row[:2] for row in STATED]


@pytest.mark.parametrize("row", PROPERTIES, ids=lambda row: row[0])
def test_a_row_names_a_test_that_exists(row: list[str]) -> None:
    """The test that a row names is defined in the file that it names, under the name of its property."""
    name, tested = row[1], row[5].split(",")[0]
    file, _, test = tested.strip("`").partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert test == f"test_{name.strip('`')}"


@pytest.mark.parametrize("row", PROPERTIES, ids=lambda row: row[0])
def test_a_row_says_explored_where_it_is(row: list[str]) -> None:
    """A row says 'every edge' for the laws over an edge, 'every state' for invariants, and no where there is none."""
    number, name, explored = row[0], row[1].strip("`"), row[4]
    if number in EDGE_LAWS:
        assert explored == f"`explore:{name}` every edge"
    elif number.startswith("I"):
        assert explored == f"`explore:{name}` every state"
    elif number == "D1..D19":
        assert explored.startswith("`explore:reference` every edge")
    else:
        last = f"`explore:{name}` every state that was left"
        assert explored == ("no: it needs a second process" if number == "L8" else last)


@pytest.mark.parametrize("row", PROPERTIES, ids=lambda row: row[0])
def test_what_is_not_proved_says_why(row: list[str]) -> None:
    """A row without a theorem of its own name gives the reason."""
    name, proved, reason = row[1].strip("`"), row[2], row[6]
    assert reason or f".{name}`" in proved


def test_every_theorem_has_a_row() -> None:
    """The two tables name every theorem of the proofs once, and none that is not there."""
    named = [
        name for row in property_rows() for name in named_in(row) if re.fullmatch(r"[A-Z]\w*\.\w+", name)
    ]
    assert sorted(named) == sorted(f"{theorem.file}.{theorem.name}" for theorem in theorems())


def test_every_model_checked_property_has_a_row() -> None:
    """The two tables name every property that TLC checks in some model, and none that it does not."""
    named = {name for row in property_rows() for name in named_in(row) if name.startswith("tlc:")}
    assert named == {f"tlc:{name}" for model in MODELS for name in property_names(config_of(model))}


def test_every_model_has_a_row() -> None:
    """The table of models names each, in order, with how many properties it has; and how many controls there are."""
    models = [[row[0], row[3]] for row in rows(section("Models"))]
    assert models == [[model.name, str(len(property_names(config_of(model))))] for model in MODELS]
    assert f"{len(CONTROLS)} of them" in section("Models")


def test_every_file_is_described() -> None:
    """Every module of specs is in the first table, and every file named there exists."""
    table = (ROOT / "specs" / "README.md").read_text(encoding="utf-8").split("## Terms")[0]
    named = set(re.findall(r"`([\w/]+\.(?:py|v|tla)|\w+/)`", table))
    assert {name for name in named if name.endswith(".py")} == {
        path.name for path in (ROOT / "specs").glob("*.py")
    } - {"__init__.py"}
    assert all((ROOT / "specs" / name).exists() for name in named)
    folders = {path.name for path in (ROOT / "specs").iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == {name.split("/")[0] for name in named if "/" in name}


def test_a_smaller_run_is_not_the_promised_one(tmp_path: Path) -> None:
    """Fewer sequences, fewer long ones or a lesser depth than promised are each named."""
    levels: dict[str, dict[str, object]] = {
        f"{check}{name}": {"levels": [{"depth": depth}]}
        for check in ("explored", "exhaustive")
        for name, depth in {"": 7, **{f"-{alphabet}": least for alphabet, least in DEPTHS.items()}}.items()
    }
    whole: dict[str, dict[str, object]] = {"differential": {"sequences": 20_000, "long": 5_000}, **levels}

    def short(**changed: dict[str, object]) -> list[str]:
        for name, result in {**whole, **changed}.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
        return fell_short(tmp_path)

    assert short() == []
    assert short(differential={"sequences": 1, "long": 0}) == [
        "sequences only 1 of 20,000",
        "long only 0 of 5,000",
    ]
    assert short(explored={"levels": [{"depth": 6}]}) == ["explored: not to depth 7"]
    assert short(exhaustive={"levels": []}) == ["exhaustive: not to depth 7"]


def test_a_model_that_did_not_run_is_missed(tmp_path: Path) -> None:
    """States that differ, models that the table has and the run has not, and the other way round."""
    models = [{"model": "a", "distinct": 1000}, {"model": "new", "distinct": 5}]
    (tmp_path / "models.json").write_text(json.dumps({"models": models}), encoding="utf-8")
    readme = tmp_path / "README.md"
    table = "| model | bound | states | properties |\n|---|---|---|---|\n| a | b | 1,001 | 2 |\n| gone | b | 3 | 2 |"
    readme.write_text(f"## Models\n\n{table}\n", encoding="utf-8")
    assert counted_otherwise(tmp_path, readme) == [
        "a: 1,001 states, TLC found 1,000",
        "gone: 3 states, TLC found none",
        "new: no states, TLC found 5",
    ]


def test_a_depth_that_was_explored_otherwise_is_named(tmp_path: Path) -> None:
    """Levels that the README counts otherwise, or does not count, are named with the alphabet."""
    level = {"depth": 1, "states": 1000, "edges": 2, "refused": 3}
    for name in ("explored", "explored-wide"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"levels": [level]}), encoding="utf-8")
    readme = tmp_path / "README.md"
    table = "| depth | states | edges | refused |\n|---|---|---|---|\n| {} | 1,000 | 2 | 3 |\n"
    parts = [
        f"\nThe alphabet `{name}`:\n\n{table.format(depth)}" for name, depth in (("small", 1), ("wide", 2))
    ]
    readme.write_text(f"## What was explored\n{''.join(parts)}\n## Models\n", encoding="utf-8")
    assert explored_otherwise(tmp_path, readme) == ["wide: nothing stated, ['1', '1,000', '2', '3'] seen"]


def test_every_check_runs_at_its_full_size() -> None:
    """No check of `make specs` is told to do less than its program does by itself, and none is left out."""
    told = {check.name: check.arguments for check in CHECKS}
    assert set(told) == {
        *("proofs", "models", "differential", "explored", "exhaustive"),
        *(f"{check}-{alphabet}" for check in ("explored", "exhaustive") for alphabet in DEPTHS),
        *("faults", "mutants", "laws", "formal", "tables"),
    }
    assert "--sequences" not in told["differential"]


def test_no_check_waits_for_a_later_one() -> None:
    """What a check waits for was begun before it, so it has a place to run in, however few there are."""
    begun = [check.name for check in CHECKS]
    assert len(set(begun)) == len(begun)
    for place, check in enumerate(CHECKS):
        assert set(check.after) <= set(begun[:place])


def test_a_row_that_names_nothing_that_ran_is_reported(tmp_path: Path) -> None:
    """What a run did not check is named, row by row: a theorem that is gone, and a row without any check."""
    results: dict[str, object] = {
        "proofs": {"theorems": [{"file": "F", "name": "there"}]},
        "models": {"models": [{"properties": ["kept"]}]},
        "explored": {"invariants": [], "laws": []},
        **{f"explored-{alphabet}": {"invariants": [], "laws": []} for alphabet in DEPTHS},
        "exhaustive": {"levels": []},
        "differential": {"sequences": 1},
    }
    for name, result in results.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
    (tmp_path / "laws.xml").write_text(
        '<testsuites><testsuite><testcase classname="tests.t" name="test_a[1]"/>'
        '<testcase classname="tests.t" name="test_b"><failure/></testcase></testsuite></testsuites>',
        encoding="utf-8",
    )
    readme = tmp_path / "README.md"
    readme.write_text(
        "## Properties: where each is shown\n"
        "| A | `good` | `F.there` | `tlc:kept` | | `tests/t.py::test_a` | |\n"
        "| B | `gone` | `F.gone` | | | | |\n"
        "| C | `failed` | `F.there` | | | `tests/t.py::test_b` | |\n"
        "## What else is proved\n| D | `nothing` | a sentence | | |\n",
        encoding="utf-8",
    )
    assert rows_without_a_check(tmp_path, readme) == [
        "B `gone`: F.gone",
        "C `failed`: tests/t.py::test_b",
        "D `nothing`: no check at all",
    ]

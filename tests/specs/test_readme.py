"""specs/README.md says what is there: every sentence, every name, every test."""

from __future__ import annotations

import ast
import re

import pytest

from specs import reference, reference_nodes
from specs.invariants import INVARIANTS
from specs.laws import EDGE_LAWS
from tests.engine import test_laws
from tests.specs.readme import ROOT, rows, section, words

STATED = rows(section("Invariants")) + rows(section("Laws"))
PROPERTIES = rows(section("Properties: where each is shown"))


def test_every_decision_stands_there() -> None:
    """D1 to D18 have a row each, in order, with a question and an answer."""
    decisions = rows(section("Decisions"))
    assert [row[0] for row in decisions] == [f"D{number}" for number in range(1, 19)]
    assert all(len(row) == 3 and all(row) for row in decisions)


def test_the_reference_cites_what_it_decides() -> None:
    """Every decision but those of policy, D11 and D13, is cited in the reference."""
    sources = [
        ROOT / "specs" / f"{module.__name__.split('.')[1]}.py" for module in (reference, reference_nodes)
    ]
    cited = set(re.findall(r"\bD\d+\b", "".join(source.read_text(encoding="utf-8") for source in sources)))
    assert cited == {f"D{number}" for number in range(1, 19)} - {"D11", "D13"}


def test_invariants_and_laws_are_all_there() -> None:
    """I1 to I10 and L1 to L11 have a row each, in order, then the decisions that read like laws."""
    laws = [number for number in EDGE_LAWS if number.startswith("D")]
    numbers = [f"I{number}" for number in range(1, 11)] + [f"L{number}" for number in range(1, 12)]
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
    assert PROPERTIES[0][:2] == ["D1..D18", "`every_version_agrees_with_the_reference`"]
    assert [row[:2] for row in PROPERTIES[1:]] == [row[:2] for row in STATED]


@pytest.mark.parametrize("row", PROPERTIES, ids=lambda row: row[0])
def test_a_row_names_a_test_that_exists(row: list[str]) -> None:
    """The test that a row names is defined in the file that it names, under the name of its property."""
    _, name, tested, explored, proved, checked = row
    file, _, test = tested.strip("`").partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert test == f"test_{name.strip('`')}"
    assert explored
    assert proved == checked == "not yet (issue 3)"


@pytest.mark.parametrize("row", PROPERTIES, ids=lambda row: row[0])
def test_a_row_says_explored_where_it_is(row: list[str]) -> None:
    """A row says 'every edge' for the laws over an edge, 'every state' for invariants, and no where there is none."""
    number, explored = row[0], row[3]
    if number in EDGE_LAWS or number == "D1..D18":
        assert explored == "every edge"
    elif number.startswith("I"):
        assert explored == "every state"
    else:
        assert explored == (
            "no: it needs a second process" if number == "L8" else "every state that was left"
        )


def test_every_file_is_described() -> None:
    """Every module of specs is in the first table, and every file named there exists."""
    named = set(
        re.findall(
            r"`(\w+\.py)`", (ROOT / "specs" / "README.md").read_text(encoding="utf-8").split("## Terms")[0]
        )
    )
    assert named == {path.name for path in (ROOT / "specs").glob("*.py")} - {"__init__.py"}

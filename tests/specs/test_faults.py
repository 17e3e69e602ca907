"""The faults that are put into the engine on purpose, before anyone looks for them."""

from __future__ import annotations

import ast
from collections import Counter

import attrs
import pytest

from specs.explore import ALPHABETS
from specs.faults import CHECKS, FAULTS, ROOT, Fault, NotThere, Row, Said, arguments_for, judged, planted


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_one_place_and_leaves_python(fault: Fault) -> None:
    """Every fault finds its line in the engine exactly once, and what it makes of it can be run."""
    source = (ROOT / "mage" / "engine" / fault.file).read_text(encoding="utf-8")
    wrong = planted(fault, source)
    assert ast.dump(ast.parse(wrong)) != ast.dump(ast.parse(source))


def test_every_operation_has_its_faults() -> None:
    """At least two different faults are tried in each operation that changes a tree, asks or shows."""
    operations = Counter(fault.operation for fault in FAULTS)
    changing = {"grow", "compress", "retext", "apply_verdict", "revise", "fold"}
    assert set(operations) == {*changing, "judge_request", "view"}
    assert min(operations.values()) >= 2
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 10


def test_a_line_that_is_gone_is_an_error() -> None:
    """A fault whose line was rewritten is reported; it does not pass for caught."""
    with pytest.raises(NotThere, match="has 0 times"):
        planted(attrs.evolve(FAULTS[0], line="no such line"), "source")


def test_two_must_catch_a_fault_and_none_the_engine() -> None:
    """One check alone is too few, and a check that dislikes the engine as it is proves nothing."""
    one, two = tuple(CHECKS)[:1], tuple(CHECKS)[:2]
    assert not Row(FAULTS[0], one, 0.0).good
    assert Row(FAULTS[0], two, 0.0).good
    assert Row(None, (), 0.0).good
    assert not Row(None, one, 0.0).good
    assert not Row(FAULTS[0], one, 0.0, crashed=tuple(CHECKS)[1:]).good
    assert not Row(None, (), 0.0, crashed=one).good


def test_a_fault_is_looked_for_where_it_shows() -> None:
    """Both explorers go through the alphabet that the fault names, as deep as it takes; the stateful test as ever."""
    deep = attrs.evolve(FAULTS[0], alphabet="chapters", deeper=1)
    assert arguments_for("explorer", deep)[-4:] == ("--alphabet", "chapters", "--depth", "11")
    assert arguments_for("oracle", None)[-4:] == ("--alphabet", "small", "--depth", "6")
    assert arguments_for("stateful", deep) == CHECKS["stateful"]
    assert {fault.alphabet for fault in FAULTS} <= set(ALPHABETS)


THROWN = "Traceback (most recent call last):\n  File ...\nKeyError: 0\n"
FOUND = "E   specs.conformance.comparison.Disagreement: C[0]: the engine has ..."


@pytest.mark.parametrize(
    ("check", "status", "said", "word"),
    [
        *((check, 0, THROWN, "-") for check in CHECKS),
        *((check, 1, "L5 revise_restores: C was ...", "caught") for check in ("oracle", "explorer")),
        *((check, 1, THROWN, "crashed") for check in ("oracle", "explorer")),
        ("stateful", 1, FOUND, "caught"),
        ("stateful", 1, "E   mage.engine.errors.InvariantError: I6 path_is_whole", "caught"),
        ("stateful", 1, "E   AssertionError: L7 refusal_changes_nothing", "caught"),
        ("stateful", 1, "E       assert 1 == 2\n\ntests/x.py:3: AssertionError\n", "caught"),
        ("stateful", 1, "E   KeyError: 0\n\nmage/engine/machine.py:257: KeyError", "crashed"),
        ("stateful", 1, "    raise Disagreement(1)\nE   IndexError: 0", "crashed"),
    ],
)
def test_to_stumble_is_not_to_catch(check: str, status: int, said: str, word: Said) -> None:
    """A check has caught a fault where it says what is wrong, not where the engine threw it out."""
    assert judged(check, status, said) == word


@pytest.mark.parametrize(("status", "said"), [(2, "no oracle"), (1, f"{FOUND}\nNameError: name 'x'")])
def test_what_was_not_judged_is_an_error(status: int, said: str) -> None:
    """A check that could not run, or a fault that is no Python, ends the run."""
    with pytest.raises(NotThere):
        judged("stateful", status, said)

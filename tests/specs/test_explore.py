"""Every sequence of commands over a small alphabet, to a depth, and that a fault would be found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mage import Failed, Passed
from mage.engine import Accept, Fold, Grow, StepId, accept, compress, grow, start
from mage.engine.journal import ApplyVerdict
from mage.testing import Edge, carry_out
from specs import explore as explorer
from specs.explore import CHAPTERS, SMALL, WAYS, WIDE, Alphabet, Counterexample, Level, explore, main, report
from specs.reference import Mage
from tests.specs.forged import lying
from tests.specs.readme import rows, section

ROWS = {part.split("`")[1]: rows(part) for part in section("What was explored").split("\nThe alphabet ")[1:]}
"""The tables of README by alphabet."""


def written(table: list[list[str]], deepest: int) -> list[tuple[int, ...]]:
    """Return the numbers of the README's table, down to a depth."""
    counts = [tuple(int(cell.replace(",", "")) for cell in row) for row in table if len(row) == 4]
    return [row for row in counts if row[0] <= deepest and len(row) == 4]


def seen(alphabet: Alphabet, depth: int) -> list[tuple[int, ...]]:
    """Explore, and return the numbers."""
    return [(level.depth, level.states, level.edges, level.refused) for level in explore(alphabet, depth)]


def test_every_sequence_to_depth_6() -> None:
    """All sequences of six commands keep every invariant and law and agree with the reference; README counts them."""
    assert seen(SMALL, 6) == written(ROWS["small"], 6)


@pytest.mark.parametrize(("alphabet", "depth"), [(WIDE, 4), (WAYS, 8), (CHAPTERS, 9)], ids=str)
def test_every_sequence_over_other_commands(alphabet: Alphabet, depth: int) -> None:
    """So do all sequences over the other alphabets."""
    assert seen(alphabet, depth) == written(ROWS[alphabet.name], depth)


def test_every_kind_of_command_is_tried_everywhere() -> None:
    """In each phase the commands hold every legal one, every step as a boundary, and each blank one."""
    pending = compress(grow(start("t"), "a", "o"), "m").unwrap()
    two = accept(compress(grow(accept(pending), "b", "o"), "n").unwrap())
    folds = [command for command in CHAPTERS.commands(two) if isinstance(command, Fold)]
    assert [(fold.first, fold.last) for fold in folds] == [(0, 2), (0, 0)]
    assert [carry_out(two, fold).refusal is None for fold in folds] == [True, False]
    for state in (start("t"), pending, accept(pending)):
        commands = list(SMALL.commands(state))
        assert len(set(commands)) == len(commands)
        refused = {type(carry_out(state, command).refusal).__name__ for command in commands}
        assert {"NoneType", "BlankInstruction", "UnknownBoundary", "StaleVerdict", "IllegalPhase"} <= refused
    verdicts = {command.verdict for command in WIDE.commands(pending) if isinstance(command, ApplyVerdict)}
    usual = {Passed(), Failed("f", "execution"), Failed("f", "summary"), Failed(" ")}
    assert verdicts == {*usual, Failed("f", "execution", StepId(0))}
    more = {command.verdict for command in WAYS.commands(pending) if isinstance(command, ApplyVerdict)}
    assert {Failed("f", "execution", StepId(1)), Failed("f", "summary", StepId(0))} <= more


def test_another_reference_is_noticed() -> None:
    """Where the reference is in another state than the engine, the first command says so."""
    with pytest.raises(Counterexample, match="the engine has 't', the reference 'u'"):
        list(explorer._edges(SMALL, start("t"), Mage("u"), None))


def test_another_answer_is_noticed() -> None:
    """Where the reference refuses what the engine takes, that is the counterexample."""
    mage = Mage("t")
    mage.grow("a", "o")
    mage.compress("m")
    mage.apply_verdict(mage.p_t.note._replace(word="failed", feedback="f", fault="execution"), mage.digest())
    with pytest.raises(Counterexample, match=r"answers None, the reference .*IllegalPhase"):
        list(explorer._edges(SMALL, start("t"), mage, None))


def test_a_broken_law_is_noticed() -> None:
    """An edge that keeps the reference company and breaks a law is a counterexample."""
    state, mage = start("t"), Mage("t")
    with pytest.raises(Counterexample, match="L10 no_change_same_object"):
        explorer._compare(Edge(state, Grow("a", "o"), start("t")), mage, None)


def test_a_broken_invariant_is_noticed() -> None:
    """A state that breaks an invariant is a counterexample, with the commands that led there."""
    state = grow(start("t"), "a", "o")
    forged = Edge(state, Accept(), lying(state, lessons_at=lambda step: ("l",), boundary=9))
    with pytest.raises(Counterexample) as found:
        explorer._check(forged, (None, Grow("a", "o")))
    assert found.value.commands == (Grow("a", "o"), Accept())
    assert str(found.value).splitlines()[1:] == [
        "after",
        "    start('t')",
        "    Grow(action='a', observation='o')",
        "    Accept()",
    ]


def test_the_report_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints a row a level and ends with status 0."""
    assert main(["--depth", "2", "--alphabet", "wide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["depth", "states", "edges", "refused"],
        ["1", "6", "7", "16"],
        ["2", "37", "50", "90"],
    ]


def test_a_counterexample_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Where something does not hold, the command says what and after what, and ends with status 1."""

    def levels() -> Iterator[Level]:
        yield Level(1, 5, 5, 15, 0.1)
        raise Counterexample((Grow("a", "o"),), "L1 nothing_is_lost: step 1 is gone")

    assert report(levels()) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].split() == ["1", "5", "5", "15", "0.1"]
    assert printed.err.splitlines()[0] == "L1 nothing_is_lost: step 1 is gone"

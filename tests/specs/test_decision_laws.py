"""The decisions that read like laws: each is broken by a forged edge."""

from __future__ import annotations

import attrs
import pytest

from mage.engine import Compress, Grow, StepId, SummaryId, compress, grow, start
from mage.testing import Edge, carry_out
from specs.decision_laws import question_is_whole, question_stands
from specs.laws import Law
from tests.specs.forged import lying, sound, with_summary

OPEN = grow(start("task"), "a", "o")
PENDING = compress(OPEN, "m").unwrap()

FORGED: tuple[tuple[Edge, Law], ...] = (
    (Edge(PENDING, Grow("b", "o"), compress(OPEN, "n").unwrap()), question_stands),
    (
        Edge(PENDING, Grow("b", "o"), attrs.evolve(compress(OPEN, "n").unwrap(), digest=PENDING.digest)),
        question_stands,
    ),
    (Edge(OPEN, Compress("m"), with_summary(sound(), 5, kind="fallback")), question_is_whole),
    (Edge(OPEN, Compress("m"), with_summary(sound(), 5, covers=(StepId(6),))), question_is_whole),
    (
        Edge(OPEN, Compress("m"), with_summary(sound(), 5, parent=SummaryId(4), after=SummaryId(4))),
        question_is_whole,
    ),
    (Edge(OPEN, Compress("m"), with_summary(sound(), 4, covers=(StepId(7),))), question_is_whole),
    (
        Edge(
            OPEN,
            Compress("m"),
            lying(sound(), head_summary=attrs.evolve(sound().tree.head_summary, after=SummaryId(3))),
        ),
        question_is_whole,
    ),
)


@pytest.mark.parametrize(("edge", "law"), FORGED)
def test_a_forged_edge_breaks_its_decision(edge: Edge, law: Law) -> None:
    """What a forged edge breaks is found, and the real command breaks nothing."""
    assert list(law(edge))
    assert list(law(carry_out(edge.before, edge.command))) == []

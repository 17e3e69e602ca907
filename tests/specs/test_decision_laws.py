"""The decisions that read like laws: each is broken by a forged edge."""

from __future__ import annotations

import attrs
import pytest

from mage.engine import Compress, Grow, compress, grow, instruct, start
from mage.testing import Edge, carry_out
from specs.decision_laws import fallback_hides_nothing, question_is_whole, question_stands
from specs.laws import Law
from tests.specs.forged import lying, sound

OPEN = grow(start("task"), "a", "o")
PLACED = grow(instruct(start("task"), "i").unwrap(), "a", "o")
PENDING = compress(OPEN, "m").unwrap()

FORGED: tuple[tuple[Edge, Law], ...] = (
    (Edge(PENDING, Grow("b", "o"), compress(OPEN, "n").unwrap()), question_stands),
    (
        Edge(PENDING, Grow("b", "o"), attrs.evolve(compress(OPEN, "n").unwrap(), digest=PENDING.digest)),
        question_stands,
    ),
    (
        Edge(
            OPEN,
            Compress("m"),
            lying(sound(), head_summary=attrs.evolve(sound().tree.head_summary, kind="fallback")),
        ),
        question_is_whole,
    ),
    (Edge(OPEN, Compress("m"), lying(sound(), summary_path=lambda: (0, 3))), question_is_whole),
    (
        Edge(PLACED, Compress("m", "fallback"), compress(OPEN, "m", "fallback").unwrap()),
        fallback_hides_nothing,
    ),
)


@pytest.mark.parametrize(("edge", "law"), FORGED)
def test_a_forged_edge_breaks_its_decision(edge: Edge, law: Law) -> None:
    """What a forged edge breaks is found, and the real command breaks nothing."""
    assert list(law(edge))
    assert list(law(carry_out(edge.before, edge.command))) == []

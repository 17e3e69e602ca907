"""The story that `mage demo` tells: three purchases that depend on each other, and one mistake.

What the shop answers and what is said of it comes from `mage.agent.shop`, where `mage run --offline` lives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias, final

import attrs

from mage.agent.shop import TASK, Shop
from mage.agent.shop.goods import FEEDBACK, SUBTASKS, WRONG_CHAIR
from mage.agent.shop.playing import claim
from mage.engine import Compress, Failed, Grow, Instruct, Passed, Revise, Verdict

__all__ = ["EPISODE", "TASK", "Beat"]

Move: TypeAlias = Instruct | Grow | Compress | Verdict | Revise


@final
@attrs.frozen
class Beat:
    """One thing that happens, and what a narrator says of it."""

    told: str
    move: Move


def _episode(shop: Shop) -> Iterator[Beat]:
    shop.reset()
    yield Beat("The first subtask.", Instruct(SUBTASKS[0]))
    told = "The agent acts; every action and what came back is a step."
    yield from _purchase(shop, "oak desk 120 cm", "D-2041", told)
    told = "The subgoal is done: Compress puts a summary in place of its steps."
    yield Beat(told, Compress(claim(1, "D-2041", shop.spent)))
    yield Beat("Maintain: a judge compares the summary with the steps. It passes.", Passed())
    yield Beat("The second subtask brings a note about what fits.", Instruct(SUBTASKS[1]))
    yield from _mistake(shop, "C-1180")
    yield Beat("What was asked for is asked for again.", Instruct(SUBTASKS[1]))
    yield from _purchase(shop, "linen desk chair", "C-2214", "A new branch, knowing better.")
    yield Beat("", Compress(claim(2, "C-2214", shop.spent)))
    yield Beat("It passes.", Passed())
    yield Beat("", Instruct(SUBTASKS[2]))
    yield from _purchase(shop, "desk lamp brass linen shade", "L-0310", "")
    yield Beat("", Compress(claim(3, "L-0310", shop.spent)))
    yield Beat("It passes: the study is furnished, within budget, and everything fits.", Passed())


def _mistake(shop: Shop, code: str) -> Iterator[Beat]:
    yield from _purchase(
        shop, "chrome swivel chair", code, "", bought="The mistake: the cheapest chair is bought."
    )
    yield Beat("", Compress(claim(2, code, shop.spent)))
    told = "The judge reads the steps against the task, and fails it."
    yield Beat(told, Failed(FEEDBACK.format(code=code)))
    told = (
        "Revise: back to the boundary before the chair. The wrong branch stays in the tree, out of sight,"
        " and the lesson stands where it is needed. The shop goes back too: the chair is not bought any more."
    )
    yield Beat(told, Revise(3, WRONG_CHAIR.format(code=code)))
    shop.act(f"return[{code}]")


def _purchase(shop: Shop, query: str, code: str, told: str, *, bought: str = "") -> Iterator[Beat]:
    for said, action in ((told, f"search[{query}]"), ("", f"open[{code}]"), (bought, f"buy[{code}]")):
        yield Beat(said, Grow(action, shop.act(action).text))


EPISODE: Final[tuple[Beat, ...]] = tuple(_episode(Shop()))

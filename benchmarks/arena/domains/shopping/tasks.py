"""Tasks of the shop: an oracle's plan, and how a run is marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

import attrs

from benchmarks.arena.domains.calls import action
from benchmarks.arena.domains.scoring import bundle
from benchmarks.arena.domains.shopping.catalogue import Errand, Product
from benchmarks.arena.domains.shopping.rules import PAGE, ShopRules
from benchmarks.arena.domains.shopping.stocking import FULL, Size, stocked
from benchmarks.arena.domains.task import Marked, Part, Task
from benchmarks.arena.domains.world import Closed


@final
@attrs.frozen
class Shopping:
    """Bundles in a shop.

    Attributes:
        size: how large they are.
        cap: actions of a subtask.
    """

    size: Size = FULL
    cap: int = 40
    name: str = "shopping"

    def task(self, seed: int, number: int, /) -> Task:
        """Return a task. Cost: a few draws of a shop."""
        shop = stocked(seed, number, self.size)
        rules = ShopRules(shop, self.cap, f"{seed}/{number}")
        right = shop.right()
        assert right is not None  # such a shop is not stocked
        plan = tuple(_part(rules, place, right[place]) for place in range(len(right)))
        return Task(f"{self.name}-{seed}-{number}", rules.text, rules, _Marking(right), plan)


@final
@attrs.frozen
class _Marking:
    right: tuple[Product, ...]

    def __call__(self, closed: Sequence[Closed]) -> Marked:
        """Mark purchases: each is right where it is the one product that was right there."""
        bought = [dict(each.answer).get("code") for each in closed]
        bought += [None] * (len(self.right) - len(bought))
        right = tuple(
            None if code is None else code == product.code
            for code, product in zip(bought, self.right, strict=True)
        )
        return Marked(right, bundle(right))


def _part(rules: ShopRules, place: int, right: Product) -> Part:
    errand = rules.shop.errands[place]
    claim = f"Product {place + 1} purchased: {right.code} {right.title}, {right.price}."
    return Part(tuple(_actions(rules, errand, right)), claim)


def _actions(rules: ShopRules, errand: Errand, right: Product) -> Iterator[str]:
    """Yield what an oracle does: it looks at every option, and goes back to the right one."""
    last = ""
    for option in errand.options:
        yield action("search", words=option.title)
        page = rules.found(option.title).index(option) // PAGE
        yield from [action("next_page")] * page
        yield action("open", code=option.code)
        last = option.code
    if last != right.code:
        yield action("open", code=right.code)
    yield action("buy")

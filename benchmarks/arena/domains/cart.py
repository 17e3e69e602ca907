"""A shop that shows its cart: after each action the observation says what was bought so far.

It is a control. Where a page shows every fact that a memory could keep, no memory is worth anything.
"""

from __future__ import annotations

from typing import Protocol, final

import attrs

from benchmarks.arena.domains.shopping.rules import Browsing, ShopRules
from benchmarks.arena.domains.world import World
from mage.effects import Capabilities, Observed


class Shop(Protocol):
    """The shop, watched by a judge or not."""

    capabilities: Capabilities

    def reset(self) -> Observed:
        """Begin anew."""
        ...

    def act(self, action: str, /) -> Observed:
        """Perform an action."""
        ...


@final
class Carted:
    """A shop around another one, with the cart below each observation.

    Attributes:
        capabilities: those of the other one.
    """

    def __init__(self, shop: Shop, world: World[Browsing], rules: ShopRules) -> None:
        self.capabilities = shop.capabilities
        self._shop = shop
        self._world = world
        self._shelf = {product.code: product for product in rules.shop.shelf}

    def reset(self) -> Observed:
        """Begin anew, with nothing in the cart."""
        return self._shop.reset()

    def act(self, action: str, /) -> Observed:
        """Perform an action, and show the cart as it is then: what was given back is not in it."""
        seen = self._shop.act(action)
        return attrs.evolve(seen, text="\n".join([seen.text, *self._lines()]))

    def _lines(self) -> list[str]:
        codes = [dict(each.answer).get("code", "") for each in self._world.standing.closed]
        bought = [(place, self._shelf[code]) for place, code in enumerate(codes, 1) if code]
        lines = [f"Cart: product {at} is {each.code} {each.title}, {each.price}." for at, each in bought]
        return lines or ["Cart: empty."]

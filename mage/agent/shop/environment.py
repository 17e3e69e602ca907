"""The demo's environment: a shop with ten products, where what was bought can be returned."""

from __future__ import annotations

import re
from typing import Final, final

from mage.agent.shop.goods import BUDGET, GOODS, KINDS, SUBTASKS, Product
from mage.effects import Capabilities, NoEffect, Observed, Reversible

__all__ = ["Shop"]

_MANUAL: Final = (
    "search[words] lists products; open[code] shows one; buy[code] buys it; return[code] gives it back."
)
_ACTION: Final = re.compile(r"(search|open|buy|return)\[(.+)\]", re.DOTALL)
_WORD: Final = re.compile(r"[a-z0-9]+")
_BY_CODE: Final = {product.code: product for product in GOODS}


@final
class Shop:
    """A deterministic shop, as an `Environment`: restored by a reset and the actions of the path.

    `search` and `open` only look; `buy` and `return` undo each other, and say so. The first desk, chair and lamp
    that is bought brings the next subtask's instruction. Nothing can be bought beyond the budget.

    Attributes:
        bought: the codes of what was bought and not returned, oldest first.
    """

    capabilities: Final = Capabilities("replay", manual=_MANUAL)

    def __init__(self) -> None:
        self.bought: tuple[str, ...] = ()

    @property
    def spent(self) -> int:
        """What was paid and not given back, in dollars."""
        return sum(_BY_CODE[code].price for code in self.bought)

    def reset(self) -> Observed:
        """Return to an empty basket, and name the first subtask."""
        self.bought = ()
        return Observed("", instructions=SUBTASKS[:1])

    def act(self, action: str) -> Observed:
        """Perform an action; one that cannot be understood says what can."""
        understood = _ACTION.fullmatch(action.strip())
        if understood is None:
            return _looked(f"There is no such action. {_MANUAL}")
        verb, what = understood[1], understood[2].strip()
        if verb == "search":
            return _looked(_results(what))
        product = _BY_CODE.get(what)
        if product is None:
            return _looked(f"There is no product {what}.")
        if verb == "open":
            return _looked(product.opened)
        return self._buy(product) if verb == "buy" else self._return(product)

    def _buy(self, product: Product) -> Observed:
        if product.code in self.bought:
            return _looked(f"{product.code} was bought before.")
        if self.spent + product.price > BUDGET:
            return _looked(
                f"Not bought: {product.code} is ${product.price}, ${BUDGET - self.spent} are left."
            )
        had = {_BY_CODE[code].kind for code in self.bought}
        self.bought = (*self.bought, product.code)
        return Observed(
            f"Bought {product.code} for ${product.price}. Spent so far: ${self.spent}.",
            instructions=_subtask_after(product.kind) if product.kind not in had else (),
            effect=Reversible(f"return[{product.code}]"),
        )

    def _return(self, product: Product) -> Observed:
        if product.code not in self.bought:
            return _looked(f"{product.code} was not bought.")
        self.bought = tuple(code for code in self.bought if code != product.code)
        return Observed(
            f"Returned {product.code}. Spent so far: ${self.spent}.",
            effect=Reversible(f"buy[{product.code}]"),
        )


def _looked(text: str) -> Observed:
    return Observed(text, effect=NoEffect())


def _subtask_after(kind: str) -> tuple[str, ...]:
    following = KINDS.index(kind) + 1
    return SUBTASKS[following : following + 1]


def _results(query: str) -> str:
    """Return the products of the kind that the query ends on, those first that share more of its other words."""
    words = _WORD.findall(query.lower())
    kinds = [word for word in words if word in KINDS]
    wanted = set(words) - set(kinds[-1:])
    of_kind = [product for product in GOODS if product.kind in (kinds[-1:] or KINDS)]
    shared = {product: len(wanted & set(_WORD.findall(product.line.lower()))) for product in of_kind}
    found = [product for product in of_kind if shared[product] or not wanted]
    found.sort(key=lambda product: -shared[product])
    head = f'{len(found)} {"result" if len(found) == 1 else "results"} for "{query}"'
    return "\n".join([head, *(f"{place}. {product.listed}" for place, product in enumerate(found, 1))])

"""The shop as an agent finds it: searching, paging, opening, buying."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Final, final

import attrs

from benchmarks.arena.domains.calls import TEXT, Call
from benchmarks.arena.domains.drawing import place_of
from benchmarks.arena.domains.shopping.catalogue import Product, Shop, dollars
from benchmarks.arena.domains.world import Answer, Told
from mage.effects import Tool

PAGE: Final = 10
"""Results of a page."""
_PAGES: Final = 3
_WORD: Final = re.compile(r"[a-z0-9]+")

TOOLS: Final = (
    Tool.of("search", "List the products that share most words with a text, ten on a page.", words=TEXT),
    Tool.of("next_page", "Show the next page of the last search."),
    Tool.of("previous_page", "Show the page before it."),
    Tool.of(
        "open",
        "Show the page of a product, by its code: its price, its rating and what is said of it.",
        code=TEXT,
    ),
    Tool.of("buy", "Buy the product whose page is open. This ends the present subtask."),
)

MANUAL: Final = """\
You are in a web shop, and buy a bundle of products that fit to each other, in the order in which you are told to.
Each subtask describes some options in words. For each of them there is one product in the shop that matches it best:
brand, line, keyword, kind and size are all the same. Very similar products stand beside it, and it may be on a later page.
- Search for one option at a time, by its whole text. Look at every option before you buy, open its product, and keep
  title, code, price and rating of each, also of those that do not fit.
- The notes speak of an earlier purchase, which they name by its number, and of the present choice. Look for the words
  of the notes in the title of that purchase and in the title of the option, literally; infer nothing. An option does
  not fit where a word of the earlier purchase avoids a word of the option. Where no word of the notes stands in one of
  the two titles, it fits. Notes are not to be applied within one product.
- Of the options that fit and can be paid, buy the one that the preference names. What was bought counts against the
  budget, and what an instruction says is to be left must be left.
- Buy exactly one product in each subtask: open its page, then buy. No action gives a purchase back.
Once you have bought, write down what you bought, with its title and price: nothing here will tell you again."""


@final
@attrs.frozen
class Browsing:
    """Where somebody is in the shop.

    Attributes:
        bought: what was bought, oldest first.
        words: of the last search; empty before the first.
        page: of its results, counted from 0.
        open: the code of the open page; empty where none is.
    """

    bought: tuple[Product, ...] = ()
    words: str = ""
    page: int = 0
    open: str = ""

    @property
    def spent(self) -> int:
        """Cents that were paid."""
        return sum(product.cents for product in self.bought)


@final
@attrs.define(slots=False)  # what is worked out once is kept beside its fields
class ShopRules:
    """The rules of one shop.

    Attributes:
        shop: what is sold, and what is asked for.
        cap: actions of a subtask.
        seed: decides between products that a search finds equally good.
    """

    shop: Shop
    cap: int
    seed: str
    manual: str = MANUAL
    tools: tuple[Tool, ...] = TOOLS
    looks: frozenset[str] = frozenset({"search", "next_page", "previous_page", "open"})

    @cached_property
    def instructions(self) -> tuple[str, ...]:
        """What each subtask asks for."""
        return tuple(errand.text(place) for place, errand in enumerate(self.shop.errands))

    @cached_property
    def _by_code(self) -> dict[str, Product]:
        return {product.code: product for product in self.shop.shelf}

    @cached_property
    def _shelf(self) -> tuple[tuple[frozenset[str], int, Product], ...]:
        return tuple(
            (frozenset(_words_of(product.title)), place_of(self.seed, product.code), product)
            for product in self.shop.shelf
        )

    def begin(self) -> Browsing:
        """Begin with nothing bought."""
        return Browsing()

    def turn(self, state: Browsing, _subtask: int, /) -> tuple[Answer, Browsing]:
        """Nothing was bought; the page that is open stays open."""
        return (), state

    def call(self, state: Browsing, call: Call, subtask: int, /) -> Told[Browsing]:
        """Search, turn a page, open or buy."""
        match call.name:
            case "search":
                return self._listed(attrs.evolve(state, words=call.text("words"), page=0, open=""))
            case "next_page" | "previous_page":
                return self._turned(state, 1 if call.name == "next_page" else -1)
            case "open":
                return self._opened(state, call.text("code"))
            case _:
                return self._bought(state, subtask)

    def found(self, words: str) -> tuple[Product, ...]:
        """Return the results of a search, best first; those that are buried come on a later page.

        Cost: O(products), the first time that a text is searched for.
        """
        return self._ranking(words)

    @cached_property
    def _ranking(self) -> Callable[[str], tuple[Product, ...]]:
        return lru_cache(maxsize=1024)(self._ranked)

    def _ranked(self, words: str) -> tuple[Product, ...]:
        wanted = frozenset(_words_of(words))
        ranked = sorted(
            (-len(wanted & known), tie, product.code) for known, tie, product in self._shelf if wanted & known
        )
        results = [self._by_code[code] for _, _, code in ranked]
        buried = sorted((each for each in results[:PAGE] if each.buried), key=lambda each: each.buried)
        results = [each for each in results if each not in buried]
        for product in buried:
            results.insert(product.buried, product)
        return tuple(results[: PAGE * _PAGES])

    def _listed(self, state: Browsing) -> Told[Browsing]:
        results = self.found(state.words)
        if not results:
            return Told("No product shares a word with that.", state)
        pages = -(-len(results) // PAGE)
        shown = results[state.page * PAGE : (state.page + 1) * PAGE]
        lines = [f"Page {state.page + 1} of {pages}:", *(f"{each.code} {each.title}" for each in shown)]
        return Told("\n".join(lines), state)

    def _turned(self, state: Browsing, by: int) -> Told[Browsing]:
        if not state.words:
            return Told("Nothing was searched for.", state)
        page = state.page + by
        if not 0 <= page < -(-len(self.found(state.words)) // PAGE):
            return Told("There is no such page.", state)
        return self._listed(attrs.evolve(state, page=page, open=""))

    def _opened(self, state: Browsing, code: str) -> Told[Browsing]:
        product = self._by_code.get(code)
        if product is None:
            return Told("There is no product of that code.", state)
        stars = f"{product.rating / 10:.1f}"
        text = (
            f"{product.code} {product.title}\nPrice: {product.price}. Rating: {stars} of 5.\n{product.about}\n"
            "It can be bought here."
        )
        return Told(text, attrs.evolve(state, open=code))

    def _bought(self, state: Browsing, subtask: int) -> Told[Browsing]:
        product = self._by_code.get(state.open)
        if product is None:
            return Told("Nothing is open that could be bought.", state)
        left = self.shop.budget - state.spent
        if product.cents > left:
            return Told(f"Not bought: {product.price} is more than what is left of the budget.", state)
        after = Browsing((*state.bought, product))
        text = f"Bought as product {subtask + 1}: {product.code} {product.title}, {product.price}."
        return Told(text, after, (("code", product.code),))

    @property
    def text(self) -> str:
        """What is asked for, at the beginning."""
        return (
            f"Buy a bundle of {len(self.shop.errands)} products, one after the other, for at most "
            f"{dollars(self.shop.budget)} in all. You are told of each product when its turn comes."
        )


def _words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())

"""What a shop has, what a bundle asks for, and what is right: pure values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, final

import attrs

from benchmarks.arena.domains.words import listed

Preference: TypeAlias = Literal["the highest price", "the lowest price", "the highest rating"]


@final
@attrs.frozen
class Product:
    """One thing to buy.

    Attributes:
        code: what it is ordered by.
        title: how a search lists it. Every word that a note may name stands in it.
        keyword: the word of it that notes name, in lower case; empty for none.
        cents: its price.
        rating: tenths of a star, of 50.
        about: what its page says beside that.
        buried: how many others a search puts before it, however well it matches.
    """

    code: str
    title: str
    keyword: str
    cents: int
    rating: int
    about: str
    buried: int

    @property
    def price(self) -> str:
        """Its price in words."""
        return dollars(self.cents)


@final
@attrs.frozen
class Notes:
    """What fits to an earlier purchase: by its keyword, the keywords that pair with it and those that avoid it.

    Attributes:
        of: the purchase, counted from 0.
        pairs: by keyword of that purchase.
        avoids: by keyword of that purchase.
    """

    of: int
    pairs: Mapping[str, tuple[str, ...]] = attrs.field(hash=False)
    avoids: Mapping[str, tuple[str, ...]] = attrs.field(hash=False)

    def allow(self, earlier: str, keyword: str) -> bool:
        """Tell whether a product with a keyword fits to a purchase with another; one that no note names does."""
        return keyword not in self.avoids.get(earlier, ())


@final
@attrs.frozen
class Errand:
    """One subtask: which of some products to buy.

    Attributes:
        kind: what is bought.
        options: the products that the options describe, in their order.
        notes: on earlier purchases; none in the first errand.
        preference: which of the options that fit and can be paid is right.
        reserve: cents that must be left for the purchases that follow.
    """

    kind: str
    options: tuple[Product, ...]
    notes: tuple[Notes, ...]
    preference: Preference
    reserve: int

    def fitting(self, bought: Sequence[Product], left: int) -> tuple[Product, ...]:
        """Return the options that fit to what was bought and can be paid with what is left."""
        return tuple(
            option
            for option in self.options
            if option.cents <= left - self.reserve
            and all(note.allow(bought[note.of].keyword, option.keyword) for note in self.notes)
        )

    def best(self, products: Sequence[Product]) -> Product | None:
        """Return which of them is preferred; no two options are alike in what a preference looks at."""
        return max(products, key=self._worth, default=None)

    def _worth(self, product: Product) -> int:
        if self.preference == "the highest rating":
            return product.rating
        return product.cents if self.preference == "the highest price" else -product.cents

    def text(self, place: int) -> str:
        """Return the instruction; `place` counts from 0."""
        lines = [
            f"Product {place + 1}: buy one {self.kind}. Of those that fit and can be paid, {self.preference}."
        ]
        if self.reserve:
            lines.append(
                f"Leave at least {dollars(self.reserve)} of the budget for the products that follow."
            )
        for note in self.notes:
            lines.append(f"Compatibility notes, product {note.of + 1} with this one:")
            lines += [
                f"- {word.title()} pairs well with {_words(fit)}." for word, fit in note.pairs.items() if fit
            ]
            lines.append(f"Avoid notes, product {note.of + 1} with this one:")
            lines += [f"- {word.title()} avoids {_words(bad)}." for word, bad in note.avoids.items() if bad]
        lines.append("Options:")
        lines += [f"{number}. {option.title}" for number, option in enumerate(self.options, 1)]
        return "\n".join(lines)


def _words(keywords: Sequence[str]) -> str:
    return listed([word.title() for word in keywords])


@final
@attrs.frozen
class Shop:
    """A shop, and a bundle to buy in it.

    Attributes:
        errands: the subtasks, in their order.
        shelf: every product, those that nobody asks for included.
        budget: cents, for the whole bundle.
    """

    errands: tuple[Errand, ...]
    shelf: tuple[Product, ...] = attrs.field(repr=False)
    budget: int

    def right(self) -> tuple[Product, ...] | None:
        """Return the right purchases, each decided by the ones before it; None where one of them has none."""
        bought: list[Product] = []
        for errand in self.errands:
            spent = sum(product.cents for product in bought)
            best = errand.best(errand.fitting(bought, self.budget - spent))
            if best is None:
                return None
            bought.append(best)
        return tuple(bought)


def dollars(cents: int) -> str:
    """Return an amount in words."""
    return f"${cents // 100}.{cents % 100:02d}"

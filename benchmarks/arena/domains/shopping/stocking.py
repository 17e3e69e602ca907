"""A shop and its bundle, drawn from a seed.

Around each option stand near-duplicates: the same words but for the brand, the line or the size. Products come first,
then a budget, then what fits to what: notes are drawn until there is a right choice and, for each purchase that they
speak of, another keyword of it would have made another choice right. So whoever does not know what was bought must guess.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final, final

import attrs

from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.shopping.catalogue import Errand, Notes, Preference, Product, Shop
from benchmarks.arena.domains.words import names, several

_BUNDLES: Final = (
    several("cake mix; frosting; food colouring; sprinkle mix; cake topper; candle set"),
    several("sofa; footstool; floor lamp; area rug; throw blanket; wall shelf"),
    several("tent; sleeping bag; camping stove; lantern; cool box; folding chair"),
    several("notebook; fountain pen; ink bottle; pen case; desk mat; letter tray"),
)
_KEYWORDS: Final = several(
    "red; blue; gold; silver; green; black; white; pink; orange; violet; "
    "oak; linen; chrome; velvet; leather; bamboo; cotton; copper; glass; wool"
)
_LINES: Final = several(
    "Classic; Meadow; Harbour; Studio; Summit; Orchard; Nordic; Lunar; Festival; Heritage"
)
_SIZES: Final = several("2 oz; 4 oz; 8 oz; 12 oz; 16 oz; 24 oz; 2 pack; 3 pack; 6 pack; 8 pack; 12 pack")
_QUALITIES: Final = several(
    "sturdy; light; washable; hand finished; made to last; easy to store; tested for safety; free of scent; "
    "rounded at the edges; packed without plastic; good for gifts; simple to clean; suited to small rooms; "
    "liked by families; made in small batches; delivered in a flat box"
)
_REVIEWERS: Final = several(
    "A buyer; A regular; Someone new here; A parent; A collector; A neighbour of ours"
)
_OPINIONS: Final = several(
    "It came two days early and was packed with care; "
    "It is smaller than I had thought from the picture; "
    "I have had the older one for years and wanted the same again; "
    "My sister asked at once where I had found it; "
    "One corner was bent, and the shop sent another within a week; "
    "It does what it says and nothing more; "
    "I would not buy it for every day, but for guests it is fine; "
    "The label comes off when it gets wet; For the money I had expected less; "
    "It took me a while to see how it opens, then it was easy; "
    "Bought it for a friend who already has everything, and it is in use; "
    "Mine has a small scratch below; The one that I had before lasted longer, but it was heavier, too; "
    "Nothing to add to what others say"
)
_SIGNS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_PREFERENCES: Final[tuple[Preference, ...]] = (
    "the highest price",
    "the highest rating",
    "the highest price",
    "the lowest price",
)


@final
@attrs.frozen
class Size:
    """How large a shop is. The default is about the paper's.

    Attributes:
        errands: products in the bundle.
        options: options of each.
        near: near-duplicates of each option.
        qualities: how many a page names.
        reviews: how many a page shows.
        buried: the share of options that the first page of results does not show.
    """

    errands: int = 6
    options: int = 5
    near: int = 4
    qualities: int = 12
    reviews: int = 10
    buried: float = 0.7


FULL: Final = Size()
_TRIES: Final = 60
"""How often notes are drawn for one errand, before the whole shop is drawn anew."""


def stocked(seed: int, number: int, size: Size = FULL) -> Shop:
    """Return a shop whose bundle has a right choice at every step. Cost: a few tries, each O(products)."""
    attempt = 0
    while True:
        shop = _drawn(draws("shopping", seed, number, attempt), size)
        if shop is not None:
            return shop
        attempt += 1


def _drawn(draw: random.Random, size: Size) -> Shop | None:
    kinds = draw.choice(_BUNDLES)[: size.errands]
    brands = names(draw, 12)
    codes = _codes(draw)
    chosen: list[tuple[Product, ...]] = []
    shelf: list[Product] = []
    for kind in kinds:
        words = draw.sample(_KEYWORDS, size.options - 1)
        options, others = _products(draw, size, kind, words, brands, codes)
        chosen.append(options)
        shelf += [*options, *others]
    draw.shuffle(shelf)
    usual = [sorted(option.cents for option in options)[len(options) // 2] for options in chosen]
    budget = round(sum(usual) * draw.uniform(1.02, 1.2))
    errands = _errands(draw, kinds, chosen, usual, budget)
    return None if errands is None else Shop(errands, tuple(shelf), budget)


def _errands(
    draw: random.Random,
    kinds: Sequence[str],
    options: Sequence[tuple[Product, ...]],
    usual: Sequence[int],
    budget: int,
) -> tuple[Errand, ...] | None:
    """Return the errands, each of which hangs on the right choices before it; None where that was not found."""
    errands: list[Errand] = []
    right: list[Product] = []
    for place, kind in enumerate(kinds):
        left = budget - sum(product.cents for product in right)
        for _ in range(_TRIES):
            notes = tuple(_notes(draw, of, options[of], options[place]) for of in _earlier(draw, place))
            reserve = sum(usual[place + 1 :])
            errand = Errand(kind, options[place], notes, draw.choice(_PREFERENCES), reserve)
            best = errand.best(errand.fitting(right, left))
            if best is not None and all(_changes(errand, note, right, left) for note in notes):
                break
        else:
            return None
        errands.append(errand)
        right.append(best)
    return tuple(errands)


def _earlier(draw: random.Random, place: int) -> tuple[int, ...]:
    """Return which earlier purchases the notes speak of: the last one, and from the fourth on one further back."""
    if not place:
        return ()
    return (draw.randrange(place - 1), place - 1) if place >= 3 else (place - 1,)


def _notes(draw: random.Random, of: int, earlier: Sequence[Product], options: Sequence[Product]) -> Notes:
    words = sorted(option.keyword for option in options if option.keyword)
    avoids = {
        product.keyword: tuple(sorted(draw.sample(words, draw.randint(1, len(words) // 2))))
        for product in earlier
        if product.keyword
    }
    pairs = {word: tuple(each for each in words if each not in bad) for word, bad in avoids.items()}
    return Notes(of, pairs, avoids)


def _changes(errand: Errand, note: Notes, right: Sequence[Product], left: int) -> bool:
    """Tell whether another choice would be right, had the purchase that a note speaks of another keyword."""
    chosen = errand.best(errand.fitting(right, left))
    for word in note.avoids:
        other = [*right]
        other[note.of] = attrs.evolve(right[note.of], keyword=word)
        if errand.best(errand.fitting(other, left)) not in (chosen, None):
            return True
    return False


def _products(
    draw: random.Random,
    size: Size,
    kind: str,
    words: Sequence[str],
    brands: Sequence[str],
    codes: Iterator[str],
) -> tuple[tuple[Product, ...], list[Product]]:
    """Return the options of an errand, the last of which has no keyword, and the near-duplicates around them."""
    keywords = [*words, ""][: size.options]
    draw.shuffle(keywords)
    cents = draw.sample(range(690, 3990, 7), size.options)
    ratings = draw.sample(range(31, 50), size.options)
    taken: set[str] = set()
    options: list[Product] = []
    near: list[Product] = []
    for place, keyword in enumerate(keywords):
        named = (draw.choice(brands), draw.choice(_LINES), draw.choice(_SIZES))
        while _title(*named, keyword, kind) in taken:
            named = (draw.choice(brands), draw.choice(_LINES), draw.choice(_SIZES))
        title = _title(*named, keyword, kind)
        taken.add(title)
        about = _about(draw, size)
        buried = draw.randrange(10, 28) if draw.random() < size.buried else 0
        options.append(Product(next(codes), title, keyword, cents[place], ratings[place], about, buried))
        for each in _variants(draw, named, keyword, kind, brands, taken, size.near):
            price, stars = draw.randrange(690, 3990), draw.randrange(31, 50)
            near.append(Product(next(codes), each, keyword, price, stars, _about(draw, size), 0))
    return tuple(options), near


def _variants(
    draw: random.Random,
    named: tuple[str, str, str],
    keyword: str,
    kind: str,
    brands: Sequence[str],
    taken: set[str],
    count: int,
) -> Iterator[str]:
    """Yield titles that differ from one in its brand, its line or its size, and are no other's."""
    made = 0
    while made < count:
        brand, line, size = named
        which = draw.randrange(3)
        brand = draw.choice(brands) if which == 0 else brand
        line = draw.choice(_LINES) if which == 1 else line
        size = draw.choice(_SIZES) if which == 2 else size
        title = _title(brand, line, size, keyword, kind)
        if title not in taken:
            taken.add(title)
            made += 1
            yield title


def _title(brand: str, line: str, size: str, keyword: str, kind: str) -> str:
    coloured = f"{keyword.title()} " if keyword else ""
    return f"{brand} {line} {coloured}{kind.title()}, {size}"


def _about(draw: random.Random, size: Size) -> str:
    """Return what a page says beside the price: nothing of it decides anything."""
    qualities = f"{', '.join(draw.sample(_QUALITIES, size.qualities)).capitalize()}."
    opinions = draw.sample(_OPINIONS, size.reviews)
    said = [f"{draw.choice(_REVIEWERS)}, {draw.randint(2, 5)} of 5: {opinion}." for opinion in opinions]
    return "\n".join([qualities, *said])


def _codes(draw: random.Random) -> Iterator[str]:
    known: set[str] = set()
    while True:
        code = "".join(draw.choice(_SIGNS) for _ in range(3)) + f"-{draw.randrange(1000, 9999)}"
        if code not in known:
            known.add(code)
            yield code

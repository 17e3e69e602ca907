"""The shop: its size, what decides a purchase, what is found, what can be paid."""

from __future__ import annotations

import re

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena.domains.calls import action
from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.shopping.catalogue import Errand, Notes, Product, Shop
from benchmarks.arena.domains.shopping.rules import PAGE, ShopRules
from benchmarks.arena.domains.shopping.stocking import Size, stocked
from benchmarks.arena.domains.world import World
from tests.arena.domains.cases import FULL, rules_of

SMALL = Size(errands=4, options=4, near=2, qualities=2, reviews=1)
SHOPS = st.integers(0, 10_000).map(lambda seed: stocked(seed, 0, SMALL))
FEW = settings(deadline=None, max_examples=25)


@given(SHOPS)
@FEW
def test_an_option_is_like_no_other_product(shop: Shop) -> None:
    """No two products have one title or one code, and no two options tie in what a preference looks at."""
    assert len({product.title for product in shop.shelf}) == len(shop.shelf)
    assert len({product.code for product in shop.shelf}) == len(shop.shelf)
    for errand in shop.errands:
        assert len({option.cents for option in errand.options}) == len(errand.options)
        assert len({option.rating for option in errand.options}) == len(errand.options)


@given(SHOPS)
@FEW
def test_every_noted_purchase_decides(shop: Shop) -> None:
    """Had a purchase that the notes speak of had another keyword, another option would have been right."""
    right = shop.right()
    assert right is not None
    for place, errand in enumerate(shop.errands):
        assert bool(errand.notes) == bool(place)
        left = shop.budget - sum(product.cents for product in right[:place])
        for note in errand.notes:
            others = [
                [*right[: note.of], attrs.evolve(right[note.of], keyword=word), *right[note.of + 1 :]]
                for word in note.avoids
            ]
            assert any(
                errand.best(errand.fitting(other, left)) not in (None, right[place]) for other in others
            )


def test_who_does_not_know_what_was_bought_rarely_succeeds() -> None:
    """Who guesses the keywords of earlier purchases, and reads everything else, gets few bundles right, if any."""
    whole = 0
    for number in range(40):
        shop, draw = stocked(1, number), draws("guess", number)
        right = shop.right()
        assert right is not None
        guessed = [attrs.evolve(each, keyword="") for each in right]
        for place, errand in enumerate(shop.errands):
            left = shop.budget - sum(product.cents for product in right[:place])
            if errand.best(errand.fitting(guessed, left)) != right[place]:
                break
            words = [option.keyword for option in errand.options]
            guessed[place] = attrs.evolve(right[place], keyword=draw.choice(words))
        else:
            whole += 1
    assert whole <= 4


@given(SHOPS)
@FEW
def test_the_whole_bundle_can_be_paid(shop: Shop) -> None:
    """What is right costs no more than the budget, and leaves at each step what is to be left."""
    right = shop.right()
    assert right is not None
    spent = 0
    for product, errand in zip(right, shop.errands, strict=True):
        spent += product.cents
        assert shop.budget - spent >= errand.reserve
    assert spent <= shop.budget


def test_what_fits_is_decided_by_the_words_of_the_notes() -> None:
    """A keyword that is avoided does not fit; one that pairs does, and so does an option without any."""
    bought = Product("A-1", "Red Cake Mix", "red", 500, 40, "", 0)
    gold = Product("B-1", "Gold Sprinkles", "gold", 900, 30, "", 0)
    silver = Product("B-2", "Silver Sprinkles", "silver", 1100, 50, "", 0)
    plain = Product("B-3", "Sprinkles", "", 700, 45, "", 0)
    notes = Notes(0, {"red": ("gold",)}, {"red": ("silver",)})
    errand = Errand("sprinkles", (gold, silver, plain), (notes,), "the highest price", 200)
    assert errand.fitting([bought], 5000) == (gold, plain)
    assert errand.best(errand.fitting([bought], 5000)) == gold
    assert errand.fitting([bought], 1000) == (plain,)  # 800 may be paid
    assert errand.fitting([bought], 100) == ()
    assert errand.best(()) is None
    by_rating = attrs.evolve(errand, preference="the highest rating")
    assert by_rating.best(by_rating.fitting([bought], 5000)) == plain
    by_price = attrs.evolve(errand, preference="the lowest price")
    assert by_price.best((gold, silver)) == gold
    assert "Red pairs well with Gold." in errand.text(1)
    assert "Red avoids Silver." in errand.text(1)


@given(SHOPS)
@FEW
def test_a_search_finds_every_option_and_buries_some(shop: Shop) -> None:
    """The whole text of an option finds it; one that is buried stands on a later page, any other first of all."""
    rules = ShopRules(shop, 40, "x")
    for errand in shop.errands:
        for option in errand.options:
            found = rules.found(option.title)
            place = found.index(option)
            assert (place >= PAGE) == bool(option.buried) or len(found) <= PAGE
            assert option.buried or place < PAGE


def test_prices_stand_on_pages_alone() -> None:
    """No list of results tells a price or a rating: every option must be opened."""
    task = FULL["shopping"].task(1, 0)
    world = World(task.rules)
    world.reset()
    title = rules_of(task).shop.errands[0].options[0].title
    listed = world.act(action("search", words=title)).text
    assert not re.search(r"\$|Rating", listed)
    assert listed.count("\n") == PAGE


def test_what_cannot_be_done_is_said() -> None:
    """Buying with nothing open or beyond the budget, unknown codes and pages: each is refused in words."""
    task = FULL["shopping"].task(1, 0)
    rules = attrs.evolve(rules_of(task), shop=attrs.evolve(rules_of(task).shop, budget=100))
    world = World(rules)
    world.reset()
    assert world.act("buy").text == "Nothing is open that could be bought."
    assert world.act("next_page {}").text == "Nothing was searched for."
    assert world.act(action("open", code="?")).text == "There is no product of that code."
    assert world.act(action("search", words="???")).text == "No product shares a word with that."
    product = rules.shop.shelf[0]
    world.act(action("search", words=product.title))
    assert world.act("previous_page").text == "There is no such page."
    world.act(action("open", code=product.code))
    assert "more than what is left" in world.act("buy").text
    assert world.act("sing {}").text.startswith("There is no tool of that name. Tools: search,")
    assert world.act(action("open")).text == "Not done: 'code' is a required property"
    assert world.standing.closed == ()

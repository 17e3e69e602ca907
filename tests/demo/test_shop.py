"""The demo's shop, and who plays in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mage import Session
from mage.agent import Agent
from mage.demo.shop import BUDGET, GOODS, TASK, Shop, judge, shopper
from mage.effects import NoEffect, Reversible
from mage.engine import Grow
from mage.stores import open_store

CODES = [product.code for product in GOODS] + ["X-1"]
actions = st.one_of(
    st.builds("{}[{}]".format, st.sampled_from(["open", "buy", "return"]), st.sampled_from(CODES)),
    st.builds(
        "search[{}]".format, st.sampled_from(["desk", "oak", "chrome chair", "lamp linen", "", "moon"])
    ),
    st.text(max_size=20),
)


@given(st.lists(actions, max_size=30), actions)
def test_every_effect_is_as_declared(before: list[str], action: str) -> None:
    """What had no effect leaves the basket as it was; the inverse of what had one brings it back, order aside."""
    shop = Shop()
    shop.reset()
    for done in before:
        shop.act(done)
    basket = sorted(shop.bought)
    effect = shop.act(action).effect
    if isinstance(effect, Reversible):
        assert sorted(shop.bought) != basket
        shop.act(effect.inverse)
    else:
        assert effect == NoEffect()
    assert sorted(shop.bought) == basket


@given(st.lists(actions, max_size=30))
def test_the_shop_repeats_itself_and_keeps_the_budget(done: list[str]) -> None:
    """After a reset the same actions come back with the same; never is more spent than there is."""
    shop = Shop()
    first = [shop.reset(), *map(shop.act, done)]
    assert shop.spent <= BUDGET
    assert [shop.reset(), *map(shop.act, done)] == first


def test_a_purchase_of_each_kind_brings_the_next_subtask_once() -> None:
    """The reset brings the first one; a second desk and the lamp bring none."""
    shop = Shop()
    assert [text[:10] for text in shop.reset().instructions] == ["Product 1:"]
    brought = [
        [text[:10] for text in shop.act(f"buy[{code}]").instructions]
        for code in ("D-1902", "D-2077", "C-1180", "L-0207")
    ]
    assert brought == [["Product 2:"], [], ["Product 3:"], []]


def test_what_cannot_be_done_says_why() -> None:
    """Unknown actions and products, what was bought or not, and what is too dear."""
    shop = Shop()
    said = [
        shop.act(action).text
        for action in ("dance", "open[X-1]", "return[D-2041]", "buy[D-2041]", "buy[D-2041]")
    ]
    assert said[0].endswith(shop.capabilities.manual)
    assert said[1:] == [
        "There is no product X-1.",
        "D-2041 was not bought.",
        "Bought D-2041 for $310. Spent so far: $310.",
        "D-2041 was bought before.",
    ]
    shop.act("buy[D-2077]")
    assert shop.act("buy[L-0342]").text == "Not bought: L-0342 is $139, $125 are left."
    assert shop.act("return[D-2077]").text == "Returned D-2077. Spent so far: $310."


def test_a_search_lists_what_is_asked_for_the_best_first() -> None:
    """Of the kind that it ends on, by words in common; all of a kind where only that is named."""
    shop = Shop()

    def found(query: str) -> list[str]:
        head, *lines = shop.act(f"search[{query}]").text.splitlines()
        assert head.startswith(f"{len(lines)} result")
        return [line.split()[1] for line in lines]

    assert found("linen desk chair") == ["C-2210", "C-2214"]
    assert found("desk lamp brass linen shade") == ["L-0310", "L-0342", "L-0207"]
    assert found("chair") == ["C-1180", "C-1181", "C-2210", "C-2214"]
    assert found("oak") == ["D-2041", "D-2077", "C-2214"]
    assert found("moon") == []


def test_the_story_of_the_demo_is_what_the_shop_answers() -> None:
    """Twelve actions, as README and demo show them."""
    agent = Agent(model=shopper, environment=Shop(), judge=judge)
    with open_store("memory:") as store:
        agent.run(store, "story", task=TASK)
        with Session.open(store, "story") as session:
            told = [entry.command for entry in session.history() if isinstance(entry.command, Grow)]
    assert [move.action for move in told] == [
        "search[oak desk 120 cm]",
        "open[D-2041]",
        "buy[D-2041]",
        "search[chrome swivel chair]",
        "open[C-1180]",
        "buy[C-1180]",
        "search[linen desk chair]",
        "open[C-2214]",
        "buy[C-2214]",
        "search[desk lamp brass linen shade]",
        "open[L-0310]",
        "buy[L-0310]",
    ]
    assert told[8].observation == "Bought C-2214 for $198. Spent so far: $508."
    assert told[1].observation.endswith("In stock: 7. Price: $310. [Buy Now]")

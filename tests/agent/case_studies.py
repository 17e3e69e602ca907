"""The two case studies of the paper's appendix as histories: ids, labels, prices and names are the paper's, the words ours.

Nobody here is a model. `choose` and `judged` read a prompt as the paper's rules say, and take what follows from it: so
choice and verdict can only be right if what they rest on is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, final

import attrs

import mage
import mage.engine
from mage.engine import State


@final
@attrs.frozen
class Part:
    """A finished subtask: how many steps it took, and its summary."""

    steps: int
    text: str


@final
@attrs.frozen
class Case:
    """A case study, at the moment of its last purchase.

    Attributes:
        task: the whole task.
        parts: the subtasks before.
        instruction: the subtask at hand, with its notes.
        looked_at: what the agent has looked at for it: an action and what came back.
        right: the id of the product to buy.
        misleading: a purchase that a memory of fragments would have taken for the last one.
    """

    task: str
    parts: Sequence[Part]
    instruction: str
    looked_at: Sequence[tuple[str, str]]
    right: str
    misleading: str


CASE_A: Final = Case(
    task="Buy what a cake needs, product by product, for at most $100 in all. Take the dearest option that fits.",
    parts=(
        Part(
            24,
            "Product 1 purchased: Gluten-Free Carrot Cake Mix. Price: $14.99. ASIN: B00T6NA7PA. Rating: 4.5.",
        ),
        Part(
            7,
            "Product 2 purchased: Betty Crocker Ready-to-Serve R & C Frost Cream Cheese, 8 pack."
            " Price: $34.27. ASIN: B003GQP06O. Rating: none.",
        ),
        Part(
            9,
            "Product 3 purchased: AmeriColor Tulip Red AmeriMist Airbrush Food Color, 9 oz."
            " Price: $16.00. ASIN: B071S91WRZ. Rating: none.",
        ),
    ),
    instruction=(
        "Product 4: a topping.\n"
        "Fudge pairs well with Chocolate. Red pairs well with Gold. Pink pairs well with Pearl."
        " Blue pairs well with Silver. Yellow pairs well with Rainbow.\n"
        "Fudge avoids Rainbow, Confetti, Pearl, Silver. Red avoids Green, Silver, Rainbow."
        " Pink avoids Chocolate, Green, Orange. Blue avoids Gold, Red, Orange. Yellow avoids Silver, Gold."
    ),
    looked_at=(
        (
            "open[B08BFQ9B7T]",
            "Gold Heart Sprinkles, Edible Party Supplies, 8 oz. Price: $14.95. Rating: 4.4.",
        ),
        (
            "open[B07YTFYGXL]",
            "Mermaid Sprinkles, Cool Mom, silver, purple and blue. Price: $13.95. Rating: 4.8.",
        ),
        ("open[B0GOLDSUGR]", "Gold Sugar Crystals, Sugar Deco, 8 ounces. Price: $9.50. Rating: 4.2."),
        ("open[B0LIEBERSR]", "Lieber's rainbow sprinkles, 11 ounces. Price: $15.49. Rating: 4.0."),
        ("open[B0TREASURE]", "Treasure Hunt Sprinkle Mix, 2 oz. Price: $6.99. Rating: 4.6."),
    ),
    right="B08BFQ9B7T",
    misleading="Product 3 purchased: Duncan Hines Mermaid Cake Cup, blue. Price: $6.99. ASIN: B084JBT37C. Rating: none.",
)
CASE_B: Final = Case(
    task="Furnish a living room, product by product, for at most $1500 in all. Take the dearest option that fits.",
    parts=(
        Part(
            31,
            "Product 1 purchased: Blackjack Furniture Binion Leather Match Upholstered Modern Living Room"
            " Loveseat, Jet Black. Price: $918.00. ASIN: B09H15V1KF. Rating: 5.",
        ),
    ),
    instruction=(
        "Product 2: a footrest that matches.\n"
        "Leather pairs well with Leather. Velvet pairs well with Velvet.\n"
        "Leather avoids Velvet. Velvet avoids Leather."
    ),
    looked_at=(
        ("open[B09M76K4F8]", "Ottoman storage chest, PU leather, blue. Price: $343.89. Rating: 4.1."),
        ("open[B0FSOBEIIA]", "Storage ottoman cube, velvet, beige, 2 pack. Price: $120.99. Rating: 4.3."),
        ("open[B08QYLGB9R]", "Rectangle ottoman SH003, grey velvet. Price: $362.92. Rating: 4.6."),
        ("open[B0MODWAYSET]", "Armchair and ottoman set, faux leather, gray. Price: $271.34. Rating: 4.2."),
        ("open[B0GAROBENCH]", "Storage ottoman bench, leather, black. Price: $42.88. Rating: 3.9."),
    ),
    right="B09M76K4F8",
    misleading="Product 1 purchased: modern velvet couch, 3 seats. Price: $599.99. ASIN: B09H2XT45M. Rating: 4.4.",
)


def state_of(case: Case, *, last: str | None = None) -> State:
    """Return the state before the last purchase; `last` takes the place of the last summary's text."""
    state = mage.engine.start(case.task)
    for place, part in enumerate(case.parts, 1):
        for step in range(1, part.steps + 1):
            state = mage.engine.grow(state, f"look[{place}.{step}]", f"page {step} of product {place}")
        text = last if last is not None and place == len(case.parts) else part.text
        pending = mage.engine.compress(state, text).unwrap()
        judged = mage.engine.apply_verdict(pending, mage.Passed(), pending.digest).unwrap()
        assert isinstance(judged, mage.engine.Active)
        state = judged
    asked = mage.engine.instruct(state, case.instruction).unwrap()
    for action, observation in case.looked_at:
        asked = mage.engine.grow(asked, action, observation)
    return asked


def bought(case: Case, state: State, product: str) -> State:
    """Return the state in which a product was bought, and its purchase is to be judged.

    What was looked at is an interim account by then, which says what there is, so it is one of two parts.
    """
    seen = dict(case.looked_at)[f"open[{product}]"]
    looked = mage.engine.compress(_active(state), "Looked at all options.", "fallback").unwrap()
    passed = mage.engine.apply_verdict(looked, mage.Passed(), looked.digest).unwrap()
    done = mage.engine.grow(_active(passed), f"buy[{product}]", "Thank you for shopping with us!")
    number = len(case.parts) + 1
    return mage.engine.compress(done, f"Product {number} purchased: {seen} ASIN: {product}.").unwrap()


def _active(state: State) -> mage.engine.Active:
    assert isinstance(state, mage.engine.Active)
    return state


def judged(prompt: str) -> mage.Verdict:
    """Return the verdict on a purchase, from the text of a judge's prompt alone: was it what the notes lead to?

    Where it was not, the mistake began where the part begins in which it was bought.
    """
    before, _, claimed = prompt.partition("Summary to judge: ")
    product: str = re.findall(r"ASIN: (\w+)", claimed)[0]
    action = f"buy[{product}]"
    right = choose(before)
    if action == right:
        return mage.Passed()
    begins = re.findall(
        r"(?m)^Done since \[Step (\d+)\]:$", re.split(rf"(?m)^Action \d+: {re.escape(action)}", before)[0]
    )[-1]
    return mage.Failed(f"{action}, and what fits is {right}.", boundary=mage.engine.StepId(int(begins)))


def choose(prompt: str) -> str:
    """Return the action that the notes lead to, from the text of a prompt alone.

    What was purchased is what a line at the left margin with a label says; an option fits if no purchased
    product avoids a word of it; of those that pair with one, or of all where none does, the dearest that is
    within what is left is bought.
    """
    bought = re.findall(r"(?m)^\[Step \d+\] (Product \d+ purchased: .*)$", prompt)
    left = _limit(prompt) - sum(_price(line) for line in bought)
    keywords = _notes(prompt, "pairs well with").keys()
    had = {word for line in bought for word in _words(line) if word in keywords}
    pairs = {good for word in had for good in _notes(prompt, "pairs well with")[word]}
    avoided = {bad for word in had for bad in _notes(prompt, "avoids").get(word, ())}
    options = re.findall(r"open\[(\w+)\]\W*?\n+Observation: (.*)", prompt)
    fitting = [(name, text) for name, text in options if not avoided & _words(text) and _price(text) <= left]
    pairing = [(name, text) for name, text in fitting if pairs & _words(text)]
    name, _ = max(pairing or fitting, key=lambda option: _price(option[1]))
    return f"buy[{name}]"


def _limit(prompt: str) -> float:
    return float(re.findall(r"at most \$(\d+)", prompt)[0])


def _notes(prompt: str, verb: str) -> dict[str, set[str]]:
    found = re.findall(rf"(\w+) {verb} ([\w, ]+)\.", prompt)
    return {word.lower(): {other.strip().lower() for other in others.split(",")} for word, others in found}


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def _price(text: str) -> float:
    return float(re.findall(r"Price: \$([\d.]+\d)", text)[0])

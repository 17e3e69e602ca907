"""Rendering as a whole: the example in the docs, determinism, size."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mage.engine
import mage.render
from mage import Failed, Passed, view
from mage.engine import Unverified, accept, apply_verdict, compress, grow, instruct, revise, start
from mage.render import NO_CAPS, Meter, render
from mage.tokens import EstimateCounter
from tests.render.parser import parse
from tests.render.states import said

_MANY = 100_000
_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = """
import hashlib
from mage import Failed, view
from mage.engine import apply_verdict, compress, grow, revise, start
from mage.render import render
state = start("task")
for n in range(200):
    state = grow(state, f"a{n % 7}", f"b{n % 11}")
    if n % 5 == 4:
        tried = compress(state, f"s{n % 3}").unwrap()
        tried = apply_verdict(tried, Failed(f"f{n % 4}"), tried.digest).unwrap()
        state = revise(tried, 0, f"lesson {n % 6}").unwrap().state
shown = view(state)
print(hashlib.sha256(render(shown).encode()).hexdigest(), len(render(shown)))
"""


def test_the_example_in_the_documentation_is_a_rendering() -> None:
    """What the module's docstring shows is what an agent is shown."""
    documented = re.findall(r"(?m)^    (.*\n)", mage.render.__doc__ or "")
    assert "".join(documented) == render(view(_shopping()))


def _shopping() -> mage.engine.Active:
    state = start("Buy a cake mix, a frosting and a topper. Spend at most $60.")
    state = grow(state, "search[carrot cake mix]", "Carrot Cake Mix, $14.99")
    state = grow(state, "buy[Carrot Cake Mix]", "bought")
    state = _passed(compress(state, "Product 1 purchased: Carrot Cake Mix, $14.99.").unwrap())
    state = grow(state, "buy[Cream Cheese Frosting, red]", "bought")
    text = "Product 2 purchased: Cream Cheese Frosting, red, $34.27."
    state = accept(compress(state, text).unwrap())
    state = instruct(state, "Product 3: the dearest topper that pairs with the frosting.").unwrap()
    tried = grow(state, "buy[Mermaid Sprinkles]", "bought")
    wrong = compress(tried, "Product 3 purchased: Mermaid Sprinkles, silver, $13.95.").unwrap()
    rejected = apply_verdict(wrong, Failed("Red avoids silver."), wrong.digest).unwrap()
    revised = revise(rejected, 3, "Red avoids silver: look for gold.").unwrap().state
    assert not isinstance(revised, Unverified)
    results = "Two results:\n1. Gold Heart Sprinkles, $14.95\n2. Gold Sugar Crystals, $9.50"
    state = grow(revised, "search[gold topper]", results)
    return grow(state, "click[1]", "Gold Heart Sprinkles, in stock")


def _passed(state: Unverified) -> mage.engine.Active:
    judged = apply_verdict(state, Passed(), state.digest).unwrap()
    assert isinstance(judged, mage.engine.Active)
    return judged


@pytest.mark.parametrize("seed", ["1", "2", "random"])
def test_rendering_does_not_depend_on_the_hash_seed(seed: str) -> None:
    """Another process with another hash seed renders the same text (L8)."""
    assert _rendered_with(seed) == _rendered_with("0")


def _rendered_with(seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, env=environment, cwd=_ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_hundred_thousand_steps_are_rendered() -> None:
    """A very long open segment is rendered, measured and parsed back: nothing recurses over it."""
    state = start("task")
    for number in range(_MANY):
        state = grow(state, f"a{number}", "b\nc")
    shown = view(state)
    text = render(shown, caps=NO_CAPS)
    assert parse(text) == said(shown)
    counter = EstimateCounter()
    assert Meter(counter).count(shown) == counter.count(text)


def test_ten_thousand_summaries_and_hints_are_rendered() -> None:
    """So is a very long C, and so are very many hints."""
    state = start("task")
    for number in range(_MANY // 10):
        state = accept(compress(grow(state, f"a{number}", "b"), f"s{number}").unwrap())
    for number in range(_MANY // 10):
        left = revise(grow(state, f"c{number}", "d"), state.tree.boundary, f"lesson {number}").unwrap().state
        assert not isinstance(left, Unverified)
        state = left
    shown = view(state)
    assert parse(render(shown, caps=NO_CAPS)) == said(shown)
    assert len(render(shown)) < len(render(shown, caps=NO_CAPS)) / 2

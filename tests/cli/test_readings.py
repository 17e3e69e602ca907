"""A pattern is found in a text, and in what that says to who reads it as JSON."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from mage import Grow, Start
from mage.cli.readings import places_in
from mage.engine.text import as_text, is_blank
from mage.testing.stores import recorded


@given(
    st.text(min_size=1, max_size=8).filter(lambda text: not is_blank(text)),
    st.lists(st.tuples(st.sampled_from(["value", "key", "item", "alone"]), st.booleans()), max_size=4),
    st.sampled_from(["", " ", "\n"]),
)
def test_a_secret_is_found_in_every_text_however_json_spells_it(
    secret: str, layers: list[tuple[str, bool]], margin: str
) -> None:
    """As a value, a key, an item or alone, in JSON in strings of JSON: in an action, an observation and meta."""
    text = secret
    for shape, escaped in layers:
        document = {"value": {"k": [text]}, "key": {text: 1}, "item": [0, text], "alone": text}[shape]
        text = margin + json.dumps(document, ensure_ascii=escaped)
    record = recorded([Start("t"), Grow(text, "nothing")])[1]
    assert 0 in places_in(record, re.compile(re.escape(as_text(secret))))


def test_what_only_looks_like_json_is_read_as_it_is() -> None:
    """JSON that is cut, nested too deep or of numbers too long is no fault, and is searched as text."""
    for text in ('{"a": "hunter2', "[" * 100_000 + "hunter2", f'["hunter2", {"9" * 5000}]', "{hunter2}"):
        record = recorded([Start("t"), Grow("a", text)])[1]
        assert places_in(record, re.compile("hunter2")) == [1]

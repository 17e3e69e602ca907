"""A pattern is found in a text, and in what that says to whoever undoes the escapes of JSON in it."""

from __future__ import annotations

import json
import re
from random import Random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.cli.change import matches, places_in, redact_store
from mage.engine import Grow, Start
from mage.engine.text import as_text, is_blank
from mage.stores import MemoryStore
from mage.testing.stores import recorded

SHORT = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
SURROUNDINGS = {
    "a document": '{{"k": ["{}", 1]}}',
    "a key": ' {{"{}": null}}',
    "alone": '"{}"',
    "lines": '{{"a": 1}}\n{{"k": "{}"}}\r\n{{"b": 2}}\n',
    "amid prose": 'It said: {{"k": "{}"}}, and that\'s 5" wide.',
    "behind a quote of prose": 'a 5" lamp: {{"k":"{}"}}',
    "behind backslashes": 'in C:\\new\\u12 {{"k":"{}"}}',
    "a key given twice": '{{"k": "{}", "k": 1}}',
    "deep": "[" * 1200 + '"{}"' + "]" * 1200,
    "behind a byte order mark": '\ufeff{{"k": "{}"}}',
    "cut behind": '{{"k": ["{}", {{"m": "and th',
    "cut before": 'ing\\n", "k": "{}"}}',
    "a number too long": '["{}", ' + "9" * 4500 + "]",
}
SECRETS = st.text(min_size=1, max_size=8).map(as_text).filter(lambda text: not is_blank(text))


def spelled(text: str, choices: Random) -> str:
    """Spell a text for a string of JSON: each character in any of the ways that JSON has for it."""
    often = len(text) <= 40  # a longer one would have millions of characters after some layers
    return "".join(_spelled(char, choices, often=often) for char in text)


def _spelled(char: str, choices: Random, *, often: bool) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    hexes = "".join(f"\\u{choices.choice([code, code.upper()])}" for code in codes)
    if choices.random() < (0.5 if often else 0.02):
        return hexes
    if char in SHORT:
        return choices.choice([SHORT[char], char if char == "/" else SHORT[char]])
    return char if char >= " " else hexes


@st.composite
def texts_with_a_secret(draw: st.DrawFn) -> tuple[str, str]:
    """Return a secret, and a text in which it stands in JSON, which may stand in a string of JSON, and so on."""
    text = secret = draw(SECRETS)
    choices = Random(draw(st.integers(0, 2**32)))
    for around in draw(st.lists(st.sampled_from(sorted(SURROUNDINGS)), min_size=1, max_size=4)):
        text = SURROUNDINGS[around].format(spelled(text, choices))
    return secret, text


@given(texts_with_a_secret())
def test_a_secret_is_found_however_json_spells_it_and_whatever_stands_around(given: tuple[str, str]) -> None:
    """In a document, lines, prose or a piece of JSON, in strings within strings; and `^` and `$` fit its string."""
    secret, text = given
    assert matches(re.compile(re.escape(secret)), text)
    assert matches(re.compile(rf"\A{re.escape(secret)}\Z"), text)


@given(texts_with_a_secret())
def test_no_reading_of_what_is_left_shows_the_secret(given: tuple[str, str]) -> None:
    """After redaction it is in no part of any record: not in an action, an observation, nor what goes with them."""
    secret, text = given
    pattern = re.compile(re.escape(secret))
    with MemoryStore() as store:
        store.create("main", recorded([Start("."), Grow(text, "."), Grow(".", text)]))
        redact_store(store, "main", pattern)
        left = [part.text for record in store.read("main") for part in record.parts]
    assert text not in left
    assert not any(matches(pattern, part) for part in left if not part.startswith("[redacted "))


@given(
    st.text(min_size=1, max_size=8).filter(lambda text: not is_blank(text)),
    st.lists(st.tuples(st.sampled_from(["value", "key", "item", "alone"]), st.booleans()), max_size=4),
    st.sampled_from(["", " ", "\n"]),
)
def test_a_secret_is_found_in_what_the_standard_library_writes(
    secret: str, layers: list[tuple[str, bool]], margin: str
) -> None:
    """As a value, a key, an item or alone, in JSON in strings of JSON."""
    text = secret
    for shape, escaped in layers:
        document = {"value": {"k": [text]}, "key": {text: 1}, "item": [0, text], "alone": text}[shape]
        text = margin + json.dumps(document, ensure_ascii=escaped)
    record = recorded([Start("t"), Grow(text, "nothing")])[1]
    assert 0 in places_in(record, re.compile(re.escape(as_text(secret))))


@pytest.mark.parametrize("depth", [1, 63, 64, 65, 66, 500])
def test_escapes_of_escapes_are_undone_at_any_depth(depth: int) -> None:
    """A backslash spelled as an escape, whose backslash is spelled so, and so on; and a digit of a digit."""
    secret = re.compile("hunter2")
    assert matches(secret, "\\" + "u005c" * depth + "u0068unter2")
    assert matches(secret, "\\u006" + "\\u003" * depth + "8unter2")


def test_what_holds_no_secret_is_left() -> None:
    """Backslashes that spell nothing, and escapes of other characters, are no match."""
    for text in (r"C:\dir\x", r"\u00zz\q", "\\", r"\u0074unter2", '"hunt" "er2"'):
        assert not matches(re.compile("hunter2"), text)


class Counting:
    """A pattern that matches nothing, and counts the characters that it was put to."""

    def __init__(self) -> None:
        self.looked_at = 0

    def search(self, text: str) -> None:
        self.looked_at += len(text)


HOSTILE = {
    "quotes": '"',
    "escaped quotes": '\\"',
    "backslashes": "\\",
    "backslashes spelled": "u005c",
    "digits spelled": "\\u003",
    "documents": '{"k": "\\u0061\\n\\\\"}\n',
    "prose": "a word ",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_twice_the_text_is_twice_the_work(kind: str) -> None:
    """Whatever it is made of, no more is looked at than 133 times its length: twice at each of 66 stages."""
    looked_at = []
    for count in (1_000, 2_000):
        counting, text = Counting(), "\\" + HOSTILE[kind] * count
        assert not matches(cast("re.Pattern[str]", counting), text)
        assert counting.looked_at <= 133 * len(text)
        looked_at.append(counting.looked_at)
    assert looked_at[1] <= 2.2 * looked_at[0]

"""Strategies for what commands are made of: texts, contents, verdicts, kinds.

Few contents and texts are drawn often, so that steps merge, summaries are met again and lessons pile up; the
rest of what a string can be is drawn now and then. Whatever is drawn can be written by `mage.codec`.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from mage.engine import Digest, Failed, Grow, Kind, Passed, Verdict
from mage.engine.nodes import FAULTS, KINDS

__all__ = ["HOSTILE", "contents", "kinds", "old_digests", "runs", "texts", "verdicts"]

HOSTILE: Final = (
    "",
    " ",
    "\n\t\r\x0b\x0c",
    "\x1c\x1d\x1e\x1f\x85\xa0\u2028\u3000",  # blank for str.strip, though not all of it looks so
    "\u200b\ufeff",  # invisible, yet not blank
    "\x00",
    "a\x00b\x7f\x9f",
    "\ud800",
    "\udfff\ud800",  # lone, and in the wrong order
    "\ud83d\ude00",  # a pair, which is joined on entry (D15)
    "\U0001f600",  # and the character that the pair stands for
    "\ud83d\ud83d\ude00\ude00",
    "e\u0301",
    "\u00e9",  # the same to the eye, and another string
    '"\\/\b\f\n\r\t\\u0041',
    "[Step 0] Product 2 purchased",
    "</observation>",
    "null",
    "x" * 3000,
)
"""Strings that have broken someone's code before."""

_USUAL_TEXTS: Final = st.sampled_from(("m", "n"))
_ANY_TEXTS: Final = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(), max_size=12))

texts: Final[st.SearchStrategy[str]] = st.integers(0, 3).flatmap(
    lambda pick: _ANY_TEXTS if pick > 1 else _USUAL_TEXTS
)
"""Any string: every other time one of two usual ones, so that things are met again; else a hostile one or any."""

_USUAL_CONTENTS: Final = st.sampled_from((("a", "o"), ("b", "o"), ("a", "p")))
_ANY_CONTENTS: Final = st.tuples(texts, texts)

contents: Final[st.SearchStrategy[tuple[str, str]]] = st.integers(0, 3).flatmap(
    lambda pick: _ANY_CONTENTS if pick > 1 else _USUAL_CONTENTS
)
"""The content of a step: every other time one of three usual ones, so that steps merge."""

runs: Final[st.SearchStrategy[tuple[Grow, ...]]] = st.sampled_from((2, 3, 30, 31, 32, 33, 40)).map(
    lambda length: tuple(Grow(f"a{number}", "o") for number in range(length))
)
"""Many steps in a row, often about as many as the tree packs together."""

verdicts: Final[st.SearchStrategy[Verdict]] = st.one_of(
    st.just(Passed()), st.builds(Failed, texts, st.sampled_from(FAULTS))
)
"""What a judge answers, its feedback blank now and then."""

kinds: Final[st.SearchStrategy[Kind]] = st.sampled_from(KINDS)
"""The kind of a summary."""

old_digests: Final[st.SearchStrategy[Digest]] = st.sampled_from((Digest("0" * 64), Digest("f" * 64)))
"""What no question has as its digest."""

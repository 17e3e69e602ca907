"""Invented names and plain words, so that no task can be solved by what a model knows of the world."""

from __future__ import annotations

import random
from typing import Final


def several(text: str) -> tuple[str, ...]:
    """Return the words or phrases of a text, which semicolons part: a list that reads well as a list."""
    return tuple(each.strip() for each in text.split(";"))


_ONSETS: Final = several("B; Br; C; D; Dr; F; G; H; J; K; L; M; N; P; R; S; St; T; V; W")
_VOWELS: Final = several("a; e; i; o; u; ai; ea; ou")
_MIDDLES: Final = several("l; n; r; s; t; m; nd; rv; ld; st; v; d")
_ENDS: Final = several("en; er; o; a; is; um; ick; ard; ow; ell; in; ane")
GIVEN: Final = several(
    "Ada; Bruno; Clara; Dario; Edith; Felix; Greta; Hugo; Irma; Jonas; Karin; Leo; Mira; Nils; Olga; Paul; Rosa; "
    "Simon; Thea; Ulrich; Vera; Walter; Yara; Zeno"
)


def name(draw: random.Random) -> str:
    """Return a made-up name of two or three syllables."""
    middle = draw.choice(_VOWELS) + draw.choice(_MIDDLES) if draw.random() < 0.5 else ""
    return draw.choice(_ONSETS) + middle + draw.choice(_VOWELS) + draw.choice(_MIDDLES) + draw.choice(_ENDS)


def names(draw: random.Random, count: int) -> tuple[str, ...]:
    """Return so many different names, none of which is a part of another."""
    found: list[str] = []
    while len(found) < count:
        new = name(draw)
        if not any(new in old or old in new for old in found):
            found.append(new)
    return tuple(found)


def listed(items: list[str] | tuple[str, ...], last: str = "and") -> str:
    """Return some words as a sentence lists them."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"

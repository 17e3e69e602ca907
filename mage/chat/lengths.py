"""How long a text may be: one that is longer is refused with its length, or cut in its middle, openly."""

from __future__ import annotations

from typing import Final

from mage.tokens import TokenCounter

SMALL: Final = 100
"""Tokens that every text may have: a sentence or two, however little it replaces."""


def cut(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters and the words that say how many are left out of its middle."""
    if len(text) <= longest:
        return text
    kept = longest // 2
    return f"{text[:kept]} [... {len(text) - 2 * kept:,} characters left out ...] {text[len(text) - kept :]}"


def cut_to(text: str, tokens: int, counter: TokenCounter) -> str:
    """Return a text of at most `tokens` tokens, cut in its middle where it is longer; see `cut`.

    Cost: O(length), a few times.
    """
    counted = counter.count(text)
    shorter, kept = text, len(text)
    while counted > tokens and kept > 0:
        kept = min(kept * tokens // counted, kept - 1) if kept > 1 else 0
        shorter = cut(text, kept)
        counted = counter.count(shorter)
    return shorter


def too_long(text: str, tokens: int, counter: TokenCounter) -> str:
    """Return in words that a text has more tokens than it may have; empty where it has not, or is blank: that is worse."""
    if not text.strip():
        return ""
    counted = counter.count(text)
    return (
        ""
        if counted <= tokens
        else f"It has about {counted} tokens, and may have {tokens}: write a shorter one."
    )

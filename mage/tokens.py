"""How many tokens a text is: exact where `toktok-rs` is installed (the extra `tokens`), else an estimate; and texts cut to a length.

A counter is *additive* over pieces that end in a newline and begin with a letter or `[`: the count of the
whole is the sum of the counts of the pieces. Rendered blocks are such pieces, so each is counted once. Both
counters here are additive; tests show it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final, Protocol, final

from mage.engine.errors import MageError, UnknownName

ENCODINGS: Final = ("o200k_base", "o200k_harmony", "cl100k_base", "qwen3.5")
"""The encodings that `ExactCounter` takes. What toktok calls `jev` is an estimate, and not additive."""


GROUP: Final = "mage.token_counters"
"""The group of entry points by which another package brings a counter."""
VARIABLE: Final = "MAGE_COUNTER"
"""The environment variable that names the counter where none is given."""


class TokenCounter(Protocol):
    """What counts tokens. Implement it to count as your model does; keep it additive (see above)."""

    @property
    def name(self) -> str:
        """Say what is counted, such as `"o200k_base"`; an estimate says that it is one."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`. Any string; the empty one has none."""
        ...


@final
class MissingTokenizer(MageError, ImportError):
    """Exact counts were asked for, and the package that makes them is not installed."""

    def __str__(self) -> str:
        return "exact token counts need the package toktok-rs: pip install 'mage-state[tokens]'"


@final
@dataclass(frozen=True, slots=True)
class ExactCounter:
    """The count that the model's own tokenizer gives (`toktok-rs`; 40 MB of English a second).

    Text that looks like a special token, such as `<|endoftext|>`, is counted as the text it is. A lone
    surrogate cannot be sent to a model; it is counted as U+FFFD, which takes its place when it is encoded.

    Attributes:
        encoding: one of `ENCODINGS`; `o200k_base` is that of GPT-4o and later.

    Raises:
        UnknownName: `encoding` is none of them.
        MissingTokenizer: `toktok-rs` is not installed.
    """

    encoding: str = "o200k_base"

    def __post_init__(self) -> None:
        if self.encoding not in ENCODINGS:
            raise UnknownName("encoding", self.encoding, ENCODINGS)
        _batch_count()

    @property
    def name(self) -> str:
        """The encoding."""
        return self.encoding

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`. Cost: O(length)."""
        try:
            return _batch_count()([text], self.encoding, 1)[0]
        except UnicodeEncodeError:
            return _batch_count()([sendable(text)], self.encoding, 1)[0]


@cache
def _batch_count() -> Callable[[list[str], str, int], list[int]]:
    try:
        batch_count: Callable[[list[str], str, int], list[int]] = import_module("toktok").batch_count
    except ModuleNotFoundError as error:
        if error.name != "toktok":
            raise
        raise MissingTokenizer from None
    return batch_count


def sendable(text: str) -> str:
    """Return a text that UTF-8 can spell: surrogate pairs are joined, and U+FFFD stands for each lone surrogate.

    Cost: O(length).
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@final
@dataclass(frozen=True, slots=True)
class EstimateCounter:
    """An estimate of the `o200k_base` count, for machines without `toktok-rs`.

    It splits the text, as UTF-8, much as that tokenizer does, and takes each part for one token. On texts
    of our own (`tests/token_texts.py`) it gave, as a multiple of the exact count: English 1.15, Python 1.11,
    JSON 1.02 to 1.28, Chinese 1.28 (traditional 0.99), Japanese 1.31, Korean 1.28, Russian 1.23, Arabic
    1.65, Hindi 1.12, Finnish 0.87, base64 0.99, hexadecimal 0.95, digits 1.00, emoji 1.09, capitals 1.63.
    On whole files of real traces it gave 1.05 to 1.34. It is low for letters that spell nothing
    (`qxzvkj`: 0.6) and for rare characters of Chinese and Korean (0.5), high for runs of one character.
    Deterministic, standard library only, about 5 million tokens a second.
    """

    @property
    def name(self) -> str:
        """The name says that it is an estimate."""
        return "estimate"

    def count(self, text: str) -> int:
        """Return about the number of tokens of `text`. Cost: O(length), in constant memory beside it."""
        return sum(1 for _ in _PARTS.finditer(text.encode("utf-8", "surrogatepass")))


# Every branch is bounded, so time is linear. No part holds a line break and then anything but white space
# or a line break, and no look-around reaches over a line break: that makes the estimate additive.
_PARTS: Final = re.compile(
    rb"""
      (?<=[a-z])[a-z]{1,3}                               # what is left of a long word
    | [ ][A-Z]?[a-z]{1,6}                                # a word, most often
    | [A-Z](?=[a-z]{1,2}(?![a-z]))                       # base64 and the like: small parts
    | [A-Z]?[a-z]{1,6}
    | [0-9]{1,3}
    | [-=*\#._~]{3,32}                                   # rules and dots
    | [ ]?[!-/:-@\[-`{-~][!"'(),./:;=>\]_}]?[\r\n]{0,8}
    | [ ]?[A-Z]{1,2}
    | [ ]?(?:[\xc3-\xcc][\x80-\xbf]|\xe1[\xb8-\xbb][\x80-\xbf])[a-z]{0,1}         # accented Latin
    | [ ]?(?:[\xcd-\xcf\xd4-\xdf][\x80-\xbf]){1,2}                                # Greek, Hebrew, Arabic
    | [ ]?(?:[\xd0-\xd3][\x80-\xbf]){1,3}                                         # Cyrillic
    | [ ]?(?:\xe0[\xa4-\xb7][\x80-\xbf]|\xe1[\x82\x83][\x80-\xbf]){1,3}           # Indic, Georgian
    | [ ]?(?:\xe0[\xb8\xb9][\x80-\xbf]|\xe1[\x80\x81\x9e\x9f][\x80-\xbf]){1,2}    # Thai, Burmese, Khmer
    | (?:\xe2\x94\x80){1,8}                                                       # lines of a table
    | \xe2\x80[\x80-\xbf]                                                         # dashes and quotes
    | [ ]?(?:\xe3(?![\x90-\xb6])|[\xe4-\xe9\xeb-\xed]|\xea[\xb0-\xbf]|\xef\xbc)[\x80-\xbf]{1,2}       # Chinese, Japanese, Korean
    | (?:\xe2|\xee|\xef|\xf0\x9f)[\x80-\xbf]             # symbols and emoji: two parts each, with the next line
    | [ \t]{0,32}[\r\n]{1,8}
    | [ ]{1,32}|\t{1,16}
    | [\x00-\xff]                                        # rare scripts: every byte, as the tokenizer does
    """,
    re.VERBOSE,
)


@final
class BadCounter(MageError, ValueError):
    """A counter was named that there is not, or that cannot be used.

    Attributes:
        name: its name.
        reason: what is wrong.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(name, reason)

    def __str__(self) -> str:
        return f"the token counter {self.name!r}: {self.reason}"


def counter_named(name: str) -> TokenCounter:
    """Return the counter of a name: one of `ENCODINGS`, `"estimate"`, or one of another package's.

    A package brings one under the entry point `mage.token_counters`: what it names is called without arguments.

    Raises:
        BadCounter: there is none of the name, or what is installed is none.
        MissingTokenizer: `toktok-rs` is not installed.
    """
    if name in ENCODINGS:
        return ExactCounter(name)
    if name == EstimateCounter().name:
        return EstimateCounter()
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow to load, and rarely needed

    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in points:
        known = ", ".join([*ENCODINGS, EstimateCounter().name, *sorted(points)])
        raise BadCounter(name, f"there is none of this name; there are {known}")
    try:
        counter: TokenCounter = points[name].load()()
        counted = counter.count("one") + counter.count("")
        is_sound = type(counted) is int and isinstance(counter.name, str)
    except Exception as error:  # of their code
        raise BadCounter(name, f"{points[name].value} has raised {type(error).__name__}: {error}") from error
    if not is_sound:
        raise BadCounter(name, f"{points[name].value} makes what is no counter")
    return counter


def default_counter() -> TokenCounter:
    """Return the counter that the environment variable `MAGE_COUNTER` names, if it is set.

    Else an `ExactCounter` where `toktok-rs` is installed, and an `EstimateCounter` where it is not.

    Raises:
        BadCounter, MissingTokenizer: as `counter_named`.
    """
    name = os.environ.get(VARIABLE)
    if name:
        return counter_named(name)
    try:
        return ExactCounter()
    except MissingTokenizer:
        return EstimateCounter()


# -- how long a text may be ---------------------------------------------------------------------------------


_BETWEEN: Final = re.compile(r"\s+\S*\Z")
_NEXT: Final = re.compile(r"\s+")
SMALL: Final = 100
"""Tokens that every text may have, however little it replaces: a sentence or two."""


def cut(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters, and in its middle the words that say how many are left out there.

    The cut is between words where the quarter of either side that lies next to the middle has white space. Cost: O(length).
    """
    if len(text) <= longest:
        return text
    kept = longest // 2
    first, last = text[:kept], text[len(text) - kept :]
    head, tail = _BETWEEN.search(first, kept - kept // 4), _NEXT.search(last, 0, kept // 4)
    first, last = first[: head.start()] if head else first, last[tail.end() :] if tail else last
    return f"{first} [... {len(text) - len(first) - len(last):,} characters left out ...] {last}"


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
    """Return the words that a text has more tokens than it may have; empty where it has not, or where it is blank."""
    counted = counter.count(text) if text.strip() else 0
    return (
        ""
        if counted <= tokens
        else f"It has about {counted} tokens, and may have {tokens}: write a shorter one."
    )

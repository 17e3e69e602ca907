"""The literal values of a text: ids, numbers, names with digits, e-mail addresses, codes.

A later action can only copy them: nobody can think them up again. So they are what an extract keeps, what the coverage
of a memory is measured by (`mage.trajectories`), and what is pointed out to a judge where a summary has made one up.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Final, NamedTuple, final

from mage.engine import JudgeRequest

_LONGEST: Final = 100  # characters: nobody copies longer ones by hand, they are contents
_SHORTEST: Final = 3  # below that it is a count
_CODE: Final = 6  # letters of the longest code of capitals
_ESCAPED = re.compile(
    r"\\(?:[nrt]|u[0-9a-f]{4})"
)  # line breaks as JSON spells them are no letters of the next word
_PIECE = re.compile(
    r"(?<![\d\[,])\d{1,3}(?:,\d{3}){1,6}(?:\.\d+)?(?![\w,])"  # thousands; a list of numbers is no such number
    r"|\w(?:[\w.@/#+-]|(?<=\d):(?=\d))*"
)
_AROUND: Final = ".-+#/@"
_LABEL = re.compile(r"""([^\W\d][\w-]*)([\s"'`()\[\]{}:=#$€£]{0,6})\Z""")
_KEYED = re.compile(r'"([^\W\d][\w-]{0,59})"\s{0,4}:\s{0,4}"([^\W\d][\w-]{2,29})"')
_PLAIN: Final = 5  # letters of a word that tells something though only a space stands behind it
_BEFORE: Final = 60  # characters before a value that are looked at for its label


@final
class Literal(NamedTuple):
    """A value as it stands in a text.

    Attributes:
        value: the value, verbatim.
        label: the key or word that it stands beside, of a list the one before it; empty where there is none.
    """

    value: str
    label: str


def literals(text: str) -> Iterator[Literal]:
    """Yield the literal values of a text, in order, as often as they stand there.

    They are words of 3 to 100 characters with a digit or an @, and 3 to 6 capitals. Cost of all: O(length).
    """
    text = _ESCAPED.sub("  ", text)
    label, ended = "", 0
    for found in _PIECE.finditer(text):
        value = found.group().rstrip(_AROUND)
        if not _is_literal(value):
            continue
        label = _label(text[max(ended, found.start() - _BEFORE) : found.start()], label)
        ended = found.start() + len(value)
        yield Literal(value, label)


def keyed_words(text: str) -> Iterator[Literal]:
    """Yield the words that stand alone behind a key of JSON, such as a status or a class, in order. Cost: O(length)."""
    for found in _KEYED.finditer(text):
        yield Literal(found[2], found[1])


def _is_literal(word: str) -> bool:
    if not _SHORTEST <= len(word) <= _LONGEST:
        return False
    if "@" in word or any(map(str.isdigit, word)):
        return True
    return len(word) <= _CODE and word.isascii() and word.isalpha() and word.isupper()


def _label(between: str, last: str) -> str:
    """Return the label of a value behind this; nothing but punctuation goes on with a list."""
    if not re.search(r"\w", between):
        return last if between else ""
    found = _LABEL.search(between)
    if found is None:
        return ""
    word, behind = found.groups()
    return word if behind.strip() or len(word) >= _PLAIN else ""


# -- in a summary ---------------------------------------------------------------------------------------

MOST: Final = 10
"""How many of them are named."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_JOINED = re.compile(r"[/@#:+-]")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,6})?")
_PAIRS: Final = 3_000
"""How many pairs of numbers may make another one: of many more, some make any number by chance."""
_RECKONED: Final = 100
_CHECKED: Final = 1_000
"""How many values of a summary are looked at for such a pair."""


def unfounded(request: JudgeRequest) -> tuple[str, ...]:
    """Return the ids and numbers of a summary that stand in nothing that it may rely on: a check that costs no model.

    They are its literal values with a digit that occur in no step, task, instruction, finished part, hint or manual, and that
    do not come of two numbers there, as what is left of a budget does: one of what came before, or of the summary's
    own of which this was said already, plus or less another; or, of an amount with a point, one of the steps. Of what came before these are the
    numbers of the task, the instructions and the newest finished parts, at most 100, and fewer beside steps with many
    numbers: many numbers make any other by chance, whole ones above all. A summary may count and add up further, so
    such a value is no proof of a mistake: it is pointed out. At most ten.

    Cost: O(size of the request).
    """
    hints = request.hints
    lines = [line.text for line in reversed((*request.before, *request.earlier))]
    before = _values_in([request.task, *request.instructions, *request.later, *lines])
    steps = _values_in(text for step in request.steps for text in step.content)
    tried = [text for step in hints.continuations for text in step.content]
    told = [*[line.text for line in hints.subgoals], *[lesson.text for lesson in hints.lessons]]
    others = _values_in([request.manual, *tried, *told])
    known = before | steps | others
    said = dict.fromkeys(value for value in _with_digit(request.text) if value not in known)
    numbers = _numbers(steps)
    most = min(_RECKONED, _PAIRS // max(1, len(numbers)))
    reckoned = dict.fromkeys(islice(_numbers(before), most))
    for _ in range(2):  # the second time with what was found behind it in the text
        for value in list(islice(said, _CHECKED)):
            made = next(iter(_numbers([value])), None)
            beside = numbers if "." in value else ()
            if made is not None and _comes_of(made, reckoned, beside):
                if len(reckoned) < 2 * most:
                    reckoned[made] = None
                del said[value]
    return tuple(said)[:MOST]


def _values_in(texts: Iterable[str]) -> dict[str, None]:
    """Return in order the values of texts, and the parts of those that are joined, as one of a date may be named alone."""
    values = [value for text in texts for value in _with_digit(text)]
    return dict.fromkeys(part for value in values for part in (value, *_JOINED.split(value)))


def _with_digit(text: str) -> Iterator[str]:
    for value, _ in literals(text):
        if any(map(str.isdigit, value)):
            yield _THOUSANDS.sub("", value).casefold()


def _numbers(values: Iterable[str]) -> dict[Decimal, None]:
    return dict.fromkeys(Decimal(value) for value in values if _NUMBER.fullmatch(value))


def _comes_of(made: Decimal, reckoned: Collection[Decimal], others: Collection[Decimal]) -> bool:
    """Tell whether a number is one that was reckoned or known before, plus or less another one."""
    return any(abs(each - made) in part for each in reckoned for part in (reckoned, others))

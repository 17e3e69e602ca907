"""The literal values of a text (ids, numbers, names with digits, e-mail addresses, codes), and extracts made of them.

A later action can only copy a literal value: no model can think it up again. So an extract keeps the values, the
coverage of a memory is measured by them (`mage.trajectories`), and a judge is told which values a summary has made up.

An extract stands in for a summary where no summarizer can be asked (D12), and says so. It depends on the steps alone,
so the same trace always gives the same tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Final, NamedTuple, final

from mage.engine import JudgeRequest, Step
from mage.tokens import EstimateCounter

# -- literal values -----------------------------------------------------------------------------------------

_LONGEST: Final = 100  # characters: a longer word is content that nobody copies by hand
_SHORTEST: Final = 3  # characters: a shorter number is a count
_CODE: Final = 6  # letters of the longest code of capitals
_ESCAPED = re.compile(r"\\(?:[nrt]|u[0-9a-f]{4})")  # else a line break in JSON would begin the next word
_PIECE = re.compile(
    r"(?<![\d\[,])\d{1,3}(?:,\d{3}){1,6}(?:\.\d+)?(?![\w,])"  # thousands; a list of numbers is no such number
    r"|\w(?:[\w.@/#+-]|(?<=\d):(?=\d))*"
)
_AROUND: Final = ".-+#/@"
_LABEL = re.compile(r"""([^\W\d][\w-]*)([\s"'`()\[\]{}:=#$€£]{0,6})\Z""")
_KEYED = re.compile(r'"([^\W\d][\w-]{0,59})"\s{0,4}:\s{0,4}"([^\W\d][\w-]{2,29})"')
_PLAIN: Final = 5  # letters of a word that is a label even where only a space stands behind it
_BEFORE: Final = 60  # characters before a value among which its label is looked for


@final
class Literal(NamedTuple):
    """A value as it stands in a text.

    Attributes:
        value: the value, verbatim.
        label: the key or word beside the value; in a list, before the list; empty where there is none.
    """

    value: str
    label: str


def literals(text: str) -> Iterator[Literal]:
    """Yield the literal values of a text, in order, each as often as it occurs.

    A literal value is a word of 3 to 100 characters with a digit or an @, or of 3 to 6 capitals. Cost of all: O(length).
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
    """Yield, in order, the single words behind a key of JSON, such as a status or a class. Cost: O(length)."""
    for found in _KEYED.finditer(text):
        yield Literal(found[2], found[1])


def _is_literal(word: str) -> bool:
    if not _SHORTEST <= len(word) <= _LONGEST:
        return False
    if "@" in word or any(map(str.isdigit, word)):
        return True
    return len(word) <= _CODE and word.isascii() and word.isalpha() and word.isupper()


def _label(between: str, last: str) -> str:
    """Return the label of a value behind the text `between`; behind mere punctuation the list of `last` continues."""
    if not re.search(r"\w", between):
        return last if between else ""
    found = _LABEL.search(between)
    if found is None:
        return ""
    word, behind = found.groups()
    return word if behind.strip() or len(word) >= _PLAIN else ""


# -- the values of a summary ---------------------------------------------------------------------------------------

MOST: Final = 10
"""The most values that `unfounded` names."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_JOINED = re.compile(r"[/@#:+-]")
_DECIMAL = re.compile(r"\d{1,12}(?:\.\d{1,6})?")
_PAIRS: Final = 3_000
"""The most pairs of numbers whose sums and differences are tried: many more make any number by chance."""
_RECKONED: Final = 100
"""The most numbers that came before the steps and are tried in such pairs."""
_CHECKED: Final = 1_000
"""The most values of a summary for which such a pair is looked for."""


def unfounded(request: JudgeRequest) -> tuple[str, ...]:
    """Return the ids and numbers of a summary that occur in none of its sources: a check that costs no model.

    The sources are the steps, the task, the instructions, the finished parts, the hints and the manual. A number does
    not count where it is a sum or a difference of two known ones, as the rest of a budget is: of a number that came
    before the steps (or one of the summary that was explained so) and another such number, or, for an amount with a
    point, a number of the steps. The numbers that came before are those of the task, the instructions and the newest
    finished parts: at most 100, and fewer beside steps with many numbers, because many numbers make any other by
    chance. A summary may count and add up further, so such a value is no proof of a mistake. At most ten values.

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
    for _ in range(2):  # the second time with the numbers that stand behind it in the text
        for value in list(islice(said, _CHECKED)):
            made = next(iter(_numbers([value])), None)
            beside = numbers if "." in value else ()
            if made is not None and _comes_of(made, reckoned, beside):
                if len(reckoned) < 2 * most:
                    reckoned[made] = None
                del said[value]
    return tuple(said)[:MOST]


def _values_in(texts: Iterable[str]) -> dict[str, None]:
    """Return in order the values of texts, and the parts of joined ones: a text may name the year of a date alone."""
    values = [value for text in texts for value in _with_digit(text)]
    return dict.fromkeys(part for value in values for part in (value, *_JOINED.split(value)))


def _with_digit(text: str) -> Iterator[str]:
    for value, _ in literals(text):
        if any(map(str.isdigit, value)):
            yield _THOUSANDS.sub("", value).casefold()


def _numbers(values: Iterable[str]) -> dict[Decimal, None]:
    return dict.fromkeys(Decimal(value) for value in values if _DECIMAL.fullmatch(value))


def _comes_of(made: Decimal, reckoned: Collection[Decimal], others: Collection[Decimal]) -> bool:
    """Tell whether a number is the sum or the difference of a number of `reckoned` and one of either collection."""
    return any(abs(each - made) in part for each in reckoned for part in (reckoned, others))


# -- an extract of steps --------------------------------------------------------------------------------------

_WORD = re.compile(r"\w{3,}")
_LINE = re.compile(r"[^\r\n]+")
_TITLE = re.compile(r"Extract of \d+ steps? \(no LLM\):$", re.MULTILINE)
_CONSIDERED = 2_000  # characters of one content in which lines are looked for: enough to tell its subject
_SHOWN = 100  # characters of one extracted line
_PICKED = 3  # lines
_VALUES: Final = 4  # values take at most this part of the contents
_LINES: Final = 32  # lines take at most this part,
_MORE_LINES: Final = 16  # or this one where values leave some of their part
_LABEL_SHOWN: Final = 20  # characters of a label that are shown
_FINE: Final = 512  # an extract that is too long is shortened by such parts of the contents
_NUMBER = re.compile(r"[\d.,:+-]+")
_UNLABELLED: Final = "other"
_ESTIMATE: Final = EstimateCounter()


def extract(steps: Sequence[Step], limit: int | None = None) -> str:
    """Return a text for a run of steps: their number, their most telling lines, and their literal values.

    Values stand under the key or word beside which they occurred, each once: names, then plain numbers, then single
    words behind a key, of each the newest first; as many as fit a quarter of the contents. A line tells much when its
    words are frequent in all steps and in no line picked before. At most three lines are shown, in execution order,
    each cut at 100 characters; they take at most a thirty-second part of the contents, a sixteenth where values leave
    room. An extract is longer than its steps only where these are few and short. It is never blank.

    Args:
        steps: the steps, in execution order.
        limit: the most tokens of the extract, as `EstimateCounter` counts; its first line stands in any case.

    Cost: O(contents); beyond the limit, that of building and counting the extract some ten times.
    """
    size = sum(len(text) for step in steps for text in step.content)
    told, values = _lines_of(steps), _values_of(steps)
    title = f"Extract of {'1 step' if len(steps) == 1 else f'{len(steps)} steps'} (no LLM):"

    def sized(room: int) -> str:
        return "\n".join([title, *_within(room, *told, values)])

    text = sized(size)
    if limit is None or _ESTIMATE.count(text) <= limit:
        return text
    fits, too_much = 0, size
    while too_much - fits > 1 + size // _FINE:
        half = (fits + too_much) // 2
        fits, too_much = (half, too_much) if _ESTIMATE.count(sized(half)) <= limit else (fits, half)
    return sized(fits)


def is_extract(text: str) -> bool:
    """Tell whether a text begins as an extract does."""
    return _TITLE.match(text) is not None


def _within(size: int, lines: Iterable[str], told: Sequence[str], values: Sequence[Literal]) -> Iterable[str]:
    """Yield the part of an extract below its first line; `size`: the characters of the contents."""
    shown = _grouped(values, size // _VALUES)
    room = min(size // _MORE_LINES, size // _VALUES + size // _LINES - len(shown))
    kept = {line for place, line in enumerate(told) if sum(map(len, told[: place + 1])) <= room}
    yield from [f"- {line}" for line in lines if line in kept]
    if shown:
        yield shown


def _values_of(steps: Sequence[Step]) -> list[Literal]:
    """Return each value once, where it stood last: names, then plain numbers, then words, of each the newest first.

    Actions copy names far more often than prices or counts, and a model can often think up a word again: so numbers
    and words are left out first.
    """
    texts = [text for step in reversed(steps) for text in reversed(step.content)]
    found: dict[str, Literal] = {}
    for each in (each for text in texts for each in literals(text)):
        found.setdefault(each.value, each)
    words = dict.fromkeys(each for text in texts for each in keyed_words(text) if each.value not in found)
    named = sorted(found.values(), key=lambda each: _NUMBER.fullmatch(each.value) is not None)
    return [*named, *words]


def _grouped(values: Iterable[Literal], room: int) -> str:
    """Return the values that fit into `room` characters, each group behind its label; empty where none fits."""
    groups: dict[str, list[str]] = {}
    left = room - len(_spelled({}))
    for value, label in values:
        shown = label[:_LABEL_SHOWN] or _UNLABELLED
        takes = len(value) + 1 if shown in groups else len(_spelled({shown: [value]})) - len(_spelled({})) + 2
        if takes <= left:
            left -= takes
            groups.setdefault(shown, []).append(value)
    return _spelled(groups) if groups else ""


def _spelled(groups: dict[str, list[str]]) -> str:
    return "Values: " + "; ".join([f"{label}: {' '.join(values)}" for label, values in groups.items()])


def _lines_of(steps: Sequence[Step]) -> tuple[list[str], list[str]]:
    """Return the lines of the steps in order, and the most telling of them, the most telling first."""
    contents = [text[:_CONSIDERED] for step in steps for text in step.content]
    weight = Counter(word for text in contents for word in set(_words(text)))
    lines = dict.fromkeys(line.strip()[:_SHOWN] for text in contents for line in _LINE.findall(text))
    return list(lines), _most_telling([line for line in lines if line], weight)


def _most_telling(lines: list[str], weight: Counter[str]) -> list[str]:
    """Return three lines, picked one by one; the words of a picked line weigh nothing for the next."""
    told: list[str] = []
    while lines and len(told) < _PICKED:
        best = max(lines, key=lambda line: _score(line, weight))
        told.append(best)
        lines = [line for line in lines if line != best]
        for word in _words(best):
            weight[word] = 0
    return told


def _words(line: str) -> list[str]:
    return _WORD.findall(line.lower())


def _score(line: str, weight: Counter[str]) -> float:
    """Return the mean weight of the distinct words, less for lines of a word or two."""
    words = set(_words(line))
    return sum(weight[word] for word in words) / (len(words) + 3)

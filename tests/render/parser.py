"""A parser of rendered execution states, written from the description alone: it imports nothing from mage.

It is strict: text that is not exactly of the form is refused, so that it also shows that nothing else is
ever rendered.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

_WORDS = re.compile(
    r"(?P<task>Task: )|(?P<instruction>Instruction: )|\[Step (?P<label>-?[0-9]+)\] |\[Step (?P<chapter>-?[0-9]+\.\.-?[0-9]+)\] |(?P<status>Status: )"
    r"|(?P<open>open since \[Step )|(?P<action>Action: )|(?P<observation>Observation: )|(?P<hints>Hints: )"
    r"|(?P<tried_action>Tried action: )|(?P<tried_observation>Tried observation: )"
    r"|Tried subgoal \[Step (?P<tried_label>-?[0-9]+)\]: |Lesson(?: \[Step (?P<lesson_at>-?[0-9]+)\])?(?P<lesson>: )|(?P<cap>\[\.\.\. )"
)
_STATUS = re.compile(
    r"(?P<fallback>interim account of the subgoal that is going on; )?"
    r"(?:(?P<plain>unverified|passed|accepted without a verdict)"
    r"|(?P<verdict>failed|accepted despite a failed verdict), the (?P<fault>execution|summary) is at fault: "
    r"(?P<feedback>.*))",
    re.DOTALL,
)
_CAP = re.compile(r"([1-9][0-9]*) (?:more (continuation|subgoal|lesson)s?, older|characters? more)\]")

Verdict = tuple[str, ...]
"""What was said of a summary: a word, then fault and feedback where there are any."""


@dataclass
class ParsedSummary:
    """A summary as an agent reads it."""

    label: int
    text: str
    kind: str = "subgoal"
    verdict: Verdict = ("passed",)


@dataclass
class ParsedChapter:
    """A chapter as an agent reads it."""

    label: int
    boundary: int
    text: str
    accepted: int = 0


@dataclass
class Parsed:
    """What a rendered execution state says."""

    task: str = ""
    instructions: list[str] = field(default_factory=list)
    compressed: list[ParsedSummary | ParsedChapter] = field(default_factory=list)
    boundary: int | None = None
    raw: list[tuple[str, str]] = field(default_factory=list)
    continuations: list[tuple[str, str]] = field(default_factory=list)
    subgoals: list[ParsedSummary] = field(default_factory=list)
    lessons: list[tuple[int | None, str]] = field(default_factory=list)
    caps: list[tuple[int, str]] = field(default_factory=list)


def parse_blocks(text: str) -> list[str]:
    """Split a rendering at the left margin and take the indents out; what is left are words and content."""
    found: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.startswith(" "):
            found[-1] += line[1:]
        else:
            found.append(line)
    for block in found:
        assert block.endswith("\n"), block
        assert re.match(r"[A-Za-z\[]", block), block
    return [block[:-1] for block in found]


def parse(text: str) -> Parsed:
    """Read a rendering back."""
    return _read(parse_blocks(text))


def _read(blocks: list[str]) -> Parsed:
    parsed = Parsed()
    contents: defaultdict[str, list[str]] = defaultdict(list)
    order: list[str] = []
    for block in blocks:
        match = _WORDS.match(block)
        assert match is not None, block
        what, content = str(match.lastgroup), block[match.end() :]
        order.append(what)
        contents[what].append(content)
        if what == "label":
            parsed.compressed.append(ParsedSummary(int(match[what]), content))
        elif what == "chapter":
            label, boundary = match[what].split("..")
            parsed.compressed.append(ParsedChapter(int(label), int(boundary), content))
        elif what == "lesson":
            parsed.lessons.append((int(match["lesson_at"]) if match["lesson_at"] else None, content))
        elif what == "tried_label":
            parsed.subgoals.append(ParsedSummary(int(match[what]), content))
        elif what == "status":
            _read_status((parsed.subgoals or parsed.compressed)[-1], content)
    _check_order(" ".join([what for what in order if what != "cap"]))
    _fill(parsed, contents)
    return parsed


def _fill(parsed: Parsed, contents: defaultdict[str, list[str]]) -> None:
    """Fill in what needs no look at its neighbours."""
    parsed.task = "".join(contents["task"])
    parsed.instructions = contents["instruction"]
    (boundary,) = contents["open"]
    assert re.fullmatch(r"-?[0-9]+\]", boundary), boundary
    parsed.boundary = int(boundary[:-1])
    parsed.raw = list(zip(contents["action"], contents["observation"], strict=True))
    parsed.continuations = list(zip(contents["tried_action"], contents["tried_observation"], strict=True))
    for content in contents["cap"]:
        cap = _CAP.fullmatch(content)
        assert cap is not None, content
        parsed.caps.append((int(cap[1]), cap[2] or "character"))


def _read_status(summary: ParsedSummary | ParsedChapter, content: str) -> None:
    if isinstance(summary, ParsedChapter):
        accepted = re.fullmatch(r"([1-9][0-9]*) of its subgoals accepted without a pass", content)
        assert accepted is not None, content
        summary.accepted = int(accepted[1])
        return
    status = _STATUS.fullmatch(content)
    assert status is not None, content
    summary.kind = "fallback" if status["fallback"] else "subgoal"
    summary.verdict = (
        (status["plain"],) if status["plain"] else (status["verdict"], status["fault"], status["feedback"])
    )


def _check_order(order: str) -> None:
    assert re.fullmatch(
        r"(task )?((label|chapter) (status )?)*(instruction )*open( action observation)*"
        r"( hints( tried_action tried_observation)*( tried_label status)*( lesson)*)?",
        order,
    ), order

"""A script in place of a model, a judge and a summarizer: `--script FILE`, offline, in any environment.

The file has a reply a line, each a JSON object; empty lines are passed over:

    {"act": "look"}                               the model acts
    {"act": {"press": {"button": 2}}}             ... by calling a tool
    {"act": ["look", "go north"]}                 ... several times
    {"note": "The door is green."}                ... writes something down, behind what it does
    {"compress": "The kitchen was searched."}     ... marks a subgoal complete
    {"revise": 3, "lesson": "It is locked."}      ... goes back to [Step 3]
    {"look": 3}                                   ... reads again what [Step 3] stands for
    {"look": [0, 57], "words": "key", "page": 2}  ... of [Step 0..57] only what holds these words, the second page
    {"finish": "There is no lamp."}               ... ends the task
    {"judge": "passed"}                           the judge, of the next summary or chapter that is judged
    {"judge": "failed", "feedback": "..."}        ... with "fault": "summary" only its text is wrong
    {"judge": "failed", "feedback": "...", "boundary": 3}   ... it began at [Step 3]
    {"summary": "Two rooms were searched."}       the summarizer, of the next summary or chapter

A model may act and do one of the others in one line, and say a `"thought"` beside it. Each of the three answers by its
own lines, in order. Without lines of the judge there is no judge, without lines of the summarizer no summarizer.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast, final

import attrs

from mage.chat import action_text
from mage.cli.output import numbered, read_bytes
from mage.effects import Action, Decision, Finish, LookInto, Then
from mage.engine import Compress, Failed, MageError, Passed, Revise, StepId, Verdict
from mage.engine.nodes import FAULTS
from mage.engine.text import is_blank
from mage.memory.outcomes import KindOfCall

Reply = TypeVar("Reply")
_MODEL: Final = ("act", "note", "compress", "revise", "lesson", "look", "words", "page", "finish", "thought")
_KEYS: Final = {"judge": ("judge", "feedback", "fault", "boundary"), "summary": ("summary",)}


@final
@attrs.frozen
class BadScript(MageError, ValueError):
    """A line of a script, counted from 1, is no reply."""

    file: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.problem}"


@final
@attrs.frozen
class ScriptEnded(MageError):
    """A script has so many replies to a kind of call, and is asked for one more."""

    file: str
    who: KindOfCall
    replies: int

    def __str__(self) -> str:
        lines = numbered(self.replies, "line")
        return (
            f"{self.file} has no more to say: the {self.who} was answered by its {lines}, and is asked again"
        )


@final
class Played(Generic[Reply]):
    """The replies of a script to one kind of call, in order, whatever the request; so many of them are used."""

    def __init__(self, file: str, who: KindOfCall, replies: Sequence[Reply], used: int) -> None:
        self.who: KindOfCall = who
        self.used = used
        self._file = file
        self._replies = replies

    def __call__(self, request: object, /) -> Reply:
        """Return the next reply.

        Raises:
            ScriptEnded: there is none left.
        """
        if self.used >= len(self._replies):
            raise ScriptEnded(self._file, self.who, len(self._replies))
        self.used += 1
        return self._replies[self.used - 1]


@final
@attrs.frozen
class Script:
    """A file, and its replies of the model, the judge and the summarizer, each in order."""

    file: str
    decisions: tuple[Decision, ...]
    verdicts: tuple[Verdict, ...]
    summaries: tuple[str, ...]


def read_script(file: str) -> Script:
    """Return what a script says.

    Raises:
        BadScript: a line is no reply; says which, and why.
        Refused: the file cannot be read.
    """
    replies: list[Decision | Verdict | str] = []
    lines = read_bytes(Path(file)).removeprefix(BOM_UTF8).split(b"\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                replies.append(_reply_of(line))
            except ValueError as problem:
                raise BadScript(file, number, str(problem)) from None
    return Script(
        file,
        tuple([each for each in replies if isinstance(each, Decision)]),
        tuple([each for each in replies if isinstance(each, Passed | Failed)]),
        tuple([each for each in replies if isinstance(each, str)]),
    )


# -- one line ------------------------------------------------------------------------------------------


def _reply_of(line: bytes) -> Decision | Verdict | str:
    """Return the reply of a line; a `ValueError` says why it is none."""
    said = _object_of(line)
    kind = next((kind for kind in _KEYS if kind in said), None)
    known = _MODEL if kind is None else _KEYS[kind]
    unknown = [key for key in said if key not in known]
    if unknown:
        there = (
            "act, note, compress, revise, look, finish, judge or summary"
            if kind is None
            else ", ".join(known)
        )
        raise ValueError(f"{unknown[0]!r} is no part of such a reply; there is {there}")
    if kind == "judge":
        return _verdict_of(said)
    return _text(said, "summary") if kind == "summary" else _decision_of(said)


def _object_of(line: bytes) -> Mapping[str, object]:
    try:
        said: object = json.loads(line.decode(), parse_constant=_no_number)
    except UnicodeDecodeError as problem:
        raise ValueError(f"it is not UTF-8 at byte {problem.start}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"it is not JSON at column {problem.colno}: {problem.msg}") from None
    if not isinstance(said, dict):
        raise ValueError('a reply is a JSON object, such as {"act": "look"}')
    return cast("Mapping[str, object]", said)


def _no_number(written: str) -> object:
    raise ValueError(f"{written} is no number of JSON")


def _decision_of(said: Mapping[str, object]) -> Decision:
    own = [key for key in _OWN if key in said]
    if len(own) > 1:
        raise ValueError(f"it does both {own[0]} and {own[1]}: that is two replies")
    acts = said.get("act", [])
    actions = [Action(_action_of(each)) for each in (acts if isinstance(acts, list) else [acts])]
    actions += [Action(_text(said, "note"), is_note=True)] if "note" in said else []
    if not own and not actions:
        raise ValueError('it does nothing: {"act": "look"} acts, {"finish": "Done."} ends the task')
    if "lesson" in said and own != ["revise"]:
        raise ValueError("a lesson belongs to a revise")
    if {"words", "page"} & said.keys() and own != ["look"]:
        raise ValueError("words and a page belong to a look")
    return Decision(
        tuple(actions),
        _OWN[own[0]](said) if own else None,
        _text(said, "thought") if "thought" in said else "",
    )


def _action_of(given: object) -> str:
    """Return the action of a text, or of a call: an object with the tool's name and its arguments."""
    match given:
        case str():
            return given
        case dict() if len(given) == 1 and isinstance(arguments := next(iter(given.values())), dict):
            return action_text(next(iter(given)), arguments)
        case _:
            raise ValueError('an action is a text, or a call of a tool: {"act": {"press": {"button": 2}}}')


def _revise_of(said: Mapping[str, object]) -> Revise:
    step = said["revise"]
    if type(step) is not int or step < 0:
        raise ValueError("revise is the number of a step")
    return Revise(step, _text(said, "lesson"))


def _look_of(said: Mapping[str, object]) -> LookInto:
    place, page = said["look"], said.get("page", 1)
    numbers: list[Any] = place if isinstance(place, list) else [place, None]  # Any: JSON, looked at below
    if len(numbers) != 2 or not _is_count(numbers[0]) or not (numbers[1] is None or _is_count(numbers[1])):
        raise ValueError("look is the N of a [Step N], or [A, B] of a [Step A..B]")
    if not _is_count(page):
        raise ValueError("page is a number")
    label, boundary = cast("tuple[int, int | None]", numbers)
    return LookInto(label, boundary, _text(said, "words") if "words" in said else "", cast("int", page))


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


_OWN: Final[Mapping[str, Callable[[Mapping[str, object]], Then]]] = {
    "compress": lambda said: Compress(_text(said, "compress")),
    "revise": _revise_of,
    "look": _look_of,
    "finish": lambda said: Finish(_text(said, "finish")),
}
"""What a model does to its own state, by its key."""


def _verdict_of(said: Mapping[str, object]) -> Verdict:
    fault = said.get("fault", "execution")
    match said["judge"]:
        case "passed" if len(said) == 1:
            return Passed()
        case "failed" if fault in FAULTS:
            feedback = _text(said, "feedback")
            if is_blank(feedback):
                raise ValueError("a judge that does not let a summary pass says why: its feedback is blank")
            return Failed(feedback, fault, _boundary_of(said))
        case "failed":
            raise ValueError(f"the fault of a failed summary is one of {', '.join(FAULTS)}")
        case _:
            raise ValueError('a judge says {"judge": "passed"} or {"judge": "failed", "feedback": "why"}')


def _boundary_of(said: Mapping[str, object]) -> StepId | None:
    boundary = said.get("boundary")
    if boundary is None:
        return None
    if not _is_count(boundary):
        raise ValueError("boundary is the number of a step")
    return StepId(cast("int", boundary))


def _text(said: Mapping[str, object], key: str) -> str:
    text = said.get(key)
    if not isinstance(text, str):
        raise ValueError(f"{key} is a text" if key in said else f"it lacks its {key}, a text")
    return text

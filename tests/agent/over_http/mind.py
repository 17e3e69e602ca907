"""What a scripted provider knows: it reads the chat that it is sent, and replies as model, judge or writer.

The task is that of the dial (`tests.agent.toys`): turn it by 3, twice. The model says too little of its first
goal and turns too far at its second, unless a lesson stands there. So a run is judged, written anew and
revised; and because nothing is remembered here, it goes the same way however often it breaks off.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

from mage.engine import Step
from mage.render.extract import extract
from tests.agent.toys import GOAL
from tests.llm.server import Raw, Request, calls, says

Kind: TypeAlias = Literal["model", "judge", "summarizer"]
KINDS: Final[tuple[Kind, ...]] = ("model", "judge", "summarizer")
"""Who is asked; each goes by its kind as the name of its model."""
GOALS: Final = 2
ANSWER: Final = "Done."
_VAGUE: Final = "Something was done."
_CLAIM: Final = f"Turned by {GOAL}."
_TURN: Final = re.compile(r"turn (-?\d+)")
_SUMMARY: Final = re.compile(r"^\[Step \d+\] (.*)$", re.MULTILINE)
_SO_FAR: Final = re.compile(r"So far turned by (-?\d+)\.")


def asked_of(request: Request) -> Kind:
    """Return who is asked."""
    return next(kind for kind in KINDS if kind == request.body["model"])


def mind(request: Request) -> Raw:
    """Return the reply to a request."""
    messages = request.body["messages"][1:]  # without the system prompt
    match asked_of(request):
        case "model":
            return _decided(messages)
        case "judge":
            return _judged(messages[-1]["content"])
        case "summarizer":
            return _written(messages[-1]["content"])


def is_meant(text: str, covered: Sequence[Step]) -> bool:
    """Tell whether a summary says what somebody here has meant it to say, or is the extract of its steps."""
    if text in (_VAGUE, _CLAIM, extract(covered)):
        return True
    said = _SO_FAR.fullmatch(text)
    return said is not None and int(said[1]) == sum(_turned(step.action) for step in covered)


def _decided(messages: list[dict[str, Any]]) -> Raw:
    said = "\n".join(message["content"] or "" for message in messages)
    acted = [call["function"]["arguments"] for message in messages for call in message.get("tool_calls", [])]
    done, progress = _where(_SUMMARY.findall(messages[0]["content"]))
    progress += sum(map(_turned, acted))
    if done == GOALS:
        return calls("finish", answer=ANSWER)
    if progress >= GOAL:
        return calls("compress", text=_VAGUE if done == 0 else _CLAIM)
    too_far = done == 1 and "It was turned by" not in said  # no lesson, and no status that says it
    return calls("act", action=f"turn {GOAL + too_far - progress}")


def _where(summaries: Sequence[str]) -> tuple[int, int]:
    """Return how many goals are reached, and how far the dial was turned since."""
    done = progress = 0
    for text in summaries:
        so_far = _SO_FAR.search(text)
        if text in (_VAGUE, _CLAIM):
            done, progress = done + 1, 0
        else:
            progress += int(so_far[1]) if so_far else _turned(text)
    return done, progress


def _judged(said: str) -> Raw:
    steps, _, text = said.partition("Summary to judge: ")
    total, text = _turned_in(steps), text.splitlines()[0]
    if text == _VAGUE:
        return _verdict("summary", "Say by how much it was turned.")
    if text == _CLAIM and total != GOAL:
        return _verdict("execution", f"It was turned by {total}, not by {GOAL}.")
    return _verdict("none", "")


def _verdict(fault: str, feedback: str) -> Raw:
    passed = "true" if fault == "none" else "false"
    return says(
        f'{{"reasoning": "I counted.", "passed": {passed}, "fault": "{fault}", "feedback": "{feedback}"}}'
    )


def _written(said: str) -> Raw:
    again = "Rejected text: " in said
    total = _turned_in(said)
    return says(f"Turned by {total}." if again else f"So far turned by {total}.")


def _turned_in(steps: str) -> int:
    return sum(_turned(line) for line in steps.splitlines() if re.match(r"Action( \d+)?: ", line))


def _turned(text: str) -> int:
    return sum(map(int, _TURN.findall(text)))

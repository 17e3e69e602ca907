"""You as a judge: the prompt of a model is printed, and `passed` or `failed: why` is read.

Answers are kept in a file, by the prompt, so an interrupted round goes on where it was, and nothing is asked twice.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final, TextIO, final

from benchmarks.arena.domains.results import BadResults, read_lines
from mage.chat import canonical, judge_messages, written
from mage.effects import FoldRequest, JudgeRequest, Verdict
from mage.engine import Failed, Passed, StepId

_ASKED: Final = (
    "Answer `passed`, `failed: WHY`, `failed at STEP: WHY` with one of the boundaries, or `text: WHY` where the text alone"
    " is wrong.\n"
)


@final
class InputEnded(Exception):
    """There are no more answers; those that were given are kept."""


@final
class ByHand:
    """A judge who is asked on a stream and answers on another.

    Raises:
        BadResults: the file of answers cannot be read.
    """

    def __init__(self, asks: TextIO, answers: TextIO, kept: Path | None, criteria: str = "") -> None:
        """Begin with what the file has, if one is named."""
        self._asks = asks
        self._answers = answers
        self._kept = kept
        self._criteria = criteria
        found = [] if kept is None else read_lines(kept)
        self._known = {str(row.get("prompt")): _known(row, where) for where, row in found}

    def __call__(self, request: JudgeRequest | FoldRequest, /) -> Verdict:
        """Return the answer that is kept, or ask.

        Raises:
            InputEnded: the stream of answers has ended.
            BadResults: the answer cannot be kept.
        """
        chat = written(judge_messages(request, criteria=self._criteria), "chat")
        prompt = "\n\n".join(each["content"] for each in chat)
        key = hashlib.sha256(canonical(prompt).encode()).hexdigest()[:16]
        if key in self._known:
            return self._known[key]
        self._asks.write(f"{prompt}\n\n{_ASKED}")
        boundaries = request.boundaries if isinstance(request, JudgeRequest) else ()
        while True:
            self._asks.write("> ")
            self._asks.flush()
            line = self._answers.readline()
            if not line:
                raise InputEnded
            verdict = verdict_of(line.strip(), boundaries)
            if not isinstance(verdict, str):
                break
            self._asks.write(f"{verdict}\n")
        self._keep(key, line.strip())
        self._known[key] = verdict
        return verdict

    def _keep(self, key: str, line: str) -> None:
        if self._kept is None:
            return
        try:
            with self._kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"prompt": key, "answer": line}) + "\n")
        except OSError as error:
            raise BadResults(f"{self._kept} cannot be written: {error}") from None


def _known(row: dict[str, object], where: str) -> Verdict:
    answer = row.get("answer")
    verdict = verdict_of(answer, None) if isinstance(answer, str) else "it is no answer"
    if isinstance(verdict, str):
        raise BadResults(f"{where}: {verdict}")
    return verdict


def verdict_of(line: str, boundaries: object = None) -> Verdict | str:
    """Return what a line says, or why it says nothing.

    Args:
        line: what was written.
        boundaries: the steps that may be named, in a tuple; None where any may be.
    """
    if line.casefold() == "passed":
        return Passed()
    head, colon, why = (part.strip() for part in line.partition(":"))
    words = head.casefold().split()
    if not colon or not why or words[:1] not in (["failed"], ["text"]):
        return "that is neither `passed` nor `failed: WHY`"
    if words == ["text"]:
        return Failed(why, "summary")
    if words == ["failed"]:
        return Failed(why)
    if len(words) != 3 or words[1] != "at" or not words[2].isdecimal():
        return "a boundary is named as in `failed at 12: WHY`"
    known = {str(each): each for each in boundaries} if isinstance(boundaries, tuple) else None
    if known is not None and words[2] not in known:
        return f"step {words[2]} is no boundary: there are {', '.join(known) or 'none'}"
    return Failed(why, boundary=StepId(int(words[2])))

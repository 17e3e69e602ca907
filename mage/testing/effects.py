"""Judges and summarizers from a script, for tests of programs that use sessions.

    judge = ScriptedJudge(Passed(), Failed("the chair does not fit"), TimeoutError())
    with Session.open("memory:", "test", task="Buy a chair", judge=judge) as session:
        ...
    assert [request.text for request in judge.asked] == [...]

In an `AsyncSession` it is `judge.awaited`.
"""

from __future__ import annotations

from typing import Generic, TypeAlias, TypeVar, final

from mage.effects import SummaryRequest
from mage.engine import JudgeRequest, Verdict

__all__ = ["ScriptEnded", "Scripted", "ScriptedJudge", "ScriptedSummarizer"]

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@final
class ScriptEnded(AssertionError):
    """More was asked than the script answers."""


@final
class Scripted(Generic[Request, Answer]):
    """Gives the answers of a script in order, and remembers what it was asked. An exception in it is raised.

    Attributes:
        asked: every request so far, the one that found the script at its end included.
    """

    def __init__(self, *answers: Answer | Exception) -> None:
        self.asked: list[Request] = []
        self._answers = list(answers)

    @property
    def left(self) -> int:
        """How many answers were not asked for."""
        return len(self._answers)

    def __call__(self, request: Request, /) -> Answer:
        """Return the next answer, or raise it.

        Raises:
            ScriptEnded: there is none.
        """
        self.asked.append(request)
        if not self._answers:
            raise ScriptEnded(f"asked {len(self.asked)} times, more than the script answers")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def awaited(self, request: Request, /) -> Answer:
        """Return the next answer, or raise it, where an awaitable twin is wanted."""
        return self(request)


ScriptedJudge: TypeAlias = Scripted[JudgeRequest, Verdict]
ScriptedSummarizer: TypeAlias = Scripted[SummaryRequest, str]

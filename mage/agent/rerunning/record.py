"""The record of a run: what was asked in it, and answered, found again by the content of the question.

Two questions are the same

    to the model        if S, the boundaries, the notices and whether there is something to compress are; the room
                        that a mark leaves is left out, so that another mark alone asks nobody; so is the notice
                        that the run was interrupted at an action, and so are tools and manual, which are the same
                        in every question of a run
    to judge, summarizer   if the whole requests are
    to the environment  if the paths from the root are, as actions and observations, and so is the action; for
                        going back, if also the steps that are left are

Answers come in the order in which they were given. Those of a model, a judge or a summarizer each come once,
for it may answer otherwise when it is asked again; an environment goes on giving the last that it gave at this place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from hashlib import sha256
from typing import Any, Final, assert_never, final

from mage.agent.durable import Durable
from mage.effects import Act, Begin, Decide, EffectError, JudgeRequest, Observed, Restore, SummaryRequest
from mage.effects.program import Ask
from mage.engine import Step, StepId, Tree
from mage.engine.ids import ROOT_STEP
from mage.memory.journal import UNCERTAIN
from mage.memory.requests import AskVerdict, BeginJudging, Effect, End, Overtaken, Request, Twice, Uncertain

__all__ = ["Paths", "Record", "Recording", "question"]

_BEGINNING: Final = b""


@final
class Paths:
    """Digests of the paths of one tree. Its nodes never change, so each is reckoned once."""

    def __init__(self) -> None:
        self._known: dict[StepId, bytes] = {ROOT_STEP: _BEGINNING}

    def to(self, tree: Tree, step: StepId) -> bytes:
        """Return the digest of the path from the root to a step. Cost: O(steps not seen before)."""
        todo: list[Step] = []
        while step not in self._known:
            todo.append(tree.step(step))
            step = todo[-1].parent
        digest = self._known[step]
        for each in reversed(todo):
            digest = self._known[each.id] = _on(digest, each)
        return digest


def _on(digest: bytes, step: Step) -> bytes:
    return sha256(digest + repr((step.action, step.observation)).encode()).digest()


def _along(path: Iterable[Step]) -> bytes:
    digest = _BEGINNING
    for step in path:
        if step.id != ROOT_STEP:
            digest = _on(digest, step)
    return digest


def question(request: Request, tree: Tree, paths: Paths) -> Hashable:
    """Return what makes a question the same as another, as a value that can be looked up.

    Args:
        request: the question.
        tree: where it is asked.
        paths: of that tree.
    """
    match request:
        case Decide(shown, boundaries, notices, may_compress):
            told = tuple(
                [(notice.kind, notice.text, notice.said) for notice in notices if notice.kind != "uncertain"]
            )
            return (Decide, shown, boundaries, told, may_compress)
        case JudgeRequest() | SummaryRequest():
            return request
        case Begin():
            return Begin
        case Act(action, after):
            return (Act, paths.to(tree, after), action)
        case Restore(path, plan):
            left = tuple([(undo.step.action, undo.step.observation) for undo in plan])
            return (Restore, _along(path), left)
        case _:
            assert_never(request)


@final
class Record:
    """Answers by question. An answer is a value, or the `EffectError` that stood for it."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, deque[object]] = {}

    def keep(self, asked: Hashable, answer: object) -> None:
        """Put an answer behind those that were given to this question before."""
        self._answers.setdefault(asked, deque()).append(answer)

    def drop_last(self, asked: Hashable) -> None:
        """Forget the last answer to a question."""
        answers = self._answers[asked]
        answers.pop()
        if not answers:
            del self._answers[asked]

    def take(self, asked: Hashable, *, again: bool = False) -> object | None:
        """Return the next answer to a question, None where there is none.

        Args:
            asked: the question.
            again: whether the last one may be given as often as asked for.
        """
        answers = self._answers.get(asked)
        if not answers:
            return None
        return answers[0] if again and len(answers) == 1 else answers.popleft()


@final
class Recording:
    """Hears a run that is run again, and keeps the record of what was asked outside.

    A failure that ended the run, which was resumed later, is no answer: the run went on without it.
    """

    def __init__(self, durable: Durable) -> None:
        self.record = Record()
        self._durable = durable
        self._paths = Paths()
        self._judging: JudgeRequest | None = None
        self._asked: Hashable = None
        self._failed: Hashable = None

    def asks(self, asked: Ask[Any], /) -> None:
        """See `Watcher`."""
        if isinstance(asked, Effect):
            self._asked = question(asked.request, self._durable.state.tree, self._paths)
        elif isinstance(asked, BeginJudging):
            self._judging = asked.request

    def answered(self, asked: Ask[Any], answer: object, /) -> None:
        """See `Watcher`."""
        if isinstance(asked, Effect):
            self._keep(self._asked, answer)
        elif isinstance(asked, AskVerdict) and answer is not None:
            self._keep(self._judging, answer)
        elif isinstance(asked, End) and answer and self._failed is not None:
            self.record.drop_last(self._failed)
            self._failed = None

    def _keep(self, asked: Hashable, answer: object) -> None:
        if isinstance(answer, Overtaken):
            return
        self._failed = asked if isinstance(answer, EffectError) else None
        self.record.keep(asked, _as_answer(answer))


def _as_answer(answer: object) -> object:
    """Return an answer as an environment gives it: of what is known of an action beside that, nothing."""
    match answer:
        case Uncertain(effect):
            return Observed(UNCERTAIN, effect=effect)
        case Twice(observed):
            return observed
        case _:
            return answer

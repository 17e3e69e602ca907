"""The user in the place of a model: each prompt is shown on standard error, and a reply is read from standard input.

So a person can play an environment as an agent's model would see it, and so can a program, through a pipe. A reply is
written as in the mode without tool calls, such as `Action[look]`, thoughts before it if any. It ends where the move is
whole, or with an empty line; one that is no move is told what is wrong, and read again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Final, TypeVar, final

import attrs

from mage.chat import (
    OURS,
    Assistant,
    ChatMessage,
    Mode,
    Prompts,
    System,
    decide_messages,
    judge_messages,
    judge_prompt,
    offered,
    system_prompt,
)
from mage.chat.replies import Reply, decide_by_text, verdict_on
from mage.cli.output import Refused, say
from mage.effects import Decide, Decision, EffectError, Metered, Tool, Verdict
from mage.engine import FoldRequest, JudgeRequest
from mage.engine.errors import MageError
from mage.memory.outcomes import KindOfCall

Answer = TypeVar("Answer")
_MODE: Final[Mode] = "text"


@final
@attrs.frozen
class InputEnded(MageError):
    """Standard input has ended, and a reply is wanted."""

    who: KindOfCall

    def __str__(self) -> str:
        return f"standard input has ended, and the {self.who} is asked once more"


@final
class ByHand:
    """The user as the model of a run; `judge` is the user as its judge."""

    mode: Mode = _MODE

    def __init__(self, prompts: Prompts = OURS) -> None:
        self._prompts = prompts
        self._shown = (
            ""  # the fixed words that were shown last: as long as they are the same, they are not shown again
        )
        self._alone = Lock()  # a judge may be asked while the model is

    def prompt_text(self, tools: tuple[Tool, ...] = (), manual: str = "") -> str:
        """Return the fixed text that goes with every prompt."""
        return system_prompt(_MODE, tools=tools, manual=manual, prompts=self._prompts).text

    def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Return what the user decides.

        Raises:
            InputEnded: nothing more can be read.
            Refused: what is read is not UTF-8.
        """
        system = system_prompt(
            _MODE, tools=request.tools, manual=request.manual, rules=request.rules, prompts=self._prompts
        )
        chat = decide_messages(request, system=system, mode=_MODE, tools=request.tools)
        known = offered(request.tools, request.rules)
        decided = self._asked("model", chat, lambda reply: decide_by_text(reply, known))
        return Metered(decided, prompt_hash=system.hash)

    def judge(self, request: JudgeRequest | FoldRequest, /) -> Metered[Verdict]:
        """Return the user's verdict; see `__call__`."""
        chat = judge_messages(request, prompts=self._prompts)
        verdict = self._asked("judge", chat, lambda reply: verdict_on(request, reply))
        return Metered(verdict, prompt_hash=judge_prompt(request, self._prompts).hash)

    def _asked(self, who: KindOfCall, chat: Sequence[ChatMessage], read: Callable[[Reply], Answer]) -> Answer:
        with self._alone:
            self._show(chat)
            while True:
                say(f"-- you are the {who}: your reply", "bold", stderr=True)
                reply = Reply("".join(_typed(who, read)), finish="stop")
                try:
                    return read(reply)
                except EffectError as error:
                    say(f"-- that is no reply: {error.detail}", "red", stderr=True)

    def _show(self, chat: Sequence[ChatMessage]) -> None:
        for message in chat:
            if isinstance(message, System):
                if message.text == self._shown:
                    continue
                self._shown = message.text
            begins = "> " if isinstance(message, Assistant) else ""
            say(f"{begins}{message.text.rstrip()}", stderr=True)


def _typed(who: KindOfCall, read: Callable[[Reply], object]) -> Iterator[str]:
    """Yield the lines of one reply: up to where it can be read, or to an empty line, or to the end."""
    said = ""
    while True:
        line = _line()
        if not line and not said:
            raise InputEnded(who)
        if not line.strip():
            if said or not line:
                return
            continue
        said += line
        yield line
        try:
            read(Reply(said, finish="stop"))
        except EffectError:
            continue
        return


def _line() -> str:
    try:
        return "" if sys.stdin is None else sys.stdin.readline()
    except UnicodeDecodeError as problem:
        raise Refused(f"standard input: a reply is UTF-8, but byte {problem.start} is not") from None

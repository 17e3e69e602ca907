"""The user in the place of a model: each prompt is shown on standard error, and a reply is read from standard input.

So a person can play an environment as an agent's model would see it, and so can a program, through a pipe. A reply is
written as in the mode without tool calls, such as `Action[look]`, thoughts before it if any. It ends where a move that
begins on a line of its own is closed, or with an empty line; one that is no move is told what is wrong, and read again.
"""

from __future__ import annotations

import json
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
from mage.chat.replies import MOVE_BEGINS, Reply, decide_by_text, verdict_on
from mage.cli.output import print_text
from mage.effects import Decide, Decision, EffectError, Metered, Tool, Verdict
from mage.engine import FoldRequest, JudgeRequest
from mage.engine.errors import MageError
from mage.memory.outcomes import KindOfCall

Answer = TypeVar("Answer")
_MODE: Final[Mode] = "text"
_ENDS: Final[dict[KindOfCall, str]] = {
    "model": "up to a move such as Action[...]",
    "judge": "up to the end of its JSON",
}


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
        self._shown: dict[
            KindOfCall, str
        ] = {}  # the fixed words: as long as they are the same, they are shown once
        self._alone = Lock()  # a judge may be asked while the model is

    def prompt_text(self, tools: tuple[Tool, ...] = (), manual: str = "") -> str:
        """Return the fixed text that goes with every prompt."""
        return system_prompt(_MODE, tools=tools, manual=manual, prompts=self._prompts).text

    def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Return what the user decides.

        Raises:
            InputEnded: nothing more can be read.
        """
        system = system_prompt(
            _MODE, tools=request.tools, manual=request.manual, rules=request.rules, prompts=self._prompts
        )
        chat = decide_messages(request, system=system, mode=_MODE, tools=request.tools)
        known = offered(request.tools, request.rules)
        decided = self._asked("model", chat, _move_ends, lambda reply: decide_by_text(reply, known))
        return Metered(decided, prompt_hash=system.hash)

    def judge(self, request: JudgeRequest | FoldRequest, /) -> Metered[Verdict]:
        """Return the user's verdict; see `__call__`."""
        chat = judge_messages(request, prompts=self._prompts)
        verdict = self._asked("judge", chat, _object_ends, lambda reply: verdict_on(request, reply))
        return Metered(verdict, prompt_hash=judge_prompt(request, self._prompts).hash)

    def _asked(
        self,
        who: KindOfCall,
        chat: Sequence[ChatMessage],
        ends: Callable[[], Callable[[str], bool]],
        read: Callable[[Reply], Answer],
    ) -> Answer:
        with self._alone:
            self._show(who, chat)
            while True:
                _print(f"-- you are the {who}: your reply ({_ENDS[who]}, or an empty line)\n")
                try:
                    return read(Reply("".join(_typed(who, ends())), finish="stop"))
                except EffectError as error:
                    _print(f"-- that is no reply: {error.detail}\n")

    def _show(self, who: KindOfCall, chat: Sequence[ChatMessage]) -> None:
        for message in chat:
            if isinstance(message, System):
                if message.text == self._shown.get(who):
                    continue
                self._shown[who] = message.text
            begins = "> " if isinstance(message, Assistant) else ""
            _print(f"{begins}{message.text.rstrip()}\n")


def _print(text: str) -> None:
    print_text(text, sys.stderr)
    sys.stderr.flush()


def _typed(who: KindOfCall, ends: Callable[[str], bool]) -> Iterator[str]:
    """Yield the lines of one reply: up to one at which it ends, or to an empty line, or to the end. Cost: O(length).

    Raises:
        InputEnded: there is nothing more.
        EffectError: a line is not UTF-8.
    """
    is_begun = False
    while line := _line():
        if line.strip():
            is_begun = True
            yield line
            if ends(line):
                return
        elif is_begun:
            return
    if not is_begun:
        raise InputEnded(who)


def _move_ends() -> Callable[[str], bool]:
    """Return what tells, line by line, whether a move that begins on a line of its own is closed: by its last bracket."""
    opened: list[int] = []

    def ends(line: str) -> bool:
        if not opened and not MOVE_BEGINS.match(line):
            return False
        opened[:] = [sum(opened) + line.count("[") - line.count("]")]
        return opened[0] <= 0

    return ends


def _object_ends() -> Callable[[str], bool]:
    """Return what tells, line by line, whether a JSON object that begins on a line of its own is there as a whole."""
    said: list[str] = []

    def ends(line: str) -> bool:
        if said or line.lstrip().startswith("{"):
            said.append(line)
        if not said or not line.rstrip().endswith("}"):
            return False
        try:
            json.loads("".join(said))
        except (ValueError, RecursionError):
            return False
        return True

    return ends


def _line() -> str:
    """Return the next line of standard input, empty at its end: UTF-8, whatever the locale says.

    Raises:
        EffectError: it is not.
    """
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return "" if sys.stdin is None else sys.stdin.readline()
    line: bytes = stream.readline()
    try:
        return line.decode()
    except UnicodeDecodeError as problem:
        raise EffectError("wrong_schema", f"a reply is UTF-8, but byte {problem.start} is not") from None

"""How the MCP server answers: in words that a model can act on, a page at a time."""

from __future__ import annotations

from typing import Any, Final, final

import attrs

from mage.chat import judge_messages, judge_prompt
from mage.engine import Active, Failed, JudgeRequest, Rejected, State, StepId, Unverified, revise
from mage.render.blocks import INDENT, Block
from mage.session import AsyncSession

PAGE_LENGTH: Final = 16_000
"""Characters of a page."""
_NAMED: Final = 20
"""Boundaries that an answer names at most."""


@final
@attrs.frozen
class Answer:
    """What a tool says.

    Attributes:
        told: what came of it, and what to do.
        text: what was asked for, or this page of it.
        more: the page behind it; None where there is none.
        is_refused: whether nothing was done.
        is_asking: whether it is about a summary that is to be judged first.
    """

    told: str
    text: str = ""
    more: int | None = None
    is_refused: bool = False
    is_asking: bool = False


def refused(why: str) -> Answer:
    """Return what is said where nothing was done."""
    return Answer(f"Not done: {why}", is_refused=True)


def standing(session: AsyncSession) -> dict[str, Any]:
    """Return where a session stands, as the structured result has it. Cost: O(summaries shown)."""
    state = session.phase
    return {
        "session": session.name,
        "version": session.version,
        "phase": type(state).__name__,
        "digest": state.digest if isinstance(state, Unverified) else None,
        "boundaries": [int(step) for step in boundaries(state)],
    }


def boundaries(state: State) -> tuple[StepId, ...]:
    """Return where revise may go back to, the newest of it: what it says to whoever asks for a step that cannot be one."""
    return revise(state, -1, "").failure().legal[-_NAMED:]


def next_of(state: State) -> str:
    """Return what is to be done about the newest summary."""
    head = state.tree.head_summary
    match state:
        case Active():
            return f"[Step {head.label}] is judged, and stands for its steps."
        case Unverified():
            told = f"[Step {head.label}] waits for its verdict: judge it by verdict, with its digest."
            return f"{told} Until then you may go on with grow."
        case Rejected():
            verdict = head.verdict
            why = Block("Feedback: ", verdict.feedback if isinstance(verdict, Failed) else "").text
            where = ", ".join(map(str, boundaries(state)))
            told = f"[Step {head.label}] has failed: revise to {where} with a lesson, or where only its text is wrong,"
            return f"{told} compress with a true one.\n{why}"


def asked(request: JudgeRequest) -> str:
    """Return what a judge is asked, in the words in which judges of ours are asked it (D5)."""
    how = judge_prompt(request).text.partition("\n\nReply with")[0]
    return f"{how}\n\n{judge_messages(request)[-1].text}"


def paged(told: str, text: str, start: int) -> Answer:
    """Return a page that begins at a character of a text, ends with a line, and passes no content for words of ours."""
    if start and not 0 < start < len(text):
        return no_page(start)
    end = start + PAGE_LENGTH
    if end < len(text):
        end = text.rfind("\n", start, end) + 1 or end
    begun = INDENT if start and text[start - 1] != "\n" else ""
    return Answer(told, begun + text[start:end], end if end < len(text) else None)


def no_page(page: int) -> Answer:
    """Return what is said where a page was asked for that there is not."""
    return refused(f"there is no page {page}: 0 is the first, and each answer names the one behind it.")

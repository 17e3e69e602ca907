"""A `JudgeRequest` and a `SummaryRequest` as a chat: fixed words, then what was done, then the question.

    Task: ... / Instruction: ...         in force for these steps
    Earlier part [Step 12]: ...          fallback summaries of the same subgoal
    Action: ... / Observation: ...       each step, raw
    Summary to judge: ...                a judge's
    Rejected text: ... / Verdict: ...    a summarizer's, where it is to write again
    At most 300 tokens.
    Write the text.

Content is in blocks as in `mage.render`: nothing in a step can be mistaken for words of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mage.agent.prompts.chat import ChatMessage, System, User
from mage.agent.prompts.prompt import Prompt
from mage.agent.prompts.wording import (
    JUDGE_FALLBACK,
    JUDGE_SUBGOAL,
    SUMMARIZE_AGAIN,
    SUMMARIZE_FALLBACK,
    SUMMARIZE_SUBGOAL,
)
from mage.effects import JudgeRequest, SummaryRequest
from mage.engine import Earlier, Step
from mage.render.blocks import Block, asked_of, step_of

__all__ = ["judge_messages", "judge_prompt", "summary_messages", "summary_prompt"]


def judge_prompt(request: JudgeRequest) -> Prompt:
    """Return the wording for a subgoal, or for a fallback, of which only faithfulness is asked (D12)."""
    return JUDGE_SUBGOAL if request.kind == "subgoal" else JUDGE_FALLBACK


def judge_messages(request: JudgeRequest, *, told: str = "") -> tuple[ChatMessage, ...]:
    """Return the chat that asks for a verdict. Cost: O(size of the request).

    Args:
        request: what is to be judged.
        told: what was wrong with the last answer; empty when it is asked for the first time.
    """
    blocks = [
        *_done(request.task, request.instructions, request.earlier, request.steps),
        Block("Summary to judge: ", request.text),
        *_again(told),
    ]
    return _chat(judge_prompt(request), blocks)


def summary_prompt(request: SummaryRequest) -> Prompt:
    """Return the wording for a first text by its kind, or for a new one in place of a rejected one (D16)."""
    if request.rejected is not None:
        return SUMMARIZE_AGAIN
    return SUMMARIZE_SUBGOAL if request.kind == "subgoal" else SUMMARIZE_FALLBACK


def summary_messages(request: SummaryRequest, *, told: str = "") -> tuple[ChatMessage, ...]:
    """Return the chat that asks for the text of a summary; see `judge_messages`."""
    blocks = [
        *_done(request.task, request.instructions, request.earlier, request.steps),
        *_rejected(request),
        *_again(told),
        Block("Write the text."),
    ]
    return _chat(summary_prompt(request), blocks)


def _done(
    task: str, instructions: Sequence[str], earlier: Sequence[Earlier], steps: Sequence[Step]
) -> Iterator[Block]:
    yield from asked_of(task, instructions)
    for part in earlier:
        yield Block(f"Earlier part [Step {part.label}]: ", part.text)
    for step in steps:
        yield from step_of(step.action, step.observation)


def _rejected(request: SummaryRequest) -> Iterator[Block]:
    if request.rejected is not None:
        yield Block("Rejected text: ", request.rejected)
        if request.kind == "fallback":
            yield Block("Its subgoal is not over.")
    if request.feedback:
        yield Block("Verdict: ", request.feedback)
    if request.limit is not None:
        yield Block(f"At most {request.limit} tokens.")


def _again(told: str) -> Iterator[Block]:
    if told:
        yield Block("Your last reply could not be used: ", told)


def _chat(prompt: Prompt, blocks: Sequence[Block]) -> tuple[ChatMessage, ...]:
    return (System(prompt.text), User("".join([block.text for block in blocks])))

"""What the tools of the MCP server do: each is one operation on a session, answered in words.

`grow` tells what was done, and lands on the head as it is; `compress` and `revise` are decisions, and name the version
that they were made on: where somebody has written since, or another call of the same reply came first, they are refused
(D11). A refusal changes nothing, and says what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast, final

import attrs
from returns.result import Success

from mage.chat import COMPRESS, REVISE, judge_messages, judge_prompt, verdict_schema_of
from mage.effects import AsyncJudge, EffectError, Schema, Tool
from mage.engine import (
    Active,
    Failed,
    JudgeRequest,
    Passed,
    Rejected,
    State,
    StepId,
    Unverified,
    inside,
    revise,
)
from mage.memory.state import few, quoted
from mage.render import one_line, render
from mage.render.blocks import INDENT, Block, inside_of
from mage.session import AsyncSession, Conflict, Refused

# -- the tools ----------------------------------------------------------------------------------------------


CYCLE: Final = """\
This server keeps where you stand in a long task, in the session that you name, so that you need not.
1. start, with the task. After a break, or when you are unsure: state. What it shows is so, whatever you remember.
2. Do one thing in the world, then grow: what you did and what came back, word for word, before you do the next.
3. When a subgoal is complete: compress, alone in your reply. Your text stands for its steps from now on, so write down \
what was done, found and decided, with exact names and numbers.
4. A summary is judged before it is trusted. Where you are asked to judge, compare text and steps as strictly as if \
somebody else had written them, and answer by verdict.
5. What has failed is put right before you go on: revise to where it went wrong, with a lesson, and undo in the world \
what you are told you left there. Where only the text is wrong, compress once more, with a true one.
6. look shows what a line [Step N] stands for; history and fork are for looking back, and for another way.
Each answer ends with where you stand. compress and revise take the version that it names."""

_NAME: Final[Schema] = {"type": "string", "description": "the name of the session"}
_TEXT: Final[Schema] = {"type": "string"}
_PAGE: Final[Schema] = {"type": "integer", "description": "0, or what the answer before names for more"}
_DECIDED_ON: Final[Schema] = {"type": "integer", "description": "the version that the last answer named"}
_END: Final[Schema] = {
    "type": ["integer", "null"],
    "description": "the M of a line [Step N..M]; null where N alone names it",
}
_LABEL: Final[Schema] = {"type": "integer", "description": "the N of a line [Step N]"}
_DIGEST: Final[Schema] = {"type": "string", "description": "of the summary that was judged"}
_NEW: Final[Schema] = {"type": "string", "description": "the name of the new session"}
_BEGINS: Final[Schema] = {"type": "integer", "description": "the version at which it begins"}


def _of(schema: Schema) -> dict[str, Schema]:
    return dict(cast("Mapping[str, Schema]", schema["properties"]))


def _tool(name: str, description: str, **properties: Schema) -> Tool:
    return Tool.of(name, description, session=_NAME, **properties)


TOOLS: Final = (
    _tool("start", "Begin a session for a task, or go on with the one of this name.", task=_TEXT),
    _tool("grow", "Record an action that was carried out, and its result.", action=_TEXT, observation=_TEXT),
    _tool(COMPRESS.name, COMPRESS.description, **_of(COMPRESS.parameters), version=_DECIDED_ON),
    _tool(
        "verdict",
        "Judge the summary that waits for a verdict: compare it with its steps.",
        digest=_DIGEST,
        **_of(verdict_schema_of(asks_steps=True)),
    ),
    _tool(REVISE.name, REVISE.description, **_of(REVISE.parameters), version=_DECIDED_ON),
    _tool(
        "look",
        "See the steps that a line [Step N] stands for, or the lines of a chapter.",
        step=_LABEL,
        boundary=_END,
        page=_PAGE,
    ),
    _tool("state", "See where you stand: what is done, what is open, what was tried.", page=_PAGE),
    _tool("history", "See what was recorded, the newest first.", page=_PAGE),
    _tool("fork", "Make another session that begins at a version of this one.", new=_NEW, version=_BEGINS),
)
"""All of them, strict."""
LOOKING: Final = frozenset({"look", "state", "history"})
"""The names of those that change nothing."""
ANSWER: Final = Tool.of(
    "answer",
    "What every tool returns.",
    told={"type": "string", "description": "what came of it, and what to do"},
    text={"type": "string", "description": "what was asked for, or this page of it"},
    more={"type": ["integer", "null"], "description": "the page behind it, null where there is none"},
    session=_NAME,
    version={"type": "integer"},
    phase={"type": "string", "enum": ["Active", "Unverified", "Rejected"]},
    digest={"type": ["string", "null"], "description": "of the summary that waits for a verdict"},
    boundaries={
        "type": "array",
        "items": {"type": "integer"},
        "description": "where revise may go back to, the newest of it",
    },
).parameters
"""The schema of their structured results."""

Given: TypeAlias = Mapping[str, Any]  # JSON that fits the parameters of its tool


# -- in words that a model can act on, a page at a time -----------------------------------------------------


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


# -- operations ---------------------------------------------------------------------------------------------


_ENTRIES: Final = 20
"""Commands on a page of the history."""


async def carry_out(tool: str, session: AsyncSession, given: Given) -> Answer:
    """Do what a tool does; `given` fits its parameters, and nobody else in this process changes the session.

    Raises:
        Refused, Conflict, StoreError: as from the session.
    """
    match tool:
        case "start":
            return _shown(session, 0)
        case "grow":
            return await _grow(session, given["action"], given["observation"])
        case "compress":
            return await _compress(session, given["text"], given["version"])
        case "verdict":
            return await _verdict(session, given)
        case "revise":
            return await _revise(session, given["step"], given["lesson"], given["version"])
        case "look":
            return _look(session, given["step"], given["boundary"], given["page"])
        case "state":
            return _shown(session, given["page"])
        case "history":
            return await _history(session, given["page"])
        case _:
            made = await session.fork(given["new"], at=given["version"])
            return Answer(f"Made {made.name!r}, which begins at version {made.version} of this session.")


async def _grow(session: AsyncSession, action: str, observation: str) -> Answer:
    """Record what was done on the head as it is: where others are faster, behind what they wrote."""
    known = session.tree.next_step
    while not isinstance(session.phase, Rejected):
        try:
            await session.grow(action, observation)
        except Conflict:
            await session.refresh()
            known = session.tree.next_step
            continue
        step = session.tree.step_head
        again = (
            ""
            if session.tree.next_step > known
            else ", on a way that was left before: see the hints in state"
        )
        return Answer(f"This is step {step}{again}.")
    return refused(f"what you did is to be recorded once this is settled. {next_of(session.phase)}")


def _moved(session: AsyncSession, version: int) -> Answer | None:
    if session.version == version:
        return None
    return refused(
        f"you decided on version {version}, and the session is at {session.version}: somebody has written since, or"
        " another call of your reply came first. Look at what is there, and decide again."
    )


async def _compress(session: AsyncSession, text: str, version: int) -> Answer:
    """Mark the subgoal complete; what waits for a verdict or has failed, with nothing behind it, gets the new text."""
    state = session.phase
    moved = _moved(session, version)
    if moved is not None:
        return moved
    if isinstance(state, Active):
        await session.compress(text)
    elif isinstance(state, Rejected) or not state.tree.segment():
        await session.retext(text)
    else:
        return attrs.evolve(refused(f"an earlier summary comes first. {next_of(state)}"), is_asking=True)
    return attrs.evolve(_to_judge(session, 0), is_asking=True)


def _to_judge(session: AsyncSession, page: int) -> Answer:
    """Return what is pending, for the client's own model to judge."""
    request = session.judge_request()
    label = session.tree.head_summary.label
    answer = paged(next_of(session.phase), asked(request), page)
    if answer.more is None:
        return answer
    return attrs.evolve(
        answer, told=f"{answer.told} The rest of its steps: look, step {label}, page {answer.more}."
    )


async def ask(session: AsyncSession, judge: AsyncJudge, answer: Answer) -> Answer:
    """Have what is pending judged; where there is no verdict to be had, it is for the client's own model."""
    request = session.judge_request()
    try:
        await session.judge(await judge(request), request.digest)
    except (EffectError, Refused, Conflict) as error:
        await session.refresh()
        if isinstance(session.phase, Unverified):
            return attrs.evolve(answer, told=f"The judge gave no verdict ({error}). {answer.told}")
    told = next_of(session.phase)
    return (
        refused(f"an earlier summary came first. {told} Decide again.") if answer.is_refused else Answer(told)
    )


async def _verdict(session: AsyncSession, given: Given) -> Answer:
    fault, is_fallback = given["fault"], session.tree.head_summary.kind == "fallback"
    if not given["passed"] and fault == "none":
        return refused(
            'it has not passed: say whose fault it is, "summary" (the text) or "execution" (the steps).'
        )
    of_text = fault == "summary" or is_fallback
    failed = (
        Failed(given["feedback"], "summary")
        if of_text
        else Failed(given["feedback"], "execution", given["boundary"])
    )
    verdict = Passed() if given["passed"] else failed
    await session.judge(verdict, given["digest"], meta={"reasoning": given["reasoning"]})
    return Answer(next_of(session.phase))


async def _revise(session: AsyncSession, step: int, lesson: str, version: int) -> Answer:
    moved = _moved(session, version)
    if moved is not None:
        return moved
    left = await session.revise(step, lesson)
    told = [f"Back at [Step {step}].\n"]
    if left.abandoned:
        actions = few([quoted(each.action) for each in left.abandoned], "\n")
        told.append(
            Block("What you did stands in the world until you undo it, the last first: ", actions).text
        )
    told += [Block("Left behind, an instruction: ", quoted(each.text)).text for each in left.instructions]
    return _shown(session, 0, "".join(told))


def _look(session: AsyncSession, step: int, boundary: int | None, page: int) -> Answer:
    state = session.phase
    if isinstance(state, Unverified) and state.tree.head_summary.label == step:
        return _to_judge(session, page)
    found = inside(state, step, boundary)
    if not isinstance(found, Success):
        return refused(f"{found.failure()}.")
    line = found.unwrap().line
    text = "".join([block.text for block in inside_of(found.unwrap())])
    return paged(f"What [Step {line.label}..{line.boundary}] stands for.", text, page)


def _shown(session: AsyncSession, page: int, told: str = "") -> Answer:
    state = session.phase
    told += "" if isinstance(state, Active) else next_of(state)
    return paged(told or "Go on from here.", render(session.state()), page)


async def _history(session: AsyncSession, page: int) -> Answer:
    """Return commands: a page is named by its newest version, so that it stays the same while others write."""
    if not 0 <= page <= session.version:
        return no_page(page)
    newest = page or session.version
    after = max(0, newest - _ENTRIES)
    entries = await session.history(after=after, upto=newest)
    lines = [f"{entry.version} {one_line(str(entry.command), 400)}\n" for entry in reversed(entries)]
    return Answer(f"Versions {after + 1} to {newest}.", "".join(lines), after or None)

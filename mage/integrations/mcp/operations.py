"""What the tools of the MCP server do: each is one operation on a session, answered in words.

`grow` tells what was done, and lands on the head as it is; `compress` and `revise` are decisions, and name the version
that they were made on: where somebody has written since, or another call of the same reply came first, they are refused
(D11). A refusal changes nothing, and says what to do.
"""

from __future__ import annotations

from typing import Final

import attrs
from returns.result import Success

from mage.effects import AsyncJudge, EffectError
from mage.engine import Active, Failed, Passed, Rejected, Unverified, inside
from mage.integrations.mcp.tools import Given
from mage.integrations.mcp.words import Answer, asked, next_of, no_page, paged, refused
from mage.memory.notices import few, quoted
from mage.render import one_line, render
from mage.render.blocks import Block, inside_of
from mage.session import AsyncSession, Conflict, Refused

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

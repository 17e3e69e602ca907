"""The two halves of a turn of anybody's loop: what the model is shown, and what becomes of its reply.

    show      what others wrote is taken, a late verdict too; then S
    take      a segment that is too long, and that the model has just seen, is compacted; what the environment did
              becomes steps behind it, in the order of the calls; then what the model does to its own state; each
              call once, also where the host hands the same reply in again after a crash

They are programs over the same parts as the agent's loop (`mage.agent.loop`), which acts itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar, cast, final

import attrs

from mage.chat import (
    BESIDE,
    COMPRESS,
    GIVING_WAY,
    LOOK,
    NOTE,
    PARTS,
    REVISE,
    THOUGHT,
    AssistantReply,
    BadAction,
    ToolCall,
    action_text,
    canonical,
    completed,
    content_of,
    is_content,
    looking,
    misfit,
    read_arguments,
)
from mage.chat.parts import cut
from mage.effects import ActionEffect, BadTool, Decide, LookInto, Observed, Tool
from mage.effects.program import Ask, Program
from mage.engine import Active, Grow, Instruct, Rejected, State, Unverified
from mage.engine.errors import MageError
from mage.memory.chapters import fold_lines, look_as_asked, look_into
from mage.memory.compact import compress, is_due, may_end, question, relieve, tell_of_mark
from mage.memory.journal import (
    CALL,
    LONGEST_NOTED,
    NOTED_SO,
    REPLY,
    UNCERTAIN,
    Tally,
    observed_meta,
    with_parts,
)
from mage.memory.maintain import settle
from mage.memory.policy import Outcome, RunFailed, RunFinished
from mage.memory.requests import Look, Overtaken, WriteNote
from mage.memory.revise import owe, place_owed, revise_as_asked, tell_of_leaving, tell_of_resuming
from mage.memory.state import Run, told_once
from mage.session import Conflict

Answer = TypeVar("Answer")
_TRIES: Final = 64
"""How often a turn begins again because somebody else has written."""
OWN: Final = (COMPRESS, REVISE, LOOK, NOTE)
"""What a model may do to its own state, how it looks into it and writes down: the tools that a memory declares."""
Meta: TypeAlias = Mapping[str, object]
Results: TypeAlias = Mapping[str, "str | Observed"] | Sequence["str | Observed"]
"""What came back from calls that the host has carried out: by call id; or one for each call to a tool of its own, in
order, for interfaces that give no ids."""


@final
@attrs.frozen
class Stopped(MageError):
    """The policy stops the agent here; nothing is lost, and the same call may be made again.

    Attributes:
        reason: `"judge_down"`, `"failed_verdict"`, `"exhausted"`, `"diverged"` or `"window"`.
        detail: one line for people.
    """

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason.replace('_', ' ')}: {self.detail}"


@final
@attrs.frozen
class MemoryBusy(MageError):
    """A memory was used by a function that it called, such as `perform` or a judge, before that had returned."""

    def __str__(self) -> str:
        return "a memory cannot be used from within what it calls: return first"


@final
@attrs.frozen
class Call:
    """A call that a model made to a tool of the host.

    Attributes:
        id: as the interface named it; empty where it did not.
        name: the tool's.
        arguments: a JSON object.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]  # any JSON: a host hands it to its own functions

    @property
    def action(self) -> str:
        """The action of its step."""
        return action_text(self.name, self.arguments)


@final
@attrs.frozen
class Perform(Ask[object]):
    """Have the host carry out a call. Answered by what came back, None where it was not carried out."""

    call: Call


@final
@attrs.frozen
class Taken:
    """What became of a reply.

    Attributes:
        finished: whether the text is the answer: the model made no call, its reply is whole, and nothing that it had
            claimed has failed.
        text: what the model said.
    """

    finished: bool
    text: str


def readable(call: ToolCall) -> Call | str:
    """Return a call with its arguments, or in words why it cannot be carried out."""
    try:
        made = Call(call.id, call.name, read_arguments(call.arguments))
        _ = made.action
    except BadAction as bad:
        return f"{call.name}: {bad.reason}"
    except (ValueError, RecursionError):
        return f"{call.name}: a number too large, or nested too deeply"
    return made if made.name else "a call without the name of a tool"


def _action(call: ToolCall) -> str:
    """Return the action of a call's step, also where its arguments cannot be read."""
    made = readable(call)
    return f"{call.name} {call.arguments}" if isinstance(made, str) else made.action


def _readable_note(call: ToolCall) -> Call | str:
    """Return a note with its text, or in words why it cannot be taken down."""
    made = readable(call)
    if isinstance(made, str):
        return made
    wrong = misfit(made.arguments, NOTE.parameters, NOTE.name)
    return made if wrong is None else wrong


def own_beside(names: Container[str]) -> tuple[Tool, ...]:
    """Return the tools that a memory declares beside a host's of these names: ours named `look` and `note` give way.

    Raises:
        BadTool: one is named `compress` or `revise`.
    """
    taken = next((own.name for own in OWN if own.name not in GIVING_WAY and own.name in names), None)
    if taken is not None:
        raise BadTool(taken, "this name is taken by an operation on the agent's own state")
    return tuple([own for own in OWN if own.name not in names])


def why_barred(state: State) -> str:
    """Return in words why no action is to be performed now; empty where it may."""
    if not isinstance(state, Rejected):
        return ""
    label = state.tree.head_summary.label
    return f"Not done: [Step {label}] has failed meanwhile. Look at where you stand, and decide again."


async def undisturbed(run: Run, turn: Callable[[Run], Program[Answer]]) -> Answer:
    """Run a turn; where somebody else has written meanwhile, again, on what they wrote.

    Raises:
        Overtaken: they never pause.
    """
    for _ in range(_TRIES):
        await look(run)
        try:
            return await turn(run)
        except (Overtaken, Conflict):  # another one's note is met as a conflict
            continue
    raise Overtaken


async def look(run: Run) -> None:
    """Take what others have written, and say so to the model."""
    seen = await Look()
    before = run.state if seen.followed else None
    run.see(seen)
    await tell_of_resuming(run)
    if run.interrupted_at:
        told = "The program ended while this call of yours was made, so nobody knows whether it was done: look before you repeat it."
        await run.notice("uncertain", told, run.interrupted_at)
        run.interrupted_at = ""
    if before is not None:
        run.head_changed()
        await run.notice("changed", "Somebody else has changed your state meanwhile: read it anew.")
        await tell_of_leaving(run, before)


async def show(run: Run) -> Decide:
    """Return what the model is to be shown now, with what it is told once."""
    if isinstance(run.state, Active | Unverified):
        await place_owed(run)
    _require_going_on(await settle(run, wait=False))
    await tell_of_mark(run, run.shown())
    await fold_lines(run)
    if isinstance(run.state, Active | Unverified) and run.outgrows(run.shown()):
        _require_going_on(await relieve(run))
    if run.outgrows(run.shown()):
        told = f"what is shown takes {run.whole(run.shown())} tokens, and the window is {run.policy.window}"
        raise Stopped("window", told)
    run.seen = run.state.tree.step_head
    return question(run, run.shown())


def _require_going_on(ended: Outcome | None) -> None:
    """Raise where the policy stops the agent."""
    if ended is None:
        return
    if isinstance(ended, RunFinished | RunFailed):
        raise AssertionError(f"only the policy can stop a memory: {ended}")
    raise Stopped(ended.reason, ended.detail)


@final
@attrs.frozen
class Take:
    """The turn that takes a reply: carried out by calling it with the run.

    Attributes:
        reply: what the model replied.
        results: for each call what has come back from it, None where it was not carried out; None for all where
            the host is asked to carry them out now.
        tally: what the journal says, among it what was recorded of this reply before.
        told: how many of the run's notices the model had seen when it replied; taken out by the first look.
        own: the tools that are about the agent's own state; all others are the host's.
        recorded: the places of the calls that this turn has recorded, where it begins again.
        came: by place, what came back from the calls that the host has carried out for this turn.
        begun: the places of the calls that this turn has begun to have carried out.
    """

    reply: AssistantReply
    results: Sequence[Observed | None] | None
    tally: Tally
    told: list[int]
    own: tuple[Tool, ...]
    recorded: set[int] = attrs.field(factory=set)
    came: dict[int, Observed] = attrs.field(factory=dict)
    begun: set[int] = attrs.field(factory=set)

    async def __call__(self, run: Run) -> Taken:
        """Make steps of what was done, then do what the model does to its own state (D11)."""
        was_shown = bool(self.told)
        if was_shown:
            forget_told(run, self.told.pop())
        held: list[str] = []
        unread: list[str] = []
        new = list(self._fresh())
        fresh = await self._done_of(run, new) if self.reply.is_cut else new
        steps = [(place, call) for place, call in fresh if not self._is_own(call)]
        head = run.state.tree.step_head
        stopped, failure = (None, None) if not steps else await relieved(run, self._coming(run, steps))
        if self.results is None:  # nothing is performed yet
            require_relieved(stopped, failure)
            if run.state.tree.step_head != head:  # decided for where the agent was
                held = [_action(call) for _, call in steps]
                steps = []
        for place, call in steps:
            held.extend(await self._step(run, place, call, held, unread))
        require_relieved(stopped, failure)
        if unread:
            told = "A call of your last reply could not be read, and was not done:"
            await run.notice("unusable", told, *unread)
        await self._own(run, [(place, call) for place, call in fresh if self._is_own(call)], held)
        self.recorded.update(place for place, _ in fresh)
        if was_shown and self.reply.calls and not new:  # some servers number the calls of each reply alike
            told = "Your last reply was the one before once more, with the ids of its calls: nothing was done again."
            await run.notice("refused", told)
        return Taken(await self._finishes(run), self.reply.text)

    def _coming(self, run: Run, steps: Sequence[tuple[int, ToolCall]]) -> int:
        """Return the tokens of the results that are there already."""
        if self.results is None:
            return 0
        came = [(call, self.results[place]) for place, call in steps]
        return sum(
            run.meter.step(_action(call), observed.text) for call, observed in came if observed is not None
        )

    async def _done_of(self, run: Run, new: Sequence[tuple[int, ToolCall]]) -> list[tuple[int, ToolCall]]:
        """Return those calls of a reply that was cut off that the host has carried out; the model is told of the rest."""
        results = self.results or ()
        done = [(place, call) for place, call in new if place < len(results) and results[place] is not None]
        undone = [call.name for place, call in new if (place, call) not in done]
        if undone:
            told = "Your last reply was cut off, so nothing more of it was done. Be shorter. Not done:"
            await run.notice("unusable", told, *undone)
        return done

    def _is_own(self, call: ToolCall) -> bool:
        """Tell whether a call is about the agent's own state; a note is a step like others."""
        return any(own.name == call.name for own in self.own if own is not NOTE)

    def _is_note(self, call: ToolCall) -> bool:
        return NOTE in self.own and call.name == NOTE.name

    async def _finishes(self, run: Run) -> bool:
        """Tell whether the reply is the answer: no call, all there, and nothing that is claimed has failed.

        No reply is named beside what is recorded of an answer: one that has failed is in no transcript of a host.
        """
        if self.reply.calls:
            return False
        if self.reply.is_cut or not self.reply.text.strip():
            wrong = "was cut off: be shorter" if self.reply.is_cut else "was empty"
            await run.notice("unusable", f"Your last reply {wrong}.")
            return False
        over = await may_end(run, self.reply.text, {})
        if over is True:
            await WriteNote("answered", {"answer": self.reply.text})
        elif not isinstance(over, bool):
            _require_going_on(over)
        return over is True

    async def _step(
        self, run: Run, place: int, call: ToolCall, held: Sequence[str], unread: list[str]
    ) -> Sequence[str]:
        """Make a step of a call; return it where it was not carried out, and say why where it could not be read."""
        made = _readable_note(call) if self._is_note(call) else readable(call)
        action = _action(call)
        observed = self.came.get(place) if self.results is None else self.results[place]
        if self._is_note(call):
            observed = None if isinstance(made, str) or why_barred(run.state) else NOTED_SO
        if isinstance(made, str) and observed is None:
            unread.append(made)
            return [call.name]
        if (
            isinstance(made, Call)
            and not self._is_note(call)
            and self._may_ask(observed, held)
            and not why_barred(run.state)
        ):
            observed = await self._performed(run, place, made)
        if observed is None:  # what follows was decided for the case that this one is done
            return [action]
        before = self.tally.commands
        try:
            await grow(run, action, observed, self._meta(call))
        finally:  # also where the task was cancelled while it was written
            if self.tally.commands != before:
                self.recorded.add(place)
        return []

    async def _performed(self, run: Run, place: int, call: Call) -> Observed | None:
        """Have a call carried out; where the host fails at it, the model is told that nobody knows whether it was done.

        A note says before that it is about to be. Where an earlier process ended meanwhile, it is not made once more: its
        step says that nobody knows.
        """
        calling = {"reply": self.reply.digest, "call": call.id, "action": cut(call.action, LONGEST_NOTED)}
        if place not in self.begun and self.tally.calling == tuple(calling.values()):
            return Observed(UNCERTAIN)
        self.begun.add(place)
        await WriteNote("calling", calling)
        try:
            came = await Perform(call)
            if came is None:
                return None
            observed = self.came[place] = observed_in(came)
        except BaseException:  # whatever the host's code raises, cancellation too: it is passed on
            told = "The host failed at this call of yours, so nobody knows whether it was done: look before you repeat it."
            run.notices.append(told_once("uncertain", told, call.action))
            raise
        return observed

    def _may_ask(self, observed: Observed | None, held: Sequence[str]) -> bool:
        return observed is None and self.results is None and not held

    def _fresh(self) -> Iterator[tuple[int, ToolCall]]:
        """Yield the calls of which nothing is recorded, with their places, own calls last.

        One without an id is never known; of several with one id, as many as were recorded.
        """
        known = Counter(self.tally.calls if self.reply.digest == self.tally.reply else ())
        for place, call in sorted(enumerate(self.reply.calls), key=lambda found: self._is_own(found[1])):
            is_known = bool(call.id) and known[call.id] > 0
            known[call.id] -= is_known
            if not is_known and place not in self.recorded:
                yield place, call

    def _meta(self, call: ToolCall) -> Meta:
        first = self.tally.reply != self.reply.digest
        said = self.reply.text or self.reply.thought
        found = {THOUGHT: said, PARTS: dict(self.reply.parts)} if first else {}
        kept = {name: value for name, value in {**found, BESIDE: call.beside}.items() if value}
        return {**kept, REPLY: self.reply.digest, CALL: call.id}

    async def _own(self, run: Run, own: Sequence[tuple[int, ToolCall]], held: Sequence[str]) -> None:
        """Do the one thing that a model may do to its own state in a reply; not after something that was not done.

        It is the first one in the reply, also where that was done before the reply was handed in again.
        """
        first = next((place for place, call in enumerate(self.reply.calls) if self._is_own(call)), None)
        doing = [(place, call) for place, call in own if place == first] if not held else []
        not_done = [*held, *[call.name for _, call in own[len(doing) :]]]
        if len(own) > 1:
            await run.notice("refused", "Only one thing can be done to your own state in a reply.")
        if not_done:
            await run.notice("refused", "Not done, of your last reply:", *not_done)
        for place, call in doing:
            before = self.tally.commands
            try:
                tool = next(own for own in self.own if own.name == call.name)
                await _done(run, tool, call, self._meta(call))
            except Overtaken:
                if self.tally.commands == before:
                    await run.notice("refused", "Not done, of your last reply:", call.name)
                await look(run)
            finally:
                if self.tally.commands != before:
                    self.recorded.add(place)


async def _done(run: Run, tool: Tool, call: ToolCall, meta: Meta) -> None:
    made = readable(call)
    given = {} if isinstance(made, str) else completed(tool, made.arguments)
    wrong = made if isinstance(made, str) else misfit(given, tool.parameters, tool.name)
    if wrong is not None:
        await run.notice("unusable", f"Your {call.name} could not be read, and nothing was done:", str(wrong))
        return
    if tool is LOOK:
        await look_as_asked(run, looking(given), str(meta.get(THOUGHT, "")))
        return
    if tool is COMPRESS:
        ended = await compress(run, str(given["text"]), meta)
    else:
        ended = await revise_as_asked(run, int(cast("int", given["step"])), str(given["lesson"]), meta)
    _require_going_on(ended)


def forget_told(run: Run, notices: int) -> None:
    """Forget what the model has been told once: so many notices, and what it had looked into."""
    del run.notices[:notices]
    run.looked = None


async def relieved(run: Run, coming: int) -> tuple[Outcome | None, Exception | None]:
    """Summarize the open segment where it is too long for the steps that come now, and the model has seen all of it.

    Returns:
        How the policy stops the agent, and what judge or summarizer raised: both are for after the steps, whose
        results must not be lost.
    """
    if not isinstance(run.state, Active | Unverified) or not is_due(run, run.shown(), coming):
        return None, None
    try:
        return await relieve(run), None
    except Overtaken:
        raise
    except Exception as error:  # whatever the host's judge raises: it is passed on, behind the steps
        return None, error


def require_relieved(stopped: Outcome | None, failure: Exception | None) -> None:
    """Raise what `relieved` returned."""
    if failure is not None:
        raise failure
    _require_going_on(stopped)


async def record(run: Run, action: str, observed: Observed, meta: Meta) -> None:
    """Record a step for a host without tool calls, behind a fallback where the open segment has grown too long."""
    stopped, failure = await relieved(run, run.meter.step(action, observed.text))
    await grow(run, action, observed, meta)
    require_relieved(stopped, failure)


async def grow(run: Run, action: str, observed: Observed, meta: Meta) -> None:
    """Record a step that was done, on the head as it is; what already happened is never lost.

    On a summary that has failed, this accepts the summary openly, in the same write, and says so.
    """
    for _ in range(_TRIES):
        failed, before = run.state, run.state.tree.next_step
        try:
            kept = with_parts({**meta, **observed_meta(observed)}, observed)
            await run.operate(Grow(action, observed.text), kept, despite=True)
        except Overtaken:
            await look(run)
            continue
        owe(run, run.state.tree.step_head, observed.instructions)
        if isinstance(failed, Rejected):
            label = failed.tree.head_summary.label
            await run.notice("failed", f"[Step {label}] stays although it has failed: see its status.")
        if run.state.tree.next_step == before:
            step = run.state.tree.step_head
            told = f"This action was done here before, and led to step {step}, which was left: see the hints."
            await run.notice("merged", told)
        return
    raise Overtaken


async def complete(run: Run, text: str) -> None:
    """Mark the subgoal complete for a host without tool calls; a refusal is words for the model."""
    _require_going_on(await compress(run, text, {}))


async def go_back(run: Run, step: int, lesson: str) -> None:
    """Go back for a host without tool calls; a refusal is words for the model."""
    _require_going_on(await revise_as_asked(run, step, lesson))


async def look_back(run: Run, asked: LookInto) -> str:
    """Return what a line stands for, for a host.

    Raises:
        ValueError: there is no such line, or no such page.
    """
    found = look_into(run.state, asked, run.meter.counter)
    if isinstance(found, str):
        raise ValueError(found)
    return found.text


async def instruct(run: Run, text: str, *, standing: bool) -> None:
    """Place an instruction (D17); a summary that has failed is settled first."""
    _require_going_on(await settle(run, wait=isinstance(run.state, Rejected)))
    result = await run.operate(Instruct(text, standing), despite=True)
    if not isinstance(result, Active | Unverified | Rejected):
        raise ValueError(str(result))


def observed_in(result: object, effect: ActionEffect | None = None) -> Observed:
    """Return what a host says came back.

    Raises:
        TypeError: it is neither a text, nor JSON, nor parts of a message, nor an `Observed`.
    """
    if isinstance(result, Observed):
        return result if effect is None else attrs.evolve(result, effect=effect)
    if is_content(result):
        content = content_of(result)
        return Observed(content.text, effect=effect, parts=dict(content.parts))
    if isinstance(result, bool | int | float | list | dict):
        return Observed(canonical(result), effect=effect)
    if not isinstance(result, str):
        raise TypeError(
            f"what came back from a call is a text, JSON or an Observed, not a {type(result).__name__}"
        )
    return Observed(result, effect=effect)


def given_of(
    reply: AssistantReply, results: Results | None, perform: object, own: Container[str]
) -> Results | None:
    """Return the results of a reply, None where its calls are to be performed; `own` are names of our tools.

    Raises:
        ValueError: both are given, or neither where the reply calls a tool of the host.
    """
    if perform is None:
        theirs = [call.name for call in reply.calls if call.name not in own]
        if results is None and theirs:
            raise ValueError(
                f"the reply calls {theirs[0]}: give perform=, a function that carries a call out, or results=, what came"
                " back; results={} where you carry none out"
            )
        return {} if results is None else results
    if results is not None:
        raise ValueError("give results, or perform, and not both: results are of calls that were carried out")
    return None


def results_of(reply: AssistantReply, results: Results, own: Container[str]) -> list[Observed | None]:
    """Return for each call of a reply what came back, None where it was not carried out; `own` are names of our tools.

    Raises:
        ValueError: a result of no call, or another number of results than of calls.
        TypeError: a result is neither a text nor an `Observed`.
    """
    if isinstance(results, Mapping):
        unknown = sorted(set(results) - {call.id for call in reply.calls})
        if unknown:
            raise ValueError(f"a result for the call {unknown[0]!r}, which the reply does not make")
        return [observed_in(results[call.id]) if call.id in results else None for call in reply.calls]
    theirs = [call for call in reply.calls if call.name not in own]
    if len(results) != len(theirs):
        raise ValueError(f"{len(results)} results for {len(theirs)} calls to the host's tools")
    left = iter(results)
    return [None if call.name in own else observed_in(next(left)) for call in reply.calls]

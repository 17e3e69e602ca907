"""The two halves of a turn of a host's loop: show the model its state, and take the model's reply.

    show      read what other writers recorded, and a late verdict; then return S
    take      compact an open segment that is too long and that the model has just seen; record the calls as steps
              behind it, in order; then carry out the model's `compress` or `revise`. Each call is recorded once,
              also where the host hands the same reply in again after a crash

Both are programs over the same parts as the agent's loop (`mage.agent.loop`), which performs the actions itself.
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
from mage.effects import ActionEffect, BadTool, Decide, LookInto, Observed, Tool
from mage.effects.questions import Ask, Program
from mage.engine import Active, Grow, Instruct, Rejected, State, Unverified
from mage.engine.errors import MageError
from mage.memory.chapters import fold_lines, look_as_asked, look_into
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
from mage.memory.policy import Outcome, RunFailed, RunFinished
from mage.memory.requests import Look, Overtaken, WriteNote
from mage.memory.revise import owe, place_owed, revise_as_asked, tell_of_leaving, tell_of_resuming
from mage.memory.state import Run, told_once
from mage.memory.summaries import compress, is_due, may_end, question, relieve, settle, tell_of_mark
from mage.session import Conflict
from mage.tokens import cut

Answer = TypeVar("Answer")
_TRIES: Final = 64
"""How often a turn begins again because another writer was faster."""
OWN: Final = (COMPRESS, REVISE, LOOK, NOTE)
"""The tools that a memory declares, by which a model changes its own state, looks into it and takes notes."""
Meta: TypeAlias = Mapping[str, object]
Results: TypeAlias = Mapping[str, "str | Observed"] | Sequence["str | Observed"]
"""The results of calls that the host has carried out: by call id; or one for each call to a tool of the host, in
order, for interfaces that give no ids."""


@final
@attrs.frozen
class Stopped(MageError):
    """The policy stops the agent here; nothing is lost, and the same call may be made again.

    Attributes:
        reason: `"judge_down"`, `"failed_verdict"`, `"exhausted"` (a limit of the policy, such as that for a failed answer
            that is given again), `"diverged"` or `"window"`.
        detail: one line for people.
    """

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason.replace('_', ' ')}: {self.detail}"


@final
@attrs.frozen
class MemoryBusy(MageError):
    """A function that the memory has called, such as `perform` or a judge, used the memory before it returned."""

    def __str__(self) -> str:
        return "a memory cannot be used from within what it calls: return first"


@final
@attrs.frozen
class Call:
    """A call that a model made to a tool of the host.

    Attributes:
        id: the id that the interface gave; empty where it gave none.
        name: the name of the tool.
        arguments: a JSON object.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]  # any JSON: a host hands it to its own functions

    @property
    def action(self) -> str:
        """The action of the step that records this call."""
        return action_text(self.name, self.arguments)


@final
@attrs.frozen
class Perform(Ask[object]):
    """Have the host carry out a call. Answered by the result, None where the host did not carry it out."""

    call: Call


@final
@attrs.frozen
class Taken:
    """A reply that the memory has recorded.

    Attributes:
        finished: whether the text is the answer: the model made no call, its reply is whole, and no claim of the
            model has failed.
        text: the text of the reply.
    """

    finished: bool
    text: str


def readable(call: ToolCall) -> Call | str:
    """Return a call with its arguments parsed, or in words why it cannot be carried out."""
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
    """Return a call of `note` with its text, or in words why it cannot be recorded."""
    made = readable(call)
    if isinstance(made, str):
        return made
    wrong = misfit(made.arguments, NOTE.parameters, NOTE.name)
    return made if wrong is None else wrong


def own_beside(names: Container[str]) -> tuple[Tool, ...]:
    """Return the tools that a memory declares beside a host's tools: `look` and `note` give way to the host's.

    Raises:
        BadTool: a tool of the host is named `compress` or `revise`.
    """
    taken = next((own.name for own in OWN if own.name not in GIVING_WAY and own.name in names), None)
    if taken is not None:
        raise BadTool(taken, "this name is taken by an operation on the agent's own state")
    return tuple([own for own in OWN if own.name not in names])


def why_barred(state: State) -> str:
    """Return in words why no action may be performed now; empty where an action may be performed."""
    if not isinstance(state, Rejected):
        return ""
    label = state.tree.head_summary.label
    return f"Not done: [Step {label}] has failed meanwhile. Look at where you stand, and decide again."


async def undisturbed(run: Run, turn: Callable[[Run], Program[Answer]]) -> Answer:
    """Run a turn. Where another writer was faster, read what it wrote and run the turn again, 64 times at most.

    Raises:
        Overtaken: another writer was faster every time.
    """
    for _ in range(_TRIES):
        await look(run)
        try:
            return await turn(run)
        except (Overtaken, Conflict):  # a note by another writer causes a Conflict
            continue
    raise Overtaken


async def look(run: Run) -> None:
    """Read what other writers have recorded, and tell the model that its state has changed."""
    seen = await Look()
    before = run.state if seen.followed else None
    run.see(seen)
    await tell_of_resuming(run)
    if run.interrupted:
        told = "Calls of yours were begun and have no result, so nobody knows whether they were done: look before you repeat one."
        await run.notice("uncertain", told, *run.interrupted)
        run.interrupted = ()
    if before is not None:
        run.head_changed()
        await run.notice("changed", "Somebody else has changed your state meanwhile: read it anew.")
        await tell_of_leaving(run, before)


async def show(run: Run) -> Decide:
    """Return what the model reads now: S and the notices. Raises `Stopped`."""
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
    """Raise `Stopped` where the policy stops the agent."""
    if ended is None:
        return
    if isinstance(ended, RunFinished | RunFailed):
        raise AssertionError(f"only the policy can stop a memory: {ended}")
    raise Stopped(ended.reason, ended.detail)


@final
@attrs.frozen
class Take:
    """The turn that takes a reply: call it with the `Run`.

    Attributes:
        reply: the model's reply.
        results: by place of the call, its result, None where the call was not carried out; None in place of the
            sequence where the host carries the calls out now.
        tally: what the journal says, among it which calls of this reply were recorded before.
        told: the number of notices that the model had read when it replied; emptied when they are removed.
        own: the tools of the memory; all other tools are the host's.
        recorded: the places of the calls that this turn has recorded, for when it begins again.
        came: by place, the results of the calls that the host has carried out in this turn.
        begun: the places of the calls that the host was asked to carry out in this turn.
        declined: the places of those that the host did not carry out, for when the turn begins again.
    """

    reply: AssistantReply
    results: Sequence[Observed | None] | None
    tally: Tally
    told: list[int]
    own: tuple[Tool, ...]
    recorded: set[int] = attrs.field(factory=set)
    came: dict[int, Observed] = attrs.field(factory=dict)
    begun: set[int] = attrs.field(factory=set)
    declined: set[int] = attrs.field(factory=set)

    async def __call__(self, run: Run) -> Taken:
        """Record the host's calls as steps, then carry out the model's call to a tool of the memory (D11)."""
        was_shown = bool(self.told)
        if was_shown:
            run.told(self.told.pop())
        held: list[str] = []
        unread: list[str] = []
        new = list(self._fresh())
        fresh = await self._done_of(run, new) if self.reply.is_cut else new
        steps = [(place, call) for place, call in fresh if not self._is_own(call)]
        head = run.state.tree.step_head
        stopped, failure = (None, None) if not steps else await relieved(run, self._coming(run, steps))
        if self.results is None:  # nothing is performed yet
            require_relieved(stopped, failure)
            if run.state.tree.step_head != head:  # the agent has gone back since the model decided
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
        if was_shown and self.reply.calls and not new:  # some servers use the same call ids in each reply
            told = "Your last reply was the one before once more, with the ids of its calls: nothing was done again."
            await run.notice("refused", told)
        return Taken(await self._finishes(run), self.reply.text)

    def _coming(self, run: Run, steps: Sequence[tuple[int, ToolCall]]) -> int:
        """Return the tokens of the steps whose results the host has given already."""
        if self.results is None:
            return 0
        came = [(call, self.results[place]) for place, call in steps]
        return sum(
            run.meter.step(_action(call), observed.text) for call, observed in came if observed is not None
        )

    async def _done_of(self, run: Run, new: Sequence[tuple[int, ToolCall]]) -> list[tuple[int, ToolCall]]:
        """Return the calls of a cut-off reply that the host has carried out, and tell the model of the others."""
        results = self.results or ()
        done = [(place, call) for place, call in new if place < len(results) and results[place] is not None]
        undone = [call.name for place, call in new if (place, call) not in done]
        if undone:
            told = "Your last reply was cut off, so nothing more of it was done. Be shorter. Not done:"
            await run.notice("unusable", told, *undone)
        return done

    def _is_own(self, call: ToolCall) -> bool:
        """Tell whether a call is `compress`, `revise` or `look` of the memory; a note is recorded as a step."""
        return any(own.name == call.name for own in self.own if own is not NOTE)

    def _is_note(self, call: ToolCall) -> bool:
        return NOTE in self.own and call.name == NOTE.name

    async def _finishes(self, run: Run) -> bool:
        """Tell whether the reply is the answer: it has no call, is whole, and no claim of the model has failed.

        The commands of an answer do not name its reply: a host's transcript has no answer that failed.
        """
        if self.reply.calls:
            return False
        if self.reply.is_cut or not self.reply.text.strip():
            wrong = "was cut off: be shorter" if self.reply.is_cut else "was empty"
            await run.notice("unusable", f"Your last reply {wrong}.")
            return False
        before = self.tally.commands
        over = await may_end(run, self.reply.text, {})
        if over is True:
            await WriteNote("answered", {"answer": self.reply.text})
            return True
        if over is not False:
            _require_going_on(over)
        run.idle = run.idle + 1 if self.tally.commands == before else 0
        if run.idle > run.policy.max_retexts:
            raise Stopped("exhausted", "the answer has failed, and was given again as often as allowed")
        return False

    async def _step(
        self, run: Run, place: int, call: ToolCall, held: Sequence[str], unread: list[str]
    ) -> Sequence[str]:
        """Record a call as a step; return its action where it was not done, and add to `unread` why not readable."""
        is_note, is_barred = self._is_note(call), bool(why_barred(run.state))
        made = _readable_note(call) if is_note else readable(call)
        observed = self.came.get(place) if self.results is None else self.results[place]
        if is_note:
            observed = None if isinstance(made, str) or is_barred else NOTED_SO
        if isinstance(made, str) and observed is None:
            unread.append(made)
            return [call.name]
        is_asked = observed is None and self.results is None and not (is_note or is_barred or held)
        if is_asked and isinstance(made, Call):
            observed = await self._performed(run, place, made)
        if observed is None:  # the calls after this one are held back too: the model assumed that it was done
            return [_action(call)]
        before = self.tally.commands
        try:
            await grow(run, _action(call), observed, self._meta(call))
        finally:  # also where the task was cancelled during the write
            if self.tally.commands != before:
                self.recorded.add(place)
        return []

    async def _performed(self, run: Run, place: int, call: Call) -> Observed | None:
        """Have the host carry out a call; where the host raises, tell the model that the outcome is unknown.

        A note in the journal names the call beforehand, and another one says where the host did not carry it out. A
        call during which an earlier process ended is not repeated: its step says that the outcome is unknown.
        """
        calling = {REPLY: self.reply.digest, CALL: call.id, "action": cut(call.action, LONGEST_NOTED)}
        is_unsettled = self.tally.unsettled(self.reply.digest, call.id, call.action) is not None
        if place not in self.begun and is_unsettled:
            run.notices[:] = [each for each in run.notices if each.kind != "uncertain"]  # its step says so
            return Observed(UNCERTAIN)
        self.begun.add(place)
        if place not in self.declined:
            await WriteNote("calling", calling)
            try:
                came = await Perform(call)
                if came is not None:
                    observed = self.came[place] = observed_in(came)
                    return observed
            except BaseException:  # anything that the host's code raises, cancellation too, is raised again
                told = "The host failed at this call of yours, so nobody knows whether it was done: look before you repeat it."
                run.notices.append(told_once("uncertain", told, call.action))
                raise
            self.declined.add(place)
        await WriteNote("declined", {"call": call.id})  # else the next process would call its outcome unknown
        return None

    def _fresh(self) -> Iterator[tuple[int, ToolCall]]:
        """Yield the calls that are not recorded yet, with their places; calls to the memory's tools last.

        Without an id a recorded call is not recognized; of calls that share an id, the first count as recorded.
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
        """Carry out the first call to a tool of the memory, the only one that a reply may have.

        Not where a call of the host was held back. A reply that is handed in again has the same first call.
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


async def relieved(run: Run, coming: int) -> tuple[Outcome | None, Exception | None]:
    """Summarize the open segment where `coming` tokens more are too many, and the model has seen all of it.

    Returns:
        How the policy stops the agent, and what judge or summarizer raised. The caller raises either only after
        it has recorded the steps, because their results must not be lost.
    """
    if not isinstance(run.state, Active | Unverified) or not is_due(run, run.shown(), coming):
        return None, None
    try:
        return await relieve(run), None
    except Overtaken:
        raise
    except Exception as error:  # anything that the host's judge raises is raised again after the steps
        return None, error


def require_relieved(stopped: Outcome | None, failure: Exception | None) -> None:
    """Raise the exception, or `Stopped` for the outcome, that `relieved` returned."""
    if failure is not None:
        raise failure
    _require_going_on(stopped)


async def record(run: Run, action: str, observed: Observed, meta: Meta) -> None:
    """Record a step for a host without tool calls; first summarize the open segment where it has grown too long."""
    stopped, failure = await relieved(run, run.meter.step(action, observed.text))
    await grow(run, action, observed, meta)
    require_relieved(stopped, failure)


async def grow(run: Run, action: str, observed: Observed, meta: Meta) -> None:
    """Record a step whose action was performed, at the present head, whatever happened to the head meanwhile.

    A failed summary at the head is accepted openly in the same write, and the model is told.
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
    """Mark the subgoal complete for a host without tool calls; a refusal becomes a notice for the model."""
    _require_going_on(await compress(run, text, {}))


async def go_back(run: Run, step: int, lesson: str) -> None:
    """Go back for a host without tool calls; a refusal becomes a notice for the model."""
    _require_going_on(await revise_as_asked(run, step, lesson))


async def look_back(run: Run, asked: LookInto) -> str:
    """Return to the host the text that a line stands for.

    Raises:
        ValueError: there is no such line, or no such page.
    """
    found = look_into(run.state, asked, run.meter.counter)
    if isinstance(found, str):
        raise ValueError(found)
    return found.text


async def instruct(run: Run, text: str, *, standing: bool) -> None:
    """Place an instruction (D17), after acting on a failed verdict. Raises `ValueError` for a blank text."""
    _require_going_on(await settle(run, wait=isinstance(run.state, Rejected)))
    run.idle = 0
    result = await run.operate(Instruct(text, standing), despite=True)
    if not isinstance(result, Active | Unverified | Rejected):
        raise ValueError(str(result))


def observed_in(result: object, effect: ActionEffect | None = None) -> Observed:
    """Return the result that a host gave as an `Observed`.

    Raises:
        TypeError: the result is neither a text, nor JSON, nor parts of a message, nor an `Observed`.
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


def results_of(
    reply: AssistantReply, results: Results | None, perform: object, own: Container[str]
) -> list[Observed | None] | None:
    """Return the result of each call, None where it was not carried out; None where `perform` carries the calls out.

    Args:
        reply: the model's reply.
        results: the results that the host has given.
        perform: the host's function that carries out a call; None for none.
        own: the names of the memory's tools.

    Raises:
        ValueError: results and `perform` are both given, or neither where the reply calls a tool of the host; a result
            has no call; or the numbers of results and of calls to the host's tools differ.
        TypeError: see `observed_in`.
    """
    theirs = [call for call in reply.calls if call.name not in own]
    if perform is not None and results is not None:
        raise ValueError("give results, or perform, and not both: results are of calls that were carried out")
    if perform is not None:
        return None
    if results is None and theirs:
        raise ValueError(
            f"the reply calls {theirs[0].name}: give perform=, a function that carries a call out, or results=, what came"
            " back; results={} where you carry none out"
        )
    results = {} if results is None else results
    if isinstance(results, Mapping):
        unknown = sorted(set(results) - {call.id for call in reply.calls})
        if unknown:
            raise ValueError(f"a result for the call {unknown[0]!r}, which the reply does not make")
        return [observed_in(results[call.id]) if call.id in results else None for call in reply.calls]
    if len(results) != len(theirs):
        raise ValueError(f"{len(results)} results for {len(theirs)} calls to the host's tools")
    left = iter(results)
    return [None if call.name in own else observed_in(next(left)) for call in reply.calls]

"""`Memory`: one agent's execution state, as the loop of a host uses it. `AsyncMemory` is its awaited twin.

    while True:
        reply = ask(memory.messages("chat", beside=TOOLS), tools=[*TOOLS, *memory.tools("chat")])
        if memory.take(reply, perform=run_tool).finished:
            break

Both drive the same programs (`mage.memory.exchange`); they differ only in how they answer an `Ask`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from inspect import isawaitable
from threading import RLock, get_ident
from types import TracebackType
from typing import Any, Self, TypeVar, cast, final

from mage.chat import Form, Steps, note_action, read_reply
from mage.effects import (
    ActionEffect,
    AsyncJudge,
    AsyncSummarizer,
    ChapterRequest,
    FoldRequest,
    Judge,
    JudgeRequest,
    LookInto,
    Metered,
    Observed,
    Restore,
    Summarizer,
    SummaryRequest,
    Verdict,
)
from mage.effects.questions import Ask, Program, drive, drive_awaited
from mage.engine import Digest, Refusal, State
from mage.memory.base import AsyncRestorer, Came, MemoryBase, Restorer
from mage.memory.exchange import (
    Call,
    MemoryBusy,
    Perform,
    Results,
    Taken,
    complete,
    go_back,
    instruct,
    look_back,
    observed_in,
    show,
    undisturbed,
)
from mage.memory.journal import NOTED_SO, Transcript, departs, turns
from mage.memory.policy import Policy, writing
from mage.memory.requests import (
    AgentHook,
    AskVerdict,
    BeginJudging,
    Effect,
    Look,
    Operate,
    Overtaken,
    Seen,
    WriteNote,
    answer_of,
    extracted,
    extracted_awaited,
    in_background,
    require_parts,
    restored_of,
    text_of,
    thought_about,
    verdict_of,
)
from mage.memory.revise import unaided
from mage.memory.state import Run
from mage.session import AsyncSession, Conflict, OtherTask, Refused, Session
from mage.stores import AsyncJournalStore, Clock, JournalStore, Salts, UnknownJournal, now, random_salt
from mage.tokens import TokenCounter

Answer = TypeVar("Answer")


@final
class Memory(MemoryBase[Session]):
    """One agent's execution state, kept in a store, as a loop of your own uses it.

        memory = Memory.open("work.db", "monday", task="Buy a desk.", judge=my_judge)

    A memory owns a session. Its policy decides when to compact, what follows a failed verdict and how often;
    the memory tells the model. Threads may share a memory: one call waits for the other.
    """

    def __init__(
        self,
        session: Session,
        policy: Policy,
        counter: TokenCounter,
        hooks: tuple[AgentHook, ...],
        judge: Judge | None,
        summarizer: Summarizer | None,
        restore: Restorer | None,
    ) -> None:
        """Use `Memory.open`."""
        super().__init__(session, writing(policy, summarizer), counter, hooks)
        self._judge = judge
        self._summarizer = summarizer or extracted
        self._restore = restore
        self._perform: Callable[[Call], Came] | None = None
        self._lock = RLock()
        self._busy = False
        self._aside = set[int]()  # the ids of the threads in which a judge works while the agent goes on
        self._thinking: dict[Digest, Future[Verdict | Metered[Verdict]]] = {}

    @classmethod
    def open(
        cls,
        store: str | JournalStore,
        name: str,
        *,
        task: str | None = None,
        or_task: str | None = None,
        judge: Judge | None = None,
        summarizer: Summarizer | None = None,
        restore: Restorer | None = None,
        policy: Policy | None = None,
        counter: TokenCounter | None = None,
        on_event: AgentHook | Iterable[AgentHook] = (),
        clock: Clock = now,
        salts: Salts = random_salt,
    ) -> Memory:
        """Open the memory `name` of a store, or create it for `task`.

        Args:
            store: a URL or the path of a SQLite file (see `mage.stores.open_store`), or a store, which stays open.
            name: the name of the session.
            task: the task, needed to create a session. A session that exists must have this task.
            or_task: in place of `task`: the task of a new session. A session that exists may have another task:
                for hosts that know only what the user said last.
            judge: is asked about each summary and each chapter. None: each is accepted openly, and S says so.
            summarizer: writes the text where the open steps grow too long, where a judge wants a new text, and of
                chapters. None: open steps are replaced by an extract, made without a model; the model itself is
                asked for a new text; and C grows with the subgoals.
            restore: restores the environment after a revise. None: nothing is undone, and the model is told so.
            policy: the choices that the paper leaves open; `max_steps`, `max_total_tokens`, `max_unusable` and
                `max_idle` are for the loop, which is yours. None: the defaults.
            counter: counts tokens. None: exact, where `toktok-rs` is installed, else an estimate.
            on_event: is called with the events of the session and of the memory; they contain no text.
            clock, salts: give the time of each record, and the salt of each text.

        Cost: O(size of the newest snapshot); the first call of a method then O(commands in the journal).

        Raises:
            UnknownJournal: the session does not exist, and no task was given to create it.
            OtherTask: the session exists and has another task.
            DamagedRecord: a record of the session is damaged.
            BadAgent: judge, summarizer or `restore` cannot be called, policy or counter has the wrong type.
            TypeError: a hook cannot be called, or is an `async def`.
        """
        asked = {"judge": judge, "summarizer": summarizer, "restore": restore}
        chosen = require_parts(asked, policy, counter, on_event)
        begin = partial(Session.open, store, name, wait=False, on_event=chosen[-1], clock=clock, salts=salts)
        try:
            session = begin(task=task)
        except UnknownJournal:
            if or_task is None:
                raise
            try:
                session = begin(task=or_task)
            except OtherTask:  # another process has created it meanwhile
                session = begin()
        return cls(session, *chosen, judge, summarizer, restore)

    def messages(
        self, form: Form = "chat", *, steps: Steps = "text", beside: object = ()
    ) -> list[dict[str, Any]]:
        """Return the execution state S as messages for the model, with the notices that the model reads once.

        Before that, the memory records a verdict that has arrived, and compacts open steps that have passed the
        policy's mark. Notices are repeated until the next `take` or `record`.

        Args:
            form: OpenAI's chat completions (`"chat"`) or `"responses"`, or `"anthropic"`.
            steps: the open steps as `"text"`, in one message by the user, which every provider takes; or as
                `"calls"` with their results.
            beside: what you send beside S, such as your system prompt and your tools: a text or JSON, or several.
                Its tokens count against the mark.

        Returns:
            Messages, JSON all through. Cost: O(size of S); a compaction asks summarizer and judge.

        Raises:
            BadAgent: `form` or `steps` is none of these.
            Stopped: the policy stops the agent here.
            SessionClosed, WrongProcess, StoreError: as from a session.
        """
        with self._alone():
            self._asked_for(form, steps, beside)
            return self._shown(self._drive(show), form, steps)

    def take(
        self,
        reply: object,
        results: Results | None = None,
        *,
        perform: Callable[[Call], Came] | None = None,
    ) -> Taken:
        """Record the model's reply and the results of its calls, and carry out its `compress` or `revise`.

        Calls to your tools become steps, in the order of the calls; `compress` or `revise` comes after them. The
        next `messages` tell the model of a refusal. Each call is recorded once, also where you hand the last reply
        in again: after an error every call, after a crash every call that has an id. No result is ever lost.

        Args:
            reply: the client's object, or the same as JSON: a chat completion or its message, a Responses
                response, an Anthropic message.
            results: the results of the calls that you have carried out, by call id; or one for each call to a
                tool of yours, in order.
            perform: in place of results: a function that carries out one call and returns its result, or None where
                you do not carry the call out. The memory calls it for each call to a tool of yours, in order; each
                step is durable before the next call. A call during which the process ended is not made again: the
                model is told. No call is made while a summary has failed, nor after a call that returned None.

        Returns:
            `finished`: whether the reply is the answer: no call in it, and no claim of the model has failed.

        Raises:
            NoReply: `reply` is no reply in any of these forms.
            ValueError: a result belongs to no call; `results` and `perform` are both given, or neither where the reply
                calls a tool of yours.
            Stopped, SessionClosed, WrongProcess, StoreError: as from `messages`; and whatever `perform` raises.
        """
        read = read_reply(reply)
        with self._alone():
            self._perform = perform
            return self._taken(self._drive(self._taking(read, results, perform)))

    def answer(self) -> str | None:
        """Return the model's answer; None where there is none, or where anything was recorded after it.

        So a program that is run again after the answer calls no model. Raises as `messages`.
        """
        with self._alone():
            return self._drive(self._answered)

    def follow(self, transcript: Transcript) -> None:
        """Record the new parts of a transcript, in order: for frameworks, which keep it and hand it over whole.

        A text by the user becomes an instruction, unless it is the task; a reply is recorded as by `take`.
        Known parts are skipped: in this process by their place, else by the digests of replies in the journal.
        So a host may shorten the transcript, or begin a new one on the same session; one that begins with the
        task or an instruction in force continues the agent's work.

        Args:
            transcript: the user's texts, the model's replies and the results of their calls, as `str`,
                `AssistantReply` and `ToolResult` of `mage.chat`. A call without a result was not carried out.

        Cost: O(size of the transcript), and that of `take` for each new reply.

        Raises:
            Stopped, SessionClosed, WrongProcess, StoreError: as from `take`. Parts recorded before stay recorded;
                the same transcript may be given again.
        """
        with self._alone():
            self._drive(self._following(transcript))

    def departs(self, transcript: Transcript, version: int) -> bool:
        """Tell whether a transcript lacks a reply that was recorded after a version: the host has gone back.

        For hosts that can return to an earlier state of their own: fork the session at the version of that state,
        and let a memory of the fork follow the transcript. Nothing is recorded.

        Raises:
            UnknownVersion: the session has no such version. Else as `follow`.
        """
        parts = turns(transcript)
        with self._alone():
            self._session.refresh()
            return departs(parts, self._session.history(after=version))

    def record(
        self,
        action: str,
        result: str | Observed,
        *,
        effect: ActionEffect | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> None:
        """Record an action and its result, for agents without tool calls.

        Args:
            action: in the environment's words.
            result: the observation.
            effect: what the action did to the environment; a revise that abandons the step undoes it.
            meta: a JSON object, kept beside the step.
        """
        observed = observed_in(result, effect)
        with self._alone():
            self._drive(self._recording(action, observed, meta or {}))

    def compress(self, text: str) -> None:
        """Mark the subgoal complete, for agents without tool calls: as if the model had called `compress`.

        The next `messages` tell the model of a refusal and of the judge's verdict.

        Raises:
            Stopped, SessionClosed, WrongProcess, StoreError: as from `messages`.
        """
        with self._alone():
            self._drive(lambda run: complete(run, text))

    def note(self, text: str) -> None:
        """Record a note: a step without an action, shown until the next compress. Raises as `compress`."""
        self.record(note_action(text), NOTED_SO)

    def revise(self, step: int, lesson: str = "") -> None:
        """Go back to [Step N], for agents without tool calls: as if the model had called `revise`; see `compress`."""
        with self._alone():
            self._drive(lambda run: go_back(run, step, lesson))

    def look(self, label: int, boundary: int | None = None, *, words: str = "", page: int = 1) -> str:
        """Return what a line of C stands for, verbatim: the steps of a summary, the lines of a chapter (D19).

        Args:
            label: the N of [Step N], or the A of [Step A..B].
            boundary: the B, for a line inside a chapter; None for the line that is shown.
            words, page: return only parts that contain all of these words; which page, of about 1,500 tokens each.

        Raises:
            ValueError: there is no such line, or no such page; the message names the existing ones.
            SessionClosed, WrongProcess, StoreError: as from `messages`.
        """
        asked = LookInto(label, boundary, words, page)
        with self._alone():
            return self._drive(lambda run: look_back(run, asked))

    def instruct(self, text: str, *, standing: bool = False) -> None:
        """Place an instruction, such as the user's next words (D17); see `mage.engine.instruct`.

        Raises `ValueError` for a blank text.
        """
        with self._alone():
            self._drive(lambda run: instruct(run, text, standing=standing))

    def close(self) -> None:
        """Close the session, after a call of another thread has returned. Closing twice is no error.

        Raises:
            MemoryBusy: called by a function that the memory called: the result of that function would be lost.
        """
        if not self._home.is_here:
            self._session.close()
            return
        with self._alone():
            self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._home.require()
        if get_ident() in self._aside:  # a deadlock: the lock's owner may wait for this judge's verdict
            raise MemoryBusy
        with self._lock:
            if self._busy:
                raise MemoryBusy
            self._busy = True
            try:
                yield
            finally:
                self._busy = False

    def _drive(self, turn: Callable[[Run], Program[Answer]]) -> Answer:
        return drive(undisturbed(self._run, turn), self._answer)

    def _answer(self, asked: Ask[Any]) -> object:
        match asked:
            case Look():
                return self._look()
            case Operate():
                return self._operate(asked)
            case WriteNote(kind):
                text, meta = self._as_note(asked)
                self._noted(asked, self._session.note(kind, text, meta=meta))
                return None
            case Effect(request):
                return self._effect(request)
            case Perform(call):
                return None if self._perform is None else self._perform(call)
            case BeginJudging(request):
                self._thinking = {request.digest: thought_about(request, self._judged_aside)}
                return None
            case AskVerdict(digest, wait):
                return self._verdict(digest, wait=wait)
            case _:
                return self._answered_by_none(asked)

    def _verdict(self, digest: Digest, *, wait: bool) -> Metered[Verdict] | None:
        thinking = self._thinking[digest]
        if not wait and not thinking.done():
            return None
        with self._asked_anew():
            return verdict_of(thinking.result())

    def _judged_aside(self, request: JudgeRequest) -> Verdict | Metered[Verdict]:
        self._aside.add(get_ident())
        try:
            return cast("Judge", self._judge)(request)
        finally:
            self._aside.discard(get_ident())

    def _look(self) -> Seen:
        session, known = self._session, self._head
        session.refresh()
        if session.head == known:
            return self._seen((), anew=False, followed=False)
        after = 0
        if known is not None and session.version > known.version:
            after = known.version if session.at(known.version).head == known else 0
        return self._seen(session.log(after=after), anew=not after, followed=known is not None)

    def _operate(self, asked: Operate) -> State | Refusal:
        try:
            state = self._session.apply(*self._commands(asked), meta=asked.meta)
        except Refused as refused:
            return refused.refusal
        except Conflict:
            raise Overtaken from None
        return self._recorded(asked, state)

    def _effect(self, request: object) -> object:
        match request:
            case JudgeRequest() | FoldRequest() if self._judge is not None:
                return verdict_of(self._judge(request))
            case SummaryRequest() | ChapterRequest():
                return text_of(self._summarizer(request))
            case Restore():
                return unaided(request) if self._restore is None else restored_of(self._restore(request))
            case _:
                raise TypeError(f"nobody answers a {type(request).__name__}")


@final
class AsyncMemory(MemoryBase[AsyncSession]):
    """The awaited twin of `Memory`: the same names, arguments, results and errors.

    Tasks of one event loop may share a memory: one call waits for the other. `tools` and `may_act` are plain.
    """

    def __init__(
        self,
        session: AsyncSession,
        policy: Policy,
        counter: TokenCounter,
        hooks: tuple[AgentHook, ...],
        judge: AsyncJudge | None,
        summarizer: AsyncSummarizer | None,
        restore: AsyncRestorer | None,
    ) -> None:
        """Use `AsyncMemory.open`."""
        super().__init__(session, writing(policy, summarizer), counter, hooks)
        self._judge = judge
        self._summarizer = summarizer or extracted_awaited
        self._restore = restore
        self._perform: Callable[[Call], Came | Awaitable[Came]] | None = None
        self._loop = asyncio.get_running_loop()
        self._lock = asyncio.Lock()
        self._busy: asyncio.Task[Any] | None = None
        self._thinking: dict[Digest, asyncio.Future[Metered[Verdict]]] = {}

    @classmethod
    async def open(
        cls,
        store: str | JournalStore | AsyncJournalStore,
        name: str,
        *,
        task: str | None = None,
        or_task: str | None = None,
        judge: AsyncJudge | None = None,
        summarizer: AsyncSummarizer | None = None,
        restore: AsyncRestorer | None = None,
        policy: Policy | None = None,
        counter: TokenCounter | None = None,
        on_event: AgentHook | Iterable[AgentHook] = (),
        clock: Clock = now,
        salts: Salts = random_salt,
    ) -> AsyncMemory:
        """See `Memory.open`; judge, summarizer and `restore` are awaited."""
        asked = {"judge": judge, "summarizer": summarizer, "restore": restore}
        chosen = require_parts(asked, policy, counter, on_event)
        begin = partial(
            AsyncSession.open, store, name, wait=False, on_event=chosen[-1], clock=clock, salts=salts
        )
        try:
            session = await begin(task=task)
        except UnknownJournal:
            if or_task is None:
                raise
            try:
                session = await begin(task=or_task)
            except OtherTask:  # another process has created it meanwhile
                session = await begin()
        return cls(session, *chosen, judge, summarizer, restore)

    async def messages(
        self, form: Form = "chat", *, steps: Steps = "text", beside: object = ()
    ) -> list[dict[str, Any]]:
        """See `Memory.messages`."""
        async with self._alone():
            self._asked_for(form, steps, beside)
            return self._shown(await self._drive(show), form, steps)

    async def take(
        self,
        reply: object,
        results: Results | None = None,
        *,
        perform: Callable[[Call], Came | Awaitable[Came]] | None = None,
    ) -> Taken:
        """See `Memory.take`; `perform` may be awaited or not."""
        read = read_reply(reply)
        async with self._alone():
            self._perform = perform
            return self._taken(await self._drive(self._taking(read, results, perform)))

    async def answer(self) -> str | None:
        """See `Memory.answer`."""
        async with self._alone():
            return await self._drive(self._answered)

    async def follow(self, transcript: Transcript) -> None:
        """See `Memory.follow`."""
        async with self._alone():
            await self._drive(self._following(transcript))

    async def departs(self, transcript: Transcript, version: int) -> bool:
        """See `Memory.departs`."""
        parts = turns(transcript)
        async with self._alone():
            await self._session.refresh()
            return departs(parts, await self._session.history(after=version))

    async def record(
        self,
        action: str,
        result: str | Observed,
        *,
        effect: ActionEffect | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> None:
        """See `Memory.record`."""
        observed = observed_in(result, effect)
        async with self._alone():
            await self._drive(self._recording(action, observed, meta or {}))

    async def compress(self, text: str) -> None:
        """See `Memory.compress`."""
        async with self._alone():
            await self._drive(lambda run: complete(run, text))

    async def note(self, text: str) -> None:
        """See `Memory.note`."""
        await self.record(note_action(text), NOTED_SO)

    async def revise(self, step: int, lesson: str = "") -> None:
        """See `Memory.revise`."""
        async with self._alone():
            await self._drive(lambda run: go_back(run, step, lesson))

    async def look(self, label: int, boundary: int | None = None, *, words: str = "", page: int = 1) -> str:
        """See `Memory.look`."""
        asked = LookInto(label, boundary, words, page)
        async with self._alone():
            return await self._drive(lambda run: look_back(run, asked))

    async def instruct(self, text: str, *, standing: bool = False) -> None:
        """See `Memory.instruct`."""
        async with self._alone():
            await self._drive(lambda run: instruct(run, text, standing=standing))

    async def close(self) -> None:
        """See `Memory.close`; a judge that has not answered yet is cancelled."""
        if not self._home.is_here:
            await self._session.close()
            return
        async with self._alone():
            for thinking in self._thinking.values():
                thinking.cancel()
            await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        self._home.require()
        task = asyncio.current_task()
        if self._busy is task or task in self._thinking.values():
            raise MemoryBusy
        if self._loop.is_closed():  # no task waits for its lock; the session refuses a second open loop
            self._loop, self._lock = asyncio.get_running_loop(), asyncio.Lock()
        async with self._lock:
            self._busy = task
            try:
                yield
            finally:
                self._busy = None

    async def _drive(self, turn: Callable[[Run], Program[Answer]]) -> Answer:
        return await drive_awaited(undisturbed(self._run, turn), self._answer)

    async def _answer(self, asked: Ask[Any]) -> object:
        match asked:
            case Look():
                return await self._look()
            case Operate():
                return await self._operate(asked)
            case WriteNote(kind):
                text, meta = self._as_note(asked)
                self._noted(asked, await self._session.note(kind, text, meta=meta))
                return None
            case Effect(request):
                return await self._effect(request)
            case Perform(call):
                came = None if self._perform is None else self._perform(call)
                return await came if isawaitable(came) else came
            case BeginJudging(request):
                self._thinking = {request.digest: in_background(self._judged(request))}
                return None
            case AskVerdict(digest, wait):
                return await self._verdict(digest, wait=wait)
            case _:
                return self._answered_by_none(asked)

    async def _look(self) -> Seen:
        session, known = self._session, self._head
        await session.refresh()
        if session.head == known:
            return self._seen((), anew=False, followed=False)
        after = 0
        if known is not None and session.version > known.version:
            after = known.version if (await session.at(known.version)).head == known else 0
        return self._seen(await session.log(after=after), anew=not after, followed=known is not None)

    async def _operate(self, asked: Operate) -> State | Refusal:
        try:
            state = await self._session.apply(*self._commands(asked), meta=asked.meta)
        except Refused as refused:
            return refused.refusal
        except Conflict:
            raise Overtaken from None
        except asyncio.CancelledError:  # the cancellation may have come after the write
            self._recorded(asked, self._session.phase)
            raise
        return self._recorded(asked, state)

    async def _verdict(self, digest: Digest, *, wait: bool) -> Metered[Verdict] | None:
        thinking = self._thinking[digest]
        if not wait and not thinking.done():
            return None
        with self._asked_anew():
            if not thinking.done():
                await asyncio.wait([thinking])  # cancelling this task does not cancel the judge
            return await answer_of("judge", thinking)

    async def _judged(self, request: JudgeRequest | FoldRequest) -> Metered[Verdict]:
        return verdict_of(await answer_of("judge", cast("AsyncJudge", self._judge)(request)))

    async def _effect(self, request: object) -> object:
        match request:
            case JudgeRequest() | FoldRequest():
                return await self._judged(request)
            case SummaryRequest() | ChapterRequest():
                return text_of(await answer_of("summarizer", self._summarizer(request)))
            case Restore() if self._restore is not None:
                return restored_of(await answer_of("restore", self._restore(request)))
            case Restore():
                return unaided(request)
            case _:
                raise TypeError(f"nobody answers a {type(request).__name__}")

"""`Memory`: one agent's execution state as anybody's loop uses it. `AsyncMemory` is its twin that is awaited.

    while True:
        reply = ask(memory.messages("chat", beside=TOOLS), tools=[*TOOLS, *memory.tools("chat")])
        if memory.take(reply, perform=run_tool).finished:
            break

Both drive the same programs (`mage.memory.exchange`); only how an ask is answered differs.
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

from mage.chat import Form, Steps, canonical, note_action, read_reply
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
from mage.effects.program import Ask, Program, drive, drive_awaited
from mage.engine import Digest, Refusal, State
from mage.memory.base import AsyncRestorer, Came, MemoryBase, Restorer
from mage.memory.exchange import (
    Call,
    MemoryBusy,
    Perform,
    Results,
    Taken,
    complete,
    given_of,
    go_back,
    instruct,
    look_back,
    observed_in,
    show,
    undisturbed,
)
from mage.memory.journal import NOTED_SO, Transcript, departs, turns
from mage.memory.parts import (
    answer_of,
    dropped,
    extracted,
    extracted_awaited,
    in_background,
    require_parts,
    restored_of,
    text_of,
    thought_about,
    verdict_of,
)
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

    It owns a session, and decides by its policy when to compact, what follows a failed verdict, how often, and
    what the model must be told. Threads may share it: one call waits for the other.
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
        self._aside = set[int]()  # the threads in which a judge thinks while the agent goes on
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
            name: of the session.
            task: needed to create one. If it is there, it must be for this task.
            or_task: the task to create it for where it is not there, in place of `task`. If it is there, it may be
                for another: for hosts that know no more than what the user said last.
            judge: is asked about each summary and each chapter. None: each is accepted openly, and S says so.
            summarizer: writes the text where the open steps grow too long, where a judge wants another, and of
                chapters. None: an extract of the open steps, without a model; the model itself is asked for another
                text; and C grows with the subgoals.
            restore: brings the environment back after a revise. None: nothing is undone, and the model is told so.
            policy: the choices that the paper leaves open; `max_steps`, `max_total_tokens`, `max_unusable` and
                `max_idle` are for the loop, which is yours. None: the defaults.
            counter: counts tokens. None: exact, where `toktok-rs` is installed, else an estimate.
            on_event: hears the events of the session and of the memory; no text is in them.
            clock, salts: give the time of each record, and the salt of each text.

        Cost: O(size of the newest snapshot); its first call then O(commands in its journal).

        Raises:
            UnknownJournal: it is not there, and there is no task to create it for.
            OtherTask: it is there for another task.
            DamagedRecord: one of its records is not sound.
            BadAgent: judge, summarizer, `restore`, policy or counter is none.
            TypeError: a hook is none, or an `async def`.
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
            except OtherTask:  # somebody else was faster
                session = begin()
        return cls(session, *chosen, judge, summarizer, restore)

    def messages(
        self, form: Form = "chat", *, steps: Steps = "text", beside: object = ()
    ) -> list[dict[str, Any]]:
        """Return where the agent stands, for the model to read now, with what it is told once.

        Before that, a verdict that has come is taken in, and open steps that have passed the policy's mark are
        compacted. What the model is told once is told until the next `take` or `record`.

        Args:
            form: OpenAI's chat completions (`"chat"`) or `"responses"`, or `"anthropic"`.
            steps: the open steps as `"text"`, in one message by the user, which every provider takes; or as
                `"calls"` with their results.
            beside: what you put around it, such as your system prompt and your tools: a text or JSON, or several.
                It counts against the mark.

        Returns:
            Messages, JSON all through. Cost: O(size of S); a compaction asks summarizer and judge.

        Raises:
            BadAgent: there is no such form, or `steps` is neither.
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
        """Record what the model replied and what came of it, and do what it does to its own state.

        Calls to tools of yours become steps, in the order of the calls; then `compress` or `revise` is done. A
        refusal is told to the model with the next `messages`. Each call is recorded once, also where the last reply
        is handed in again: after an error any, after a crash those with ids. A result that is there is never lost.

        Args:
            reply: the client's object, or the same as JSON: a chat completion or its message, a Responses
                response, an Anthropic message.
            results: what came back from the calls that you have carried out, by call id; or one for each call to a
                tool of yours, in order.
            perform: in place of results: is called with each call to a tool of yours, in order, and returns what came
                back, or None where you do not carry it out. Each step is durable before the next call is made. Of a
                call during which the process ended, the model is told; it is not made again. It is not asked while
                a summary has failed, nor for what follows a call that was not carried out.

        Returns:
            What became of it. `finished` where the model made no call and nothing that it claimed has failed.

        Raises:
            NoReply: `reply` is none.
            ValueError: a result belongs to no call; `results` and `perform` are both given, or neither where the reply
                calls a tool of yours.
            Stopped, SessionClosed, WrongProcess, StoreError: as from `messages`; and what `perform` raises.
        """
        read = read_reply(reply)
        with self._alone():
            self._perform = perform
            given = given_of(read, results, perform, self._own_names)
            return self._taken(self._drive(self._taking(read, given)))

    def answer(self) -> str | None:
        """Return the answer that the model gave; None where it gave none, or anything was recorded since.

        So a program that is run again once the model has answered asks nobody. Raises as `messages`.
        """
        with self._alone():
            return self._drive(self._answered)

    def follow(self, transcript: Transcript) -> None:
        """Take what is new in a transcript that a host keeps, in order: for frameworks, which hand it over whole.

        What the user says is placed as an instruction, but for the task itself; each reply is taken as by `take`.
        What was taken before is passed over: in this process by its place, else by the replies that the journal
        names. So a transcript may be shortened, and be another one, as in a new run on the same session; one
        that begins with what the agent is at goes on with that.

        Args:
            transcript: what the user said, as texts, and the model's replies with what came back from their calls,
                as `AssistantReply` and `ToolResult` of `mage.chat`. A call without a result was not carried out.
                Cost: O(its size), and that of taking what is new.

        Raises:
            Stopped, SessionClosed, WrongProcess, StoreError: as from `take`. What was taken until then stays, and
                the same transcript may be given again.
        """
        with self._alone():
            self._drive(self._following(transcript))

    def departs(self, transcript: Transcript, version: int) -> bool:
        """Tell whether a transcript goes on from before what was recorded behind a version: it lacks replies of that.

        For hosts that can go back to an earlier state of their own: a transcript that departs is to be followed by
        a memory on a fork of the session at the version that belonged to that state. Nothing is recorded.

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
        """Record an action and what came back, for agents without tool calls.

        Args:
            action: in the environment's words.
            result: what came back.
            effect: what the action did to the world, for what is to be undone after a revise.
            meta: is kept beside the step: a JSON object.
        """
        observed = observed_in(result, effect)
        with self._alone():
            self._drive(self._recording(action, observed, meta or {}))

    def compress(self, text: str) -> None:
        """Mark the subgoal complete, for agents without tool calls: as if the model had called `compress`.

        A refusal, and what the judge says, is told to the model with the next `messages`.

        Raises:
            Stopped, SessionClosed, WrongProcess, StoreError: as from `messages`.
        """
        with self._alone():
            self._drive(lambda run: complete(run, text))

    def note(self, text: str) -> None:
        """Write down what must last until the next compress: a step without an action; see `compress`."""
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
            words, page: only what holds all of these; which page, of about 1,500 tokens each.

        Raises:
            ValueError: there is no such line, or no such page; it says which there are.
            SessionClosed, WrongProcess, StoreError: as from `messages`.
        """
        asked = LookInto(label, boundary, words, page)
        with self._alone():
            return self._drive(lambda run: look_back(run, asked))

    def instruct(self, text: str, *, standing: bool = False) -> None:
        """Place an instruction, such as the user's next words (D17); see `mage.engine.instruct`.

        A blank one is a `ValueError`.
        """
        with self._alone():
            self._drive(lambda run: instruct(run, text, standing=standing))

    def close(self) -> None:
        """Let go of the store, once a call that another thread is in has ended. Closing twice is no error.

        Raises:
            MemoryBusy: from within what the memory calls: the result of that would be lost.
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
        if get_ident() in self._aside:  # it would wait for whoever waits for its verdict
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
            case WriteNote(kind, document):
                self._noted(asked, self._session.note(kind, canonical(document)))
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
        behind = known is not None and session.version > known.version
        behind = behind and known is not None and session.at(known.version).head == known
        after = known.version if known is not None and behind else 0
        return self._seen(session.log(after=after), anew=not behind, followed=known is not None)

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
    """The twin of `Memory` that is awaited: the same names, arguments, results and errors.

    Tasks of one event loop may share it: one call waits for the other. `tools` and `may_act` are plain.
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
            except OtherTask:  # somebody else was faster
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
            given = given_of(read, results, perform, self._own_names)
            return self._taken(await self._drive(self._taking(read, given)))

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
        """See `Memory.close`; a judge that is still thinking is cancelled."""
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
        if (
            self._loop.is_closed()
        ):  # nobody waits for its lock; of two loops that run, the session refuses one
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
            case WriteNote(kind, document):
                self._noted(asked, await self._session.note(kind, canonical(document)))
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
        behind = known is not None and session.version > known.version
        behind = behind and known is not None and (await session.at(known.version)).head == known
        after = known.version if known is not None and behind else 0
        return self._seen(await session.log(after=after), anew=not behind, followed=known is not None)

    async def _operate(self, asked: Operate) -> State | Refusal:
        try:
            state = await self._session.apply(*self._commands(asked), meta=asked.meta)
        except Refused as refused:
            return refused.refusal
        except Conflict:
            raise Overtaken from None
        except asyncio.CancelledError:  # it may have arrived when the write was over
            self._recorded(asked, self._session.phase)
            raise
        return self._recorded(asked, state)

    async def _verdict(self, digest: Digest, *, wait: bool) -> Metered[Verdict] | None:
        thinking = self._thinking[digest]
        if not wait and not thinking.done():
            return None
        with self._asked_anew():
            if not thinking.done():
                await asyncio.wait([thinking])  # whoever is cancelled here does not cancel it
            return dropped() if thinking.cancelled() else thinking.result()

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

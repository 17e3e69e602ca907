"""`Agent`, which calls model, environment, judge and summarizer, and its twin `AsyncAgent`, which awaits them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, ExitStack
from typing import Any, TypeAlias, final

import attrs

from mage.agent.cursor import AppendNote, Commit, Found, JudgeLater, Perform, Refresh, TellHooks, VerdictOf
from mage.agent.log import BEGAN, Counting, RecordedRun, began_note, encoded, find_run
from mage.agent.loop import program
from mage.agent.replay import Replay
from mage.agent.restore import AsyncRestorable, Restorable, introduced, sound, with_manual
from mage.effects import (
    Act,
    AsyncEnvironment,
    AsyncJudge,
    AsyncModel,
    AsyncSummarizer,
    Begin,
    Capabilities,
    ChapterRequest,
    Decide,
    EffectError,
    Environment,
    FoldRequest,
    Judge,
    JudgeRequest,
    Metered,
    Model,
    PromptedModel,
    Restore,
    Summarizer,
    SummaryRequest,
    Verdict,
    metered,
)
from mage.effects.questions import Ask, Program, drive, drive_awaited
from mage.engine import Digest
from mage.memory.journal import RUN
from mage.memory.policy import Outcome, Policy, RunFailed, StoreFault, writing
from mage.memory.requests import (
    AgentHook,
    answer_of,
    extracted,
    extracted_awaited,
    heard_by,
    require_json_object,
    sound_part,
    tell_hooks,
    thought_about,
)
from mage.memory.state import Run
from mage.session import AsyncSession, Conflict, Entry, Noted, Session
from mage.stores import (
    AsyncJournalStore,
    Clock,
    DamagedRecord,
    DamagedStore,
    Head,
    JournalStore,
    Salts,
    StoreError,
    StoreFull,
    StoreUnavailable,
    now,
    open_store,
    random_salt,
)
from mage.tokens import TokenCounter, default_counter

_Judged: TypeAlias = Verdict | Metered[Verdict]


@final
@attrs.frozen(kw_only=True)
class Agent:
    """An agent: a model, an environment to act in, and a judge of the model's summaries.

        agent = Agent(model=my_model, environment=MyEnvironment(), judge=my_judge)
        outcome = agent.run("sqlite:///work.db", "monday", task="Buy a desk, then a chair that fits it.")

    Attributes:
        model: decides what to do next.
        environment: where the agent acts. Each question to the model has its tools and its manual.
        judge: is asked about each summary and each chapter. None: each is accepted openly, and S says so.
        summarizer: writes the text where a segment grows too long, where a judge wants a new text, and of chapters.
            None: an extract, made without a model; and C grows with the subgoals.
        policy: the choices that the paper leaves open. None: those of the resumed run, else the defaults.
        counter: counts tokens. None: exact, where `toktok-rs` is installed. A resumed run keeps its counter.
    """

    model: Model = attrs.field(validator=sound_part)
    environment: Environment = attrs.field(validator=sound)
    judge: Judge | None = attrs.field(default=None, validator=sound_part)
    summarizer: Summarizer | None = attrs.field(default=None, validator=sound_part)
    policy: Policy | None = attrs.field(default=None, validator=sound_part)
    counter: TokenCounter | None = attrs.field(default=None, validator=sound_part)

    def run(
        self,
        store: str | JournalStore,
        name: str,
        *,
        task: str | None = None,
        anew: bool = False,
        on_event: AgentHook | Iterable[AgentHook] = (),
        clock: Clock = now,
        salts: Salts = random_salt,
        remember: Mapping[str, object] | None = None,
    ) -> Outcome:
        """Begin a run, or continue one that was interrupted, stopped or failed; return when it ends (Section 3.2).

        The journal of the session `name` has the commands of the run and, as notes between them, the answers
        (`mage.agent.log`). So a fork of a session continues its run. A run that has finished is not run again,
        unless another writer has given commands to its session since.

        Args:
            store: a URL (see `mage.stores.open_store`) or a store.
            name: the name of the session.
            task: needed to begin a session.
            anew: begin a new run at the present state of the session, and ignore the log of an earlier run: for a run
                whose log cannot be followed, and for a fork that must not continue the run of its origin.
            on_event: is called with the events of the session and of the agent; they contain no text.
            clock: gives the time of each record.
            salts: gives the salt of each text.
            remember: a JSON object kept with the run, for the program that resumes it (`mage.agent.remembered`). None
                keeps the present one.

        Returns:
            How the run ended. Cost: that of its questions; to resume, one reading of its journal.

        Raises:
            UnknownJournal: the session does not exist, and no task was given to create it.
            OtherTask: the session has another task.
            BadAgent: `remember` is no JSON object; no run is begun then.
            BadRunLog, RunDiverged: the log of the run cannot be followed.
            StoreError: the store cannot be opened. (A store that fails during the run is a `RunFailed`.)

        Any exception of model, judge, summarizer or environment except `EffectError` is raised again. Nothing is lost:
        the next `run` continues from there.
        """
        require_json_object("remember", remember)
        with ExitStack() as stack:
            opened = stack.enter_context(open_store(store)) if isinstance(store, str) else store
            hooks = heard_by(on_event)
            session = stack.enter_context(
                Session.open(opened, name, task=task, wait=False, on_event=hooks, clock=clock, salts=salts)
            )
            return run_in(self, session, hooks, None, anew=anew, remember=remember)


def run_in(
    agent: Agent,
    session: Session,
    hooks: tuple[AgentHook, ...],
    found: RecordedRun | None,
    *,
    anew: bool,
    remember: Mapping[str, object] | None,
) -> Outcome:
    """Begin or continue a run in an open session; see `Agent.run`.

    `found` is the run of the session, for a caller that has read it at the present head; with None it is read here.
    """
    driver = _Driver(agent, session, hooks)
    found = found or driver.find(anew=anew, remember=remember)
    run, running = started(agent, driver.environment.capabilities, found, remember)
    try:
        return drive(running, driver.answer)
    except StoreError as error:
        return _store_failed(run, error)


@final
@attrs.frozen(kw_only=True)
class AsyncAgent:
    """The twin of `Agent` that awaits model, environment, judge and summarizer. See `Agent`."""

    model: AsyncModel = attrs.field(validator=sound_part)
    environment: AsyncEnvironment = attrs.field(validator=sound)
    judge: AsyncJudge | None = attrs.field(default=None, validator=sound_part)
    summarizer: AsyncSummarizer | None = attrs.field(default=None, validator=sound_part)
    policy: Policy | None = attrs.field(default=None, validator=sound_part)
    counter: TokenCounter | None = attrs.field(default=None, validator=sound_part)

    async def run(
        self,
        store: str | JournalStore | AsyncJournalStore,
        name: str,
        *,
        task: str | None = None,
        anew: bool = False,
        on_event: AgentHook | Iterable[AgentHook] = (),
        clock: Clock = now,
        salts: Salts = random_salt,
        remember: Mapping[str, object] | None = None,
    ) -> Outcome:
        """Run until the run ends; see `Agent.run`.

        A cancellation takes effect at an await of model, judge or environment, or after a write to the store; the next
        `run` continues from there.
        """
        require_json_object("remember", remember)
        async with AsyncExitStack() as stack:
            opened = stack.enter_context(open_store(store)) if isinstance(store, str) else store
            hooks = heard_by(on_event)
            session = await stack.enter_async_context(
                await AsyncSession.open(
                    opened, name, task=task, wait=False, on_event=hooks, clock=clock, salts=salts
                )
            )
            driver = await stack.enter_async_context(_AsyncDriver(self, session, hooks))
            found = await driver.find(anew=anew, remember=remember)
            run, running = started(self, driver.environment.capabilities, found, remember)
            try:
                return await drive_awaited(running, driver.answer)
            except StoreError as error:
                return _store_failed(run, error)


# -- how a run begins, and fails ------------------------------------------------------------------------------


def fixed_prompt(model: object, capabilities: Capabilities) -> str:
    """Return the text that goes with every call of a model in this environment; empty if the model does not say."""
    if not isinstance(model, PromptedModel):
        return ""
    return model.prompt_text(capabilities.tools, capabilities.manual)


def _first_note(
    agent: Agent | AsyncAgent, capabilities: Capabilities, remember: Mapping[str, object] | None
) -> str:
    """Return the text of the note `began`. Without a judge the summaries of the run are accepted openly."""
    counter = default_counter() if agent.counter is None else agent.counter
    counting = _counting(agent.model, capabilities, counter) or Counting(0)
    judged = agent.judge is not None
    policy = writing(first_policy(agent.policy, is_judged=judged), agent.summarizer)
    return began_note(policy, counter, counting, capabilities, judged=judged, remembered=remember or {})


def _counting(model: object, capabilities: Capabilities, counter: TokenCounter) -> Counting | None:
    """Return how the tokens of a model's prompts are counted; None where the model does not say."""
    if not isinstance(model, PromptedModel):
        return None
    return Counting(counter.count(fixed_prompt(model, capabilities)), model.mode)


def first_policy(given: Policy | None, *, is_judged: bool) -> Policy:
    """Return the policy at the beginning of a run; without a judge its summaries are accepted openly."""
    policy = given or Policy()
    return policy if is_judged else attrs.evolve(policy, maintain=False)


def next_policy(given: Policy | None, found: RecordedRun, *, is_judged: bool) -> Policy:
    """Return the policy of a resumed run: the given one, else the newest of its log.

    `maintain` depends on whether the agent has a judge now: a run that began without a judge, and is resumed with
    one, maintains from here on.
    """
    had = found.last_policy
    if not is_judged:
        return attrs.evolve(given or had, maintain=False)
    if given is not None or had.maintain:
        return given or had
    return attrs.evolve(had, maintain=found.policy.maintain or not found.judged)


def started(
    agent: Agent | AsyncAgent,
    capabilities: Capabilities,
    found: RecordedRun,
    remember: Mapping[str, object] | None,
) -> tuple[Run, Program[Outcome]]:
    """Return the state of a run, and its program over its log, for a driver."""
    policy = next_policy(agent.policy, found, is_judged=agent.judge is not None)
    replay = Replay(
        found,
        policy=writing(policy, agent.summarizer),
        repeatable=capabilities.repeatable,
        foresees=capabilities.foresees,
        counting=_counting(agent.model, found.introduced, found.counter),
        remember=remember,
    )
    run = Run(found.meter, found.overhead)
    return run, replay.run(program(run))


def _store_failed(run: Run, error: StoreError) -> RunFailed:
    return RunFailed("store", _store_fault(error), str(error), run.totals)


def _store_fault(error: StoreError) -> StoreFault:
    match error:
        case Conflict():
            return "conflict"
        case StoreUnavailable():
            return "unavailable"
        case StoreFull():
            return "full"
        case DamagedRecord() | DamagedStore():
            return "damaged"
        case _:
            return "other"


# -- two drivers of one program -----------------------------------------------------------------------------------


@final
class _Driver:
    """Answers the asks of a `Replay` by calls."""

    def __init__(self, agent: Agent, session: Session, hooks: tuple[AgentHook, ...]) -> None:
        self.environment = Restorable(agent.environment)
        self._agent = agent
        self._session = session
        self._hooks = hooks
        self._redactions = session.redactions
        self._thinking: dict[Digest, Future[_Judged]] = {}

    def find(self, anew: bool, remember: Mapping[str, object] | None) -> RecordedRun:
        """Return the run of the session; begin one where there is none, or `anew` is True."""
        session, counter = self._session, self._agent.counter
        found = None if anew else find_run(session.log(), counter)
        if found is None:
            session.note(BEGAN, _first_note(self._agent, self.environment.capabilities, remember))
            found = find_run(session.log(), counter)
        assert found is not None  # it has just begun
        return found

    def answer(self, asked: Ask[Any]) -> object:  # Any: each ask has its own type of answer
        """Answer one ask."""
        match asked:
            case Perform(request):
                return self._perform(request)
            case AppendNote(kind, data):
                before = self._session.version
                return self._session.note(kind, encoded(data)).version > before + 1
            case Commit(command, meta):
                self._session.apply(command, meta=meta)
                return self._session.version
            case Refresh(after):
                return self._refresh(after)
            case JudgeLater(request):
                # the question about an abandoned summary is dropped
                self._thinking = {request.digest: thought_about(request, self._judge)}
                return None
            case VerdictOf(digest, wait):
                thinking = self._thinking[digest]
                return metered(thinking.result()) if wait or thinking.done() else None
            case TellHooks(event):
                tell_hooks(self._hooks, event)
                return None
            case _:
                raise TypeError(f"nothing answers a {type(asked).__name__}")

    def _perform(self, request: object) -> object:
        match request:
            case Decide():
                return self._agent.model(introduced(request, self.environment.capabilities))
            case Act(action):
                return self.environment.act(action)
            case JudgeRequest() | FoldRequest():
                return self._judge(request)
            case SummaryRequest() | ChapterRequest():
                return (self._agent.summarizer or extracted)(request)
            case Begin():
                return self.environment.reset()
            case Restore():
                return self.environment.restore(request)
            case _:
                raise TypeError(f"nothing performs a {type(request).__name__}")

    def _judge(self, request: JudgeRequest | FoldRequest) -> _Judged:
        if self._agent.judge is None:
            raise _no_judge()
        return self._agent.judge(with_manual(request, self.environment.capabilities))

    def _refresh(self, after: int) -> Found:
        session, before = self._session, self._session.head
        found = session.refresh()
        if found != before and (found.version <= before.version or session.at(before.version).head != before):
            raise Conflict(before, found)  # deleted, and created anew under this name
        state = None if session.redactions == self._redactions else session.at(after).phase
        self._redactions = session.redactions
        log = session.log(after=after) if session.version > after else ()
        return Found(_commands(log, before, found), state)


@final
class _AsyncDriver:
    """Answers the asks of a `Replay` by awaits."""

    def __init__(self, agent: AsyncAgent, session: AsyncSession, hooks: tuple[AgentHook, ...]) -> None:
        self.environment = AsyncRestorable(agent.environment)
        self._agent = agent
        self._session = session
        self._hooks = hooks
        self._redactions = session.redactions
        self._thinking: dict[Digest, asyncio.Future[_Judged]] = {}
        self._asked: list[asyncio.Future[_Judged]] = []

    async def __aenter__(self) -> _AsyncDriver:
        return self

    async def __aexit__(self, *_: object) -> None:
        for thinking in self._asked:
            thinking.cancel()
        await asyncio.gather(*self._asked, return_exceptions=True)

    async def find(self, anew: bool, remember: Mapping[str, object] | None) -> RecordedRun:
        """Return the run of the session; begin one where there is none, or `anew` is True."""
        session, counter = self._session, self._agent.counter
        found = None if anew else find_run(await session.log(), counter)
        if found is None:
            await session.note(BEGAN, _first_note(self._agent, self.environment.capabilities, remember))
            found = find_run(await session.log(), counter)
        assert found is not None  # it has just begun
        return found

    async def answer(self, asked: Ask[Any]) -> object:  # Any: each ask has its own type of answer
        """Answer one ask."""
        match asked:
            case Perform(request):
                return await self._perform(request)
            case AppendNote(kind, data):
                before = self._session.version
                return (await self._session.note(kind, encoded(data))).version > before + 1
            case Commit(command, meta):
                await self._session.apply(command, meta=meta)
                return self._session.version
            case Refresh(after):
                return await self._refresh(after)
            case JudgeLater(request):
                self._judge_later(request)
                return None
            case VerdictOf(digest, wait):
                thinking = self._thinking[digest]
                return metered(await thinking) if wait or thinking.done() else None
            case TellHooks(event):
                tell_hooks(self._hooks, event)
                return None
            case _:
                raise TypeError(f"nothing answers a {type(asked).__name__}")

    async def _perform(self, request: object) -> object:
        match request:
            case Decide():
                return await answer_of(
                    "model", self._agent.model(introduced(request, self.environment.capabilities))
                )
            case Act(action):
                return await self.environment.act(action)
            case JudgeRequest() | FoldRequest():
                return await self._judge(request)
            case SummaryRequest() | ChapterRequest():
                return await answer_of("summarizer", (self._agent.summarizer or extracted_awaited)(request))
            case Begin():
                return await self.environment.reset()
            case Restore():
                return await self.environment.restore(request)
            case _:
                raise TypeError(f"nothing performs a {type(request).__name__}")

    async def _judge(self, request: JudgeRequest | FoldRequest) -> _Judged:
        if self._agent.judge is None:
            raise _no_judge()
        return await answer_of(
            "judge", self._agent.judge(with_manual(request, self.environment.capabilities))
        )

    def _judge_later(self, request: JudgeRequest) -> None:
        for thinking in self._asked:
            thinking.cancel()  # its question is about an abandoned summary
        self._thinking = {request.digest: asyncio.ensure_future(self._judge(request))}
        self._asked.extend(self._thinking.values())

    async def _refresh(self, after: int) -> Found:
        session, before = self._session, self._session.head
        found = await session.refresh()
        if found != before and (
            found.version <= before.version or (await session.at(before.version)).head != before
        ):
            raise Conflict(before, found)  # deleted, and created anew under this name
        state = None if session.redactions == self._redactions else (await session.at(after)).phase
        self._redactions = session.redactions
        log = await session.log(after=after) if session.version > after else ()
        return Found(_commands(log, before, found), state)


def _commands(log: Sequence[Entry | Noted], before: Head, found: Head) -> tuple[Entry, ...]:
    """Return the commands of other writers.

    Raises:
        Conflict: a command is marked as one of this run: another process has resumed the run.
    """
    commands = tuple([each for each in log if isinstance(each, Entry)])
    if any(RUN in each.meta for each in commands):
        raise Conflict(before, found)
    return commands


def _no_judge() -> EffectError:
    """Return the answer for a missing judge: the resumed run had asked one, and this agent has none."""
    return EffectError("unreachable", "this agent has no judge")

"""`MemoryBase`: the common part of `Memory` and `AsyncMemory`, all code that performs no I/O."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeAlias, TypeVar, cast, get_args

import attrs

from mage.chat import (
    AssistantReply,
    Form,
    Steps,
    Style,
    canonical,
    declared,
    made_as,
    memory_words,
    own_tools,
    state_messages,
    written,
)
from mage.effects import Decide, NotRestored, Observed, Restore, Restored, Rules, Tool
from mage.effects.questions import Ask, Program
from mage.engine import Accept, Rejected, State
from mage.engine.journal import Operation
from mage.memory.exchange import (
    OWN,
    Results,
    Take,
    Taken,
    instruct,
    own_beside,
    record,
    results_of,
    why_barred,
)
from mage.memory.journal import (
    ANSWERED,
    CALL,
    CALLING,
    REPLY,
    Tally,
    Transcript,
    begins,
    ends_going_back,
    goes_on,
    marked,
    turns,
)
from mage.memory.policy import Policy
from mage.memory.requests import (
    AgentHook,
    BadAgent,
    IsDue,
    Operate,
    Overtaken,
    Seen,
    Tell,
    WriteNote,
    require_one_of,
    tell_hooks,
)
from mage.memory.state import Run
from mage.render import Meter
from mage.session import Entry, Noted
from mage.session.core import Readable
from mage.stores import Head
from mage.stores.protocol import Home
from mage.tokens import TokenCounter

S = TypeVar("S", bound=Readable)
Came: TypeAlias = str | Observed | None
"""The result of a call: a text, an `Observed` with effect and instructions, or None where it was not carried out."""
Restorer: TypeAlias = Callable[[Restore], Restored | NotRestored]
AsyncRestorer: TypeAlias = Callable[[Restore], Awaitable[Restored | NotRestored]]


def _given_way(own: Iterable[Tool]) -> frozenset[str]:
    """Return the names of the memory's tools that have given way to tools of the host."""
    return frozenset(tool.name for tool in OWN) - {tool.name for tool in own}


def _tokens(own: Sequence[Tool], rules: Rules, counter: TokenCounter) -> int:
    """Return the tokens that a memory itself adds to S: its words in the system prompt, and its tools."""
    words, tools = memory_words(rules, _given_way(own)), declared(_offered(own, rules), "chat")
    return sum(map(counter.count, [words, *map(canonical, tools)]))


def _offered(own: Iterable[Tool], rules: Rules) -> tuple[Tool, ...]:
    """Return the memory's tools that the policy allows."""
    return tuple([tool for tool in own if tool in own_tools(rules)])


class MemoryBase(Generic[S]):
    """The common part of both twins, which performs no I/O."""

    def __init__(
        self, session: S, policy: Policy, counter: TokenCounter, hooks: tuple[AgentHook, ...]
    ) -> None:
        self._session = session
        self._home = Home(f"session {session.name!r}")  # a forked process must not use the lock either
        self._hooks = hooks
        self._counter = counter
        self._own: tuple[Tool, ...] = OWN
        self._own_tokens = _tokens(OWN, policy.rules, counter)
        self._meters: dict[Steps, Meter] = {
            steps: Meter(counter, made_as(steps)) for steps in get_args(Steps)
        }
        self._run = Run(self._meters["text"], self._own_tokens)
        self._policy = policy
        self._tally = Tally(is_lenient=True)
        self._head: Head | None = None
        self._state: State | None = None
        self._told: list[int] = []
        self._begun: Take | None = None  # a turn that raised, until the model is asked again
        self._followed: list[str] = []  # the marks of the recorded parts of the last transcript

    def __repr__(self) -> str:
        return f"<{type(self).__name__} over {self._session!r}>"

    @property
    def session(self) -> S:
        """The session, for its history, forks and earlier versions. Commands given to it count as another writer's."""
        return self._session

    def tools(self, style: Style = "chat") -> list[dict[str, Any]]:
        """Return the declarations of the memory's own tools: `compress`, `revise`, `look` and `note`.

        They stay the same, so that a provider's cache keeps hitting: they depend only on the policy, which may rule
        out a tool, and on the names of the host's tools; see `give_way`.

        Args:
            style: OpenAI's chat completions (`"chat"`) or `"responses"`, `"anthropic"`, or `"mcp"`.

        Raises:
            BadAgent: there is no such style.
        """
        require_one_of("style", style, get_args(Style))
        return declared(_offered(self._own, self._policy.rules), style)

    def give_way(self, names: Container[str]) -> None:
        """Learn the names of the host's tools: a tool named `look` or `note` replaces the memory's tool of that name.

        Calls of that name are calls to the host's tool from then on, for good.

        Raises:
            BadTool: a tool of the host is named `compress` or `revise`, which cannot be replaced.
        """
        if (own := own_beside(names)) != OWN:
            self._own, self._own_tokens = own, _tokens(own, self._policy.rules, self._counter)

    def may_act(self) -> str:
        """Return in words why no action may be performed now; empty where one may. For hosts that perform calls.

        An action that is performed nevertheless is recorded, and the failed summary is accepted openly.
        """
        return why_barred(self._session.phase)

    def _asked_for(self, form: Form, steps: Steps, beside: object) -> None:
        """Refuse an unknown form, and count the tokens that the host sends beside S."""
        require_one_of("form", form, get_args(Form))
        require_one_of("steps", steps, get_args(Steps))
        try:
            parts = [beside] if isinstance(beside, str | Mapping) else list(cast("Iterable[object]", beside))
            counted = [part if isinstance(part, str) else canonical(part) for part in parts]
        except (TypeError, ValueError) as error:
            raise BadAgent(
                f"beside is what stands around S: a text, JSON, or a list of these ({error})"
            ) from None
        overhead = self._own_tokens + sum(map(self._counter.count, filter(None, counted)))
        self._run.count_by(self._meters[steps], overhead)

    def _shown(self, request: Decide, form: Form, steps: Steps) -> list[dict[str, Any]]:
        self._told, self._begun = [len(request.notices)], None
        theirs = _given_way(self._own)
        return written(state_messages(request, steps=steps, theirs=theirs), form)

    def _seen(self, log: Sequence[Entry | Noted], *, anew: bool, followed: bool) -> Seen:
        """Count what other writers have recorded; with `anew`, `log` is the whole journal."""
        entries = [each for each in log if isinstance(each, Entry)]
        begins = 0
        before = self._state
        if anew:
            self._tally.clear()
            begins = ends_going_back(log, entries)
            before = self._tally.add_all(entries[:begins], None)
            self._run.resumed_from = None if begins == len(entries) else before
        self._tally.add_all(entries[begins:], before)
        self._tally.add_notes(log)
        if anew and not followed:
            self._run.interrupted = tuple(action for *_, action in self._tally.calling)
        self._head, self._state = self._session.head, self._session.phase
        return Seen(
            self._state,
            self._policy,
            self._tally.counts,
            (),
            followed and (anew or bool(entries)),  # notes alone do not change the state
            self._tally.effects,
            self._tally.beside,
            self._tally.thoughts,
        )

    def _commands(self, asked: Operate) -> tuple[Operation, ...]:
        accept = asked.despite and isinstance(self._session.phase, Rejected)
        return (Accept(), asked.command) if accept else (asked.command,)

    def _answered_by_none(self, asked: Ask[Any]) -> object:  # Any: each ask has its own type of answer
        """Answer an ask that needs neither store nor host."""
        match asked:
            case IsDue(due):
                return due
            case Tell(event):
                tell_hooks(self._hooks, event)
                return None
            case _:
                raise TypeError(f"nobody answers a {type(asked).__name__}")

    def _as_note(self, asked: WriteNote) -> tuple[str, dict[str, object]]:
        """Return a note's text, with the version behind which it was decided; and its meta, which no redaction removes."""
        meta = {key: asked.document[key] for key in (REPLY, CALL) if key in asked.document}
        return canonical({**asked.document, "after": self._session.version}), meta

    def _noted(self, asked: WriteNote, head: Head) -> None:
        """Move the known head behind a note that this memory has written.

        Raises:
            Overtaken: another writer has recorded something before the note.
        """
        if self._head is None or head.version != self._head.version + 1:
            raise Overtaken
        self._head = head
        if asked.kind == ANSWERED:
            self._tally.answer = str(asked.document["answer"])
        elif asked.kind == CALLING:
            self._tally.answer = None

    def _recorded(self, asked: Operate, state: State) -> State:
        """Count a command that this memory has written."""
        if self._session.head != self._head:
            self._tally.add(asked.command, asked.meta, state)
            self._tally.commands += 1
            self._head, self._state = self._session.head, state
        return state

    @contextmanager
    def _asked_anew(self) -> Iterator[None]:
        """Forget a background question whose judge raised, so that the next turn asks the judge anew."""
        try:
            yield
        except Exception:  # anything that a judge raises is raised again
            self._run.judging = None
            raise

    async def _answered(self, _run: Run) -> str | None:
        return self._tally.answer

    def _recording(
        self, action: str, observed: Observed, meta: Mapping[str, object]
    ) -> Callable[[Run], Program[None]]:
        async def turn(run: Run) -> None:
            if self._told:
                run.told(self._told.pop())
            await record(run, action, observed, meta)

        return turn

    def _taking(self, reply: AssistantReply, results: Results | None, perform: object = None) -> Take:
        given = results_of(reply, results, perform, [own.name for own in self._own])
        take = Take(reply, given, self._tally, self._told, self._own)
        if self._begun is not None and self._begun.reply == reply:
            take = attrs.evolve(
                take, recorded=self._begun.recorded, came=self._begun.came, begun=self._begun.begun
            )
        self._begun = take
        return take

    def _taken(self, taken: Taken) -> Taken:
        self._begun = None
        return taken

    def _following(self, transcript: Transcript) -> Callable[[Run], Program[None]]:
        parts = turns(transcript)
        marks = marked(parts)

        async def turn(run: Run) -> None:
            first = begins(marks, self._followed, self._tally)
            for place in range(first, len(parts)):
                part = parts[place]
                if not isinstance(part, str):
                    run.seen = run.state.tree.step_head  # the prompt of this reply had all steps before it
                    self._taken(await self._taking(part.reply, part.results)(run))
                elif part.strip() and (place or not goes_on(part, self._followed, run.state)):
                    await instruct(run, part, standing=False)
                self._followed = marks[: place + 1]

        return turn

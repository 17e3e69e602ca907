"""A run as a script: what is given, what happens, what is asked for. No store, no thread, nobody real.

    played = Played(acts("look"), compress("seen"), finish(), verdicts=[Failed("no"), Passed()])
    outcome = played.run()
    assert played.commands == [...]
    assert played.told == [[], ["failed"], ...]

`again` runs the same run again over its log, with another script for what is new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, final

import attrs

from mage import Verdict
from mage.agent import Outcome, Policy
from mage.agent.cursor import AppendNote, Commit, Found, JudgeLater, Perform, Refresh, TellHooks, VerdictOf
from mage.agent.log import RecordedRun, RunNote, encoded
from mage.agent.loop import program
from mage.agent.replay import Replay
from mage.agent.restore import Restorable
from mage.effects import (
    Act,
    Begin,
    Capabilities,
    ChapterRequest,
    Decide,
    Decision,
    Environment,
    FoldRequest,
    JudgeRequest,
    Metered,
    Restore,
    SummaryRequest,
)
from mage.effects.questions import Ask, drive
from mage.engine import Command, ExecutionState, State, Summary, SummaryVerdict, apply, start
from mage.engine.journal import Operation
from mage.memory.journal import Tally
from mage.memory.requests import AgentEvent, Counts
from mage.memory.state import Run
from mage.render import Meter
from mage.session import Conflict, Entry
from mage.stores import Head
from mage.testing import Scripted, ScriptedEnvironment
from mage.tokens import EstimateCounter
from tests.agent.toys import TASK

Deciding: TypeAlias = Decision | Metered[Decision] | Exception
Judging: TypeAlias = Verdict | Metered[Verdict] | Exception
Writing: TypeAlias = str | Metered[str] | Exception

acts: Final = Decision.act
compress: Final = Decision.compress
revise: Final = Decision.revise
look: Final = Decision.look
finish: Final = Decision.finish
DONE: Final = Decision.finish("done")


@final
class Played:
    """One run over scripts.

    Attributes:
        decisions, verdicts, texts: the scripts of model, judge and summarizer; `asked` says what they were asked.
        environment: where the actions are performed.
        log: its notes, and the commands of all writers, in order.
        events: what the hooks heard.
        others: by the number of a commit, from 0 on: what somebody else writes right before it.
        late: how often it is asked in vain for a verdict that is not waited for.
        judge_finish: whether the end is judged: most scripts end with steps open, and have no verdict for them.
        asked_later: how often a judge was asked without waiting.
    """

    def __init__(
        self,
        *decisions: Deciding,
        verdicts: Iterable[Judging] = (),
        texts: Iterable[Writing] = (),
        environment: Environment | None = None,
        policy: Policy | None = None,
        state: State | None = None,
        counts: Counts | None = None,
        others: Mapping[int, Sequence[Command]] | None = None,
        late: int = 0,
        judge_finish: bool = False,
    ) -> None:
        self.decisions: Scripted[Decide, Decision | Metered[Decision]] = Scripted(*decisions)
        self.verdicts: Scripted[JudgeRequest | FoldRequest, Verdict | Metered[Verdict]] = Scripted(*verdicts)
        self.texts: Scripted[SummaryRequest | ChapterRequest, str | Metered[str]] = Scripted(*texts)
        self.environment: Environment = (
            ScriptedEnvironment(*["seen"] * 99) if environment is None else environment
        )
        self.first = attrs.evolve(policy or Policy(), judge_finish=judge_finish)
        self.given: Policy | None = None if policy is None else self.first
        self.start = start(TASK) if state is None else state
        self.counts = Counts({}, {}) if counts is None else counts
        self.others = dict(others or {})
        self.log: list[RunNote | Entry] = []
        self.events: list[AgentEvent] = []
        self.late = late
        self.asked_later = 0
        self._commits = 0
        self._later: JudgeRequest | None = None
        self.replay: Replay
        self._restorable: Restorable

    @property
    def judged(self) -> list[JudgeRequest]:
        """What the judge was asked about summaries."""
        return [asked for asked in self.verdicts.asked if isinstance(asked, JudgeRequest)]

    @property
    def folded(self) -> list[FoldRequest]:
        """What the judge was asked about chapters."""
        return [asked for asked in self.verdicts.asked if isinstance(asked, FoldRequest)]

    @property
    def summarized(self) -> list[SummaryRequest]:
        """What the summarizer was asked about summaries."""
        return [asked for asked in self.texts.asked if isinstance(asked, SummaryRequest)]

    @property
    def chapters(self) -> list[ChapterRequest]:
        """What the summarizer was asked about chapters."""
        return [asked for asked in self.texts.asked if isinstance(asked, ChapterRequest)]

    def run(self, *, live: bool = True) -> Outcome:
        """Run to the end."""
        tally = Tally()
        tally._revisions.update(self.counts.revisions)
        found = RecordedRun(
            version=1,
            policy=self.first,
            counter=EstimateCounter(),
            overhead=0,
            judged=True,
            introduced=Capabilities(),
            remembered={},
            state=self.start,
            tally=tally,
            log=tuple(self.log),
        )
        self._restorable = Restorable(self.environment)
        capabilities = self._restorable.capabilities
        self.replay = Replay(
            found,
            policy=self.given,
            repeatable=capabilities.repeatable,
            foresees=capabilities.foresees,
            live=live,
        )
        run = Run(Meter(EstimateCounter()), 0)
        return drive(self.replay.run(program(run)), self._answer)

    def again(
        self,
        *decisions: Deciding,
        verdicts: Iterable[Judging] = (),
        texts: Iterable[Writing] = (),
        environment: Environment | None = None,
        policy: Policy | None = None,
        others: Mapping[int, Sequence[Command]] | None = None,
    ) -> Played:
        """Return the same run in another process: with its log, and scripts for what is new."""
        new = Played(
            *decisions,
            verdicts=verdicts,
            texts=texts,
            environment=environment,
            state=self.start,
            counts=self.counts,
        )
        new.first = self.first
        new.given = None if policy is None else attrs.evolve(policy, judge_finish=self.first.judge_finish)
        new.log = list(self.log)
        new.others = dict(others or {})
        return new

    def write(self, *commands: Command) -> None:
        """Let somebody else write to the session."""
        for command in commands:
            self.log.append(Entry(self._version + 1, command, 0, {}))

    def note(self, kind: str, data: Mapping[str, object]) -> None:
        """Append a note, as a store gives it back."""
        self.log.append(RunNote(kind, json.loads(encoded(data)), self._version + 1))

    def place(self, number: int) -> int:
        """Return where in the log the note of this number stands; a negative one counts from the last."""
        return [place for place, each in enumerate(self.log) if isinstance(each, RunNote)][number]

    def change_note(self, number: int, data: Mapping[str, object], kind: str | None = None) -> None:
        """Put other data, and another kind, into the note of this number."""
        place = self.place(number)
        note = self.notes[number]
        self.log[place] = RunNote(note.kind if kind is None else kind, data, note.version)

    def change_command(self, number: int, entry: Entry) -> None:
        """Put another entry in the place of the command of this number."""
        places = [place for place, each in enumerate(self.log) if isinstance(each, Entry)]
        self.log[places[number]] = entry

    @property
    def journal(self) -> list[Entry]:
        """The commands, with what goes with them."""
        return [each for each in self.log if isinstance(each, Entry)]

    @property
    def notes(self) -> list[RunNote]:
        """The notes."""
        return [each for each in self.log if isinstance(each, RunNote)]

    @property
    def commands(self) -> list[Command]:
        """The commands, in order."""
        return [entry.command for entry in self.journal]

    @property
    def state(self) -> State:
        """Where the journal leads."""
        state = self.start
        for command in self.commands:
            state = apply(state, command).unwrap()
        return state

    @property
    def kinds(self) -> list[str]:
        """The kinds of the notes."""
        return [note.kind for note in self.notes]

    @property
    def told(self) -> list[list[str]]:
        """The kinds of the notices that the model was shown, by turn."""
        return [kinds_of(request) for request in self.decisions.asked]

    @property
    def _version(self) -> int:
        return 1 + len(self.log)

    def _answer(self, asked: Ask[Any]) -> object:
        match asked:
            case Perform(request):
                return self._perform(request)
            case AppendNote(kind, data):
                self.note(kind, data)
                return False
            case Commit(command, meta):
                self._commit(command, meta)
                return self._version
            case Refresh(after):
                return Found(tuple([each for each in self.journal if each.version > after]))
            case JudgeLater(request):
                self._later = request
                self.asked_later += 1
                return None
            case VerdictOf(digest, wait):
                return self._verdict_of(digest, wait=wait)
            case TellHooks(event):
                self.events.append(event)
                return None
            case _:
                raise TypeError(asked)

    def _perform(self, request: object) -> object:
        match request:
            case Decide():
                return self.decisions(request)
            case JudgeRequest() | FoldRequest():
                return self.verdicts(request)
            case SummaryRequest() | ChapterRequest():
                return self.texts(request)
            case Begin():
                return self._restorable.reset()
            case Act(action):
                return self._restorable.act(action)
            case Restore():
                return self._restorable.restore(request)
            case _:
                raise TypeError(request)

    def _commit(self, command: Operation, meta: Mapping[str, object]) -> None:
        number, self._commits = self._commits, self._commits + 1
        if number in self.others:
            before = self._version
            self.write(*self.others[number])
            raise Conflict(Head(before, "before"), Head(self._version, "after"))
        self.log.append(Entry(self._version + 1, command, 0, dict(meta)))

    def _verdict_of(self, digest: str, *, wait: bool) -> object:
        assert self._later is not None
        assert self._later.digest == digest, "the verdict of another summary is waited for"
        if not wait and self.late:
            self.late -= 1
            return None
        return self.verdicts(self._later)


def kinds_of(request: Decide) -> list[str]:
    """Return the kinds of the notices of a question."""
    return [notice.kind for notice in request.notices]


def lessons_of(shown: ExecutionState) -> list[str]:
    """Return the texts of the lessons that are shown."""
    return [lesson.text for lesson in shown.hints.lessons]


def verdicts_of(shown: ExecutionState) -> list[SummaryVerdict]:
    """Return the verdicts of the summaries that C shows."""
    return [line.verdict for line in shown.compressed if isinstance(line, Summary)]

"""Who answers in a simulation: everything that can fail does, at random, out of one seed.

Nothing here waits for a clock or a thread, so a seed gives the same run each time, also where it is awaited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, Final, TypeVar, final

import attrs

from mage import Failed, JudgeRequest, Session, Verdict
from mage.agent import Policy
from mage.effects import (
    EFFECT_FAULTS,
    Action,
    ChapterRequest,
    Decide,
    Decision,
    EffectError,
    Environment,
    Finish,
    LookInto,
    Metered,
    Observed,
    SummaryRequest,
    Then,
)
from mage.engine import Active, Compress, FoldRequest, Revise, StepId, Unverified
from mage.session import Conflict, Refused
from mage.stores import Head, JournalStore, Record, StoreFull, StoreUnavailable
from tests.agent.interrupting import Interrupted
from tests.agent.toys import Mistake, judge, model_of, summarizer
from tests.agent.twins import NAME, constant, plain

Answer = TypeVar("Answer")
ACTIONS: Final = (
    "look",
    "turn 1",
    "turn 2",
    "turn -1",
    "hit",
    "paint",
    "break",
    "stop",
    "jam",
    "mutter",
    "",
    "\ud83d\ude00",
)
TEXTS: Final = ("Turned by 3.", "Turned by 1.", "Something was done.", " ", "")


@final
@attrs.frozen
class Faults:
    """How often something goes wrong, each as a chance.

    Attributes:
        effects: that an effect fails.
        wild: that the model does whatever comes to its mind.
        stores: that the store fails.
        deaths: that the process dies, before or after anything.
        others: that somebody else writes to the session.
    """

    effects: float = 0.0
    wild: float = 0.0
    stores: float = 0.0
    deaths: float = 0.0
    others: float = 0.0

    @classmethod
    def by(cls, rng: Random) -> Faults:
        """Draw how bad it gets."""
        return cls(
            effects=rng.choice((0, 0, 0.03, 0.2)),
            wild=rng.choice((0, 0.1, 0.5, 0.9)),
            stores=rng.choice((0, 0, 0.01, 0.05)),
            deaths=rng.choice((0, 0.005, 0.02)),
            others=rng.choice((0, 0, 0.02, 0.1)),
        )


def policy_by(rng: Random) -> Policy:
    """Draw a policy."""
    return Policy(
        wait=rng.random() < 0.6,
        high_water=rng.choice((None, 60, 90, 8_000)),
        fold_at=rng.choice((None, 1, 30, 60)),
        cool_down=rng.choice((0, 1, 10)),
        on_fail=rng.choice(("revise", "revise", "revise", "accept", "stop")),
        judge_down=rng.choice(("accept", "stop", "leave")),
        max_revisions=rng.choice((0, 1, 3)),
        max_retexts=rng.choice((0, 1, 2)),
        exhausted=rng.choice(("accept", "stop")),
        cross_irreversible=rng.random() < 0.5,
        point_out=rng.random() < 0.7,
        on_divergence=rng.choice(("tell", "tell", "stop")),
        max_steps=rng.choice((5, 15, 30)),
        max_total_tokens=rng.choice((None, None, 3_000)),
        max_unusable=rng.choice((0, 1, 3)),
        max_idle=rng.choice((0, 2, 8)) if rng.random() < 0.3 else 8,
        maintain=rng.random() < 0.9,
        revise=rng.random() < 0.9,
        compress=rng.random() < 0.9,
        keep_raw=rng.choice((0, 0, 1, 3)),
    )


def _die() -> None:
    raise Interrupted


@final
class Chance:
    """Decides what goes wrong, and remembers how often processes died and stores failed.

    Attributes:
        rng: out of the seed.
        faults: how bad it is now.
        endings: how often a process died, or a store failed, in the midst of something.
        die: how a process dies: by an exception, or by the cancellation of its task.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.faults = Faults()
        self.endings = 0
        self.die: Callable[[], object] = _die

    def happens(self, chance: float) -> bool:
        """Tell whether something of this chance happens now."""
        return chance > 0 and self.rng.random() < chance

    def may_die(self) -> None:
        """Die, perhaps."""
        if self.happens(self.faults.deaths):
            self.endings += 1
            self.die()

    def around(self, call: Callable[[], Answer], *, fault: str | None = None) -> Answer:
        """Do something, unless the process dies before, or it fails, or the process dies after."""
        self.may_die()
        if self.happens(self.faults.effects):
            named = self.rng.choice(EFFECT_FAULTS) if fault is None else fault
            raise EffectError(named, "by chance")  # type: ignore[arg-type]  # one of the names
        answer = call()
        self.may_die()
        return answer


@final
class Wild:
    """Model, judge and summarizer of a simulation.

    Attributes:
        asked: what the model was asked.
    """

    def __init__(self, chance: Chance, goals: int, mistakes: dict[int, Mistake]) -> None:
        self.asked: list[Decide] = []
        self._chance = chance
        self._sane = model_of(goals, mistakes)

    def model(self, request: Decide, /) -> Decision | Metered[Decision]:
        """Decide, soundly or not."""
        self.asked.append(request)
        return self._chance.around(lambda: self._decided(request))

    def _decided(self, request: Decide) -> Decision | Metered[Decision]:
        if not self._chance.happens(self._chance.faults.wild):
            return self._sane(request)
        rng = self._chance.rng
        actions = tuple(Action(rng.choice(ACTIONS)) for _ in range(rng.choice((0, 1, 1, 1, 2, 3))))
        return Decision(actions, self._then(request) if rng.random() < 0.4 else None)

    def _then(self, request: Decide) -> Then:
        rng = self._chance.rng
        match rng.randrange(6):
            case 5:
                labels = [line.label for line in request.shown.compressed]
                label = rng.choice((*labels, 0, 7, -3, 10**20))
                return LookInto(
                    label, rng.choice((None, None, 1, 4)), rng.choice(("", "turn")), rng.choice((1, 1, 2))
                )
            case 0:
                return Finish("by chance") if rng.random() < 0.3 else Compress("", "fallback")
            case 1 | 2:
                boundary = rng.choice((*request.boundaries, 0, 1, 7, -3, 10**20))
                return Revise(boundary, rng.choice(("", "Not so.", "Never again.")))
            case _:
                return Compress(rng.choice(TEXTS))

    def judge(self, request: JudgeRequest | FoldRequest, /) -> Verdict | Metered[Verdict]:
        """Judge, soundly or not."""
        rng, wild = self._chance.rng, self._chance.faults.wild / 3
        answer: Verdict | Metered[Verdict] = self._chance.around(lambda: judge(request))
        if self._chance.happens(wild):
            began = rng.choice((None, None, 0, 1, 3, 99)) if rng.random() < 0.5 else None
            boundary = None if began is None else StepId(began)
            return Failed(rng.choice(("No.", "Again!", " ")), rng.choice(("summary", "execution")), boundary)
        return answer

    def summarizer(self, request: SummaryRequest | ChapterRequest, /) -> str | Metered[str]:
        """Summarize, soundly or not."""
        answer = self._chance.around(lambda: summarizer(request))
        wild = self._chance.faults.wild / 3
        return self._chance.rng.choice(TEXTS) if self._chance.happens(wild) else answer


@final
class FaultyEnvironment:
    """An environment that fails, dies in the act, and counts what it did for the agent itself.

    Attributes:
        performed: the actions that it was asked for and carried out, without replays and inverses.
    """

    def __init__(self, environment: Environment, chance: Chance, performed: list[str]) -> None:
        self.performed = performed
        self.capabilities = environment.capabilities.around(self._faulty)
        self._environment = environment
        self._chance = chance

    def _faulty(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        if name == "foresees":
            return operation
        return lambda *given: self._chance.around(lambda: operation(*given), fault="environment")

    def reset(self) -> Observed | str:
        """Begin."""
        return self._chance.around(self._environment.reset, fault="environment")

    def act(self, action: str, /) -> Observed | str:
        """Perform an action."""
        return self._chance.around(lambda: self._act(action), fault="environment")

    def _act(self, action: str) -> Observed | str:
        seen = self._environment.act(action)
        self.performed.append(action)
        return seen


@final
class FaultyStore:
    """A store that fails before it writes, or is in doubt after, in which others write too.

    Attributes:
        inner: the store.
        kept: for each journal, how many records were acknowledged.
    """

    def __init__(self, inner: JournalStore, chance: Chance) -> None:
        self.inner = inner
        self.kept: dict[str, int] = {}
        self._chance = chance

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def create(self, name: str, records: Iterable[Record]) -> Head:
        """See `JournalStore`."""
        return self._write(lambda: self.inner.create(name, records), name)

    def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        """See `JournalStore`."""
        if name == NAME and self._chance.happens(self._chance.faults.others):
            write_from_outside(self.inner, self._chance.rng)
        return self._write(lambda: self.inner.append(name, expected, records), name)

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """See `JournalStore`."""
        self._fail()
        return self.inner.read(name, after, upto)

    def _write(self, write: Callable[[], Head], name: str) -> Head:
        self._chance.may_die()
        self._fail()
        head = write()
        self._fail(in_doubt=True)
        self._chance.may_die()
        self.kept[name] = head.version
        return head

    def _fail(self, *, in_doubt: bool = False) -> None:
        if self._chance.happens(self._chance.faults.stores / 3):
            self._chance.endings += 1
            if in_doubt or self._chance.rng.random() < 0.5:
                raise StoreUnavailable("by chance", in_doubt=in_doubt)
            raise StoreFull("by chance")


def write_from_outside(store: JournalStore, rng: Random) -> None:
    """Let somebody else change the session: one or two legal commands."""
    with Session.open(store, NAME, wait=False, clock=constant, salts=plain) as session:
        for _ in range(rng.randrange(1, 3)):
            try:
                _written_by(session, rng)
            except (Refused, Conflict):
                continue


def _written_by(session: Session, rng: Random) -> None:
    lines = session.state().compressed
    boundaries = [line.label for line in lines]
    pending = isinstance(session.phase, Unverified)
    if type(session.phase).__name__ == "Rejected":
        session.accept() if rng.random() < 0.5 else session.revise(boundaries[-1], "Somebody else.")
        return
    match rng.randrange(7):
        case 6 if len(lines) > 1 and isinstance(session.phase, Active):
            session.fold(lines[0].label, lines[1].boundary, "Reached 2 goals.")
        case 0:
            session.instruct(rng.choice(("Hurry.", "Be brief.")), standing=rng.random() < 0.5)
        case 1 if pending:
            session.accept()
        case 2 if not pending:
            session.compress(rng.choice(("Turned by 3.", "By hand.")), wait=False)
        case 3 if pending:
            session.retext("Turned by 3.", wait=False)
        case 4:
            session.revise(rng.choice((*boundaries, session.state().boundary)), "Somebody else.")
        case _:
            session.grow(rng.choice(("turn 1", "look")), "By hand.")

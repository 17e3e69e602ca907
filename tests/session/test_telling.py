"""What hooks hear, and that nothing said is ever a payload."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import get_args

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage import Conflict, Failed, MageError, Passed, Refused, Session, Verdict
from mage.engine import ApplyVerdict, Compress, Grow, IllegalPhase, Instruct, Retext, Revise
from mage.engine.journal import Operation
from mage.session import Event, events
from mage.stores import JournalStore, MemoryStore
from mage.testing import History, ScriptedJudge, histories
from tests.session.twins import Twin, both, perform

MARK = "PAYLOAD"


@both
def test_each_operation_tells_what_it_did(twin: Twin, store: JournalStore) -> None:
    """A story read off its events: ids, versions and sizes, in order, each once."""
    heard: list[Event] = []
    judge = ScriptedJudge(Failed("f", "summary"), Passed(), Failed("no"))
    with twin.open(store, "s", task="task", judge=judge, on_event=heard.append) as session:
        session.instruct("brief", standing=True)
        session.grow("ab", "cde")
        session.compress("text", kind="fallback")
        session.retext("better")
        session.grow("f", "g")
        session.compress("bad")
        session.accept()
        session.grow("h", "i")
        session.revise(0, "lesson")
        session.grow("ab", "cde")
        session.grow("ab", "cde")
        session.fork("f", at=3).close()
        with twin.open(store, "s") as other:
            other.grow("x", "y")
        with pytest.raises(Conflict):
            session.grow("z", "z")
        session.refresh()
    assert heard == [
        events.Created("s", 1, 4),
        events.Instructed("s", 2, 0, 5, standing=True),
        events.Grown("s", 3, 1, 5),
        events.Compressed("s", 4, 1, 1, 4, "fallback"),
        events.Judged("s", 5, 1, passed=False, fault="summary"),
        events.Retexted("s", 6, 1, 6, "fallback"),
        events.Judged("s", 7, 1, passed=True, fault=None),
        events.Grown("s", 8, 2, 2),
        events.Compressed("s", 9, 2, 2, 3, "subgoal"),
        events.Judged("s", 10, 2, passed=False, fault="execution"),
        events.Accepted("s", 11, 2, despite=True),
        events.Grown("s", 12, 3, 2),
        events.Revised("s", 13, 0, 3, 6),
        events.Merged("s", 14, 1),
        events.Grown("s", 15, 4, 5),
        events.Forked("s", 3, "f"),
        events.Conflicted("s", 15, 16),
        events.Refreshed("s", 16, 15),
    ]


@both
def test_a_completed_subgoal_tells_all_that_it_covers(twin: Twin, store: JournalStore) -> None:
    """It takes its fallbacks in (D12), and tells of their steps too."""
    heard: list[Event] = []
    with twin.open(store, "s", task="t", on_event=heard.append) as session:
        session.grow("a", "o")
        session.compress("half", kind="fallback")
        session.accept()
        session.compress("whole")
    assert heard[-1] == events.Compressed("s", 5, 1, 1, 5, "subgoal")


@both
def test_hooks_that_raise_harm_nothing(
    twin: Twin, store: JournalStore, caplog: pytest.LogCaptureFixture
) -> None:
    """A hook's exception is logged by its type and place, the other hooks hear, and the command stands."""
    heard: list[Event] = []

    def broken(event: Event) -> None:
        raise LookupError(MARK)

    with (
        caplog.at_level(logging.ERROR, "mage"),
        twin.open(store, "s", task="t", on_event=(broken, heard.append)) as session,
    ):
        session.grow("a", "o")
        assert session.version == 2
    assert heard[-1] == events.Grown("s", 2, 1, 2)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert all("LookupError" in message and "test_telling.py" in message for message in messages)
    assert MARK not in caplog.text


@both
def test_a_hook_may_not_swallow_an_interrupt(twin: Twin, store: JournalStore) -> None:
    """What is no ordinary exception goes through; the command before it is durable."""

    def interrupted(event: Event) -> None:
        if isinstance(event, events.Grown):
            raise KeyboardInterrupt

    with twin.open(store, "s", task="t", on_event=interrupted) as session:
        with pytest.raises(KeyboardInterrupt):
            session.grow("a", "o")
        assert session.version == 2 == store.head("s").version


def test_a_hook_may_use_the_session(store: JournalStore) -> None:
    """Hooks are told when the turn is over, so they can ask the session, and even go on with it."""
    seen: list[int] = []

    def curious(event: Event) -> None:
        if isinstance(event, events.Grown) and event.version < 4:
            seen.append(session.version)
            session.grow("more", "o")

    with Session.open(store, "s", task="t", on_event=curious) as session:
        session.grow("a", "o")
        assert session.version == 4
    assert seen == [2, 3]


def marked(operation: Operation) -> Operation:
    """Return an operation with the mark in each of its texts that is not blank."""

    def with_mark(text: str) -> str:
        return text if not text.strip() else MARK + text

    match operation:
        case Grow(action, observation):
            return Grow(MARK + action, MARK + observation)
        case ApplyVerdict(Failed(feedback, fault), digest):
            return ApplyVerdict(Failed(with_mark(feedback), fault), digest)
        case Instruct() | Compress() | Retext():
            return attrs.evolve(operation, text=with_mark(operation.text))
        case Revise():
            return attrs.evolve(operation, lesson=with_mark(operation.lesson))
        case _:
            return operation


@contextmanager
def logged() -> Iterator[list[str]]:
    """Give everything that mage logs meanwhile, at any level, as text and as its parts."""
    said: list[str] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(f"{record.getMessage()} {record.args!r} {record.exc_info!r}")

    log, handler = logging.getLogger("mage"), Keeping()
    level = log.level
    log.addHandler(handler)
    log.setLevel(1)
    try:
        yield said
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


@both
@given(
    history=histories(st.integers(0, 15)),
    script=st.lists(st.sampled_from((Passed(), Failed(MARK), Failed(" ")))),
)
@settings(max_examples=60)
def test_no_payload_is_ever_said(twin: Twin, history: History, script: list[Verdict]) -> None:
    """A mark in every text, lesson, feedback and meta shows in no event, log record, error or repr."""
    judge = ScriptedJudge(*script, *[Passed()] * 30)
    heard: list[Event] = []
    said: list[str] = []
    with logged() as log:
        store = MemoryStore()

        def broken(event: Event) -> None:
            raise LookupError(MARK)

        with twin.open(
            store, "s", task=MARK, judge=judge, on_event=(heard.append, broken), snapshot_every=4
        ) as session:
            for edge in history.edges:
                command = marked(edge.command)
                try:
                    perform(session, command)
                    session.grow(MARK, MARK, meta={"call": MARK})
                except (Refused, IllegalPhase) as error:
                    said += (str(error), repr(error))
            said.append(repr(session))
            _provoke(twin, store, said)
    assert log
    assert heard
    for line in (*map(repr, heard), *log, *said):
        assert MARK not in line


def _provoke(twin: Twin, store: JournalStore, said: list[str]) -> None:
    """Meet the errors of opening and of being overtaken."""

    def open_for_another() -> None:
        twin.open(store, "s", task=f"another {MARK}")

    def be_overtaken() -> None:
        with twin.open(store, "s") as one, twin.open(store, "s") as two:
            one.revise(0, MARK)
            two.revise(0, MARK)

    def mistake_the_meta() -> None:
        with twin.open(store, "s") as one:
            one.revise(0, MARK, meta={"at": MARK})

    provoked: tuple[Callable[[], None], ...] = (open_for_another, be_overtaken, mistake_the_meta)
    for provoke in provoked:
        with pytest.raises(MageError) as raised:
            provoke()
        said += (str(raised.value), repr(raised.value))


def test_every_event_is_a_frozen_value_of_numbers_and_names() -> None:
    """No event has a field that could hold a text of the state, but for the names of journals."""
    for kind in get_args(Event):
        fields = {field.name: field.type for field in attrs.fields(kind)}
        assert list(fields)[:2] == ["journal", "version"]
        names = {name for name, typed in fields.items() if "str" in str(typed)}
        assert names <= {"journal", "kind", "fault", "fork", "error"}


def test_the_log_is_silent_where_nobody_listens() -> None:
    """The logger has a NullHandler: a program that configures no logging sees nothing on its error stream."""
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("mage").handlers)


@both
def test_a_hook_that_would_have_to_be_awaited_is_refused(twin: Twin, store: JournalStore) -> None:
    """Nobody awaits a hook: an `async def` is refused, alone or among others, before anything is created."""

    async def hook(_: object) -> None:
        raise AssertionError

    class Called:
        async def __call__(self, _: object) -> None:
            raise AssertionError

    for hooks in (hook, [print, hook], Called()):
        with pytest.raises(TypeError, match="async def"):
            twin.open(store, "s", task="t", on_event=hooks)
    assert store.journals() == ()

"""The kit: how a store is opened, records to put into a store, checks; and the promises that need many threads or processes."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from inspect import isfunction, signature
from itertools import count
from multiprocessing import get_context
from types import ModuleType
from typing import Final, ParamSpec, TypeAlias, TypeVar, final

import attrs

from mage.engine import Command, Grow, Start, State, apply
from mage.stores import (
    NOTHING,
    Conflict,
    DamagedRecord,
    HasForks,
    Head,
    JournalStore,
    MemoryStore,
    NameTaken,
    Note,
    Record,
    StoreError,
    UnknownJournal,
    command_of,
    draft,
    fold,
    in_thread,
    open_store,
    seal,
    verify,
)
from mage.testing.strategies import state_script

P = ParamSpec("P")
Raised = TypeVar("Raised", bound=Exception)


@final
@attrs.frozen
class Kit:
    """How a store is opened, and what it can do. Each promise gets an empty store.

    Attributes:
        open: opens the store; where `durable`, a second call opens the same one again.
        durable: whether records are there when the store is opened again, also a second time at once.
        processes: whether `open` can be pickled and opens the same store in another process.
    """

    open: Callable[[], JournalStore]
    durable: bool = True
    processes: bool = False


@final
@attrs.frozen
class Url:
    """Opens a store by its URL, in this or another process."""

    url: str

    def __call__(self) -> JournalStore:
        """Open it."""
        return open_store(self.url)


Promise: TypeAlias = Callable[[Kit], None]
"""A function that raises AssertionError where a store does not keep the promise in its docstring."""


def promises_in(module: ModuleType) -> tuple[Promise, ...]:
    """Return the promises in a module: its public functions whose only parameter is a `Kit`."""
    return tuple(
        [
            each
            for name, each in vars(module).items()
            if isfunction(each) and each.__module__ == module.__name__ and not name.startswith("_")
            if list(signature(each).parameters) == ["kit"]
        ]
    )


def kit_for(url: str) -> Kit:
    """Return the kit of a store that `open_store` opens; of `memory:` each opening is another store."""
    if url == "memory:":
        return Kit(MemoryStore, durable=False)
    return Kit(Url(url), processes=True)


def salts() -> Callable[[], str]:
    """Return a source of salts that gives the same salts in every run."""
    numbers = count()
    return lambda: f"{next(numbers):016x}"


def recorded(
    commands: Iterable[Command], before: Head = NOTHING, state: State | None = None
) -> tuple[Record, ...]:
    """Return the records of commands behind a head. The engine must refuse none of the commands."""
    records: list[Record] = []
    new_salt = salts()
    for command in commands:
        record = seal(before, draft(state, command, {"at": 1_700_000_000_000_000 + before.version}), new_salt)
        state = apply(state, command).unwrap()
        records.append(record)
        before = record.head
    return tuple(records)


def chain(length: int, label: str = "") -> tuple[Record, ...]:
    """Return the records of a start and of steps, `length` in all."""
    steps = (Grow(f"{label} act {number}", f"seen {number}\n" * 3) for number in range(2, length + 1))
    return recorded([Start(f"task {label}"), *steps])


def following(head: Head, *texts: str) -> tuple[Record, ...]:
    """Return records that follow a head, a new step for each text."""
    records: list[Record] = []
    new_salt = salts()
    for text in texts:
        records.append(seal(head, draft(None, Grow(text, f"seen of {text}"), {}), new_salt))
        head = records[-1].head
    return tuple(records)


def state_of(store: JournalStore, name: str) -> State:
    """Return the state that a journal leads to, every record verified."""
    return fold(verify(NOTHING, store.read(name), store.head(name)))


def expect(kept: bool, promise: str) -> None:
    """Raise `AssertionError` with the text of a promise unless the promise is kept; also under `python -O`."""
    if not kept:
        raise AssertionError(promise)


def expect_equal(found: object, wanted: object, what: str) -> None:
    """Raise `AssertionError` unless the value found is the value wanted.

    Where a value is or holds a whole journal, the error has a note: Python that makes the journal's state.
    """
    if found == wanted:
        return
    error = AssertionError(f"{what}: found {_short(found)}, wanted {_short(wanted)}")
    journals = {"found": next(_journals_in(found), None), "wanted": next(_journals_in(wanted), None)}
    if whole := {name: journal for name, journal in journals.items() if journal is not None}:
        error.add_note(state_script(**whole))
    raise error


def _journals_in(value: object) -> Iterator[list[Command]]:
    """Yield the commands of each sound journal in a value."""
    if isinstance(value, tuple | list):
        if value and all(isinstance(each, Record) for each in value):
            with suppress(DamagedRecord):
                yield _commands_of(value)
        else:
            for each in value:
                yield from _journals_in(each)


def _commands_of(records: Iterable[Record]) -> list[Command]:
    commands: list[Command] = []
    state: State | None = None
    for record in records:
        command = command_of(state, record)
        if not isinstance(command, Note):
            commands.append(command)
        state = fold([record], state)
    return commands


def expect_raised(
    kind: type[Raised], what: str, work: Callable[P, object], *args: P.args, **kwargs: P.kwargs
) -> Raised:
    """Return the exception of `work`; raise `AssertionError` where it raises none of this class, or one without words."""
    try:
        answer = work(*args, **kwargs)
    except kind as error:
        expect(bool(str(error)), f"{what}: {kind.__name__} says nothing")
        return error
    raise AssertionError(f"{what}: expected {kind.__name__}, but it returned {_short(answer)}")


def _short(value: object) -> str:
    if isinstance(value, tuple | list) and value and all(isinstance(each, Record) for each in value):
        return f"{len(value)} records"
    shown = (
        f"{len(value)} of {value[:2]!r}..." if isinstance(value, Sequence) and len(value) > 4 else repr(value)
    )
    return shown if len(shown) < 400 else shown[:400] + "..."


# -- promises about many at once ------------------------------------------------------------------------------

Answer = TypeVar("Answer")

_ROUNDS: Final = 5
_WRITERS: Final = 3


@final
@attrs.frozen
class Written:
    """The answers of a store to one writer.

    Attributes:
        acknowledged: the version of each text that the store acknowledged.
        conflicts: how many times another writer was first.
    """

    acknowledged: dict[str, int]
    conflicts: int


def write_many(store: JournalStore, name: str, texts: Iterable[str]) -> Written:
    """Append each text as a step; after a conflict, again behind the new head."""
    acknowledged: dict[str, int] = {}
    conflicts = 0
    head = store.head(name)
    for text in texts:
        while text not in acknowledged:
            try:
                head = store.append(name, head, following(head, text))
                acknowledged[text] = head.version
            except Conflict as conflict:
                head = conflict.found
                conflicts += 1
    return Written(acknowledged, conflicts)


def _writer(open_it: Callable[[], JournalStore], number: int, appends: int) -> Written:
    with open_it() as store:
        return write_many(store, "shared", _texts(number, appends))


def _texts(number: int, appends: int) -> list[str]:
    return [f"writer {number}, step {step}" for step in range(appends)]


def hammer(kit: Kit, *, writers: int, appends: int) -> list[Written]:
    """Start processes that append to one journal at once, and check that each step is there exactly once.

    Raises:
        AssertionError: a step is missing, is there twice, or is not at its acknowledged version.
    """
    with kit.open() as store:
        store.create("shared", chain(1))
    with ProcessPoolExecutor(writers, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(_writer, kit.open, number, appends) for number in range(writers)]
        written = [each.result() for each in running]
    with kit.open() as store:
        _check_written(store, written, writers, appends)
    return written


def _check_written(store: JournalStore, written: list[Written], writers: int, appends: int) -> None:
    told = {text: version for each in written for text, version in each.acknowledged.items()}
    expect_equal(len(told), writers * appends, "the steps that were acknowledged")
    found = {record.parts[0].text: record.version for record in store.read("shared", 1)}
    expect_equal(store.head("shared").version, writers * appends + 1, "the head")
    expect_equal(found, told, "where each step is")
    expect_equal(state_of(store, "shared").tree.next_step, writers * appends + 1, "the steps of the state")


def processes_share_a_journal(kit: Kit) -> None:
    """Processes append to one journal at once: every step is there once, at its acknowledged version."""
    if kit.processes:
        hammer(kit, writers=3, appends=20)


def threads_share_a_journal(kit: Kit) -> None:
    """Threads append to one journal at once: every step is there once, at its acknowledged version."""
    with kit.open() as store, ThreadPoolExecutor(6) as pool:
        store.create("shared", chain(1))
        running = [pool.submit(write_many, store, "shared", _texts(number, 15)) for number in range(6)]
        _check_written(store, [each.result() for each in running], 6, 15)


def openings_share_a_journal(kit: Kit) -> None:
    """Two openings of one store take turns: a late writer gets a conflict, and goes on from the head in it."""
    if not kit.durable:
        return
    with kit.open() as one, kit.open() as other:
        one.create("shared", chain(1))
        first = write_many(one, "shared", _texts(1, 5))
        stale = chain(1)[-1].head
        try:
            other.append("shared", stale, following(stale, "late"))
            expect(kept=False, promise="the late one was let in")
        except Conflict as conflict:
            expect_equal(conflict.found, one.head("shared"), "the head that the late one is told")
        second = write_many(other, "shared", _texts(2, 5))
        third = write_many(one, "shared", _texts(3, 5))
        _check_written(other, [first, second, third], 3, 5)


def _at_once(pool: Executor, work: Callable[[int], Answer], many: int) -> list[Answer]:
    return [each.result() for each in [pool.submit(work, number) for number in range(many)]]


def one_of_many_gets_a_name(kit: Kit) -> None:
    """Of threads that create or fork a journal of one name at once exactly one succeeds; the others get `NameTaken`."""
    with kit.open() as store, ThreadPoolExecutor(6) as pool:
        store.create("source", chain(2))

        def make(number: int) -> str:
            try:
                if number % 2:
                    store.fork("source", "name", 1)
                else:
                    store.create("name", chain(2, str(number)))
            except NameTaken:
                return "taken"
            return "made"

        expect_equal(Counter(_at_once(pool, make, 6)), Counter(made=1, taken=5), "who got the name")
        state_of(store, "name")


def a_fork_or_a_deletion_wins(kit: Kit) -> None:
    """A journal is forked and deleted at once: one of the two is refused, and no fork is left broken."""
    with kit.open() as store, ThreadPoolExecutor(2) as pool:
        for turn in range(10):
            source, name = f"source {turn}", f"fork {turn}"
            store.create(source, chain(3))

            def act(number: int, source: str = source, name: str = name) -> str:
                try:
                    store.fork(source, name, 2) if number else store.delete(source)
                except HasForks:
                    return "has forks"
                except UnknownJournal:
                    return "unknown"
                return "done"

            deleted, forked = _at_once(pool, act, 2)
            expect((deleted, forked) in (("done", "unknown"), ("has forks", "done")), f"{deleted}, {forked}")
            if forked == "done":
                expect_equal(len(list(store.read(name))), 2, "the records of the fork")


def readers_see_a_sound_prefix(kit: Kit) -> None:
    """A reader beside a writer reads a sound journal, with every record that was acknowledged before."""
    with kit.open() as store, ThreadPoolExecutor(2) as pool:
        store.create("shared", chain(1))
        writing = pool.submit(write_many, store, "shared", _texts(0, 60))
        seen = 0
        while not writing.done() or seen == 0:
            least = store.head("shared")
            state = fold(verify(NOTHING, store.read("shared")))
            expect(state.tree.next_step >= least.version, "a step that was acknowledged is missing")
            seen += 1
        _check_written(store, [writing.result()], 1, 60)


def the_awaitable_twin_does_the_same(kit: Kit) -> None:
    """The store in a thread has the same answers and errors, awaited."""

    async def all_of_it() -> None:
        async with in_thread(kit.open()) as store:
            records = chain(600)
            head = await store.create("a", records)
            expect_equal(await store.head("a"), head, "the head")
            expect_equal(tuple([record async for record in store.read("a")]), records, "the records")
            expect_equal([record async for record in store.read("a", 598, 599)], [records[598]], "a range")
            fork = await store.fork("a", "b", 2)
            await store.append("b", fork, following(fork, "x"))
            await store.keep_snapshot("a", 2, b"x", "d")
            found = await store.snapshot("b")
            expect(found is not None and found.version == 2, "the snapshot")
            await store.drop_snapshots("a")
            await store.replace_parts("a", records[:1])
            expect_equal(await store.redactions("a"), 1, "how often texts were taken out")
            try:
                await store.append("a", fork, following(fork, "y"))
                expect(kept=False, promise="a stale writer was let in")
            except Conflict as conflict:
                expect_equal(conflict.found, head, "the head")
            await store.delete("b")
            await store.reclaim()
            expect_equal([info.name for info in await store.journals()], ["a"], "the journals")

    asyncio.run(all_of_it())


def a_cancelled_await_leaves_no_doubt(kit: Kit) -> None:
    """Once a cancelled append has raised, it is done or not done, and changes nothing any more."""

    async def cancelled_after(turns: int) -> None:
        name = f"a{turns}"
        head = await store.create(name, chain(1))
        task = asyncio.ensure_future(store.append(name, head, following(head, "x", "y")))
        for _ in range(turns):
            await asyncio.wait([task], timeout=0)
        task.cancel()
        for _ in range(turns):
            await asyncio.wait([task], timeout=0)
            task.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        found = await store.head(name)
        length = len([record async for record in store.read(name)])
        expect(isinstance(outcome, asyncio.CancelledError) or found == outcome, f"it ended with {outcome!r}")
        expect((found.version, length) in ((1, 1), (3, 3)), f"it is half done: {found}")
        last = await store.append(name, found, following(found, "z"))
        expect_equal(last.version, length + 1, "what is appended next")

    async def all_of_it() -> None:
        for turns in range(8):
            await cancelled_after(turns)
        await store.close()

    store = in_thread(kit.open())
    asyncio.run(all_of_it())


def openings_come_and_go(kit: Kit) -> None:
    """Processes of several threads open the store, twice at once, write and close it, again and again: all is there."""
    if not kit.processes:
        return
    with kit.open() as store:
        store.create("shared", chain(1))
    with kit.open() as kept, kit.open() as idle:
        with ProcessPoolExecutor(_WRITERS, mp_context=get_context("spawn")) as pool:
            running = [pool.submit(_visits, kit.open, number) for number in range(_WRITERS)]
            told = write_many(kept, "shared", [f"kept {number}" for number in range(20)]).acknowledged
            for each in running:
                told |= each.result()
        found = {record.parts[0].text: record.version for record in idle.read("shared", 1)}
        expect_equal(found, told, "where each step is")
        expect_equal(len(told), 20 + _WRITERS**2 * _ROUNDS * 2, "the steps that were acknowledged")
    with kit.open() as store:
        expect_equal(store.head("shared").version, len(told) + 1, "the head, once all have closed it")
        state_of(store, "shared")


def _visits(open_it: Callable[[], JournalStore], process: int) -> dict[str, int]:
    told: dict[str, int] = {}
    with ThreadPoolExecutor(_WRITERS) as pool:
        for written in pool.map(lambda thread: _visit(open_it, f"{process} {thread}"), range(_WRITERS)):
            told |= written
    return told


def _visit(open_it: Callable[[], JournalStore], who: str) -> dict[str, int]:
    told: dict[str, int] = {}
    for turn in range(_ROUNDS):
        with open_it() as one, open_it() as other:
            told |= write_many(one, "shared", [f"{who} {turn} one"]).acknowledged
            open_it().close()
            told |= write_many(other, "shared", [f"{who} {turn} other"]).acknowledged
    return told


def a_fork_of_the_process_loses_nothing(kit: Kit) -> None:
    """After a fork of the process, a child that uses the parent's store is refused, or its acknowledged step is there."""
    if not kit.processes or not hasattr(os, "fork"):
        return
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(_forks, kit.open).result()
    with kit.open() as store:
        texts = [record.parts[0].text for record in store.read("a", 1)]
    expect(texts[-2:] == ["parent", "anew"] and texts[:-2] in ([], ["child"]), f"the steps are {texts}")


def _forks(open_it: Callable[[], JournalStore]) -> None:
    store = open_it()
    head = store.create("a", chain(1))
    told = _in_child(lambda: _by_child(store))
    if told == "written":
        head = store.head("a")
        expect_equal(head.version, 2, "the head, after a child was told that its step is written")
    else:
        expect_equal(told, "refused", "how the store was in the child")
    write_many(store, "a", ["parent"])
    expect_equal(_in_child(lambda: _anew(open_it)), "written", "how the store was that the child has opened")
    expect_equal(store.head("a").version, head.version + 2, "the head that the parent sees")
    store.close()


def _by_child(store: JournalStore) -> str:
    try:
        head = store.head("a")
        store.append("a", head, following(head, "child"))
    except StoreError:
        return "refused"
    return "written"


def _anew(open_it: Callable[[], JournalStore]) -> str:
    with open_it() as store:
        write_many(store, "a", ["anew"])
    return "written"


def _in_child(work: Callable[[], str]) -> str:
    """Fork, and return the child's answer, "" for none."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, work().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        said = told.read()
    os.waitpid(child, 0)
    return said

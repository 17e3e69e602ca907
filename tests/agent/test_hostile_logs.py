"""A log that was damaged or meddled with is refused by name, and nothing that it says is performed on its word."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from typing import Any, Final, TypeAlias, final

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage import Failed, Passed
from mage.agent import Agent, BadRunLog, Outcome, Policy, RunFinished, RunStopped, rerun, what_if
from mage.agent.cursor import BadAnswer, LogEnds
from mage.agent.log import RunDiverged, require_sound
from mage.agent.reruns import run_of
from mage.effects import EffectError, Irreversible, Metered, NotRestored, Observed, Restored, Reversible, Tool
from mage.engine import Command, Compress, Instruct, MageError
from mage.stores import MemoryStore, Note
from mage.testing import ScriptedEnvironment, ScriptedModel
from tests.agent.playing import DONE, Played, acts, compress, revise
from tests.agent.toys import TASK, Dial, Ground, judge, model_of, summarizer, world_of
from tests.agent.twins import NAME, notes_of, rebuilt

Place: TypeAlias = tuple[object, ...]
MISSING: Final = object()
INSTEAD: Final[Sequence[object]] = (
    None,
    7,
    -1,
    2.5,
    True,
    "hm",
    [],
    [None],
    ["turn 1"],
    {},
    {"is": "Passed"},
    MISSING,
)
"""What stands in place of a value of a note. A text in place of a text is another log, and nobody can tell."""
KINDS: Final = {
    "decided", "summarized", "chapter", "judged", "verdict", "started", "restored", "acting", "act_failed", "again", "restoring",
    "conflict", "taken", "policy", "resumed", "ended",
}  # fmt: skip
"""The kinds of notes behind the first."""


@final
class Dying(Exception):
    """The process ends here."""


@cache
def runs() -> tuple[Played, ...]:
    """Return real runs, in which a note of every kind is written."""
    observed = Observed("seen", instructions=("go",), effect=Irreversible("gone"))
    first = Played(
        attrs.evolve(acts("a", "b", thought="hm"), then=Compress("did ab")), acts("c"), revise(0, "not so"), acts("d"),
        EffectError("unreachable", "nobody", retry_after=2.0),
        verdicts=[Passed()], policy=Policy(max_steps=99), others={1: [Instruct("hurry")]},
        environment=ScriptedEnvironment(observed, "seen", "seen", "seen", restored=[NotRestored("gone")], opening="a room"),
    )  # fmt: skip
    first.run()
    second = first.again(
        acts("e"),
        DONE,
        policy=Policy(max_steps=98),
        environment=ScriptedEnvironment("seen", restored=[Restored("nothing")] * 9),
    )
    second.run()
    third = Played(
        acts("a"), compress("did a"), acts("b"), acts("c"), compress("did c"), acts("d"), acts("f"), acts("e"),
        verdicts=[Failed("no", "summary"), Passed(), Passed()], texts=["did it"], policy=Policy(wait=False), late=1,
        environment=ScriptedEnvironment("seen", "seen", "seen", EffectError("environment", "jammed")),
    )  # fmt: skip
    third.run()
    dying = third.again(acts("g"), environment=ScriptedEnvironment(Dying()))
    with pytest.raises(Dying):
        dying.run()
    again = dying.again(DONE, verdicts=[Passed()] * 3, environment=ScriptedEnvironment("seen"))
    again.run()
    judged = Played(acts("a"), compress("did a"), DONE, verdicts=[Passed()])
    judged.run()
    folded = Played(
        acts("a"), compress("did a"), acts("b"), compress("did b"), DONE,
        verdicts=[Passed()] * 3, texts=["did both"], policy=Policy(fold_at=1),
    )  # fmt: skip
    folded.run()
    return first, second, third, dying, again, judged, folded


def values(document: object, place: Place = ()) -> Iterator[Place]:
    """Yield the place of every value in a document, that of the whole first."""
    yield place
    if isinstance(document, dict | list):
        for key, inner in document.items() if isinstance(document, dict) else enumerate(document):
            yield from values(inner, (*place, key))


def changed(document: Any, place: Place, instead: object) -> Any:
    """Return a document in which something else stands at a place, or nothing at all."""
    document = copy.deepcopy(document)
    *way, last = place
    holder = document
    for key in way:
        holder = holder[key]
    if instead is MISSING:
        del holder[last]
    else:
        holder[last] = instead
    return document


def cut(whole: Played, length: int) -> Played:
    """Return a run that died right before its note of this number was written."""
    part = whole.again(
        *[DONE] * 9,
        verdicts=[Passed()] * 9,
        texts=["did"] * 9,
        environment=ScriptedEnvironment(*["seen"] * 99),
    )
    if length < len(whole.notes):
        part.log = whole.log[: whole.place(length)]
    return part


def resumed(part: Played) -> Outcome | MageError:
    """Resume a run, and return how it ends, or why it cannot."""
    try:
        return part.run()
    except MageError as error:
        return error


def intended(played: Iterable[Played]) -> set[str]:
    """Return the actions that the models of these runs have decided."""
    decided = [entry.data["value"] for each in played for entry in each.notes if "value" in entry.data]
    return {
        action["text"] for value in decided if isinstance(value, dict) for action in value.get("actions", ())
    }


def check_nothing_wrong_is_done(whole: Played, length: int, at: int, place: Place, instead: object) -> None:
    """Fail if a run over a log that was changed in one place does what nobody has decided, or raises without a name."""
    part = cut(whole, length)
    part.change_note(at, changed(part.notes[at].data, place, instead))
    resumed(part)
    world = part.environment
    assert isinstance(world, ScriptedEnvironment)
    assert all(type(action) is str for action in world.actions)
    assert set(world.actions) <= intended([whole])
    again = part.again()
    again.log = list(part.log)
    with suppress(MageError, LogEnds):
        again.run(live=False)


def instead_of(value: object) -> list[object]:
    """Return what may stand in place of a value."""
    return [each for each in INSTEAD if not (type(each) is str and type(value) is str)]


def at_place(document: Any, place: Place) -> object:
    """Return the value at a place of a document."""
    for key in place:
        document = document[key]
    return document


@st.composite
def changes(draw: st.DrawFn) -> tuple[Played, int, int, Place, object]:
    """Draw a run, how much of its log is there, and a value of a note with what stands in its place."""
    whole = draw(st.sampled_from(runs()))
    at = draw(st.sampled_from([place for place, entry in enumerate(whole.notes) if entry.data]))
    length = draw(st.sampled_from(sorted({at + 1, min(at + 2, len(whole.notes)), len(whole.notes)})))
    document = whole.notes[at].data
    place = draw(st.sampled_from(list(values(document))[1:]))
    return whole, length, at, place, draw(st.sampled_from(instead_of(at_place(document, place))))


def test_the_runs_have_every_kind_of_note() -> None:
    """What is damaged below are notes of every kind that there is."""
    assert {entry.kind for played in runs() for entry in played.notes} == KINDS
    for played in runs():
        for entry in played.notes:
            require_sound(entry)


@settings(max_examples=400)
@given(changes())
def test_nothing_wrong_is_performed(change: tuple[Played, int, int, Place, object]) -> None:
    """Whichever value of a note is another, or missing: no action is performed that was not decided, nothing unnamed
    is raised, resumed or run again.
    """
    check_nothing_wrong_is_done(*change)


@pytest.mark.slow
def test_nothing_wrong_is_performed_whatever_is_changed() -> None:
    """The same for every value of every note of these runs, and everything that may stand in its place."""
    for whole in runs():
        for at, entry in enumerate(whole.notes):
            for place in list(values(entry.data))[1:]:
                for instead in instead_of(at_place(entry.data, place)):
                    for length in {at + 1, len(whole.notes)}:
                        check_nothing_wrong_is_done(whole, length, at, place, instead)


@pytest.mark.parametrize(
    "instead", instead_of(""), ids=lambda each: "missing" if each is MISSING else repr(each)
)
def test_an_action_that_is_no_text_is_refused(instead: object) -> None:
    """`null` is not performed as `None`, nor anything else as what it looks like: the log is refused."""
    part = cut(runs()[0], 2)
    place = ("value", "actions", 0, "text")
    part.change_note(1, changed(part.notes[1].data, place, instead))
    assert isinstance(resumed(part), BadRunLog)
    assert part.environment.actions == []  # type: ignore[attr-defined]  # a ScriptedEnvironment


@pytest.mark.parametrize("field", ["action", "after"])
def test_a_log_that_was_about_to_do_something_else_is_refused(field: str) -> None:
    """Where what was about to be performed is not what was decided, or elsewhere, the run is not followed."""
    part = cut(runs()[0], 3)
    noted = part.notes[2]
    assert noted.kind == "acting"
    part.change_note(2, {**noted.data, field: {"action": "b", "after": 7}[field]})
    assert isinstance(resumed(part), RunDiverged)
    assert part.environment.actions == []  # type: ignore[attr-defined]  # a ScriptedEnvironment


@pytest.mark.parametrize("place", range(1, 7))
def test_what_nobody_writes_is_refused(place: int) -> None:
    """A note with a field beside those of its kind was not written by mage, and is refused."""
    part = cut(runs()[5], place)
    part.change_note(-1, {**part.notes[-1].data, "more": 1})
    assert isinstance(resumed(part), BadRunLog)


@settings(max_examples=100)
@given(st.data())
def test_what_is_kept_beside_a_step(data: st.DataObject) -> None:
    """What the world answered is kept beside the step: damaged there, it is refused, or nothing wrong comes of it."""
    seen = (
        Observed("seen", instructions=("go",), effect=Reversible("undo a")),
        Observed("seen", over=True, effect=Irreversible("gone")),
    )
    whole = Played(acts("a"), acts("b"), DONE, environment=ScriptedEnvironment(*seen))
    whole.run()
    part = cut(whole, len(whole.notes) - 2)
    kept = [at for at, entry in enumerate(part.journal) if entry.meta.get("observed")]
    at = data.draw(st.sampled_from(kept))
    meta = part.journal[at].meta
    place = data.draw(st.sampled_from([each for each in values(meta) if each and each[0] == "observed"]))
    instead = data.draw(st.sampled_from(instead_of(at_place(meta, place))))
    part.change_command(at, attrs.evolve(part.journal[at], meta=changed(meta, place, instead)))
    resumed(part)
    assert set(part.environment.actions) <= intended([whole])  # type: ignore[attr-defined]  # a ScriptedEnvironment


# -- in a store ------------------------------------------------------------------------------------------


@cache
def kept() -> tuple[MemoryStore, Ground]:
    """Return a store with a run of an agent that went back, and was judged."""
    store, ground = MemoryStore(), Ground()
    dial = Dial(ground)
    dial.capabilities = attrs.evolve(
        dial.capabilities, tools=[Tool.of("turn", "Turn it.", by={"type": "integer"})], manual="Turn it."
    )
    agent = Agent(
        model=model_of(2, {0: "wrong"}), environment=dial, judge=judge, summarizer=summarizer,
        policy=Policy(max_steps=8),
    )  # fmt: skip
    assert isinstance(agent.run(store, NAME, task=TASK), RunStopped)
    return store, ground


def damaged(at: int, kind: str, text: str) -> MemoryStore:
    """Return a store with the same session, in whose journal a note is another one."""
    numbers = count()

    def change(said: Command | Note) -> Command | Note:
        return Note(kind, text) if isinstance(said, Note) and next(numbers) == at else said

    return rebuilt(kept()[0], change)


@st.composite
def damages(draw: st.DrawFn) -> tuple[int, str, str]:
    """Draw a note of the kept run, and what stands in its place."""
    entries = notes_of(kept()[0])
    at = draw(st.integers(0, len(entries) - 1))
    entry = entries[at]
    if draw(st.booleans()):
        rubbish = ("", "null", "3", "[]", '"hm"', "{", "{}", "[" * 100_000, '{"a":' * 100_000, "9" * 5000)
        return at, entry.kind, draw(st.sampled_from(rubbish))
    place = draw(st.sampled_from([each for each in values(entry.data) if each]))
    instead = draw(st.sampled_from(instead_of(at_place(entry.data, place))))
    return at, entry.kind, json.dumps(changed(entry.data, place, instead))


@settings(max_examples=150)
@given(damages())
def test_a_damaged_log_in_a_store(damage: tuple[int, str, str]) -> None:
    """Resumed, run again, changed or asked for its policy: it goes on as decided, or says by name why it does not."""
    store, ground = damaged(*damage), Ground()
    agent = Agent(
        model=ScriptedModel(*[DONE] * 9), environment=world_of(ground), judge=judge, summarizer=summarizer
    )
    known = {"look", *(f"turn {number}" for number in (1, 2, 3, 5))}
    for doing in (
        lambda: run_of(store, NAME),
        lambda: rerun(store, NAME),
        lambda: what_if(store, NAME, policy=Policy()),
        lambda: agent.run(store, NAME),
    ):
        with suppress(MageError):
            doing()
    assert set(ground.performed) <= known


# -- what could not be read again is not written -----------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        EffectError("boom", "no such fault"),  # type: ignore[arg-type]  # on purpose
        EffectError("server", None),  # type: ignore[arg-type]  # on purpose
        EffectError("server", "late", retry_after="soon"),  # type: ignore[arg-type]  # on purpose
    ],
    ids=["fault", "detail", "retry_after"],
)
def test_a_failure_that_could_not_be_read_again_is_not_written(error: EffectError) -> None:
    """An `EffectError` with something of a wrong type is the mistake of whoever raised it: its log stays sound."""
    played = Played(acts("a"), error)
    with pytest.raises(BadAnswer):
        played.run()
    assert isinstance(played.again(DONE).run(), RunFinished)
    acting = Played(acts("a"), environment=ScriptedEnvironment(error))
    with pytest.raises(BadAnswer):
        acting.run()
    assert acting.kinds[-1] == "acting"


def test_an_answer_that_is_no_json_is_not_written() -> None:
    """What is known of an answer is written beside it: a model's name that is no text is refused before that."""
    played = Played(Metered(acts("a"), model=object()))  # type: ignore[arg-type]  # on purpose
    with pytest.raises(BadAnswer):
        played.run()
    assert "decided" not in played.kinds

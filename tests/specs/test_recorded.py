"""Journals of the engine beside the TLA+ model: valid ones are, and what is tampered with is found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from mage import Session
from mage.cli.live import story
from mage.codec import decode_journal
from mage.engine import (
    Accept,
    Command,
    Compress,
    Failed,
    Fold,
    Grow,
    Instruct,
    Passed,
    Retext,
    Revise,
    Start,
    StepId,
    compress,
    grow,
    start,
)
from mage.engine.journal import ApplyVerdict
from mage.render import Meter
from mage.stores import MemoryStore
from mage.testing import History, histories
from mage.tokens import default_counter
from mage.trajectories import load
from mage.trajectories.measure import measure
from specs import recorded
from specs.recorded import Event, Found, Recording, Value, main, record, validate
from tests.golden.make import JOURNAL
from tests.shared_data import SHARED, needs_shared
from tests.specs.tlc_here import needs_tlc, tlc


def golden() -> tuple[Command, ...]:
    """Return the commands of the golden journal: every command, verdict and kind."""
    return decode_journal(JOURNAL.read_bytes()).unwrap()


def drawn(count: int) -> list[History]:
    """Draw so many histories, the same ones each time, refused commands among them."""
    kept: list[History] = []

    @seed(20)
    @settings(
        max_examples=count,
        database=None,
        derandomize=False,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(histories())
    def keep(history: History) -> None:
        kept.append(history)

    keep()
    return kept


def tried(history: History) -> tuple[Command, ...]:
    """Return the start and every command, refused ones too."""
    return (Start(history.start.tree.task), *[edge.command for edge in history.edges])


def refused() -> tuple[Command, ...]:
    """Return commands of which most are refused: blank ones, stale ones, and each phase's illegal ones."""
    pending = compress(grow(start("t"), "a", "o"), "m").unwrap()
    stale = "0" * 64
    wrong = (Instruct(" "), Compress("\n"), Retext("\t"), Revise(9, "l"), ApplyVerdict(Passed(), stale))
    answers = (Failed(" "), Failed("f", boundary=StepId(1)), Failed("f", "summary"))
    folds = (Fold(0, 1, "c", stale), Fold(0, 2, "\n", stale), Fold(0, 2, "c", stale))
    return (
        *(Start("t"), *wrong, Accept(), Grow("a", "o"), *wrong, Compress("m"), *wrong, Compress("n")),
        *(ApplyVerdict(answer, pending.digest) for answer in answers),
        *(*wrong, Instruct("i"), Grow("b", "o"), Revise(1, "l"), Retext("n"), Accept(), Compress("n")),
        *(Grow("c", "o"), Compress("m"), *folds, Accept(), *folds),
    )


def tampered(recording: Recording, at: int, name: str, event: Event) -> Recording:
    """Return the recording with another event at this number, from 1."""
    events = list(recording.events)
    events[at - 1] = event
    return Recording(name, recording.commands, tuple(events))


def other(value: Value) -> Value:
    """Return another value of the same form."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value}x"
        case tuple():
            return (*value, value[-1]) if value else (0,)
        case _:
            last = list(value)[-1]
            return {**value, last: other(value[last])}


def asked_otherwise(event: Event, field: str, value: Value) -> Event:
    """Return the event as if something else had been asked for."""
    assert event.command[field] != value
    return attrs.evolve(event, command={**event.command, field: value})


def shown_otherwise(event: Event, part: str) -> Event:
    """Return the event as if something else had been seen."""
    value = event.shown[part]
    if part == "C" and isinstance(value, tuple) and value and isinstance(value[-1], Mapping):
        label = value[-1]["label"]
        return attrs.evolve(
            event, shown={**event.shown, part: (*value[:-1], {**value[-1], "label": other(label)})}
        )
    return attrs.evolve(event, shown={**event.shown, part: other(value)})


@needs_tlc
def test_recorded_journals_are_behaviours_of_the_model() -> None:
    """The demo, the golden journal and forty random histories, refused commands included, are valid."""
    store = MemoryStore()
    story(store)
    with Session.open(store, "demo") as session:
        demo = [entry.command for entry in session.history()]
    recordings = [
        record("demo", demo),
        record("golden", golden()),
        record("refused", refused()),
        *[record(str(number), tried(history)) for number, history in enumerate(drawn(40))],
    ]
    events = [event for recording in recordings for event in recording.events]
    assert len(events) > 500
    refusals = {event.refusal for event in events}
    assert {
        "",
        "IllegalPhase",
        "StaleVerdict",
        "UnknownBoundary",
        "EmptySegment",
        "UnfoldableRange",
    } <= refusals
    assert {"BlankSummary", "BlankInstruction", "BlankFeedback"} <= refusals
    found = validate(tlc(), recordings)
    assert [each for each in found if each.at is not None] == []
    assert [each.commands for each in found] == [len(recording.commands) for recording in recordings]


@needs_shared
@needs_tlc
def test_a_real_trace_is_a_behaviour_of_the_model() -> None:
    """A customer service agent's steps, compressed at a budget, and a crossword search with its revisions."""
    meter = Meter(default_counter())
    recordings = []
    for file, budget in (("tau_bench_gpt4o_airline.json", 1000), ("tot_crosswords_dfs_prune.json", None)):
        trace = load((SHARED / "data" / file).read_bytes(), file=file).unwrap()[9]
        done = measure(trace.commands, meter, budget=budget, trials=trace.trials)
        assert {Compress, Revise, Accept} <= {type(command) for command in done.commands}
        recordings.append(record(file, done.commands))
    assert [each.at for each in validate(tlc(), recordings)] == [None, None]


@needs_tlc
def test_what_was_not_seen_is_refused_at_that_command() -> None:
    """Whatever the engine is said to have shown otherwise, after whichever command, is found there."""
    recording = record("golden", golden())
    cases: list[tuple[str, int, Recording]] = []
    for number, part in enumerate(recording.events[0].shown):
        for at in range(1 + number % 3, len(recording.events) + 1, 3):
            forged = shown_otherwise(recording.events[at - 1], part)
            cases.append((part, at, tampered(recording, at, f"{part} at {at}", forged)))
    first = next(event.digest for event in recording.events if event.digest != "none")
    for at, event in enumerate(recording.events, start=1):
        taken = attrs.evolve(event, refusal="EmptySegment")
        cases.append(("refusal", at, tampered(recording, at, f"refusal at {at}", taken)))
        if event.command["op"] != "fold":
            folding = attrs.evolve(event, folding=first)
            cases.append(("folding", at, tampered(recording, at, f"folding at {at}", folding)))
        if event.digest != first and event.shown["phase"] == "Unverified":
            known = attrs.evolve(event, digest=first)
            cases.append(("digest", at, tampered(recording, at, f"digest at {at}", known)))
    expected = [Found(forged.name, len(forged.events), at, (part,)) for part, at, forged in cases]
    assert list(validate(tlc(), [forged for _, _, forged in cases])) == expected


@needs_tlc
def test_what_was_not_asked_is_refused_at_that_command() -> None:
    """Any argument of any command that is said to have been another is found at that command."""
    recording = record("golden", golden())
    others: dict[str, tuple[Value, ...]] = {
        "content": ("c999",),
        "text": ("t999", ""),
        "kind": ("subgoal", "fallback"),
        "standing": (True, False),
        "word": ("passed",),
        "feedback": ("t999",),
        "fault": ("execution", "summary"),
        "digest": ("d999",),
        "boundary": (0, 1),
        "lesson": ("t999", ""),
        "first": (0, 1),
        "last": (0, 1),
    }
    cases: list[tuple[int, Recording]] = []
    fields: set[str] = set()
    for at, event in enumerate(recording.events, start=1):
        for field, value in event.command.items():
            if field == "op" or (
                event.command.get("word") == "passed" and field in ("word", "feedback", "fault", "boundary")
            ):
                continue
            changed = [each for each in others[field] if each != value]
            fields.add(field)
            cases += [
                (at, tampered(recording, at, f"{field} at {at}", asked_otherwise(event, field, each)))
                for each in changed
            ]
    assert fields == set(others)
    found = validate(tlc(), [forged for _, forged in cases])
    missed = [
        (each, at) for each, (at, _) in zip(found, cases, strict=True) if each.at != at or not each.differs
    ]
    assert missed == []


def test_a_recording_names_texts_and_keeps_blanks() -> None:
    """Equal texts have one name, blank ones none; contents are told apart from texts; a refusal is noted."""
    commands = (
        Start("t"),
        Grow("m", "\ud83d\ude00"),
        Compress("m"),
        Compress(" \n"),
        Grow("m", "\U0001f600"),
        Revise(10**12, ""),
        ApplyVerdict(Passed(), "0" * 64),
    )
    events = record("r", commands).events
    assert events[1].command == {"op": "grow", "content": "c0"}
    assert events[4].command == events[1].command
    assert events[2].command == {"op": "compress", "text": "t1", "kind": "subgoal"}
    assert events[3].command["text"] == ""
    assert events[5].command["boundary"] == -2
    assert [event.refusal for event in events] == [
        "",
        "",
        "",
        "IllegalPhase",
        "",
        "UnknownBoundary",
        "StaleVerdict",
    ]
    assert events[2].shown["C"] == (
        {
            "label": 0,
            "boundary": 1,
            "text": "t1",
            "first": 1,
            "last": 1,
            "accepted": 0,
            "kind": "subgoal",
            "verdict": ("pending", "", "", -1),
        },
    )


@pytest.mark.parametrize("commands", [(), (Grow("a", "o"),), (Start("t"), Start("t"))], ids=str)
def test_what_is_no_journal_is_not_recorded(commands: tuple[Command, ...]) -> None:
    """A recording begins with a start and holds no other."""
    with pytest.raises(ValueError, match="a journal begins with a start, and has no other"):
        record("r", commands)


def test_values_are_written_as_tla_has_them() -> None:
    """Strings, numbers, truth values, sequences and records."""
    value: Value = {"a": "x", "b": (1, -2, ()), "c": True}
    assert recorded._written(value) == '[a |-> "x", b |-> <<1, -2, <<>>>>, c |-> TRUE]'


@needs_tlc
def test_the_command_says_valid_or_where(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A sound journal is valid; in one that was tampered with, the first command that does not follow is named."""
    assert main([str(JOURNAL)]) == 0
    assert capsys.readouterr().out == f"{JOURNAL}: valid: {len(golden())} commands\n"
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(JOURNAL.read_bytes().replace(b"Bought the oak desk", b"Bought the pine desk"))
    assert main([str(JOURNAL), str(changed)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"{changed}: command 10, ApplyVerdict: the model has another refusal")


def test_what_cannot_be_read_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A missing jar, a missing file and a file that is no journal end the command with status 2 and a line."""
    assert main([str(JOURNAL), "--jar", str(tmp_path / "none.jar")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@needs_tlc
def test_a_file_that_is_no_journal_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Bytes that are no journal are a line with the place, and status 2."""
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_bytes(b"{}\n")
    assert main([str(wrong)]) == 2
    assert str(wrong) in capsys.readouterr().err
    assert main([str(tmp_path / "none.jsonl")]) == 2

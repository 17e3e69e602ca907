"""A wrong implementation is caught, what is wrong is said, and few commands are left of the sequence."""

from __future__ import annotations

import random
import sys

import attrs
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import mage
import mage.engine
from mage.engine import Command, Compress, Grow, Revise, Start, replay
from mage.testing.strategies import script
from specs.conformance import Disagreement, Engine, JsonLines, Reached, compare, sequences
from tests.specs.conformance.faulty import FAULTS, Fault, Faulty

QUICKLY = settings(max_examples=1000, database=None, phases=[Phase.generate])
SHORT = st.sampled_from((0, 4))
HANDFUL = 10


def caught(fault: Fault, commands: tuple[Command, ...]) -> Disagreement | None:
    """Return how the faulty implementation differs on these commands, or None."""
    try:
        compare(Faulty(fault), commands, shrink=False)
    except Disagreement as found:
        return found
    return None


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_caught_and_shrunk(name: str) -> None:
    """Each fault is found within a thousand short sequences, and a handful of commands is left."""
    fault = FAULTS[name]
    left = find(
        sequences(SHORT),
        lambda commands: caught(fault, commands) is not None,
        settings=QUICKLY,
        random=random.Random(1),
    )
    with pytest.raises(Disagreement) as found:
        compare(Faulty(fault), left)
    assert found.value.detail
    assert fault.fewest <= len(found.value.commands) <= HANDFUL


@pytest.mark.parametrize("name", FAULTS)
def test_long_sequences_come_down_to_a_handful(name: str) -> None:
    """From sequences of over a hundred commands, without any help, a few are left that show the fault."""
    sizes: list[int] = []

    @settings(max_examples=5, phases=[Phase.generate], database=None)
    @given(sequences(st.just(101)))
    def measure(commands: tuple[Command, ...]) -> None:
        try:
            compare(Faulty(FAULTS[name]), commands)
        except Disagreement as found:
            sizes.append(len(found.commands))

    measure()
    assert all(FAULTS[name].fewest <= size <= HANDFUL for size in sizes), sizes


def test_a_difference_comes_down_to_the_commands_that_show_it() -> None:
    """Of a long history with one wrong command exactly the commands are left that the difference needs."""
    history: list[Command] = [
        Start("t"),
        *[Grow(f"a{number}", "o") for number in range(20)],
        Compress("m"),
        mage.engine.Accept(),
        Compress("n"),
        Grow("b", "o"),
        Compress("n", "fallback"),
        mage.engine.Accept(),
        Revise(20, "l"),
    ]
    with pytest.raises(Disagreement) as found:
        compare(Faulty(FAULTS["never falls back"]), history)
    assert found.value.commands == (Start("t"), Grow("b", "o"), Compress("n", "fallback"))
    with pytest.raises(Disagreement) as met:
        compare(Faulty(FAULTS["never falls back"]), history, shrink=False)
    assert met.value.commands == tuple(history[:26])


@settings(max_examples=20)
@given(sequences())
def test_the_engine_agrees_with_itself(commands: tuple[Command, ...]) -> None:
    """Where nothing is wrong nothing is found, and the states are those that the engine goes through."""
    states = compare(Engine(), commands)
    assert states[0] == mage.engine.start(next(each.task for each in commands if isinstance(each, Start)))
    assert len(states) <= len(commands)


def test_what_is_compared_begins_anew() -> None:
    """An implementation forgets what it had, so that numbers agree the second time too."""
    engine = Engine()
    for _ in range(2):
        assert len(compare(engine, [Start("t"), Grow("a", "o")])) == 2


def test_a_part_is_named() -> None:
    """Where whole states differ, the parts and the first places are named, with both sides."""
    found = caught(FAULTS["forgets what stands"], (Start("t"), mage.engine.Instruct("i", standing=True)))
    assert found is not None
    assert found.detail == (
        "instructions[0]: the engine has [0, 'i', True], the implementation [0, 'i', False]"
    )


def test_a_refusal_is_named() -> None:
    """Where one side refuses, or with other words, both answers are said."""
    found = caught(FAULTS["the empty segment names no boundary"], (Start("t"), Compress("m")))
    assert found is not None
    assert (
        found.detail
        == "the engine refuses with EmptySegment (0), the implementation refuses with EmptySegment"
    )
    found = caught(
        Fault(2, command=lambda _, command: Grow("a", "o") if isinstance(command, Compress) else command),
        (Start("t"), Compress("m")),
    )
    assert found is not None
    assert found.detail == "the engine refuses with EmptySegment (0), the implementation reaches state 2"


def test_what_a_revise_leaves_is_named() -> None:
    """Abandoned steps in another order are told from another state."""
    found = caught(FAULTS["abandons in path order"], (Start("t"), Grow("a", "o"), Grow("b", "o"), Revise(0)))
    assert found is not None
    assert found.detail == "abandoned: the engine answers (2, 1), the implementation (1, 2)"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (FAULTS["spaces"], "spelled otherwise: at byte 5"),
        (Fault(1, spell=lambda line: b"[]"), "no JSON object"),
        (Fault(1, spell=lambda line: b"{"), "no JSON object"),
        (Fault(1, form=lambda form: {**form, "more": 1}), "more: the engine has None, the implementation 1"),
    ],
)
def test_another_spelling_is_named(fault: Fault, words: str) -> None:
    """Bytes that say the same otherwise, or nothing at all, are told from another state."""
    found = caught(fault, (Start("t"),))
    assert found is not None
    assert words in found.detail


def test_a_wrong_fingerprint_is_named() -> None:
    """A fingerprint that is not that of the bytes shown is told from another state."""
    wrong = Fault(
        1,
        answer=lambda answer: (
            attrs.evolve(answer, fingerprint="0" * 64) if isinstance(answer, Reached) else answer
        ),
    )
    found = caught(wrong, (Start("t"),))
    assert found is not None
    assert "not their SHA-256" in found.detail


@settings(max_examples=30)
@given(sequences(SHORT))
def test_the_commands_can_be_pasted(commands: tuple[Command, ...]) -> None:
    """What a disagreement prints is Python that gives the same commands."""
    names: dict[str, object] = {}
    exec(script(commands), names)
    assert names["commands"] == list(commands)
    assert script(commands) in str(Disagreement(commands, "detail"))


def test_a_faulty_process_is_caught() -> None:
    """A program with a fault is caught over the wire as it is in the same process, and what differs is said."""
    commands = (Start("t"), Grow("a", "o"), Compress("m", "fallback"))
    with JsonLines([sys.executable, "-m", "tests.specs.conformance.faulty", "never falls back"]) as program:
        with pytest.raises(Disagreement) as caught_there:
            compare(program, commands)
        assert len(compare(program, commands[:2])) == 2
    here = caught(FAULTS["never falls back"], commands)
    assert here is not None
    assert caught_there.value.detail == here.detail
    assert replay(caught_there.value.commands).unwrap().tree.head_summary.kind == "fallback"

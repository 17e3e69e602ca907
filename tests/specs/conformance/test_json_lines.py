"""A program behind a pipe: answers in order, however many are asked at once; a typed error where it fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage import MageError, Passed
from mage.engine import Accept, Command, Digest, Grow, Start, UnknownName
from specs.conformance import (
    BadAnswer,
    Engine,
    JsonLines,
    NoAnswer,
    Reached,
    Refused,
    Request,
    compare,
    sequences,
)

SERVER = [sys.executable, "-m", "specs.conformance.serve"]


READY = """sys.stdin.readline(); print('{"state":0}', flush=True)"""
"""Answers the first request, by which a program says that it has started."""


def program(source: str, *, timeout: float = 30.0) -> JsonLines:
    """Return a program of one line of Python, behind a pipe, that has started."""
    return JsonLines([sys.executable, "-c", f"import sys; {READY}; {source}"], timeout=timeout)


def test_the_server_agrees_with_the_engine() -> None:
    """`python -m specs.conformance.serve` answers what the engine answers, over long sequences of commands."""
    with JsonLines(SERVER) as server:

        @settings(max_examples=20)
        @given(sequences())
        def agrees(commands: tuple[Command, ...]) -> None:
            states = compare(server, commands)
            assert server.show(len(states)) == shown_after(commands)

        agrees()


def shown_after(commands: tuple[Command, ...]) -> bytes:
    """Return what the engine shows after these commands."""
    engine = Engine()
    return engine.show(len(compare(engine, commands)))


def test_many_requests_may_wait() -> None:
    """Neither side waits for the other, though far more is asked and answered than any pipe holds."""
    requests = [Request(0, Start("t")), *[Request(1, Grow("x" * 400, "o")) for _ in range(2000)]]
    with JsonLines(SERVER) as server:
        answers = list(server.apply_many(requests))
    assert [answer.state for answer in answers if isinstance(answer, Reached)] == list(range(1, 2002))


def test_answers_that_nobody_reads_are_dropped() -> None:
    """Whoever stops reading gets the right answer to the next request, and none of the old ones any more."""
    with JsonLines(SERVER) as server:
        answers = server.apply_many(
            [Request(0, Start("t")), Request(1, Accept()), Request(1, Grow("a", "o"))]
        )
        assert isinstance(next(answers), Reached)
        assert server.apply(Request(1, Accept())) == Refused("IllegalPhase")
        with pytest.raises(LookupError, match="dropped"):
            next(answers)
        server.forget()
        assert server.apply(Request(0, Accept())) == Refused("IllegalPhase")


def test_a_program_that_ends_is_noticed() -> None:
    """The error says with what status, and after which request."""
    with program("sys.exit(3)") as ended, pytest.raises(NoAnswer, match="status 3") as error:
        ended.apply(Request(0, Start("the task")))
    assert b"the task" in error.value.request
    assert isinstance(error.value, MageError)


def test_a_program_that_has_ended_stays_ended() -> None:
    """Each further request fails as the first one did, and does not wait."""
    with program("sys.exit(3)") as ended:
        for _ in range(3):
            with pytest.raises(NoAnswer, match="ended"):
                ended.apply(Request(0, Start("t")))


def test_a_silent_program_is_given_up() -> None:
    """A program that reads and says nothing is ended after the time it is given."""
    with (
        program("sys.stdin.read()", timeout=0.2) as silent,
        pytest.raises(NoAnswer, match=r"silent for 0\.2 s"),
    ):
        silent.apply(Request(0, Start("t")))


def test_a_program_that_does_not_read_is_given_up() -> None:
    """More than a pipe holds can be sent to a program that never reads: nobody hangs."""
    with (
        program("import signal; signal.pause()", timeout=0.2) as deaf,
        pytest.raises(NoAnswer, match="silent"),
    ):
        next(deaf.apply_many([Request(0, Start("x" * 1000))] * 500))


@pytest.mark.parametrize(
    "line", ["garbage", '{"error":"no such state"}', '{"state":0}', "", '{"refused":"Tired"}']
)
def test_a_line_that_is_no_answer_is_named(line: str) -> None:
    """The error has the line and the request."""
    with (
        program(f"[print({line!r}, flush=True) for _ in sys.stdin]") as wrong,
        pytest.raises(BadAnswer) as error,
    ):
        wrong.apply(Request(0, Start("t")))
    assert line in error.value.problem or "no such state" in error.value.problem
    assert b'"op":"start"' in error.value.request


def test_a_state_that_is_not_there_is_an_error() -> None:
    """To go on from it, or to be shown it, fails by name; the program goes on."""
    with JsonLines(SERVER) as server:
        with pytest.raises(BadAnswer, match="there is no state 7"):
            server.apply(Request(7, Accept()))
        with pytest.raises(BadAnswer, match="there is no state 7"):
            server.show(7)
        assert isinstance(server.apply(Request(0, Start("t"))), Reached)


def test_forgetting_must_be_answered() -> None:
    """What a program says to `forget` is looked at with the next answer."""
    with program("[print('{\"state\":1}', flush=True) for _ in sys.stdin]") as wrong:
        wrong.forget()
        with pytest.raises(BadAnswer, match="forget"):
            wrong.apply(Request(0, Start("t")))


def test_a_program_that_says_more_is_noticed() -> None:
    """A line that nobody asked for would be taken for the next answer: it is an error."""
    twice = "print('{\"refused\":\"IllegalPhase\"}\\n' * 2, end='', flush=True)"
    with program(f"[{twice} for _ in sys.stdin]") as wrong:
        assert wrong.apply(Request(0, Accept())) == Refused("IllegalPhase")
        with pytest.raises(BadAnswer, match="nobody asked for"):
            wrong.apply(Request(0, Accept()))


def test_a_command_that_cannot_be_written_is_the_callers_mistake() -> None:
    """What no journal could hold is raised before anything is sent."""
    from mage.engine import ApplyVerdict

    with JsonLines(SERVER) as server:
        with pytest.raises(UnknownName):
            server.apply(Request(0, ApplyVerdict(Passed(), Digest("short"))))
        assert isinstance(server.apply(Request(0, Start("t"))), Reached)


def test_a_program_that_is_not_there_is_an_error() -> None:
    """It is said when it is started, not when it is asked."""
    with pytest.raises(OSError, match="no-such-program"):
        JsonLines(["./no-such-program"])


def test_closing_ends_the_program() -> None:
    """One that does not end when there is nothing more to read is ended; closing twice does no harm."""
    deaf = program("import signal; signal.pause()", timeout=0.1)
    deaf.close()
    deaf.close()
    with pytest.raises(NoAnswer, match="ended"):
        deaf.apply(Request(0, Start("t")))


SLOW = """
import sys, threading
from pathlib import Path
from specs.conformance.serve import main
threading.Event().wait(0.3)
Path(sys.argv[1]).write_text("started")
main()
"""
"""The engine, behind a start that takes a while."""


def test_a_slow_start_is_over_before_anything_is_asked(tmp_path: Path) -> None:
    """The program has started when `JsonLines` returns, so no comparison waits for it; the engine agrees with itself."""
    started = tmp_path / "started"
    with JsonLines([sys.executable, "-c", SLOW, str(started)]) as slow:
        assert started.exists()

        @settings(max_examples=20)
        @given(sequences(st.just(4)))
        def agrees(commands: tuple[Command, ...]) -> None:
            assert len(compare(slow, commands)) > 4

        agrees()


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("import sys; sys.exit(3)", NoAnswer, "status 3"),
        ("import sys; sys.stdin.read()", NoAnswer, r"silent for 0\.2 s"),
        ("print('Hello!')", BadAnswer, "Hello!"),
    ],
)
def test_a_program_that_does_not_start_is_noticed(source: str, error: type[MageError], words: str) -> None:
    """A program that ends, is silent or greets instead of answering is refused when it is started."""
    with pytest.raises(error, match=words):
        JsonLines([sys.executable, "-c", source], startup=0.2 if "read" in source else 30.0)

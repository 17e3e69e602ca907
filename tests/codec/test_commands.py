"""Commands in JSON: each survives, and anything else is refused with its place."""

from __future__ import annotations

from typing import cast, get_args

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.pipeline import is_successful

from mage import Failed, MageError, Passed
from mage.codec import DecodeError, decode_command, encode_command
from mage.codec.commands import COMMAND, command_document
from mage.engine import ApplyVerdict, Command, Compress, Digest, Grow, Kind, Revise, Start, StepId
from tests.codec.strategies import HOSTILE, commands


@given(commands)
def test_every_command_survives(command: Command) -> None:
    """Decoding what was encoded gives an equal command, from text and from bytes."""
    line = encode_command(command)
    assert decode_command(line).unwrap() == command
    assert decode_command(line.encode()).unwrap() == command


@given(commands)
def test_a_command_is_one_line_of_good_utf_8(command: Command) -> None:
    """No newline stands in it and no surrogate, whatever the texts hold."""
    assert b"\n" not in encode_command(command).encode()


@pytest.mark.parametrize("text", HOSTILE)
def test_every_string_survives(text: str) -> None:
    """NUL, lone surrogates, separators of lines, the empty string: all come back as they were."""
    assert decode_command(encode_command(Grow(text, text * 3))).unwrap() == Grow(text, text * 3)


def test_a_few_megabytes_survive() -> None:
    """The length of a string has no bound."""
    for command in (Start("desk\n" * 800_000), Start("书\x00" * 800_000)):
        assert decode_command(encode_command(command)).unwrap() == command


@pytest.mark.slow
def test_100_megabytes_survive() -> None:
    """Not even 100 MB."""
    command = Start("desk\n" * 20_000_000)
    assert decode_command(encode_command(command)).unwrap() == command


def test_a_split_surrogate_pair_comes_back_joined_as_the_tree_keeps_it() -> None:
    """A command made by hand may hold one; the tree would join it too (D15)."""
    assert decode_command(encode_command(Start("\ud83d\udca1"))).unwrap() == Start("\U0001f4a1")


@given(st.binary() | st.text() | st.text(st.characters(categories=["Cs"])))
def test_anything_else_is_refused_and_never_raises(line: str | bytes) -> None:
    """Arbitrary bytes and strings are no command."""
    assert isinstance(decode_command(line).failure(), DecodeError)


def test_a_surrogate_in_a_line_of_text_must_be_escaped() -> None:
    """Such a line could not be stored as UTF-8."""
    error = decode_command('{"op":"start","task":"\ud800"}').failure()
    assert str(error) == "$: not UTF-8: found a surrogate that is not escaped, at character 23"


def test_white_space_around_a_command_is_let_pass() -> None:
    """A line may come with its newline."""
    assert is_successful(decode_command(' {"op" : "accept"}\r\n'))


def test_an_error_of_a_single_command_names_no_line() -> None:
    """There is only the path."""
    error = decode_command('{"op":"revise","boundary":"3","lesson":""}').failure()
    assert error == DecodeError("$.boundary", 'expected an integer from 0 on, found "3"')


@pytest.mark.parametrize(
    "command",
    [
        Start(cast("str", b"desk")),
        Grow("search[desk]", cast("str", None)),
        Compress("desk bought", cast("Kind", "goal")),
        ApplyVerdict(Passed(), Digest("c0ffee")),
        ApplyVerdict(Failed(cast("str", 7)), Digest("a" * 64)),
        Revise(StepId(-1)),
        Revise(cast("StepId", "3")),
        Revise(StepId(10**15)),
        Revise(StepId(10**5000)),
    ],
)
def test_what_could_not_be_read_back_is_not_written(command: Command) -> None:
    """Types that are wrong are a mistake of the program: it is raised while nothing is on the disk yet."""
    with pytest.raises(MageError):
        encode_command(command)


def test_every_command_is_written_by_its_own_fields() -> None:
    """There is an operation for each command of the engine, with the command's fields in their order and no others."""
    values = {
        "verdict": Passed(),
        "digest": "0" * 64,
        "kind": "subgoal",
        "boundary": 0,
        "first": 0,
        "last": 0,
    }
    assert len(COMMAND.cases) == len(get_args(Command))
    for kind in get_args(Command):
        names = [field.name for field in attrs.fields(kind)]
        document = command_document(kind(*[values.get(name, "text") for name in names]))
        assert list(document) == ["op", *names]
        assert document.keys() == COMMAND.cases[document["op"]].fields.keys()

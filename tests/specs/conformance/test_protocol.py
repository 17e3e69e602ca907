"""The wire protocol: what is written is read back, and what is none of it is a problem, whatever the bytes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import specs.conformance
from mage import Passed
from mage.codec import decode_command, encode_command
from mage.codec.strict_json import Problem
from mage.engine import (
    TRANSITIONS,
    Accept,
    ApplyVerdict,
    Compress,
    Fold,
    Grow,
    Instruct,
    Retext,
    Revise,
    Start,
    start,
)
from mage.testing import History, canonical, histories
from specs.conformance import Answer, Reached, Refused, Request, answer_of, outcome_of
from specs.conformance.protocol import (
    FORGET,
    FORGOTTEN,
    Show,
    is_forgotten,
    read_answer,
    read_request,
    write_answer,
    write_error,
    write_request,
)


@given(histories())
def test_requests_are_read_back(history: History) -> None:
    """A request says the command as a journal does, and the state that it goes on from."""
    for on, edge in enumerate(history.edges):
        kept = decode_command(encode_command(edge.command)).unwrap()
        line = write_request(Request(on, edge.command))
        assert read_request(line) == Request(on, kept)
        assert b"\n" not in line


@given(histories())
def test_answers_are_read_back(history: History) -> None:
    """Every answer that the engine gives, refusals and what a revise leaves included, is read back."""
    for number, edge in enumerate(history.edges):
        answer = answer_of(outcome_of(edge.before, edge.command), number)
        assert read_answer(write_answer(answer)) == answer


@given(st.integers(0, 10**9))
def test_the_other_requests_are_read_back(number: int) -> None:
    """To show and to forget are requests too, and forgetting has an answer of its own."""
    assert read_request(write_request(Show(number))) == Show(number)
    assert write_request(None) == FORGET
    assert read_request(FORGET) is None
    assert is_forgotten(FORGOTTEN)
    assert not is_forgotten(f'{{"state":{number + 1}}}'.encode())


@given(st.binary(max_size=40))
def test_any_bytes_are_a_problem_or_more(line: bytes) -> None:
    """No bytes raise: they are a request or an answer, or a problem says why not."""
    assert isinstance(read_request(line), Problem | Request | Show | None)
    assert isinstance(read_answer(line), Problem | Reached | Refused)
    assert is_forgotten(line) in (True, False)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", "nothing is here"),
        (b"[]", "expected an object"),
        (b'{"forget":1}', "expected true"),
        (b'{"forget":true,"show":1}', "expected no key but forget"),
        (b'{"show":-1}', "expected an integer from 0 on"),
        (b'{"show":true}', "expected an integer from 0 on"),
        (b'{"command":{"op":"accept"}}', "missing"),
        (b'{"on":1,"command":{"op":"leave"}}', '"leave"'),
        (b'{"on":1,"command":{"op":"grow","action":"a"}}', "missing"),
        (b'{"on":1,"command":{"op":"revise","boundary":-1,"lesson":""}}', "expected an integer from 0 on"),
        (b'{"on":1,"on":2,"command":{"op":"accept"}}', '"on" stands twice'),
    ],
)
def test_what_is_no_request_is_named(line: bytes, words: str) -> None:
    """What is wrong with a request is said."""
    problem = read_request(line)
    assert isinstance(problem, Problem)
    assert words in problem.text


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b"7",
        b"{",
        write_error("no"),
        b'{"state":1}',
        b'{"state":"1","fingerprint":"' + b"0" * 64 + b'"}',
        b'{"state":1,"fingerprint":"' + b"A" * 64 + b'"}',
        b'{"state":1,"fingerprint":"' + b"0" * 64 + b'","abandoned":[]}',
        b'{"state":1,"fingerprint":"' + b"0" * 64 + b'","abandoned":[],"instructions":[["i"]]}',
        b'{"state":1,"fingerprint":"' + b"0" * 64 + b'","abandoned":[],"instructions":[["i",1]]}',
        b'{"refused":"Tired"}',
        b'{"refused":"EmptySegment"}',
        b'{"refused":"BlankSummary","boundary":1}',
        b'{"refused":"StaleVerdict","expected":""}',
        b'{"refused":"UnknownBoundary","legal":[null]}',
        b'{"refused":"UnfoldableRange","lines":[[1]]}',
        b'{"refused":"UnfoldableRange","lines":[[1,null]]}',
    ],
)
def test_what_is_no_answer_is_a_problem(line: bytes) -> None:
    """An answer has exactly the keys of its kind, with values of their shapes."""
    assert isinstance(read_answer(line), Problem)


def test_answers_are_spelled_as_documented() -> None:
    """The lines are those of PROTOCOL.md, to the byte."""
    digest = "0" * 64
    spelled: list[tuple[Answer, str]] = [
        (Reached(1, digest), f'{{"state":1,"fingerprint":"{digest}"}}'),
        (
            Reached(4, digest, (3, 2), (("i", True),)),
            f'{{"state":4,"fingerprint":"{digest}","abandoned":[3,2],"instructions":[["i",true]]}}',
        ),
        (Refused("EmptySegment", 3), '{"refused":"EmptySegment","boundary":3}'),
        (Refused("BlankSummary"), '{"refused":"BlankSummary"}'),
        (Refused("UnknownBoundary", (0, 3)), '{"refused":"UnknownBoundary","legal":[0,3]}'),
        (Refused("UnfoldableRange", ((0, 1), (1, 3))), '{"refused":"UnfoldableRange","lines":[[0,1],[1,3]]}'),
        (Refused("UnfoldableRange", ()), '{"refused":"UnfoldableRange","lines":[]}'),
        (Refused("StaleVerdict"), '{"refused":"StaleVerdict","expected":null}'),
        (Refused("StaleVerdict", digest), f'{{"refused":"StaleVerdict","expected":"{digest}"}}'),
        (Refused("IllegalPhase"), '{"refused":"IllegalPhase"}'),
    ]
    for answer, line in spelled:
        assert write_answer(answer).decode() == line


DOCUMENT = (Path(specs.conformance.__file__).parent / "PROTOCOL.md").read_text(encoding="utf-8")


def test_the_document_has_every_part_and_every_refusal() -> None:
    """PROTOCOL.md lists the parts of the form as they are, and each name that a refusal may have."""
    rows = re.findall(r"^\| `([^`{]+)` \|", DOCUMENT, re.MULTILINE)
    refusals = {refusal for row in TRANSITIONS for refusal in row.refuses} | {"IllegalPhase"}
    assert {row for row in rows if row not in refusals} == set(canonical(start("t")))
    assert refusals <= set(rows)


def test_the_requests_of_the_document_are_requests() -> None:
    """What PROTOCOL.md gives as whole requests is read, and answered as it says."""
    lines = re.findall(r"^\| `(\{[^`]*\})` \|", DOCUMENT, re.MULTILINE)
    whole = [line.replace(":N", ":1").encode() for line in lines if "..." not in line]
    assert [type(read_request(line)) for line in whole] == [Request, Show, type(None)]


def test_each_operation_is_spelled_in_the_document() -> None:
    """The fields of each command stand in PROTOCOL.md, in the order in which they are written."""
    spelled = {
        json.loads(encode_command(command))["op"]: list(json.loads(encode_command(command)))
        for command in (
            Start("t"),
            Instruct("i"),
            Grow("a", "o"),
            Compress("m"),
            Retext("m"),
            ApplyVerdict(Passed(), "0" * 64),
            Accept(),
            Revise(0),
            Fold(0, 1, "m", "0" * 64),
        )
    }
    for operation, fields in spelled.items():
        written = re.search(rf'\{{"op":"{operation}"[^\n]*', DOCUMENT)
        assert written is not None
        assert re.findall(r'"(\w+)":', written[0])[: len(fields)] == fields

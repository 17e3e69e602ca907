"""The oracle reads what `specs.conformance.serve` reads, and nothing else: a line for a line."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from mage import Failed, Passed
from mage.engine import (
    Accept,
    ApplyVerdict,
    Compress,
    Digest,
    Fold,
    Grow,
    Instruct,
    Retext,
    Revise,
    Start,
    StepId,
)
from mage.engine.journal import Operation
from specs.conformance import Engine, Request
from specs.conformance.protocol import FORGET, Show, write_request
from specs.conformance.serve import serve
from specs.proofs import ORACLE, sources_digest

OPERATIONS: tuple[Operation, ...] = (
    Instruct("i", standing=True),
    Grow("a", "o"),
    Compress("m", "fallback"),
    Retext("n"),
    Fold(0, 1, "m", "0" * 64),
    ApplyVerdict(Passed(), Digest("0" * 64)),
    ApplyVerdict(Failed("f", "summary"), Digest("0" * 64)),
    ApplyVerdict(Failed("f", "execution", StepId(0)), Digest("0" * 64)),
    Accept(),
    Revise(0, "l"),
)
REQUESTS = (
    Request(0, Start("t")),
    *(Request(1, command) for command in OPERATIONS),
    Request(0, Accept()),
    Request(1, Start("t")),
    Request(99, Start("t")),
    Request(99, Accept()),
    Show(1),
    Show(0),
    None,
)
OTHER_VALUES: tuple[object, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    10**30,
    "",
    "start",
    "0" * 64,
    "G" * 64,
    [],
    [1],
    {},
    {"type": "passed"},
)
STRINGS = (
    *(bytes([each]) for each in range(256)),
    *(b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80"),
    *(b"\xc3\xa9", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\xf4\x8f\xbf\xbf", b"\xe2\x82", b"\xf0\x9f\x98"),
    *(
        b"\\u0041",
        b"\\u00e9",
        b"\\ud83d\\ude00",
        b"\\ud83d",
        b"\\u12",
        b"\\u12_4",
        b"\\x41",
        b"\\U0001f600",
        b"\\/",
    ),
)
VALUES = (
    *(b"0", b"-0", b"00", b"01", b"-01", b"-", b"--1", b"+1", b"1.0", b"1e0", b"0x1", b"1_0", b" 1 ", b"1 1"),
    *(
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"nul",
        b"nulll",
        b"tru",
        b"'a'",
        b"[1,]",
        b"[,1]",
        b"[1 2]",
        b"[",
        b"]",
    ),
    *(
        b'{"a":1,}',
        b'{"a"}',
        b'{"a":1,"a":2}',
        b"{1:2}",
        b"/**/1",
        b"1//",
        b"\x0c1",
        b"\xc2\xa01",
        b"\xef\xbb\xbf1",
    ),
    *(b"[" * 1500 + b"]" * 1500, b"[" * 200_000),
)


def lines() -> Iterator[bytes]:
    """Yield every request, as it is and with one thing wrong: each key gone, twice, renamed, of another value."""
    for request in REQUESTS:
        line = FORGET if request is None else write_request(request)
        yield line
        yield from (
            line + b" ",
            b"\t" + line + b"\r",
            line + b"x",
            line[:-1],
            line + line,
            b"\xef\xbb\xbf" + line,
        )
        yield from (spell(changed) for changed in wrong(json.loads(line)))
    for value in VALUES:
        yield from (value, b'{"show":' + value + b"}", b'{"on":1,"command":' + value + b"}")
    for text in STRINGS:
        yield b'{"on":0,"command":{"op":"start","task":"<' + text + b'>"}}'
        yield b'{"on":0,"command":{"op":"start","ta' + text + b'sk":"t"}}'


def wrong(document: object) -> Iterator[object]:
    """Yield a JSON value with one thing wrong, at every depth."""
    yield from OTHER_VALUES
    if not isinstance(document, dict):
        return
    for key, value in document.items():
        others = {other: kept for other, kept in document.items() if other != key}
        yield from (
            others,
            {**document, f"{key}s": value},
            {**document, "more": None},
            {**others, key.upper(): value},
        )
        yield Twice(key, document)
        yield from ({**document, key: changed} for changed in wrong(value))


class Twice:
    """An object in which a key stands twice, with the same value."""

    def __init__(self, key: str, document: dict[str, object]) -> None:
        self.key = key
        self.document = document


def spell(document: object) -> bytes:
    """Return a JSON value as bytes, `Twice` as well."""
    if isinstance(document, Twice):
        again = f"{json.dumps(document.key)}:".encode() + spell(document.document[document.key])
        return spell(document.document)[:-1] + b"," + again + b"}"
    if isinstance(document, dict):
        fields = (json.dumps(key).encode() + b":" + spell(value) for key, value in document.items())
        return b"{" + b",".join(fields) + b"}"
    return json.dumps(document).encode()


def answers(said: bytes) -> list[bytes]:
    """Return answers, the words of errors left out."""
    return [b"error" if line.startswith(b'{"error":') else line for line in said.split(b"\n")[:-1]]


@pytest.mark.formal
def test_the_oracle_reads_what_the_server_reads() -> None:
    """Of any line, right or wrong in one place, the oracle and the server make the same: an answer or an error."""
    oracle = current_oracle()
    asked = [line for line in lines() if b"\n" not in line]
    sent = b"".join(line + b"\n" for line in asked)
    done = subprocess.run([oracle], input=sent, capture_output=True, check=True, timeout=120)
    target = BytesIO()
    serve(Engine(), BytesIO(sent), target)
    ours, theirs = answers(target.getvalue()), answers(done.stdout)
    assert len(asked) > 2_000
    assert [each for each in zip(asked, ours, theirs, strict=True) if each[1] != each[2]] == []
    assert 0.5 < ours.count(b"error") / len(ours) < 0.95


def current_oracle() -> Path:
    """Return the oracle that is made of today's sources; without one the test is skipped, but not in CI."""
    made_of = ORACLE.with_suffix(".sources")
    if not made_of.exists() or made_of.read_text(encoding="utf-8") != sources_digest():
        missing = "there is no oracle of today's sources: python -m specs.proofs builds it"
        assert "MAGE_CI" not in os.environ, missing
        pytest.skip(missing)
    return ORACLE

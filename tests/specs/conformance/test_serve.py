"""The server answers what has arrived, whole lines only, and goes on after what is no request."""

from __future__ import annotations

import json
from io import BytesIO

from mage.engine import Grow, Start, start
from mage.testing.machine import canonical_json
from specs.conformance import Engine, Request, fingerprint
from specs.conformance.protocol import FORGET, FORGOTTEN, Show, write_request
from specs.conformance.serve import serve


def told(*lines: bytes) -> list[bytes]:
    """Return what the server answers to these lines."""
    target = BytesIO()
    serve(Engine(), BytesIO(b"".join(line + b"\n" for line in lines)), target)
    return target.getvalue().splitlines()


def test_a_line_is_answered_by_a_line() -> None:
    """Commands, states to be shown and forgetting are answered in order; numbers begin anew."""
    began = write_request(Request(0, Start("t")))
    first = json.dumps({"state": 1, "fingerprint": fingerprint(start("t"))}, separators=(",", ":")).encode()
    assert told(began, write_request(Show(1)), FORGET, began) == [
        first,
        canonical_json(start("t")),
        FORGOTTEN,
        first,
    ]


def test_what_is_no_request_is_an_error() -> None:
    """Bytes that are none, a state that is not there: each is answered, and the next line is taken."""
    lines = [b"", b"\xff", b"{}", write_request(Show(1)), write_request(Request(3, Grow("a", "o")))]
    answers = told(*lines, FORGET)
    assert [list(json.loads(answer)) for answer in answers[:-1]] == [["error"]] * len(lines)
    assert answers[-1] == FORGOTTEN


def test_a_line_that_is_cut_waits() -> None:
    """A request is answered when its newline has come, in however many pieces; one that never ends is not."""

    class InPieces(BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            return self.read(3)

    target = BytesIO()
    serve(Engine(), InPieces(FORGET + b"\n" + FORGET), target)
    assert target.getvalue() == FORGOTTEN + b"\n"

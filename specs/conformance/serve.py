"""An implementation behind the wire protocol: `python -m specs.conformance.serve` serves mage's own engine.

It shows what the other end of `JsonLines` should say. `serve` does the same for any implementation that is
written in Python.
"""

from __future__ import annotations

import sys
from io import BufferedIOBase
from typing import Final, cast

from mage.codec.strict_json import Problem
from mage.engine import MageError
from specs.conformance.implementation import Engine, Implementation, Request
from specs.conformance.protocol import FORGOTTEN, Show, read_request, write_answer, write_error

_CHUNK: Final = 1 << 16


def serve(implementation: Implementation, source: BufferedIOBase, target: BufferedIOBase) -> None:
    """Answer requests until there are no more. What has arrived is answered before more is waited for.

    Args:
        implementation: what carries the commands out.
        source: where the requests come from, a line each.
        target: where the answers go.
    """
    cut = b""
    while chunk := source.read1(_CHUNK):
        *lines, cut = (cut + chunk).split(b"\n")
        target.write(b"".join([_answer(implementation, line) + b"\n" for line in lines]))
        target.flush()


def _answer(implementation: Implementation, line: bytes) -> bytes:
    asked = read_request(line)
    if isinstance(asked, Problem):
        return write_error(f"${asked.path}: {asked.text}")
    try:
        if isinstance(asked, Request):
            return write_answer(implementation.apply(asked))
        if isinstance(asked, Show):
            return implementation.show(asked.state)
    except MageError as error:
        return write_error(str(error))
    implementation.forget()
    return FORGOTTEN


def main() -> None:
    """Serve the engine on standard input and output, until the input ends."""
    serve(Engine(), cast("BufferedIOBase", sys.stdin.buffer), cast("BufferedIOBase", sys.stdout.buffer))


if __name__ == "__main__":
    main()

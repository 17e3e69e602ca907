"""Run the command in this process, as a shell would."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import final
from unittest.mock import patch

import attrs

from mage.__main__ import main


@final
@attrs.frozen
class Ran:
    """What a command left: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


def mage(*arguments: object) -> Ran:
    """Run `mage` with these arguments. An exception that is no exit is a fault of ours and is not caught."""
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    with (
        patch.object(sys, "argv", ["mage", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            status = stop.code
    if isinstance(status, str):
        return Ran(1, out.getvalue(), err.getvalue() + status + "\n")
    return Ran(int(str(status or 0)), out.getvalue(), err.getvalue())

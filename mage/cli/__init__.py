"""The `mage` command: look at agents' sessions, change them, run agents, read other people's traces.

Exit status: 0, 1 for a refusal (bad input, a broken invariant), 2 for a usage error.
"""

from __future__ import annotations

import sys

from mage.cli.app import app
from mage.cli.output import Refused, abandon_output, complain, speak_safely
from mage.tokens import BadCounter, MissingTokenizer

__all__ = ["app", "main"]


def main() -> None:
    """Run the command; bad input or a full disk ends in one line on standard error and status 1."""
    speak_safely()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except (Refused, BadCounter, MissingTokenizer) as refused:
        complain(str(refused))
        sys.exit(1)
    except BrokenPipeError:  # the reader has seen enough
        abandon_output()
        sys.exit(1)
    except OSError as problem:
        abandon_output()
        place = "standard output" if problem.filename is None else f"{problem.filename}"
        complain(f"{place}: {problem.strerror}")
        sys.exit(1)

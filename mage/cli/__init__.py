"""The `mage` command: look at agents' histories, replay other people's traces.

Exit status: 0, 1 for a refusal (bad input, a broken invariant), 2 for a usage error.
"""

from __future__ import annotations

import sys

from mage.cli import demo, export, inspect, replay
from mage.cli.app import app
from mage.cli.output import Refused, complain, speak_safely

__all__ = ["app", "run"]

for room in (replay, inspect, export, demo):
    room.register(app)


def run() -> None:
    """Run the command; bad input ends in one line on standard error and status 1."""
    speak_safely()
    try:
        app()
    except Refused as refused:
        complain(str(refused))
        sys.exit(1)

"""Which room has which command. A room is loaded when its command is called, so that no other waits for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NoReturn

from mage.cli.app import app

__all__ = ["ROOMS", "load", "load_all"]

ROOMS: Final[dict[str, tuple[str, str]]] = {
    "run": ("running", "Run an agent until its task is finished; run the same session again to go on."),
    "rerun": (
        "rerunning",
        "Run a run again over its tape, without a model, to the same state; or with something changed.",
    ),
    "replay": (
        "replay",
        "Turn a real agent's trace into a tree, and measure what the agent would have been shown.",
    ),
    "sessions": (
        "listing",
        "List the sessions of a store: what they hold of their own, where they were forked, and their heads.",
    ),
    "log": (
        "listing",
        "List the records of a session: version, time, operation, what it did, and what goes with it.",
    ),
    "tree": (
        "inspect",
        "Draw a session's tree: the active path straight down, what was left beside it.",
    ),
    "show": ("inspect", "Show what the agent would see: S = (C, R, H)."),
    "check": ("inspect", "Check I1 to I10 of every version of a session, and all of the last one."),
    "diff": (
        "differences",
        "Tell what differs in C, R and H between two versions, branches or sessions.",
    ),
    "fork": ("branching", "Begin a new session at a version of another. In a store nothing is copied."),
    "revise": (
        "branching",
        "Go back to a boundary of a session, leave a lesson there, and say what was abandoned.",
    ),
    "export": (
        "export",
        "Write a session as a bundle that `mage import` reads, or its tree as text, Mermaid, Graphviz dot or JSON.",
    ),
    "import": ("export", "Make a session in a store of a bundle that was exported, or of a journal."),
    "redact": (
        "redacting",
        "Take every text that matches out of a session, of what it was forked from and of all their forks.",
    ),
    "doctor": (
        "doctoring",
        "Look at every record, head, fork and snapshot; name each fault with its record and its reason.",
    ),
    "gc": (
        "collecting",
        "Drop the sessions that match, but none that a session left reads through; give their room back.",
    ),
    "demo": ("demo", "Watch an agent shop, make a mistake, be judged, go back and do better."),
}
"""For each command, in the order of `mage --help`, its room and the first sentence of its help."""

_COMPLETES: Final = "_MAGE_COMPLETE"
"""The variable by which a shell asks for completions: of options too, so that every room is needed."""
_loaded: Final[set[str]] = set()


def load(arguments: Sequence[str]) -> None:
    """Load the room of the command that these arguments of `mage` call; of all others what `--help` says of them."""
    if _COMPLETES in os.environ:
        load_all()
        return
    called = next((each for each in arguments if not each.startswith("-")), None)
    if called in ROOMS:
        _load(ROOMS[called][0])


def load_all() -> None:
    """Load every room."""
    for room, _ in ROOMS.values():
        _load(room)


def _load(room: str) -> None:
    if room not in _loaded:
        import_module(f"mage.cli.{room}").register(app)  # its commands take the place of those below
        _loaded.add(room)


def _not_loaded() -> NoReturn:
    raise RuntimeError("this command was called before its room was loaded")


for name, (_, help_text) in ROOMS.items():
    app.command(name, help=help_text)(_not_loaded)

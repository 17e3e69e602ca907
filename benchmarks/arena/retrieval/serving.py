"""The command `serve`, and the options of a memory system for any command."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from typing import Any, Final

from benchmarks.arena.retrieval.attached import Caps
from benchmarks.arena.retrieval.catalogue import KINDS, BadMemory, chosen
from benchmarks.arena.retrieval.joined import Needs, made, opened
from benchmarks.arena.retrieval.server import MemoryServer
from mage import MageError
from mage.tokens import default_counter

_INTERRUPTED: Final = 130


def add_memory_options(parser: argparse.ArgumentParser) -> None:
    """Add what a memory system beside an agent is run with."""
    parser.add_argument(
        "--write-cap",
        type=_count,
        default=Caps().handed,
        help="tokens of one text that a memory system is handed, whichever it is; the end of a longer one is kept",
    )
    parser.add_argument(
        "--read-cap", type=_count, default=Caps().shown, help="tokens of what it gives back that are shown"
    )
    parser.add_argument(
        "--memory-model", default="", help="writes what a memory system keeps; else --model does"
    )
    parser.add_argument("--memory-url", help="the server of that model; else --base-url")


def caps_of(given: argparse.Namespace) -> Caps:
    """Return the caps of a command."""
    return Caps(given.write_cap, given.read_cap)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError  # argparse says what was wrong
    return count


# Any: argparse keeps the type of its own parsers to itself
def add_serving(commands: Any) -> None:
    """Add the command to the subparsers of a parser."""
    serving = commands.add_parser("serve", help="serve a memory system by MemoryArena's interface")
    serving.add_argument(
        "--memory", required=True, help=f"one of {', '.join(KINDS)}, with parameters or without"
    )
    serving.add_argument("--host", default="127.0.0.1", help="where it listens")
    serving.add_argument("--port", type=int, default=0, help="0 for a free one")
    serving.add_argument("--seed", type=int, default=0, help="of what is drawn")
    serving.add_argument("--memory-model", default="", help="writes what the system keeps")
    serving.add_argument("--memory-url", help="the server of that model")
    serving.set_defaults(command=serve)


def serve(given: argparse.Namespace) -> int:
    """Serve until Ctrl-C, and return the exit status. The first line of the output is the address."""
    counter = default_counter()
    try:
        with ExitStack() as stack:
            named = chosen(given.memory)
            if named.name not in KINDS:
                raise BadMemory(f"what can be served is one of {', '.join(KINDS)}")
            if named.writes and not given.memory_model:
                raise BadMemory(f"--memory {named.name} needs a model that writes: --memory-model NAME")
            named.require()
            needs = Needs(Caps(), given.memory_model, given.memory_url, given.seed)
            gateway = opened(needs, counter, stack)
            server = MemoryServer(
                lambda user: made(named, needs, gateway, user, stack),
                name=named.label,
                spent=gateway.spent,
                models=lambda: gateway.models,
                host=given.host,
                port=given.port,
            )
            print(server.url, flush=True)
            server.serve()
    except (BadMemory, MageError, OSError, OverflowError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0

"""The `mage` command, also as `python -m mage`."""

from __future__ import annotations

import sys
from typing import Final

_INTERRUPTED: Final = 130
"""The exit status of a process that Ctrl-C has ended, as shells have it."""


def main() -> None:
    """Run the command, or say in one line how to install its extra; Ctrl-C ends it at any moment."""
    try:
        if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv[2:]):
            sys.exit(_hook(sys.argv[2:]))
        _run()
    except KeyboardInterrupt:  # while modules are loaded, before typer listens
        sys.exit(_INTERRUPTED)


def _hook(arguments: list[str]) -> int:
    """Carry out a hook without loading the command: a coding agent calls it for each of its actions."""
    from mage.integrations.claude_code import main as hear  # noqa: PLC0415  # no other command needs it

    return hear(arguments)


def _run() -> None:
    try:
        from mage.cli import main as command  # noqa: PLC0415  # the extra may not be installed
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit("the mage command needs its extra: pip install 'mage-state[cli]'")
    command()


if __name__ == "__main__":
    main()

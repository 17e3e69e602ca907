"""The `mage` command, also as `python -m mage`."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command, or say in one line how to install what it needs."""
    try:
        from mage.cli import run  # noqa: PLC0415  # the extra may not be installed
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit("the mage command needs its extra: pip install 'mage-state[cli]'")
    run()


if __name__ == "__main__":
    main()

"""What a command needs beside the extra `cli`: all that is missing is told at once, before anything is made."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from mage.cli.naming import StoreName
from mage.cli.output import Refused

__all__ = ["require_extras"]

_NEEDED: Final = {"openai": "openai", "postgres": "psycopg"}
"""The package that each extra brings."""


def require_extras(store: StoreName | None, *, asks_model: bool) -> None:
    """Do nothing if all that a run needs is installed.

    Args:
        store: where it is kept; None for nowhere.
        asks_model: whether a model is asked.

    Raises:
        Refused: something is not; it says how to install it.
    """
    wanted = ["openai"] * asks_model
    wanted += ["postgres"] * (store is not None and store.url.startswith("postgresql:"))
    missing = [extra for extra in wanted if find_spec(_NEEDED[extra]) is None]
    if missing:
        raise Refused(f"this run needs more: pip install 'mage-state[{','.join(missing)}]'")

"""mage: the execution state of a long-running agent, kept as an immutable two-layer tree.

Begin with `Memory`, for a loop of your own, with `Session`, the state that a store keeps, or with `Agent`, which has
the loop. The algebra beneath them is `mage.engine`; the text that a model reads is `mage.render`.

`import mage` loads the engine and nothing else: attrs, rpds and returns. What stands above it is loaded when it is
first asked for.
"""

import importlib
import typing

from mage.engine import ExecutionState, Failed, JudgeRequest, MageError, Passed, Verdict, view

if typing.TYPE_CHECKING:
    from mage.agent import Agent, AsyncAgent
    from mage.effects import EffectError, NotRestored, Observed, Restore, Restored
    from mage.memory import AsyncMemory, Call, Memory, Policy, Stopped, Taken
    from mage.session import AsyncSession, Conflict, Refused, Session
    from mage.stores import StoreError, open_store

__all__ = [
    "Agent",
    "AsyncAgent",
    "AsyncMemory",
    "AsyncSession",
    "Call",
    "Conflict",
    "EffectError",
    "ExecutionState",
    "Failed",
    "JudgeRequest",
    "MageError",
    "Memory",
    "NotRestored",
    "Observed",
    "Passed",
    "Policy",
    "Refused",
    "Restore",
    "Restored",
    "Session",
    "Stopped",
    "StoreError",
    "Taken",
    "Verdict",
    "__version__",
    "open_store",
    "view",
]

__version__ = "0.1.0"

_LATER = {
    "mage.agent": ("Agent", "AsyncAgent"),
    "mage.effects": ("EffectError", "NotRestored", "Observed", "Restore", "Restored"),
    "mage.memory": ("AsyncMemory", "Call", "Memory", "Policy", "Stopped", "Taken"),
    "mage.session": ("AsyncSession", "Conflict", "Refused", "Session"),
    "mage.stores": ("StoreError", "open_store"),
}
"""Names that are imported when they are first asked for: their rooms read JSON and run threads."""
_ROOMS = {name: room for room, names in _LATER.items() for name in names}

if not typing.TYPE_CHECKING:  # a checker would take any name for one that is there

    def __getattr__(name: str) -> object:
        if name not in _ROOMS:
            hint = "; it is in mage.engine" if hasattr(importlib.import_module("mage.engine"), name) else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
        return getattr(importlib.import_module(_ROOMS[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

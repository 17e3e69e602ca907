"""mage: the execution state of a long-running agent, kept as an immutable two-layer tree.

Begin with `Memory`, for a loop of your own, with `Session`, the state that a store keeps, or with `Agent`, which has
the loop. The algebra beneath them is `mage.engine`; the text that a model reads is `mage.render`.

`import mage` loads none of it: a room is loaded when a name of it is first asked for. The engine loads attrs, rpds and
returns, and nothing else.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from mage.agent import Agent, AsyncAgent
    from mage.effects import EffectError, NotRestored, Observed, Restore, Restored
    from mage.engine import (
        ExecutionState,
        Failed,
        FoldRequest,
        JudgeRequest,
        MageError,
        Passed,
        Verdict,
        view,
    )
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
    "FoldRequest",
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
    "mage.engine": (
        "ExecutionState",
        "Failed",
        "FoldRequest",
        "JudgeRequest",
        "MageError",
        "Passed",
        "Verdict",
        "view",
    ),
    "mage.memory": ("AsyncMemory", "Call", "Memory", "Policy", "Stopped", "Taken"),
    "mage.session": ("AsyncSession", "Conflict", "Refused", "Session"),
    "mage.stores": ("StoreError", "open_store"),
}
"""The room of each name: it is imported when the name is first asked for."""
_ROOMS = {name: room for room, names in _LATER.items() for name in names}

if not typing.TYPE_CHECKING:  # a checker would take any name for one that is there

    def __getattr__(name: str) -> object:
        if name in _ROOMS:
            return getattr(importlib.import_module(_ROOMS[name]), name)
        engine = importlib.import_module("mage.engine")
        if name == "engine":
            return engine
        hint = "; it is in mage.engine" if name in engine.__all__ else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

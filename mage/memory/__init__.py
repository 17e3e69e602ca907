"""A session as a host's loop uses it: messages for the model, its reply, and the operations that follow."""

from mage.memory.exchange import Call, MemoryBusy, Stopped, Taken
from mage.memory.journal import Transcript
from mage.memory.memory import AsyncMemory, Memory
from mage.memory.policy import BadPolicy, Policy
from mage.memory.requests import (
    AgentEvent,
    AgentHook,
    Asked,
    AskFailed,
    BadAgent,
    NotAwaitable,
    Noticed,
    RunEnded,
)

__all__ = [
    "AgentEvent",
    "AgentHook",
    "AskFailed",
    "Asked",
    "AsyncMemory",
    "BadAgent",
    "BadPolicy",
    "Call",
    "Memory",
    "MemoryBusy",
    "NotAwaitable",
    "Noticed",
    "Policy",
    "RunEnded",
    "Stopped",
    "Taken",
    "Transcript",
]

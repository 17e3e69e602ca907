"""A session as anybody's loop uses it: what the model is shown, what it replied, and what follows from that."""

from mage.memory.exchange import Call, MemoryBusy, Stopped, Taken
from mage.memory.journal import Transcript
from mage.memory.memory import AsyncMemory, Memory
from mage.memory.parts import BadAgent, NotAwaitable
from mage.memory.policy import BadPolicy, Policy
from mage.memory.requests import AgentEvent, AgentHook, Asked, AskFailed, Noticed, RunEnded

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

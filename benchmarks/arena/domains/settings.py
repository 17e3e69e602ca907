"""What decides a run: everything that a result depends on, and the little that it does not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, final

import attrs

from benchmarks.arena.domains.habits import Habits
from benchmarks.arena.domains.memories import beside
from benchmarks.arena.domains.registry import VERSION, SizeName
from benchmarks.arena.retrieval.attached import Caps
from mage.chat import Mode, canonical

AgentName: TypeAlias = Literal["plan", "model", "reader"]
AGENTS: Final[tuple[AgentName, ...]] = ("plan", "model", "reader")


class Documented(Protocol):
    """Settings of any kind. What is the same in two documents is run in the same way."""

    def document(self) -> dict[str, object]:
        """Return as JSON all that a result depends on."""
        ...


@final
@attrs.frozen
class Settings:
    """One series of tasks.

    Attributes:
        domain: see `registry.NAMES`.
        memory: see `memories.MEMORIES` and `retrieval.catalogue`. The URL of a memory server stands in no result.
        agent: a plan that solves every task, a model, or the context reader of the shop.
        seed: of the tasks.
        size: of the tasks.
        policy: a JSON object: what differs in the policy of the memory.
        reader: a JSON object: what differs in the habits of the context reader.
        model: decides and writes; empty for another agent.
        judge: judges; empty for the same model.
        mode: how the model replies.
        temperature: of every call; None for the server's own.
        data: reference data of travel; None for made-up trips. Beside rows: what their answers are found in.
        rows: a file of rows in place of tasks of our own.
        base_url: of the server. It may hold a password, and stands in no result.
        caps: of what a memory beside the agent is handed and gives back.
        memory_model: writes what such a memory keeps; empty for `model`.
        memory_url: of its server; None for that of `model`. It stands in no result.
        sessions: a folder that keeps each run's session, from which an interrupted one goes on; None for none.
    """

    domain: str
    memory: str = "mage"
    agent: AgentName = "plan"
    seed: int = 0
    size: SizeName = "full"
    policy: str = "{}"
    reader: str = "{}"
    model: str = ""
    judge: str = ""
    mode: Mode = "tools"
    temperature: float | None = 0.0
    data: Path | None = None
    rows: Path | None = None
    base_url: str | None = attrs.field(default=None, repr=False)
    caps: Caps = attrs.field(factory=Caps)
    memory_model: str = ""
    memory_url: str | None = attrs.field(default=None, repr=False)
    sessions: Path | None = None

    def document(self) -> dict[str, object]:
        """Return as JSON all that a result depends on; what is the same in two rows was run in the same way.

        Raises:
            BadHabits: the habits of a reader cannot be.
            OSError: the reference data or the rows cannot be read.
        """
        other = beside(self.memory)
        said: dict[str, object] = {
            "domain": self.domain,
            "memory": self.memory if other is None else other.label,
            "agent": self.agent,
            "seed": self.seed,
            "size": self.size,
            "tasks": VERSION,
        }
        if other is not None:
            said["caps"] = {"handed": self.caps.handed, "shown": self.caps.shown}
            said |= {"memory_model": self.memory_model or self.model} if other.writes else {}
        if self.policy != "{}":
            said["policy"] = json.loads(self.policy)
        if self.agent == "reader":
            said["reader"] = attrs.asdict(Habits.of(self.reader))
        if self.agent == "model":
            said |= {"model": self.model, "judge": self.judge or self.model, "mode": self.mode}
            said |= {} if self.temperature is None else {"temperature": self.temperature}
        if self.rows is not None:
            said["rows"] = _digest(self.rows)
        if self.data is not None and (self.domain == "travel" or self.rows is not None):
            said["data"] = _digest(self.data)
        return said

    def session_file(self, task: str) -> str:
        """Return where the session of a task is kept: apart from that of any other settings."""
        assert self.sessions is not None  # asked only where they are kept
        return str(session_in(self.sessions, task, self.document()))


def session_in(folder: Path, task: str, document: Mapping[str, object]) -> Path:
    """Return where the session of a task of some settings is kept."""
    digest = hashlib.sha256(canonical(document).encode()).hexdigest()[:12]
    return folder / f"{task}-{digest}.db"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]

"""A task, and what changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs


@attrs.frozen
class TaskDefinition:
    """A task as its file has it."""

    task_id: str
    user_id: str
    now: str
    task_env_path: str
    state_requirements: list[dict[str, Any]]

    @classmethod
    def load(cls, path: Path) -> TaskDefinition:
        return cls(**json.loads(path.read_text(encoding="utf-8")))


@attrs.frozen
class StateDiff:
    """Which records are new, and their content. Nothing is changed or deleted here."""

    created: dict[tuple[str, str], dict[str, Any]]

    @classmethod
    def compute(
        cls, before: dict[str, dict[str, dict[str, Any]]], after: dict[str, dict[str, dict[str, Any]]]
    ) -> StateDiff:
        return cls(
            {
                (entity, key): record
                for entity, records in after.items()
                for key, record in records.items()
                if key not in before[entity]
            }
        )

"""Where the environment of a task is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .domain import DomainConfig


def load_task_environment(domain: DomainConfig, task: Any) -> tuple[Any, Path]:
    path = Path(__file__).parent.parent / task.task_env_path
    return domain.env_data_class.load(path), path

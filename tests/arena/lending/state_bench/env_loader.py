"""Where the environment of a task is."""

from __future__ import annotations

from pathlib import Path
from typing import (
    Any,
)  # what other modules of the folder define: it is imported under another name than its tests are


def load_task_environment(domain: Any, task: Any) -> tuple[Any, Path]:
    path = Path(__file__).parent.parent / task.task_env_path
    return domain.env_data_class.load(path), path

"""Tasks over Ray, on this machine or on many: the rows are those of `--workers`, in a file that is the same.

Nothing else imports Ray (the dependency group `ray`). A task runs once: a worker that dies with it is a failed row, and
the others go on. Each machine needs this project's dependencies and, for a model, its key in its own environment; what
is read from files (`--data`, `--sessions`) lies at the same path on each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar, final  # Any: Ray is loaded by name, for those who ask for it

import attrs

from benchmarks.arena.domains.registry import MissingPackage
from benchmarks.arena.domains.results import Row
from benchmarks.arena.domains.running import failed
from benchmarks.arena.domains.settings import Documented

LOCAL: Final = "local"
"""The address that stands for a Ray of this process, with a worker for each core."""
DIED: Final = "the process that ran it died"

Of = TypeVar("Of", bound=Documented)


@final
@attrs.frozen
class NoRay(Exception):
    """Ray cannot be used; the message says why."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def ray_rows(
    jobs: list[tuple[Of, int]], address: str, run: Callable[[Of, int], dict[str, object]]
) -> Iterator[Row]:
    """Yield the row of each job as it comes. Whatever ends this ends Ray's workers, or leaves the cluster.

    Args:
        jobs: tasks of some settings.
        address: of a cluster, such as `"10.0.0.1:6379"` or `"ray://head:10001"`, or `"local"`.
        run: runs one task.

    Raises:
        MissingPackage: Ray is not installed.
        NoRay: there is no Ray at the address, or it cannot start.
    """
    ray = _begun(address)
    try:
        each = ray.remote(max_retries=0)(run)
        free = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting, running = list(reversed(jobs)), dict[Any, tuple[Of, int]]()
        while waiting or running:
            while waiting and len(running) < free:
                job = waiting.pop()
                running[each.remote(*job)] = job
            (ready, *_), _ = ray.wait(list(running), num_returns=1)
            yield _row(ray, ready, *running.pop(ready))
    finally:
        ray.shutdown()


def _row(ray: Any, ready: Any, settings: Documented, number: int) -> Row:
    try:
        row: Row = ray.get(ready)
    except ray.exceptions.WorkerCrashedError:
        return failed(settings, number, DIED)
    except ray.exceptions.RayTaskError as error:
        return failed(settings, number, f"{type(error.cause).__name__}: {error.cause}")
    except ray.exceptions.RayError as error:  # a machine that is gone, or has no memory left
        return failed(settings, number, f"{type(error).__name__}: {error}")
    return row


def _begun(address: str) -> Any:
    """Begin Ray, or join a cluster, with the code of this project on each machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
    try:
        ray: Any = import_module("ray")
    except ModuleNotFoundError as missing:
        if missing.name != "ray":
            raise
        raise MissingPackage("Ray", "--ray", ".venv/ray/made") from None
    code = [str(Path(str(find_spec(name).origin)).parent) for name in ("benchmarks", "mage")]  # type: ignore[union-attr]  # both run
    given: dict[str, object] = {"include_dashboard": False, "address": LOCAL}
    if address == LOCAL:
        found = os.pathsep.join(
            [*(str(Path(each).parent) for each in code), os.environ.get("PYTHONPATH", "")]
        )
        given["runtime_env"] = {"env_vars": {"PYTHONPATH": found.rstrip(os.pathsep)}}
    else:
        given = {"address": address, "runtime_env": {"py_modules": code}}
    try:
        ray.init(log_to_driver=False, logging_level="error", **given)
    except Exception as error:  # of several libraries: connections, versions, resources
        raise NoRay(f"there is no Ray at {address!r}: {type(error).__name__}: {error}"[:400]) from None
    return ray

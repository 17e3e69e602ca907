"""A series of tasks, by one worker or several: rows as they come, whatever happens to a worker."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeAlias, TypeVar

from benchmarks.arena.domains.remote import DIED, ray_rows
from benchmarks.arena.domains.results import (
    DONE,
    Appending,
    Key,
    Row,
    in_order,
    key_of,
    read_results,
    write_results,
)
from benchmarks.arena.domains.running import failed, run_task
from benchmarks.arena.domains.settings import Documented, Settings
from mage.chat import canonical

Of = TypeVar("Of", bound=Documented)
RunTask: TypeAlias = Callable[[Of, int], dict[str, object]]
Progress: TypeAlias = Callable[[Row, int, int], object]
"""Hears of each row, how many there are now, and how many there will be."""


def run_series(
    settings: Settings,
    tasks: int,
    out: Path,
    *,
    workers: int = 1,
    ray: str | None = None,
    again: bool = False,
    progress: Progress = lambda _row, _done, _all: None,
    run: RunTask[Settings] = run_task,
) -> list[Row]:
    """Run the tasks that the file has no row of, and return the rows of all, in their order.

    However often it is interrupted, the file comes to the same in the end, with any number of workers.

    Args:
        settings: of every task.
        tasks: how many, from number 0 on.
        out: the file of results; rows of other settings in it are kept.
        workers: processes; with one it all happens in this one.
        ray: the address of a Ray in place of workers; see `remote.ray_rows`.
        again: run tasks again that have failed.
        progress: hears of each row.
        run: runs one task.

    Raises:
        BadResults: the file cannot be read or written.
        OSError: the reference data of the settings cannot be read.
        MissingPackage: Ray is wanted and not installed.
        NoRay: it cannot be reached.
    """
    return run_jobs(
        [(settings, number) for number in range(tasks)],
        out,
        workers=workers,
        ray=ray,
        again=again,
        progress=progress,
        run=run,
    )


def run_jobs(
    jobs: Iterable[tuple[Of, int]],
    out: Path,
    *,
    run: RunTask[Of],
    workers: int = 1,
    ray: str | None = None,
    again: bool = False,
    progress: Progress = lambda _row, _done, _all: None,
) -> list[Row]:
    """Run the jobs that the file has no row of, each a task of some settings; else as `run_series`.

    Raises:
        BadResults: the file cannot be read or written.
        OSError: the reference data of the settings cannot be read.
    """
    wanted = _keyed(jobs)
    known = {key_of(row): row for row in read_results(out)}
    waiting = [
        job
        for key, job in wanted.items()
        if key not in known or (again and known[key].get("outcome") not in DONE)
    ]
    done = len(wanted) - len(waiting)
    appending = Appending(out)
    try:
        rows_now = _rows(waiting, workers, run) if ray is None else ray_rows(waiting, ray, run)
        for row in rows_now:
            appending.add(row)
            done += 1
            progress(row, done, len(wanted))
    finally:
        appending.close()
    rows = in_order(read_results(out))
    write_results(out, rows)
    return [row for row in rows if key_of(row) in wanted]


def _keyed(jobs: Iterable[tuple[Of, int]]) -> dict[Key, tuple[Of, int]]:
    """Return jobs by the key of their row; settings are written once, as their data may be large."""
    listed = list(jobs)
    documents = {
        settings: canonical(settings.document()) for settings in dict.fromkeys(of for of, _ in listed)
    }
    return {(documents[settings], number): (settings, number) for settings, number in listed}


def _rows(jobs: list[tuple[Of, int]], workers: int, run: RunTask[Of]) -> Iterator[Row]:
    if workers <= 1:
        for settings, number in jobs:
            yield run(settings, number)
        return
    waiting = jobs[:]
    while waiting:
        try:
            for job, row in _pooled(waiting[:], workers, run):
                waiting.remove(job)
                yield row
        except BrokenProcessPool:
            # which task has killed its process is known only where they run one by one, in their order
            if workers == 1:
                settings, number = waiting.pop(0)
                yield failed(settings, number, DIED)
            workers = 1


def _pooled(
    jobs: list[tuple[Of, int]], workers: int, run: RunTask[Of]
) -> Iterator[tuple[tuple[Of, int], Row]]:
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=fresh, initializer=_bound_to_its_parent) as pool:
        try:
            futures = {pool.submit(run, *job): job for job in jobs}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:  # Ctrl-C above all: else it would wait for what the workers are at
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _bound_to_its_parent() -> None:
    """Let a worker leave Ctrl-C to whoever started it, and end with them, however they end: no model is asked for nobody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None  # this runs in a worker alone
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)

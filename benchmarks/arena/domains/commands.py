"""The commands of the arena's domains, to be added to any parser.

run      runs tasks into a file of rows, and goes on where it was interrupted
lab      runs the shop as a laboratory, and prints its table
serve    serves a memory system by MemoryArena's interface
judges   asks judges about work of which it is known whether it is right (`judges`)
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any, Final, final  # Any: argparse keeps the type of its parsers to itself

import attrs

from benchmarks.arena.domains.addresses import BadTask, script, task_at
from benchmarks.arena.domains.habits import DOMAIN, BadHabits, Habits
from benchmarks.arena.domains.judges import add_judges
from benchmarks.arena.domains.lab_report import lab_break_even, lab_report, lab_table
from benchmarks.arena.domains.laboratory import jobs, run_conditions
from benchmarks.arena.domains.memories import MEMORIES, beside, policy_of
from benchmarks.arena.domains.published import BadPublished, MissingData, published
from benchmarks.arena.domains.registry import GROUPS, NAMES, SIZES, MissingPackage, domain, domains_of
from benchmarks.arena.domains.remote import NoRay
from benchmarks.arena.domains.results import DONE, BadResults, Row
from benchmarks.arena.domains.running import path_of
from benchmarks.arena.domains.scoring import mean
from benchmarks.arena.domains.series import run_jobs, run_series
from benchmarks.arena.domains.settings import AGENTS, Settings
from benchmarks.arena.domains.sweeps import sweep
from benchmarks.arena.domains.travel.rows import BadRow
from benchmarks.arena.domains.world import played
from benchmarks.arena.retrieval.catalogue import KINDS, WINDOW, BadMemory
from benchmarks.arena.retrieval.serving import add_memory_options, add_serving, caps_of
from benchmarks.arena.systems import has_bm25
from mage import MageError, Session
from mage.chat import MODES, canonical

INTERRUPTED: Final = 130
_NOT_TEXT: Final = re.compile(r"true|false|null|\d+|\d+\.\d+")
"""A value of an option that is no text."""


@final
class BadRequest(Exception):
    """Options do not go together; the message says which."""


_REFUSED: Final = (
    *(BadHabits, BadMemory, BadPublished, BadRequest, BadResults, BadRow, MageError, MissingData),
    *(MissingPackage, ModuleNotFoundError, NoRay, OSError),
)


# Any: argparse keeps the type of its own parsers to itself
def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of a parser; `chosen.command(chosen)` runs the one that was chosen."""
    running = commands.add_parser("run", help="run tasks of a domain into a file of rows")
    _add_tasks(running)
    _add_agent(running)
    add_memory_options(running)
    running.add_argument("--workers", type=_count, default=1, help="processes")
    running.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="run over the Ray at this address in place of workers; `local` begins one",
    )
    running.add_argument(
        "--sessions", type=Path, help="keep each run here, and go on inside an interrupted one"
    )
    running.add_argument("--retry", action="store_true", help="run again what has failed")
    running.add_argument("--out", type=Path, required=True, help="the file of rows, JSON Lines")
    running.set_defaults(command=run)
    _add_playing(commands)
    _add_laboratory(commands)
    add_judges(commands)
    add_serving(commands)


def _add_agent(running: argparse.ArgumentParser) -> None:
    running.add_argument(
        "--memory",
        default="mage",
        help=f"what the agent is shown: {', '.join(MEMORIES)}, or a memory system beside it: "
        f"{', '.join([WINDOW, *KINDS])}, with parameters such as bm25:k=3,chunk=subtask, or the URL of a memory server",
    )
    running.add_argument(
        "--agent",
        default="plan",
        choices=AGENTS,
        help="a plan that solves the task; a model; or the scripted context reader of the shop",
    )
    running.add_argument(
        "--reader",
        action="append",
        default=[],
        type=_change,
        metavar="NAME=VALUE",
        help="how the context reader or its judge errs, such as mistakes=0.2",
    )
    running.add_argument(
        "--policy",
        action="append",
        default=[],
        type=_change,
        metavar="NAME=VALUE",
        help="what else the agent's policy has, such as high_water=2000",
    )
    running.add_argument("--model", default="", help="decides and writes summaries")
    running.add_argument("--judge", default="", help="the model that judges, if it is another")
    running.add_argument("--base-url", help="the server; else OPENAI_BASE_URL, else OpenAI's")
    running.add_argument("--mode", default="tools", choices=MODES, help="how the model replies")
    running.add_argument("--temperature", type=float, default=0.0, help="of every call")


def _add_tasks(running: argparse.ArgumentParser) -> None:
    running.add_argument(
        "--domain", required=True, choices=[*NAMES, *GROUPS], help="formal is math and physics"
    )
    running.add_argument("--tasks", type=_count, default=10, help="how many, from number 0 on")
    running.add_argument("--seed", type=int, default=0, help="of the tasks")
    running.add_argument("--size", default="full", choices=SIZES, help="full is about the paper's")
    running.add_argument(
        "--rows", type=Path, help="rows in MemoryArena's public schema, in place of tasks of our own"
    )
    running.add_argument(
        "--data",
        type=Path,
        help="travel: TravelPlanner's train_ref_info.jsonl; with --rows also the products of shopping, the documents"
        " of search",
    )


def _add_laboratory(commands: Any) -> None:
    lab = commands.add_parser(
        "lab", help="the shop as a laboratory: a scripted reader, and all that decides how it does"
    )
    lab.add_argument("--tasks", type=_count, default=20, help="how many, from number 0 on")
    lab.add_argument("--seed", type=int, default=0, help="of the tasks and of all draws")
    lab.add_argument("--size", default="full", choices=SIZES, help="full is about the paper's")
    lab.add_argument("--workers", type=_count, default=1, help="processes")
    lab.add_argument("--json", action="store_true", dest="as_json", help="one object with `rows`, no table")
    lab.add_argument("--out", type=Path, required=True, help="the file of rows, JSON Lines")
    lab.set_defaults(command=experiment)


def _add_playing(commands: Any) -> None:
    showing = commands.add_parser(
        "task", help="print the text of a task, to be played by hand or by `mage run`"
    )
    showing.add_argument("task", help="such as shopping:7:0, its domain, seed and number")
    showing.add_argument("--script", action="store_true", help="its plan, for `mage run --script`, instead")
    showing.set_defaults(command=show)
    marking = commands.add_parser("mark", help="say what a session that has played a task is worth")
    marking.add_argument("task", help="such as shopping:7:0, its domain, seed and number")
    marking.add_argument("store", help="the URL or the file of its store")
    marking.add_argument("session", help="its name there")
    marking.set_defaults(command=mark)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError  # argparse says what was wrong
    return count


def _change(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return name, json.loads(value) if _NOT_TEXT.fullmatch(value) else value


def run(chosen: argparse.Namespace) -> int:
    """Run what was asked for, and return the exit status."""
    names = domains_of(chosen.domain)
    ran: list[Row] = []
    try:
        _check(chosen, names)
        for name in names:
            rows = run_series(
                _settings(chosen, name),
                chosen.tasks,
                chosen.out,
                workers=chosen.workers,
                ray=chosen.ray,
                again=chosen.retry,
                progress=_tell,
            )
            print(f"{name}: SR {_sr(rows):.3f} over {len(rows)} tasks, in {chosen.out}", file=sys.stderr)
            ran += rows
    except _REFUSED as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        print(f"\ninterrupted: the same command goes on, with what {chosen.out} has", file=sys.stderr)
        return INTERRUPTED
    if any(row.get("outcome") in DONE for row in ran):
        return 0
    print("Error: every task failed, so nothing was measured; --retry runs them again", file=sys.stderr)
    return 1


def _check(chosen: argparse.Namespace, names: tuple[str, ...]) -> None:
    """Refuse what no task could be run with, before any is: each would fail, and count as nothing.

    Raises:
        Exception: one of `_REFUSED`.
    """
    if chosen.data is not None and chosen.rows is None and "travel" not in names:
        raise BadRequest("--data is for --domain travel, or for --rows")
    if chosen.rows is not None and len(names) > 1:
        raise BadRequest(f"--rows has the rows of one domain: of {', '.join(names)} name one")
    _check_model(chosen)
    _check_reader(chosen, names)
    if chosen.sessions is not None:
        chosen.sessions.mkdir(parents=True, exist_ok=True)
    _check_memory(chosen)
    for name in names:
        domain(name, chosen.size, chosen.data, chosen.rows)
    if chosen.rows is not None:
        _check_rows(chosen, names[0])


def _check_model(chosen: argparse.Namespace) -> None:
    if chosen.agent != "model":
        if chosen.model or chosen.judge:
            raise BadRequest("--model and --judge are for --agent model")
        return
    if not chosen.model:
        raise BadRequest("--agent model needs --model NAME")
    from mage.llm import client  # noqa: PLC0415  # a plan needs no client

    client(base_url=chosen.base_url).close()


def _check_memory(chosen: argparse.Namespace) -> None:
    policy_of(chosen.memory, canonical(dict(chosen.policy)), 1)
    other = beside(chosen.memory)
    if other is None:
        return
    other.require()
    if other.writes and not (chosen.memory_model or chosen.model):
        raise BadRequest(f"--memory {other.name} needs a model that writes: --memory-model NAME")


def _check_rows(chosen: argparse.Namespace, name: str) -> None:
    there = len(published(name, chosen.rows, chosen.data).rows)
    if chosen.tasks > there:
        raise BadRequest(f"{chosen.rows} has {there} rows: --tasks {there} at most")
    if chosen.agent == "reader":
        raise BadRequest("--agent reader can read our own tasks alone, and not --rows")


def _check_reader(chosen: argparse.Namespace, names: tuple[str, ...]) -> None:
    if chosen.agent != "reader":
        if chosen.reader:
            raise BadRequest("--reader is for --agent reader")
        return
    if names != (DOMAIN,):
        raise BadRequest(f"--agent reader can read the prompts of --domain {DOMAIN} alone")
    Habits.of(canonical(dict(chosen.reader)))


def _settings(chosen: argparse.Namespace, name: str) -> Settings:
    return Settings(
        domain=name,
        memory=chosen.memory,
        agent=chosen.agent,
        seed=chosen.seed,
        size=chosen.size,
        policy=canonical(dict(chosen.policy)),
        reader=canonical(dict(chosen.reader)),
        model=chosen.model,
        judge=chosen.judge,
        mode=chosen.mode,
        temperature=chosen.temperature,
        data=chosen.data,
        rows=chosen.rows,
        base_url=chosen.base_url,
        caps=caps_of(chosen),
        memory_model=chosen.memory_model,
        memory_url=chosen.memory_url,
        sessions=chosen.sessions,
    )


def _tell(row: Row, done: int, count: int) -> None:
    what = row.get("task") or f"task {row.get('number')}"
    told = f"{row.get('outcome')}, SR {row.get('sr'):.0f}, PS {row.get('ps'):.2f}"
    said = f": {row.get('detail')}" if row.get("outcome") == "failed" else ""
    print(f"[{done}/{count}] {what}: {told}{said}", file=sys.stderr, flush=True)


def _sr(rows: list[Row]) -> float:
    return mean(float(str(row.get("sr", 0))) for row in rows)


def experiment(chosen: argparse.Namespace) -> int:
    """Run all series of the laboratory, print what they come to, and return the exit status."""
    if not has_bm25():
        print("BM25 is left out: bm25s is not installed (`make .venv/arena` brings it)", file=sys.stderr)
    series = sweep(chosen.seed, chosen.size, has_bm25())
    try:
        rows = run_jobs(
            jobs(series, chosen.tasks),
            chosen.out,
            workers=chosen.workers,
            progress=_tell_tenth,
            run=run_conditions,
        )
    except _REFUSED as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        print(f"\ninterrupted: the same command goes on, with what {chosen.out} has", file=sys.stderr)
        return INTERRUPTED
    found, gone = lab_report(rows, series), lab_break_even(rows, series)
    if chosen.as_json:
        said = {"rows": found, "break_even": [each.document() for each in gone]}
        print(json.dumps(said, indent=2, sort_keys=True))
    else:
        print(lab_table(found, gone))
    return 0


def _tell_tenth(row: Row, done: int, count: int) -> None:
    """Tell of a failure at once, and else of every tenth part: rows come several in a second."""
    if row.get("outcome") == "failed" or done * 10 // count != (done - 1) * 10 // count:
        _tell(row, done, count)


def show(chosen: argparse.Namespace) -> int:
    """Print a task or its script, and return the exit status."""
    try:
        task = task_at(chosen.task)
    except (BadTask, MissingPackage) as error:
        return _refuse(str(error))
    print("\n".join(script(task)) if chosen.script else task.text)
    return 0


def mark(chosen: argparse.Namespace) -> int:
    """Print as JSON what a session is worth, and return the exit status."""
    try:
        task = task_at(chosen.task)
        with Session.open(chosen.store, chosen.session, wait=False) as session:
            standing = played(task.rules, path_of(session.tree))
    except (BadTask, MissingPackage, MageError) as error:
        return _refuse(str(error))
    marked = task.mark(standing.closed)
    worth = {name: value for name, value in attrs.asdict(marked.score).items() if value is not None}
    endings = [each.ending for each in standing.closed]
    print(json.dumps({**worth, "right": marked.right, "endings": endings}))
    return 0


def _refuse(why: str) -> int:
    print(f"Error: {why}", file=sys.stderr)
    return 2

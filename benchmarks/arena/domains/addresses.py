"""A task by its address, `shopping:7:0`, for `mage run` and for playing by hand.

python -m benchmarks.arena task shopping:7:0 > task.txt
mage run @task.txt --environment benchmarks.arena.domains.addresses:world:shopping:7:0 --by-hand --session work.db#a
python -m benchmarks.arena mark shopping:7:0 work.db a
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, final  # Any: each domain has a state of its own

import attrs

from benchmarks.arena.domains.registry import NAMES, SIZES, domain
from benchmarks.arena.domains.task import Task
from benchmarks.arena.domains.world import World
from mage.chat import parse_action

_FORM: Final = "DOMAIN:SEED:NUMBER, or DOMAIN:SEED:NUMBER:small"


@final
@attrs.frozen
class BadTask(ValueError):
    """An address names no task; the message says what one looks like."""

    address: str

    def __str__(self) -> str:
        return f"{self.address!r} names no task: it is {_FORM}, with a domain of {', '.join(NAMES)}"


def task_at(address: str) -> Task:
    """Return the task at an address.

    Raises:
        BadTask: it names none.
        MissingPackage: the domain needs a package that is not installed.
    """
    name, _, rest = address.partition(":")
    seed, _, rest = rest.partition(":")
    number, _, size = rest.partition(":")
    known = next((each for each in SIZES if each == (size or "full")), None)
    if name not in NAMES or known is None or not seed.isdecimal() or not number.isdecimal():
        raise BadTask(address)
    return domain(name, known).task(int(seed), int(number))


def world(address: str) -> World[Any]:  # Any: each domain has a state of its own
    """Return the environment of the task at an address; a factory for `mage run --environment`.

    Raises:
        BadTask: it names none.
        MissingPackage: the domain needs a package that is not installed.
    """
    return World(task_at(address).rules)


def script(task: Task) -> Iterator[str]:
    """Yield a task's plan as the lines of a script for `mage run --script`."""
    for part in task.plan:
        for action in part.actions:
            name, arguments = parse_action(action)
            yield json.dumps({"act": {name: arguments}})
        yield json.dumps({"compress": part.claim})
    yield json.dumps({"finish": "Done."})

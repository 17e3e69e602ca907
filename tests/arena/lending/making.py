"""Makes the checkout: tasks, environments, and runs that are recorded by playing them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

from tests.arena.lending.state_bench.domain import Library, Shelves

CARD: Final = "CARD-77{}1"
"""Said by the customer alone."""
MEMBERS: Final = 3
_PAD: Final = "It is well kept, was read by many, and nobody has said a word against it so far. " * 6
_TOPICS: Final = ("whales", "rivers", "stars", "stones", "birds", "bridges")


def made(folder: Path, tasks: int = 6) -> Path:
    """Make a checkout with so many tasks that pass, one that does not, and one that asks for nothing."""
    shutil.copytree(Path(__file__).parent / "state_bench", folder / "state_bench")
    for number in range(tasks):
        _write(folder, f"{number}-lend", number, _lend(number))
    _write(folder, "x-forgets", tasks, _lend(tasks)[:-3])
    _write(folder, "y-asks", tasks, _lend(tasks)[:4], asks=False)
    return folder


def shelves(number: int) -> Shelves:
    """Return what a task begins with; of each topic two books, which nobody else has."""
    books = {}
    for place, topic in enumerate(_TOPICS):
        for copy in range(2):
            book = f"BK-{number}{place}{copy}5"
            books[book] = {"book_id": book, "topic": topic, "stamp": 1000 + 10 * place + copy, "about": _PAD}
    members = {
        f"member_{each}": {"member_id": f"member_{each}", "card": CARD.format(each), "tier": "gold"}
        for each in range(MEMBERS)
    }
    return Shelves(books, members, {})


def _lend(number: int) -> list[dict[str, Any]]:
    """Return what is said and called: each topic is searched, then the first book of three is lent."""
    member = f"member_{number % MEMBERS}"
    calls: list[tuple[str, dict[str, Any]]] = [("get_member", {"member_id": member})]
    calls.extend(("search_books", {"topic": topic}) for topic in _TOPICS)
    said: list[dict[str, Any]] = [
        {"role": "user", "content": f"Three books, please. My card is {CARD.format(number % MEMBERS)}."},
        {"role": "assistant", "content": f"There is BK-{number}105, and more.", "calls": calls},
        {"role": "user", "content": "Whales, stars and birds it is."},
    ]
    for place in (0, 2, 4):
        lent = {
            "book_id": f"BK-{number}{place}05",
            "member_id": member,
            "card": CARD.format(number % MEMBERS),
            "stamp": 1000 + 10 * place,
        }
        said.append({"role": "assistant", "content": None, "calls": [("lend_book", lent)]})
    return [
        *said,
        {"role": "assistant", "content": "All three are yours."},
        {"role": "user", "content": "Bye."},
    ]


def _write(folder: Path, task: str, number: int, said: list[dict[str, Any]], asks: bool = True) -> None:
    member = f"member_{number % MEMBERS}"
    begun = shelves(number)
    environment = f"state_bench/domains/lending/task_envs/{task}.json"
    keys = [f"BK-{number}{place}05" for place in (0, 2, 4)]
    required = [
        {
            "entity_type": "loans",
            "record_key": f"LOAN-{key}",
            "record": {"loan_id": f"LOAN-{key}", "member_id": member, "stamp": begun.books[key]["stamp"]},
        }
        for key in keys
    ]
    definition = {
        "task_id": task,
        "user_id": member,
        "now": "2026-06-15",
        "task_env_path": environment,
        "state_requirements": required if asks else [],
    }
    system = {"role": "system", "content": f"You serve {member} at the desk of a library."}
    conversation = [system, *_played(Library(begun, "2026-06-15"), said)]
    _json(folder / environment, {"books": begun.books, "members": begun.members, "loans": begun.loans})
    _json(folder / f"state_bench/domains/lending/tasks/{task}.json", definition)
    _json(folder / f"datasets/train_task_trajectories/lending/{task}.json", {"conversation": conversation})


def _played(library: Library, said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with what came back of each call."""
    found = list[dict[str, Any]]()
    for message in said:
        calls = [
            {"name": name, "arguments": arguments, "result": library.tool_handlers[name](arguments)}
            for name, arguments in message.get("calls", [])
        ]
        found.append(
            {
                "role": message["role"],
                "content": message["content"],
                **({"tool_calls": calls} if calls else {}),
            }
        )
    return found


def _json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")

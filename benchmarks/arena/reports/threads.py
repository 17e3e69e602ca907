"""Where a run lost its thread: which result of an earlier subtask stood in no prompt of a later one that speaks of it.

The instruction of a subtask says which earlier results it needs: the title of a product, a member's choice, an answer.
What these were in this run follows from its path; what each prompt showed, from its session, that `run --sessions`
keeps. It is a necessary condition and no more: a value that is shown need not be used, and one may stand in a list by
chance. What the agent itself wrote in the subtask does not count: it may have guessed. A step that was shown with its
middle left out counts as shown whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast, final  # Any: each domain has a state of its own

import attrs

from benchmarks.arena.domains.addresses import BadTask
from benchmarks.arena.domains.decisions import decisions, steps_on
from benchmarks.arena.domains.memories import MEMORIES
from benchmarks.arena.domains.registry import NAMES, MissingPackage, domain
from benchmarks.arena.domains.results import Row
from benchmarks.arena.domains.settings import session_in
from benchmarks.arena.domains.shopping.catalogue import dollars
from benchmarks.arena.domains.shopping.rules import ShopRules
from benchmarks.arena.domains.task import Task
from benchmarks.arena.domains.world import Closed, Standing, stand, step
from benchmarks.arena.reports.series import who_acted
from mage import Session
from mage.engine import ExecutionState, StepId, Tree, view
from mage.render import NO_CAPS, render

_NOTES: Final = re.compile(r"product (\d+) with this one")
_RESULT: Final = re.compile(r"(?:answer to question|result of part) (\d+)")
_CHOICE: Final = re.compile(r"(\w+)'s (day \d+ \w+)")
_MEMBER: Final = re.compile(r"Member (\d+): (\w+)\.")
_SPACE: Final = re.compile(r"\s+")
_LONGEST: Final = 120


@final
class NoThread(Exception):
    """It cannot be said where a task lost its thread; the message says why, and what to do."""


@final
@attrs.frozen
class Needed:
    """A result of an earlier subtask that a subtask speaks of.

    Attributes:
        what: it is, such as `"the title of product 2"`.
        value: it was in this run; empty where that subtask has no answer.
        missing: the steps, counted from 1, of those prompts of the subtask in which it does not stand.
        last: whether it is missing from the last of them, which asked for the answer.
    """

    what: str
    value: str
    missing: tuple[int, ...]
    last: bool


@final
@attrs.frozen
class Part:
    """A subtask of a run.

    Attributes:
        number: from 1.
        right: whether its answer is right; None without an answer.
        prompts: how many prompts it has on the path of the run.
        needed: what it needs of earlier ones.
    """

    number: int
    right: bool | None
    prompts: int
    needed: tuple[Needed, ...]

    @property
    def lost(self) -> tuple[Needed, ...]:
        """What was missing when the answer was asked for."""
        return tuple([each for each in self.needed if each.last])


@final
@attrs.frozen
class Thread:
    """A run, by its subtasks.

    Attributes:
        task: its id.
        settings: of the run.
        parts: the subtasks that it came to.
    """

    task: str
    settings: Mapping[str, object]
    parts: tuple[Part, ...]

    @property
    def lost(self) -> Part | None:
        """The first subtask that lacked something when its answer was asked for; None where there is none."""
        return next((part for part in self.parts if part.lost), None)

    def document(self) -> dict[str, object]:
        """Return it as JSON."""
        parts = [attrs.asdict(part) for part in self.parts]
        lost = self.lost
        return {
            "task": self.task,
            "settings": dict(self.settings),
            "lost_at": None if lost is None else lost.number,
            "subtasks": parts,
        }


def threads(rows: Sequence[Row], task: str, memory: str | None, folder: Path | None) -> list[Thread]:
    """Return where the runs of a task lost their thread, one for each series that has it.

    Args:
        rows: of tasks.
        task: its id, as a row has it.
        memory: of this memory alone; None for all.
        folder: where the sessions of the runs are kept.

    Raises:
        NoThread: there is no such row, or its session cannot say it.
        MageError: a session cannot be read.
    """
    found = [row for row in rows if row.get("task") == task]
    if not found:
        known = sorted({str(row["task"]) for row in rows if "task" in row})
        some = f"; there are {', '.join(known[:4])}{' and others' if len(known) > 4 else ''}" if known else ""
        raise NoThread(f"no row is of the task {task!r}{some}")
    mine = [row for row in found if memory is None or _settings(row).get("memory") == memory]
    if not mine:
        there = sorted({str(_settings(row).get("memory")) for row in found})
        raise NoThread(f"{task} was not run with {memory!r}, but with {', '.join(there)}")
    if folder is None:
        raise NoThread(
            "a row does not hold what each prompt showed: run with --sessions DIR, and name that folder here too"
        )
    return [_thread(row, task, folder) for row in mine]


def _settings(row: Row) -> Mapping[str, object]:
    return cast("Mapping[str, object]", row["settings"])


def _thread(row: Row, name: str, folder: Path) -> Thread:
    settings = _settings(row)
    memory = settings.get("memory")
    if memory not in MEMORIES:
        raise NoThread(
            f"what {memory} showed beside the open steps stands in no session, so it cannot be said of its prompts"
        )
    path = session_in(folder, name, settings)
    if not path.is_file():
        raise NoThread(
            f"{path} is not there: the run of {name} with {memory} was not kept in this folder (run --sessions)"
        )
    task = _task(settings, row)
    with Session.open(str(path), name, wait=False) as session:
        tree, asked = session.tree, list(decisions(session.log()))
    standings, places = _played(task, tree)
    closed = standings[tree.step_head].closed
    shown: dict[int, list[tuple[int, str]]] = {}
    for each in asked:
        if each.head in places:
            place = len(standings[each.head].closed)
            mine = {made.id for made in steps_on(tree) if len(standings[made.parent].closed) == place}
            prompt = _plain(render(_without_words_of(view(each.state), mine), caps=NO_CAPS))
            shown.setdefault(place, []).append((places[each.head] + 1, prompt))
    right = cast("Sequence[bool | None]", row.get("right") or ())
    count = len(task.rules.instructions)
    parts = [
        _part(task, closed, place, shown[place], right[place] if place < len(right) else None)
        for place in range(count)
        if place in shown
    ]
    return Thread(name, settings, tuple(parts))


def _without_words_of(shown: ExecutionState, steps: Collection[StepId]) -> ExecutionState:
    """Return S without the actions of these steps: what an agent writes in a subtask it may have guessed."""
    raw = [attrs.evolve(made, action="") if made.id in steps else made for made in shown.raw]
    return attrs.evolve(shown, raw=tuple(raw))


def _task(settings: Mapping[str, object], row: Row) -> Task:
    name, seed, number, size = (
        settings.get("domain"),
        settings.get("seed"),
        row["number"],
        settings.get("size"),
    )
    if settings.get("data") is not None:
        raise NoThread("this task was made from data of yours, which a row does not hold")
    if name not in NAMES or type(seed) is not int or type(number) is not int or size not in ("full", "small"):
        raise NoThread("the settings of this row make no task that is known here")
    try:
        return domain(str(name), size).task(seed, number)
    except (BadTask, MissingPackage) as error:
        raise NoThread(str(error)) from None


def _played(task: Task, tree: Tree) -> tuple[dict[StepId, Standing[Any]], dict[StepId, int]]:
    """Return where the world stood after each step of the path, and how many actions had been made by then."""
    actions = {made.id: made.action for made in steps_on(tree)}
    standing: Standing[Any] = stand(task.rules)
    standings, places, count = dict[StepId, Standing[Any]](), dict[StepId, int](), 0
    for each in tree.active_path():
        if each in actions:
            standing, _ = step(task.rules, standing, actions[each])
            count += 1
        standings[each], places[each] = standing, count
    return standings, places


def _part(
    task: Task, closed: Sequence[Closed], place: int, prompts: Sequence[tuple[int, str]], right: bool | None
) -> Part:
    needed = []
    for what, value in needs_of(task, closed, place):
        plain = _plain(value)
        missing = tuple([step for step, prompt in prompts if plain not in prompt]) if plain else ()
        needed.append(Needed(what, value, missing, bool(missing) and missing[-1] == prompts[-1][0]))
    return Part(place + 1, right, len(prompts), tuple(needed))


def needs_of(task: Task, closed: Sequence[Closed], place: int) -> Iterator[tuple[str, str]]:
    """Yield what a subtask, counted from 0, needs of earlier ones, and what that was in a run: empty where nothing was."""
    text = task.rules.instructions[place]
    answers = [dict(each.answer) for each in closed[:place]]
    if isinstance(task.rules, ShopRules):
        yield from _of_purchases(task.rules, answers, text)
        return
    for number in dict.fromkeys(map(int, _RESULT.findall(text))):
        if number <= place:
            yield f"the result of subtask {number}", next(iter(_at(answers, number).values()), "")
    members = {
        name: int(number) for each in task.rules.instructions for number, name in _MEMBER.findall(each)
    }
    for name, slot in dict.fromkeys(_CHOICE.findall(text)):
        if members.get(name, place + 1) <= place:
            yield f"{name}'s {slot}", _at(answers, members[name]).get(slot, "")


def _at(answers: Sequence[Mapping[str, str]], number: int) -> Mapping[str, str]:
    return answers[number - 1] if number <= len(answers) else {}


def _of_purchases(
    rules: ShopRules, answers: Sequence[Mapping[str, str]], text: str
) -> Iterator[tuple[str, str]]:
    shelf = {product.code: product for product in rules.shop.shelf}
    bought = [shelf.get(answer.get("code", "")) for answer in answers]
    for number in dict.fromkeys(map(int, _NOTES.findall(text))):
        product = bought[number - 1] if number <= len(bought) else None
        yield f"the title of product {number}", "" if product is None else product.title
    for number, product in enumerate(bought, 1):
        yield f"the price of product {number}", "" if product is None else dollars(product.cents)


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text).strip().casefold()


# -- in words ---------------------------------------------------------------------------------------------


def as_lines(thread: Thread) -> Iterator[str]:
    """Yield what is to be said of a run."""
    lost = thread.lost
    yield f"{thread.task}, {thread.settings.get('memory')}: {who_acted(thread.settings)}"
    for part in thread.parts:
        said = {True: "right", False: "wrong", None: "no answer"}[part.right]
        yield f"  subtask {part.number}: {said}; {part.prompts} prompts; needs {len(part.needed)} earlier results"
        yield from [f"    {_told(each, part)}" for each in part.needed if each.missing or not each.value]
    if lost is None:
        yield "  Nothing that a subtask needs was missing when its answer was asked for."
        return
    what = "; ".join(f"{each.what}, {_short(each.value)}" for each in lost.lost)
    yield f"  The thread is lost at subtask {lost.number}: when its answer was asked for, the prompt lacked {what}."


def _told(needed: Needed, part: Part) -> str:
    if not needed.value:
        return f"{needed.what}: there is none, as that subtask was not answered"
    steps = (
        f"steps {needed.missing[0]} to {needed.missing[-1]}"
        if len(needed.missing) > 1
        else f"step {needed.missing[0]}"
    )
    if len(needed.missing) == part.prompts:
        return f"{needed.what}, {_short(needed.value)}: in none of the prompts ({steps})"
    again = "missing when the answer was asked for" if needed.last else "there when the answer was asked for"
    return f"{needed.what}, {_short(needed.value)}: missing from {len(needed.missing)} prompts ({steps}); {again}"


def _short(text: str) -> str:
    return f'"{text}"' if len(text) <= _LONGEST else f'"{text[:_LONGEST]}..."'

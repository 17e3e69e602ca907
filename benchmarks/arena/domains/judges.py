"""`judges`: what judges are worth, any rule, model or person, on mistakes of which it is known where they are."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast, final  # Any: argparse keeps the type of its parsers to itself

import attrs

from benchmarks.arena.domains.by_hand import ByHand, InputEnded
from benchmarks.arena.domains.measured import Case, as_table, ask, cases, coin, passes_all, worth_of
from benchmarks.arena.domains.registry import SIZES, domain
from benchmarks.arena.domains.results import BadResults, Row, read_results
from benchmarks.arena.domains.revisions import (
    Making,
    Undone,
    as_lines,
    counts_of,
    knowing,
    mended,
    undone_in,
)
from benchmarks.arena.domains.settings import session_in
from benchmarks.arena.domains.shopping.rules import ShopRules
from benchmarks.arena.domains.who_and_when import ROOM, Firsts, firsts, labelled
from mage import MageError, Session
from mage.effects import Judge

_NAME: Final = "by hand"


@final
@attrs.frozen
class _Refused(Exception):
    """A judge cannot be had; the message says why."""

    reason: str

    def __str__(self) -> str:
        return self.reason


_REFUSED: Final = (BadResults, MageError, ModuleNotFoundError, OSError, _Refused)


# Any: argparse keeps the type of its own parsers to itself
def add_judges(commands: Any) -> None:
    """Add the command to the subparsers of a parser; `chosen.command(chosen)` runs it."""
    judging = commands.add_parser(
        "judges", help="ask judges about work of which it is known whether it is right, and where not"
    )
    judging.add_argument("--tasks", type=_count, default=10, help="how many of the shop, from number 0 on")
    judging.add_argument("--seed", type=int, default=0, help="of the tasks and of all draws")
    judging.add_argument("--size", default="full", choices=SIZES, help="full is about the paper's")
    judging.add_argument("--model", action="append", default=[], help="a model as a judge; repeatable")
    judging.add_argument("--base-url", help="the server; else OPENAI_BASE_URL, else OpenAI's")
    judging.add_argument("--temperature", type=float, default=0.0, help="of every call")
    judging.add_argument("--criteria", default="", help="what a model or a person is asked to judge besides")
    judging.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="MODULE:NAME",
        help="a judge of yours, a function of a JudgeRequest; repeatable",
    )
    judging.add_argument("--by-hand", action="store_true", help="you are a judge: each prompt is printed")
    judging.add_argument("--answers", type=Path, metavar="FILE", help="keep the answers by hand, and go on")
    judging.add_argument(
        "--who-and-when",
        type=Path,
        metavar="DIR",
        help="ask about the runs in this folder, whose mistake people have labelled, and not about the shop",
    )
    judging.add_argument(
        "--room", type=_count, default=ROOM, help="tokens of a segment of such a run (default: %(default)s)"
    )
    judging.add_argument(
        "--runs",
        type=Path,
        metavar="RESULTS",
        help="of runs of the shop, whatever judged them: is a wrong purchase that was undone made again?",
    )
    judging.add_argument(
        "--sessions", type=Path, metavar="DIR", help="where `run --sessions` kept those runs"
    )
    judging.add_argument(
        "--revisions",
        action="store_true",
        help="also play the shop with each judge: what is mended, at what cost",
    )
    judging.add_argument("--json", action="store_true", dest="as_json", help="one object with `rows`")
    judging.set_defaults(command=measure)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError  # argparse says what was wrong
    return count


def measure(chosen: argparse.Namespace) -> int:
    """Ask judges, say what they are worth, and return the exit status."""
    if chosen.answers is not None and not chosen.by_hand:
        return _refuse("--answers is for --by-hand")
    if chosen.revisions and chosen.who_and_when is not None:
        return _refuse("--revisions plays the shop: leave --who-and-when out")
    if (chosen.runs is None) != (chosen.sessions is None):
        return _refuse("--runs RESULTS and --sessions DIR go together")
    try:
        if chosen.runs is not None:
            return _print(chosen, *_on_runs(read_results(chosen.runs), chosen.sessions))
        with ExitStack() as stack:
            judges = dict(_judges(chosen, stack))
            found = (
                _on_the_shop(chosen, judges) if chosen.who_and_when is None else _on_labels(chosen, judges)
            )
    except InputEnded:
        kept = f": the same command goes on, with what {chosen.answers} has" if chosen.answers else ""
        return _refuse(f"the answers have ended before the questions{kept}")
    except _REFUSED as error:
        return _refuse(str(error))
    return _print(chosen, *found)


def _print(chosen: argparse.Namespace, said: dict[str, object], texts: list[str]) -> int:
    print(json.dumps(said, indent=2, sort_keys=True) if chosen.as_json else "\n\n".join(texts))
    return 0


def _on_runs(rows: list[Row], folder: Path) -> tuple[dict[str, object], list[str]]:
    """Return of each series of the shop how often a purchase that was undone was made again."""
    found: dict[str, list[Undone]] = {}
    for row in rows:
        settings = cast("Mapping[str, object]", row["settings"])
        if settings.get("domain") == "shopping" and isinstance(row.get("task"), str):
            name = f"{settings.get('memory')}, {settings.get('model') or settings.get('agent')}"
            found.setdefault(name, []).extend(_undone(settings, str(row["task"]), row["number"], folder))
    if not found:
        raise _Refused("there is no row of a run of the shop: only there is it known which purchase is wrong")
    said = [{"name": name, **counts_of(each)} for name, each in found.items()]
    lines = [
        f"{'memory, who acted':<40}{'undone wrong':>14}{'right':>8}{'bought anew':>13}{'the same again':>16}"
    ]
    lines += [
        f"{each['name']:<40}{each['undone_wrong']:>14}{each['undone_right']:>8}{each['bought_anew']:>13}"
        f"{each['same_again']:>16}"
        for each in said
    ]
    return {"rows": said}, ["\n".join(lines)]


def _undone(settings: Mapping[str, object], task: str, number: object, folder: Path) -> list[Undone]:
    path, seed, size = session_in(folder, task, settings), settings.get("seed"), settings.get("size")
    if not path.is_file():
        raise _Refused(f"{path} is not there: the run of {task} was not kept in this folder (run --sessions)")
    if type(seed) is not int or type(number) is not int or size not in SIZES:
        raise _Refused(f"the settings of {task} make no task that is known here")
    rules = domain("shopping", size).task(seed, number).rules
    assert isinstance(rules, ShopRules)  # it is a shop
    with Session.open(str(path), task, wait=False) as session:
        return list(undone_in(rules, session.log()))


def _judges(chosen: argparse.Namespace, stack: ExitStack) -> Iterator[tuple[str, Callable[[], Judge]]]:
    """Yield judges by name, each as what begins it: a coin is thrown anew for each measure."""
    yield "passes everything", lambda: passes_all
    yield "coin", lambda: coin(chosen.seed)
    for each in chosen.rule:
        rule = _rule(each)
        yield each, _always(rule)
    if chosen.model:
        from mage.llm import ChatJudge, client  # noqa: PLC0415  # the others need no client

        ours = stack.enter_context(client(base_url=chosen.base_url))
        for name in chosen.model:
            model = ChatJudge(ours, name, criteria=chosen.criteria, temperature=chosen.temperature)
            yield name, _always(model)
    if chosen.by_hand:
        hand = ByHand(sys.stderr, sys.stdin, chosen.answers, chosen.criteria)
        yield _NAME, _always(hand)


def _always(judge: Judge) -> Callable[[], Judge]:
    return lambda: judge


def _rule(name: str) -> Judge:
    module, colon, attribute = name.partition(":")
    if not module or not colon or not attribute:
        raise _Refused(f"{name!r} is no MODULE:NAME")
    try:
        found: object = getattr(import_module(module), attribute)
    except AttributeError:
        raise _Refused(f"{module} has no {attribute!r}") from None
    if not callable(found):
        raise _Refused(f"{name} cannot be called: a judge is a function of a JudgeRequest")
    return found


def _on_the_shop(
    chosen: argparse.Namespace, judges: dict[str, Callable[[], Judge]]
) -> tuple[dict[str, object], list[str]]:
    asked = cases(chosen.seed, chosen.tasks, chosen.size)
    worths = [worth_of(name, ask(begin(), asked)) for name, begin in judges.items()]
    said: dict[str, object] = {"rows": [each.document() for each in worths]}
    texts = [_head("the shop", asked), as_table(worths)]
    if chosen.revisions:
        makings = {"knows": knowing(chosen.seed), **{name: _making(begin) for name, begin in judges.items()}}
        mendings = mended(makings, chosen.seed, chosen.tasks, chosen.size)
        said["revisions"] = [each.document() for each in mendings]
        texts.append("\n".join(as_lines(mendings)))
    return said, texts


def _making(begin: Callable[[], Judge]) -> Making:
    judge = begin()
    return lambda _world, _rules, _number: judge


def _on_labels(
    chosen: argparse.Namespace, judges: dict[str, Callable[[], Judge]]
) -> tuple[dict[str, object], list[str]]:
    asked = labelled(chosen.who_and_when, chosen.room)
    worths, first = [], dict[str, Firsts]()
    for name, begin in judges.items():
        answers = ask(begin(), asked)
        worths.append(worth_of(name, answers))
        first[name] = firsts(answers)
    rows = [{**each.document(), "first": attrs.asdict(first[each.name])} for each in worths]
    wide = max([24, *[len(name) + 2 for name in first]])
    lines = [f"{'the first that fails is':<{wide}}{'the mistake':>14}{'one before':>14}{'none':>10}"]
    lines += [
        f"{name:<{wide}}{f'{each.right}/{each.runs}':>14}{each.early:>14}{each.never:>10}"
        for name, each in first.items()
    ]
    return {"rows": rows}, [_head("labelled runs", asked), as_table(worths), "\n".join(lines)]


def _head(where: str, asked: list[Case]) -> str:
    wrong = sum(not case.is_right for case in asked)
    return f"{len(asked)} questions of {where}, {wrong} of them on something wrong; ± is half a 95 % interval (Wilson)"


def _refuse(why: str) -> int:
    print(f"Error: {why}", file=sys.stderr)
    return 2

"""`mage demo`: a story in under a minute, without a network, a model or a key.

Three purchases depend on each other, and one is a mistake. What the shop answers and what is said of it comes from
`mage.agent.shop`, where `mage run --offline` lives it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Annotated, Final, TypeAlias, final

import attrs
import typer
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from mage.agent.shop import TASK, Shop
from mage.agent.shop.goods import FEEDBACK, SUBTASKS, WRONG_CHAIR
from mage.agent.shop.playing import claim
from mage.cli.output import AsJson, console, print_json, say
from mage.cli.show import print_tree
from mage.engine import (
    ApplyVerdict,
    Command,
    Compress,
    Digest,
    Failed,
    Grow,
    Instruct,
    Passed,
    Revise,
    Start,
    State,
    Unverified,
    Verdict,
    apply,
    view,
)
from mage.render import Meter, bars, one_line, render, state_as_json
from mage.tokens import default_counter
from mage.trajectories.measure import ContextSizes, measure

Move: TypeAlias = Instruct | Grow | Compress | Verdict | Revise


@final
@attrs.frozen
class Beat:
    """One thing that happens, and what a narrator says of it."""

    told: str
    move: Move


def _episode(shop: Shop) -> Iterator[Beat]:
    shop.reset()
    yield Beat("The first subtask.", Instruct(SUBTASKS[0]))
    told = "The agent acts; every action and what came back is a step."
    yield from _purchase(shop, "oak desk 120 cm", "D-2041", told)
    told = "The subgoal is done: Compress puts a summary in place of its steps."
    yield Beat(told, Compress(claim(1, "D-2041", shop.spent)))
    yield Beat("Maintain: a judge compares the summary with the steps. It passes.", Passed())
    yield Beat("The second subtask brings a note about what fits.", Instruct(SUBTASKS[1]))
    yield from _mistake(shop, "C-1180")
    yield Beat("What was asked for is asked for again.", Instruct(SUBTASKS[1]))
    yield from _purchase(shop, "linen desk chair", "C-2214", "A new branch, knowing better.")
    yield Beat("", Compress(claim(2, "C-2214", shop.spent)))
    yield Beat("It passes.", Passed())
    yield Beat("", Instruct(SUBTASKS[2]))
    yield from _purchase(shop, "desk lamp brass linen shade", "L-0310", "")
    yield Beat("", Compress(claim(3, "L-0310", shop.spent)))
    yield Beat("It passes: the study is furnished, within budget, and everything fits.", Passed())


def _mistake(shop: Shop, code: str) -> Iterator[Beat]:
    yield from _purchase(
        shop, "chrome swivel chair", code, "", bought="The mistake: the cheapest chair is bought."
    )
    yield Beat("", Compress(claim(2, code, shop.spent)))
    told = "The judge reads the steps against the task, and fails it."
    yield Beat(told, Failed(FEEDBACK.format(code=code)))
    told = (
        "Revise: back to the boundary before the chair. The wrong branch stays in the tree, out of sight,"
        " and the lesson stands where it is needed. The shop goes back too: the chair is not bought any more."
    )
    yield Beat(told, Revise(3, WRONG_CHAIR.format(code=code)))
    shop.act(f"return[{code}]")


def _purchase(shop: Shop, query: str, code: str, told: str, *, bought: str = "") -> Iterator[Beat]:
    for said, action in ((told, f"search[{query}]"), ("", f"open[{code}]"), (bought, f"buy[{code}]")):
        yield Beat(said, Grow(action, shop.act(action).text))


EPISODE: Final[tuple[Beat, ...]] = tuple(_episode(Shop()))


def story() -> list[tuple[Beat, Command, State]]:
    """Return the episode as beats, the command of each, and the state after it. Start is not among them."""
    state = apply(None, Start(TASK)).unwrap()
    told: list[tuple[Beat, Command, State]] = []
    for beat in EPISODE:
        command = _command(beat, state)
        state = apply(state, command).unwrap()
        told.append((beat, command, state))
    return told


def _command(beat: Beat, state: State) -> Command:
    move = beat.move
    if isinstance(move, Passed | Failed):
        return ApplyVerdict(move, state.digest if isinstance(state, Unverified) else Digest(""))
    return move


def demo(
    pace: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Pause between steps; none into a pipe.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Watch an agent shop, err, be judged, go back and do better."""
    told = story()
    meter = Meter(default_counter())
    commands = [Start(TASK), *(command for _, command, _ in told)]
    sizes = measure(commands, meter).sizes
    if as_json:
        print_json(
            {"state": state_as_json(view(told[-1][2])), "shown": list(sizes.shown), "full": list(sizes.full)}
        )
        return
    _tell(told, (0.6 if sys.stdout.isatty() else 0.0) if pace is None else pace)
    _compare(sizes, meter)


def _tell(told: list[tuple[Beat, Command, State]], pace: float) -> None:
    screen = console()
    screen.print(Panel(Text(TASK), title="task", title_align="left"))
    before: State | None = None
    for beat, command, state in told:
        if beat.told:
            say(f"\n{beat.told}", "italic")
        if isinstance(command, Revise) and before is not None:
            _show(screen, "S before the revision: what the agent would be shown", before)
        say(*_line(command, state))
        if isinstance(command, Revise):
            _show(screen, "S after the revision: the wrong branch is gone, the lesson is there", state)
        time.sleep(pace)
        before = state
    say("\nThe tree, with the branch that was left:", "italic")
    print_tree(told[-1][2].tree)


def _show(screen: Console, title: str, state: State) -> None:
    screen.print(Panel(Text(render(view(state)).rstrip("\n")), title=title, title_align="left"))


def _line(command: Command, state: State) -> tuple[str, str]:
    match command:
        case Grow():
            said, style = (
                f"  ● {state.tree.step_head} {command.action} → {one_line(command.observation, 60)}",
                "",
            )
        case Compress():
            said, style = f"  ■ compress: {command.text}", "bold cyan"
        case Instruct():
            said, style = f"  ! instruction: {command.text}", "blue"
        case ApplyVerdict(verdict=Failed(feedback=feedback)):
            said, style = f"  ✗ the judge: {feedback}", "red"
        case ApplyVerdict():
            said, style = "  ✓ the judge: passed", "green"
        case Revise():
            said, style = f"  ↶ revise to [Step {command.boundary}], lesson: {command.lesson}", "yellow"
        case _:
            said, style = f"  {type(command).__name__}", ""
    return said, style


def _compare(sizes: ContextSizes, meter: Meter) -> None:
    top = max(sizes.full)
    say(f"\nPrompt tokens before each step ({meter.counter.name}):", "italic")
    encoding = console().encoding
    say(f"shown |{bars(sizes.shown, top=top, encoding=encoding)}| {sizes.shown_total:,} in all")
    say(f"full  |{bars(sizes.full, top=top, encoding=encoding)}| {sizes.full_total:,} in all")
    say(f"{sizes.reduction:.0%} less than keeping everything, in {len(sizes.shown)} steps")

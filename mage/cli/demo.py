"""`mage demo`: a story in under a minute, without a network, a model or a key.

Three purchases depend on each other, and one is a mistake. It is the run of `mage run --offline`, with a narrator.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Annotated, Final

import typer
from rich.panel import Panel
from rich.text import Text

from mage.agent import Agent
from mage.cli.live import Heard, line_of
from mage.cli.output import AsJson, console, print_json, say
from mage.cli.show import print_tree
from mage.demo import shop
from mage.engine import State, view
from mage.render import Meter, bars, render, state_as_json
from mage.session import Session, events
from mage.stores import JournalStore, MemoryStore
from mage.tokens import default_counter
from mage.trajectories.measure import ContextSizes, measure

_NAME: Final = "demo"
_WHOLE: Final = 200  # characters: no text of the story has more
_TOLD: Final = {
    (events.Instructed, 1): "The first subtask.",
    (events.Grown, 1): "The agent acts; every action and what came back is a step.",
    (events.Compressed, 1): "The subgoal is done: Compress puts a summary in place of its steps.",
    (events.Judged, 1): "Maintain: a judge compares the summary with the steps. It passes.",
    (events.Instructed, 2): "The second subtask brings a note about what fits.",
    (events.Grown, 6): "The mistake: the cheapest chair is bought.",
    (events.Judged, 2): "The judge reads the steps against the task, and fails it.",
    (
        events.Revised,
        1,
    ): "Revise: back to the boundary before the chair. The wrong branch stays in the tree, out of"
    " sight, and the lesson stands where it is needed. The shop goes back too: the chair is not bought any more.",
    (events.Instructed, 3): "The shop knows no better, and goes on to the third subtask.",
    (events.Grown, 7): "A new branch, knowing better.",
    (events.Judged, 3): "It passes.",
    (events.Judged, 4): "It passes: the study is furnished, within budget, and everything fits.",
}
"""What the narrator says before the n-th event of a kind."""


def demo(
    pace: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Pause between steps; none into a pipe.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Watch an agent shop, err, be judged, go back and do better."""
    store = MemoryStore()
    told = story(store)
    meter = Meter(default_counter())
    with Session.open(store, _NAME) as session:
        sizes = measure([entry.command for entry in session.history()], meter).sizes
    if as_json:
        shown = {"shown": list(sizes.shown), "full": list(sizes.full)}
        print_json({"state": state_as_json(view(told[-1][1])), **shown})
        return
    _tell(told, (0.6 if sys.stdout.isatty() else 0.0) if pace is None else pace)
    say("\nThe tree, with the branch that was left:", "italic")
    print_tree(told[-1][1].tree)
    _compare(sizes, meter)


def story(store: JournalStore) -> list[tuple[Heard, State]]:
    """Let the story happen in a store; return what happened, each with the state after it."""
    told: list[tuple[Heard, State]] = []

    def hear(event: Heard) -> None:
        with Session.open(store, _NAME, wait=False) as session:
            told.append((event, session.phase))

    agent = Agent(model=shop.shopper, environment=shop.Shop(), judge=shop.judge, summarizer=shop.summarize)
    agent.run(store, _NAME, task=shop.TASK, on_event=hear)
    return told


def _tell(told: list[tuple[Heard, State]], pace: float) -> None:
    console().print(Panel(Text(shop.TASK), title="task", title_align="left"))
    heard: Counter[type[Heard]] = Counter()
    before: State | None = None
    for event, state in told:
        heard[type(event)] += 1
        said = _TOLD.get((type(event), heard[type(event)]))
        if said:
            say(f"\n{said}", "italic")
        if isinstance(event, events.Revised) and before is not None:
            _show("S before the revision: what the agent would be shown", before)
        line = line_of(event, state.tree, width=_WHOLE)
        if line:
            say(*line)
            sys.stdout.flush()
            time.sleep(pace)
        if isinstance(event, events.Revised):
            _show("S after the revision: the wrong branch is gone, the lesson is there", state)
        before = state


def _show(title: str, state: State) -> None:
    console().print(Panel(Text(render(view(state)).rstrip("\n")), title=title, title_align="left"))


def _compare(sizes: ContextSizes, meter: Meter) -> None:
    top = max(sizes.full)
    say(f"\nPrompt tokens before each step ({meter.counter.name}):", "italic")
    encoding = console().encoding
    say(f"shown |{bars(sizes.shown, top=top, encoding=encoding)}| {sizes.shown_total:,} in all")
    say(f"full  |{bars(sizes.full, top=top, encoding=encoding)}| {sizes.full_total:,} in all")
    say(f"{sizes.reduction:.0%} less than keeping everything, in {len(sizes.shown)} steps")

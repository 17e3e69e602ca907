"""A run as it happens, how it ended and what it has cost; and `mage demo`.

The demo is the run of `mage run --offline`, with a narrator. It needs no network, no model and no key.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, TypeAlias, final

import attrs
import typer
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from mage.agent import (
    Agent,
    AgentEvent,
    AgentHook,
    Asked,
    AskFailed,
    Noticed,
    Outcome,
    RunFailed,
    RunFinished,
    RunStopped,
    Totals,
)
from mage.cli.output import (
    AsJson,
    Refused,
    console,
    numbered,
    print_json,
    print_text,
    read_bytes,
    say,
    some_of,
)
from mage.cli.show import STYLES, print_tree
from mage.demo import shop
from mage.effects import Usage
from mage.engine import Failed, State, StepId, SummaryId, Tree, view
from mage.render import Meter, bars, draw, one_line, printable, render, state_as_json
from mage.session import Event, Session, events
from mage.stores import JournalStore, MemoryStore
from mage.tokens import default_counter
from mage.trajectories.measure import measure

# -- prices -------------------------------------------------------------------------------------------------


_MILLION: Final = 1_000_000
_HIGHEST: Final = 1e12
_KEYS: Final = ("prompt", "cached", "completion")

PricesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        metavar="FILE",
        envvar="MAGE_PRICES",
        readable=False,
        help='Prices of a million tokens, as JSON: {"MODEL": {"prompt": 2, "cached": 0.5, "completion": 8}}.',
    ),
]


@final
@attrs.frozen
class Price:
    """The price of a million tokens of a model, in the user's currency."""

    prompt: float
    cached: float
    completion: float

    def of(self, usage: Usage) -> float:
        """Return the cost of calls."""
        fresh = usage.prompt - usage.cached
        return (
            fresh * self.prompt + usage.cached * self.cached + usage.completion * self.completion
        ) / _MILLION


def read_prices(file: Path | None) -> dict[str, Price]:
    """Return the prices of a file, by the beginnings of models' names; none where there is no file.

    Raises:
        Refused: the file is not JSON, or a price is not a number from 0 on.
    """
    if file is None:
        return {}
    try:
        said: object = json.loads(read_bytes(file))
    except (ValueError, RecursionError):
        raise Refused(f"{file}: this is not JSON") from None
    if not isinstance(said, dict):
        raise Refused(f"{file}: prices are a JSON object, with an object for each model")
    return {name: _price(file, name, each) for name, each in said.items()}


def _price(file: Path, name: str, said: object) -> Price:
    given = said if isinstance(said, dict) else {}
    prices = {"cached": given.get("prompt"), **given}
    if set(prices) != {*_KEYS} or not all(map(_is_price, prices.values())):
        raise Refused(
            f'{file}: the price of {name} is an object such as {{"prompt": 2, "cached": 0.5, "completion": 8}}, each'
            " a number from 0 on; cached may be left out"
        )
    return Price(**{key: float(prices[key]) for key in _KEYS})


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _HIGHEST


@final
@attrs.frozen
class Cost:
    """The cost of a run, without that of the models that have no price."""

    amount: float
    unpriced: tuple[str, ...]

    def __str__(self) -> str:
        missing = f", without {printable(some_of(self.unpriced))}, which no price is given for"
        return f"cost {self.amount:,.4f}" + missing * bool(self.unpriced)

    @classmethod
    def of(cls, models: Mapping[str, Usage], prices: Mapping[str, Price]) -> Cost:
        """Return the cost of the calls of models; of the prices that fit a model's name, the longest counts."""
        amount, unpriced = 0.0, list[str]()
        for model, usage in models.items():
            fitting = [name for name in prices if model.startswith(name)]
            if fitting:
                amount += prices[max(fitting, key=len)].of(usage)
            elif usage.total:
                unpriced.append(model or "a model without a name")
        return cls(amount, tuple(unpriced))


def cost_document(totals: Totals, prices: Mapping[str, Price]) -> dict[str, object]:
    """Return the cost of a run, and the models without a price, as JSON; nothing where there are no prices."""
    return {"cost": attrs.asdict(Cost.of(totals.models, prices))} if prices else {}


# -- a run as it happens ------------------------------------------------------------------------------------


_PER_SECOND: Final = 8
_WIDTH: Final = 100
_FRAME: Final = 6  # lines of the screen that are not the tree's
_LONG: Final = 10  # seconds without an event, after which the screen says how long it has waited

AnyEvent: TypeAlias = Event | AgentEvent


@final
class Following:
    """The session of a run, read from its store: events have ids and no texts."""

    def __init__(self, store: JournalStore, name: str) -> None:
        self._store = store
        self._name = name
        self._session: Session | None = None

    def tree(self) -> Tree:
        """Return the present tree. Cost: O(new records)."""
        if self._session is None:
            self._session = Session.open(self._store, self._name, wait=False)
        else:
            self._session.refresh()
        return self._session.tree

    def last(self) -> Tree | None:
        """Return the tree that `tree` returned last; None before its first call."""
        return None if self._session is None else self._session.tree


@final
class Counted:
    """How often this process asked model, judge and summarizer, and the tokens of these calls as providers count them."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.shown = 0

    def count(self, event: AnyEvent) -> None:
        """Count a call."""
        if isinstance(event, Asked):
            self.calls[event.who] += 1
            self.tokens[event.who] += event.prompt + event.completion
            self.shown = event.shown or self.shown

    def __str__(self) -> str:
        said = [
            f"{who} {numbered(count, 'call')}, {self.tokens[who]:,} tokens"
            for who, count in self.calls.items()
        ]
        return "; ".join([*said, f"{self.shown:,} tokens open"])


@contextmanager
def view_for(
    store: JournalStore, name: str, *, quiet: bool, by_hand: bool = False
) -> Iterator[tuple[AgentHook, ...]]:
    """Yield the hooks that show a run: a screen on a terminal, else a line for each event; none if `quiet`.

    Where the user is asked there is no screen, as it would be drawn over the questions.
    """
    following = Following(store, name)
    if quiet:
        yield ()
    elif sys.stdout.isatty() and not by_hand:
        screen = Screen(following, console())
        with screen.live:
            yield (screen,)
    else:
        yield (lambda event: _print_line(line_of(event, following.tree())),)


def _print_line(line: tuple[str, str] | None) -> None:
    if not line:
        return
    try:
        print_text(line[0] + "\n")
        sys.stdout.flush()
    except OSError:  # the reader has left, or the disk is full; an `Exception` would only be logged
        raise KeyboardInterrupt from None


@final
class Screen:
    """The end of the tree and the tokens, drawn anew a few times a second.

    After ten seconds without an event it counts the seconds: a model thinks, or its provider has said to wait.
    `live` draws it while it is entered. `clock` gives seconds, from any beginning.
    """

    def __init__(
        self, following: Following, screen: Console, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._following = following
        self._clock = clock
        self._last = clock()
        self._counted = Counted()
        self._happened = ""
        self._screen = screen
        self.live = Live(
            console=screen, refresh_per_second=_PER_SECOND, transient=True, get_renderable=self.drawn
        )

    def __call__(self, event: AnyEvent, /) -> None:
        """Receive an event."""
        self._last = self._clock()
        self._counted.count(event)
        line = line_of(event, self._following.tree())
        if line:
            self._happened = line[0].strip()

    def drawn(self) -> Group:
        """Return the screen as it is now."""
        tree = self._following.last()
        if tree is None:
            return Group()
        room = max(4, self._screen.height - _FRAME)
        lines = draw(tree, limit=max(room, 40))[1:][-room:]
        line = Text(one_line(tree.task, 4 * _WIDTH), no_wrap=True, overflow="ellipsis")
        task = Panel(line, title="task", title_align="left")
        drawn = [
            Text(line.drawn(self._screen.width), STYLES[line.style], no_wrap=True, overflow="ellipsis")
            for line in lines
        ]
        status = Text(one_line(self._happened, 4 * _WIDTH), "italic", no_wrap=True, overflow="ellipsis")
        silent = int(self._clock() - self._last)
        waiting = f"waiting for an answer, {silent:,} s; " * (silent >= _LONG)
        counted = Text(f"{waiting}{self._counted}", "dim", no_wrap=True, overflow="ellipsis")
        return Group(task, *drawn, status, counted)


def line_of(event: AnyEvent, tree: Tree, *, width: int = _WIDTH) -> tuple[str, str] | None:
    """Return the line of an event, and its style; None for an event without one. Cost: O(1).

    `tree` is the tree after the event; `width` is how many characters of a text are shown.
    """

    def cut(text: str) -> str:
        return one_line(text, width)

    match event:
        case events.Grown(step=step) | events.Merged(step=step):
            node = tree.step(StepId(step))
            said = f"  ● {step} {one_line(node.action, _WIDTH // 2)} → {one_line(node.observation, 60)}"
            return (said + " (again)" * isinstance(event, events.Merged), "")
        case events.Instructed(step=step):
            return (f"  ! instruction: {cut(tree.instructions_at(StepId(step))[-1].text)}", "blue")
        case events.Compressed(summary=summary, kind=kind) | events.Retexted(summary=summary, kind=kind):
            word = "a new text" if isinstance(event, events.Retexted) else "compress"
            said = f"  ■ {word}{' (fallback)' * (kind == 'fallback')}: {cut(tree.summary(SummaryId(summary)).text)}"
            return (said, "bold cyan")
        case events.Judged(summary=summary, passed=passed):
            verdict = tree.summary(SummaryId(summary)).verdict
            feedback = f": {cut(verdict.feedback)}" if isinstance(verdict, Failed) else ""
            return ("  ✓ the judge: passed", "green") if passed else (f"  ✗ the judge{feedback}", "red")
        case events.Accepted(despite=despite):
            return (f"  ~ accepted{' despite its failure' * despite}, openly", "yellow")
        case events.Folded(first=first, last=last):
            lines = tree.lines_upwards(tree.head_summary)
            text = next((line.text for line in lines if (line.label, line.boundary) == (first, last)), "")
            return (f"  ≡ chapter [Step {first}..{last}]: {cut(text)}", "bold cyan")
        case events.Revised(boundary=boundary, abandoned=abandoned):
            lessons = tree.lessons_at(StepId(boundary))
            lesson = f", lesson: {cut(lessons[-1])}" if lessons else ""
            return (f"  ↶ revise to [Step {boundary}], {numbered(abandoned, 'step')} left{lesson}", "yellow")
        case _:
            return _other(event)


def _other(event: AnyEvent) -> tuple[str, str] | None:
    match event:
        case events.Opened(version=version) if version > 1:
            return (f"going on at version {version}", "italic")
        case events.Refreshed(version=version):
            return (f"  others have written: version {version}", "yellow")
        case AskFailed(who, fault):
            return (f"  ? the {who} gave no answer that can be used: {fault.replace('_', ' ')}", "red")
        case Noticed(kind):
            return (f"  · the model will be told something: {kind.replace('_', ' ')}", "dim")
        case _:
            return None


# -- how it ended --------------------------------------------------------------------------------------

BESIDE: Final = (
    "somebody else is running this session at this moment; nothing of theirs is lost. Run it again when that"
    " run has ended: it goes on from there, or says how it ended"
)


def outcome_line(outcome: Outcome) -> str:
    """Return in one line how a run ended, and why."""
    match outcome:
        case RunFinished(answer):
            return f"finished: {printable(answer)}" if answer else "finished"
        case RunStopped(reason, detail):
            return f"stopped, {reason.replace('_', ' ')}: {printable(detail)}"
        case RunFailed(part, fault, detail):
            said = fault.replace("_", " ")
            return printable(
                f"failed, {part}: {detail if detail.startswith(f'{said}: ') else f'{said}: {detail}'}"
            )


def totals_line(totals: Totals, prices: Mapping[str, Price]) -> str:
    """Return in one line the counts of a run, its tokens, and where there are prices its cost."""
    counts = (
        f"{numbered(totals.steps, 'step')}, {numbered(totals.summaries, 'summary')},"
        f" {numbered(totals.revisions, 'revision')}"
    )
    calls = [
        f"{who} {numbered(usage.calls, 'call')}, {usage.total:,} tokens"
        + f" ({usage.estimated:,} of the calls counted here, not by the server)" * bool(usage.estimated)
        for who, usage in totals.tokens.items()
        if usage.calls
    ]
    usage = totals.usage
    cached = f", of the prompts {usage.cached / usage.prompt:.0%} cached" if usage.cached else ""
    whole = [f"in all {numbered(usage.calls, 'call')}, {usage.total:,} tokens{cached}"] * (len(calls) > 1)
    cost = [str(Cost.of(totals.models, prices))] * bool(prices and calls)
    return "; ".join([counts, *calls, *(whole or [cached.removeprefix(", ")] * bool(cached)), *cost])


# -- mage demo -----------------------------------------------------------------------------------------

_DEMO: Final = "demo"
_WHOLE: Final = 200  # characters: no text of the story has more
_NARRATED: Final = {
    (events.Instructed, 1): "The first subtask.",
    (events.Grown, 1): "The agent acts; every action and what came back is a step.",
    (events.Compressed, 1): "The subgoal is done: Compress puts a summary in place of its steps.",
    (events.Judged, 1): "Maintain: a judge compares the summary with the steps. It passes.",
    (events.Instructed, 2): "The second subtask brings a note about what fits.",
    (events.Grown, 6): "The mistake: the cheapest chair is bought.",
    (events.Judged, 2): "The judge reads the steps against the task, and fails it.",
    (events.Revised, 1): (
        "Revise: back to the boundary before the chair. The wrong branch stays in the tree, out of sight, and the"
        " lesson stands where it is needed. The shop goes back too: the chair is not bought any more."
    ),
    (events.Instructed, 3): "The shop knows no better, and goes on to the third subtask.",
    (events.Grown, 7): "A new branch, knowing better.",
    (events.Judged, 3): "It passes.",
    (events.Judged, 4): "It passes: the study is furnished, within budget, and everything fits.",
}
"""The narrator's words before the n-th event of a kind."""


def demo(
    pace: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Pause between steps; none into a pipe.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Watch an agent shop, err, be judged, go back and do better."""
    store = MemoryStore()
    happened = story(store)
    meter = Meter(default_counter())
    with Session.open(store, _DEMO) as session:
        sizes = measure([entry.command for entry in session.history()], meter).sizes
    if as_json:
        shown = {"shown": list(sizes.shown), "full": list(sizes.full)}
        print_json({"state": state_as_json(view(happened[-1][1])), **shown})
        return
    _narrate(happened, (0.6 if sys.stdout.isatty() else 0.0) if pace is None else pace)
    say("\nThe tree, with the branch that was left:", "italic")
    print_tree(happened[-1][1].tree)
    say(f"\nPrompt tokens before each step ({meter.counter.name}):", "italic")
    for name, each, total in (
        ("shown", sizes.shown, sizes.shown_total),
        ("full ", sizes.full, sizes.full_total),
    ):
        drawn = bars(each, top=max(sizes.full), encoding=console().encoding)
        say(f"{name} |{drawn}| {total:,} in all")
    say(f"{sizes.reduction:.0%} less than keeping everything, in {len(sizes.shown)} steps")


def story(store: JournalStore) -> list[tuple[AnyEvent, State]]:
    """Run the demo's story in a store; return its events, each with the state after it."""
    happened: list[tuple[AnyEvent, State]] = []

    def note(event: AnyEvent) -> None:
        with Session.open(store, _DEMO, wait=False) as session:
            happened.append((event, session.phase))

    agent = Agent(model=shop.shopper, environment=shop.Shop(), judge=shop.judge, summarizer=shop.summarize)
    agent.run(store, _DEMO, task=shop.TASK, on_event=note)
    return happened


def _narrate(happened: list[tuple[AnyEvent, State]], pace: float) -> None:
    _show("task", shop.TASK)
    counts: Counter[type[AnyEvent]] = Counter()
    before = happened[0][1]
    for event, state in happened:
        counts[type(event)] += 1
        if said := _NARRATED.get((type(event), counts[type(event)])):
            say(f"\n{said}", "italic")
        if isinstance(event, events.Revised):
            _show("S before the revision: what the agent would be shown", render(view(before)).rstrip("\n"))
        if line := line_of(event, state.tree, width=_WHOLE):
            say(*line)
            sys.stdout.flush()
            time.sleep(pace)
        if isinstance(event, events.Revised):
            shown = render(view(state)).rstrip("\n")
            _show("S after the revision: the wrong branch is gone, the lesson is there", shown)
        before = state


def _show(title: str, text: str) -> None:
    console().print(Panel(Text(text), title=title, title_align="left"))

"""A run as it happens and how it ended: in a terminal the tree and the tokens, in a pipe a line for each event."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self, TypeAlias, final

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from mage.agent import (
    AgentEvent,
    AgentHook,
    Asked,
    AskFailed,
    Noticed,
    Outcome,
    RunEnded,
    RunFailed,
    RunFinished,
    RunStopped,
    Totals,
)
from mage.cli.output import console, print_text
from mage.cli.show import STYLES
from mage.engine import Failed, StepId, SummaryId, Tree
from mage.render import draw, one_line, printable
from mage.session import Event, Session, events
from mage.stores import JournalStore

_PER_SECOND: Final = 8
_WIDTH: Final = 100
_FRAME: Final = 6  # lines of the screen that are not the tree's
_LONG: Final = 10  # seconds without an event, after which it is said that somebody is waited for

Heard: TypeAlias = Event | AgentEvent
"""What a view hears of."""


@final
class Following:
    """The session of a run as it stands, read from its store: events tell of ids, never of texts."""

    def __init__(self, store: JournalStore, name: str) -> None:
        self._store = store
        self._name = name
        self._session: Session | None = None

    def tree(self) -> Tree:
        """Return the tree as it is now. Cost: O(what is new)."""
        if self._session is None:
            self._session = Session.open(self._store, self._name, wait=False)
        else:
            self._session.refresh()
        return self._session.tree

    def last(self) -> Tree | None:
        """Return the tree of the last look; None before there was one."""
        return None if self._session is None else self._session.tree


@final
class Counted:
    """What was asked so far in this process, by whom, in tokens as the providers count them."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.tokens: dict[str, int] = {}
        self.shown = 0

    def hear(self, event: Heard) -> None:
        """Count what was asked."""
        if isinstance(event, Asked):
            self.calls[event.who] = self.calls.get(event.who, 0) + 1
            self.tokens[event.who] = self.tokens.get(event.who, 0) + event.prompt + event.completion
            self.shown = event.shown or self.shown

    def __str__(self) -> str:
        said = [
            f"{who} {numbered(count, 'call')}, {self.tokens[who]:,} tokens"
            for who, count in self.calls.items()
        ]
        return "; ".join([*said, f"{self.shown:,} tokens open"])


@contextmanager
def view_for(store: JournalStore, name: str, *, quiet: bool) -> Iterator[tuple[AgentHook, ...]]:
    """Yield the hooks that show a run where the output goes: a screen, a line for each event, or nothing."""
    following = Following(store, name)
    if quiet:
        yield ()
    elif sys.stdout.isatty():
        with Screen(following, console()) as screen:
            yield (screen,)
    else:
        yield (lambda event: _print_line(line_of(event, following.tree())),)


def _print_line(line: tuple[str, str] | None) -> None:
    if not line:
        return
    try:
        print_text(line[0] + "\n")
        sys.stdout.flush()
    except (
        OSError
    ):  # the reader has left, or the disk is full: what a hook raises is logged, and the run would go on
        raise KeyboardInterrupt from None


@final
class Screen:
    """The end of the tree and the tokens, drawn anew a few times a second.

    Where nothing has happened for ten seconds it counts them: a model thinks, or its provider has said to wait.

    Args:
        following: the session.
        screen: where it is drawn.
        clock: gives seconds, from any beginning.
    """

    def __init__(
        self, following: Following, screen: Console, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._following = following
        self._clock = clock
        self._heard = clock()
        self._counted = Counted()
        self._happened = ""
        self._screen = screen
        self._live = Live(
            console=screen, refresh_per_second=_PER_SECOND, transient=True, get_renderable=self.drawn
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Heard, /) -> None:
        """Hear of an event."""
        self._heard = self._clock()
        self._counted.hear(event)
        line = line_of(event, self._following.tree())
        if line:
            self._happened = line[0].strip()

    def drawn(self) -> Group:
        """Return what the terminal is to show now."""
        tree = self._following.last()
        if tree is None:
            return Group()
        room = max(4, self._screen.height - _FRAME)
        lines = draw(tree, limit=max(room, 40))[1:][-room:]
        told = Text(one_line(tree.task, 4 * _WIDTH), no_wrap=True, overflow="ellipsis")
        task = Panel(told, title="task", title_align="left")
        drawn = [
            Text(line.drawn(self._screen.width), STYLES[line.style], no_wrap=True, overflow="ellipsis")
            for line in lines
        ]
        status = Text(one_line(self._happened, 4 * _WIDTH), "italic", no_wrap=True, overflow="ellipsis")
        silent = int(self._clock() - self._heard)
        waiting = f"waiting for an answer, {silent:,} s; " * (silent >= _LONG)
        counted = Text(f"{waiting}{self._counted}", "dim", no_wrap=True, overflow="ellipsis")
        return Group(task, *drawn, status, counted)


def line_of(event: Heard, tree: Tree, *, width: int = _WIDTH) -> tuple[str, str] | None:
    """Return what is said of an event in one line, and its style; None where nothing is. Cost: O(1).

    Args:
        event: what has happened.
        tree: as it is now.
        width: characters of a text that are shown.
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


def _other(event: Heard) -> tuple[str, str] | None:
    match event:
        case events.Opened(version=version) if version > 1:
            return (f"going on at version {version}", "italic")
        case events.Refreshed(version=version):
            return (f"  others have written: version {version}", "yellow")
        case AskFailed(who, fault):
            return (f"  ? the {who} gave no answer that can be used: {fault.replace('_', ' ')}", "red")
        case Noticed(kind):
            return (f"  · the model will be told something: {kind.replace('_', ' ')}", "dim")
        case RunEnded() | Asked() | _:
            return None


# -- how it ended --------------------------------------------------------------------------------------

BESIDE: Final = (
    "somebody else is running this session at this moment; nothing of theirs is lost. Run it again when that"
    " run has ended: it goes on from there, or says how it ended"
)
"""What is said to whoever runs a session that somebody else is running."""


def told_outcome(outcome: Outcome) -> str:
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


def told_totals(totals: Totals) -> str:
    """Return in one line what a run did and took."""
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
    return "; ".join([counts, *calls])


def numbered(count: int, noun: str) -> str:
    """Return a count with its noun."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"

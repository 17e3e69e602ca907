"""What is shown of a run while it is one: a line for each event in a pipe, the tree and the tokens in a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from mage import Failed, Passed, Session
from mage.agent import Agent, Asked, AskFailed, Noticed, RunEnded
from mage.cli.live import AnyEvent, Counted, Following, Screen, line_of
from mage.demo import shop
from mage.engine import Revise, StepId
from mage.session import events
from mage.stores import MemoryStore


def test_a_line_is_said_of_everything_that_happens_to_a_session() -> None:
    """Each event of the session but of its opening, with the text that it is about, which the event does not hold."""
    heard: list[tuple[str, str] | None] = []
    store = MemoryStore()
    following = Following(store, "s")

    def hear(event: AnyEvent) -> None:
        heard.append(line_of(event, following.tree()))

    with Session.open(store, "s", task="t", on_event=hear) as session:
        session.instruct("be quick")
        session.grow("look", "dark\x1b[2J")
        session.compress("Looked.")
        session.retext("Looked about.")
        session.judge(Failed("Say more.", "summary"))
        session.accept()
        session.grow("walk", "a wall")
        session.apply(Revise(StepId(1), "There is a wall."))
        session.grow("walk", "a wall")
        session.compress("Walked.")
        session.accept()
        session.grow("sit", "")
        session.compress("Sat.")
        session.judge(Passed())
        session.apply(Revise(StepId(0), ""))
    assert [line and line[0] for line in heard] == [
        None,
        "  ! instruction: be quick",
        r"  ● 1 look → dark\x1b[2J",
        "  ■ compress: Looked.",
        "  ■ a new text: Looked about.",
        "  ✗ the judge: Say more.",
        "  ~ accepted despite its failure, openly",
        "  ● 2 walk → a wall",
        "  ↶ revise to [Step 1], 1 step left, lesson: There is a wall.",
        "  ● 2 walk → a wall (again)",
        "  ■ compress: Walked.",
        "  ~ accepted, openly",
        "  ● 3 sit → ",
        "  ■ compress: Sat.",
        "  ✓ the judge: passed",
        "  ↶ revise to [Step 0], 3 steps left",
    ]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (events.Opened("s", 7, 7), "going on at version 7"),
        (events.Opened("s", 1, 1), None),
        (events.Refreshed("s", 9, 7), "  others have written: version 9"),
        (AskFailed("judge", "rate_limit"), "  ? the judge gave no answer that can be used: rate limit"),
        (Noticed("left_behind"), "  · the model will be told something: left behind"),
        (Asked("model", 1, 2), None),
        (RunEnded("finished", "finished"), None),
    ],
)
def test_a_line_is_said_of_what_goes_wrong_between(event: AnyEvent, said: str | None) -> None:
    """What was resumed, what others wrote, what failed, what the model is told of; not what is told at the end."""
    store = MemoryStore()
    with Session.open(store, "s", task="t") as session:
        line = line_of(event, session.tree)
    assert (line and line[0]) == said


def test_what_was_asked_is_counted_by_whom() -> None:
    """Calls and tokens, and what the model was shown last."""
    counted = Counted()
    for event in (Asked("model", 100, 10, 500), Asked("judge", 50, 5), Asked("model", 1_000, 1, 700)):
        counted.count(event)
    assert str(counted) == "model 2 calls, 1,111 tokens; judge 1 call, 55 tokens; 700 tokens open"


def test_a_terminal_is_shown_task_tree_and_tokens() -> None:
    """As the run goes: the end of the tree that fits, what happened last, the tokens; and the cursor comes back."""
    store, beside = MemoryStore(), Console(file=io.StringIO(), force_terminal=True, width=80, height=16)
    view = Screen(
        Following(store, "s"), Console(file=io.StringIO(), force_terminal=True, width=80, height=16)
    )
    drawn: list[str] = []

    def hear(event: AnyEvent) -> None:
        view(event)
        with beside.capture() as captured:
            beside.print(view.drawn())
        drawn.append(captured.get())

    with view.live:
        Agent(model=shop.shopper, environment=shop.Shop(), judge=shop.judge).run(
            store, "s", task=shop.TASK, on_event=hear
        )
    assert all(len(picture.splitlines()) <= 16 for picture in drawn)
    assert "Furnish a study" in drawn[-1]
    assert "◆ 12 buy[L-0310]" in drawn[-1]
    assert "model 17 calls" in drawn[-1]
    assert any("✗ the judge: The desk is oak" in picture for picture in drawn)


def test_nothing_is_drawn_before_there_is_a_session() -> None:
    """The screen may be drawn before the first event."""
    screen = Console(file=io.StringIO(), force_terminal=True)
    with screen.capture() as captured:
        screen.print(Screen(Following(MemoryStore(), "s"), screen).drawn())
    assert captured.get().strip() == ""


def test_a_long_wait_is_told() -> None:
    """Seconds without an event are counted from the tenth on, and no more once something has happened."""
    store, screen = MemoryStore(), Console(file=io.StringIO(), force_terminal=True, width=100)
    times = iter([0.0, 5.0, 14.9, 15.0, 140.0, 141.0, 142.0])
    view = Screen(Following(store, "s"), screen, clock=times.__next__)

    def drawn() -> str:
        with screen.capture() as captured:
            screen.print(view.drawn())
        return captured.get()

    with Session.open(store, "s", task="t"):
        view(Asked("model", 1, 2))
        assert "waiting" not in drawn()
        assert "waiting for an answer, 10 s" in drawn()
        assert "waiting for an answer, 135 s" in drawn()
        view(Noticed("left_behind"))
        assert "waiting" not in drawn()

"""The bundled story."""

from __future__ import annotations

import json

from mage import view
from mage.cli.live import story
from mage.engine import Active, Rejected, check
from mage.session import events
from mage.stores import MemoryStore
from tests.cli.runner import mage


def test_the_story_has_one_mistake_and_one_revision() -> None:
    """Three products are bought, the wrong chair is out of sight, and every state is sound."""
    told = story(MemoryStore())
    states = [state for _, state in told]
    for state in states:
        check(state)
    assert any(isinstance(state, Rejected) for state in states)
    assert sum(isinstance(event, events.Revised) for event, _ in told) == 1
    assert isinstance(states[-1], Active)
    texts = [summary.text for summary in view(states[-1]).compressed]
    assert [text.split(":")[0] for text in texts] == [f"Product {number} purchased" for number in (1, 2, 3)]
    assert not any("C-1180" in text for text in texts)


def test_the_demo_shows_s_before_and_after_and_the_tokens() -> None:
    """S before holds the failed summary, S after the lesson; the tokens stand against keeping everything."""
    ran = mage("demo", "--pace", 0)
    assert (ran.status, ran.err) == (0, "")
    before, after = ran.out.split("S after the revision")
    assert "S before the revision" in before
    assert "C-1180" in before
    assert "less than keeping everything" in after
    assert "○ 4 search[chrome swivel chair]" in after


def test_the_narrator_speaks_where_the_story_is() -> None:
    """What is said of a mistake, a verdict, a revision stands right before the line of it."""
    lines = [line for line in mage("demo", "--pace", 0).out.splitlines() if line]
    followed = {line: lines[at + 1] for at, line in enumerate(lines[:-1])}
    assert followed["The first subtask."].startswith("  ! instruction: Product 1")
    assert followed["The mistake: the cheapest chair is bought."].startswith("  ● 6 buy[C-1180]")
    assert followed["The judge reads the steps against the task, and fails it."].startswith(
        "  ✗ the judge: The"
    )
    assert followed["A new branch, knowing better."].startswith("  ● 7 search[linen desk chair]")
    assert followed["It passes: the study is furnished, within budget, and everything fits."] == (
        "  ✓ the judge: passed"
    )


def test_the_demo_and_an_offline_run_tell_one_story() -> None:
    """What happens in the one happens in the other: the same actions, summaries, verdicts and the same tree."""

    def happened(out: str) -> list[str]:
        return [
            line[:60] for line in out.splitlines() if line[:4] in ("  ● ", "  ■ ", "  ✗ ", "  ↶ ", "● 12")
        ]

    assert happened(mage("demo", "--pace", 0).out) == happened(mage("run", "--offline").out)


def test_the_demo_for_machines_is_one_object() -> None:
    """S at the end, and the prompt tokens of every decision."""
    told = json.loads(mage("demo", "--json").out)
    steps = [event for event, _ in story(MemoryStore()) if isinstance(event, events.Grown)]
    assert len(told["shown"]) == len(told["full"]) == len(steps)
    assert sum(told["shown"]) < sum(told["full"])
    assert len(told["state"]["compressed"]) == 3

"""The bundled story."""

from __future__ import annotations

import json

from mage import view
from mage.cli.demo import story
from mage.engine import Active, Rejected, check
from tests.cli.runner import mage


def test_the_story_has_one_mistake_and_one_revision() -> None:
    """Three products are bought, the wrong chair is out of sight, and every state is sound."""
    states = [state for _, _, state in story()]
    for state in states:
        check(state)
    assert sum(isinstance(state, Rejected) for state in states) == 1
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


def test_the_demo_for_machines_is_one_object() -> None:
    """S at the end, and the prompt tokens of every decision."""
    told = json.loads(mage("demo", "--json").out)
    assert (
        len(told["shown"])
        == len(told["full"])
        == sum(1 for beat, *_ in story() if type(beat.move).__name__ == "Grow")
    )
    assert sum(told["shown"]) < sum(told["full"])
    assert len(told["state"]["compressed"]) == 3

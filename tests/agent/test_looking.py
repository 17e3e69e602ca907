"""A look in a run: what a line stands for is shown once, changes nothing, and is the same from the log."""

from __future__ import annotations

import attrs
import pytest

from mage import Passed
from mage.agent import Policy, RunFinished, RunStopped
from mage.chat import (
    MODES,
    Assistant,
    Mode,
    ToolResult,
    User,
    decide_messages,
    state_messages,
    system_prompt,
)
from mage.effects import Decide, Decision, LookInto
from mage.engine import start, view
from tests.agent.playing import DONE, Played, acts, compress, look


def test_a_look_shows_the_steps_of_a_line_once() -> None:
    """With the next question, and not with the one after it; nothing is recorded but the decision."""
    run = Played(acts("a"), compress("did a"), look(0), acts("b"), DONE, verdicts=[Passed()])
    assert isinstance(run.run(), RunFinished)
    shown = [asked.looked for asked in run.decisions.asked]
    assert [each is not None for each in shown] == [False, False, False, True, False]
    assert shown[3] is not None
    assert shown[3].text == (
        "Looked into [Step 0..1]: the steps, page 1 of 1\nAction: a\nObservation: seen\n"
    )
    without = Played(acts("a"), compress("did a"), acts("b"), DONE, verdicts=[Passed()])
    without.run()
    assert run.commands == without.commands
    again = run.again()
    assert isinstance(again.run(live=False), RunFinished)


def test_a_line_that_there_is_not_is_refused_in_words_that_list_them() -> None:
    """The model is told what it can look into; nothing else happens."""
    run = Played(acts("a"), compress("did a"), look(7), DONE, verdicts=[Passed()])
    run.run()
    (notice,) = run.decisions.asked[3].notices
    assert notice.kind == "refused"
    assert "[Step 0..1]" in notice.text


def test_looking_on_and_on_is_idle() -> None:
    """A look does nothing: a model that does nothing else is stopped as any that idles."""
    run = Played(acts("a"), compress("did a"), *[look(0)] * 9, verdicts=[Passed()], policy=Policy(max_idle=4))
    outcome = run.run()
    assert isinstance(outcome, RunStopped)
    assert outcome.reason == "idle"


@pytest.mark.parametrize("mode", MODES)
def test_what_was_looked_into_stands_as_the_result_of_the_look(mode: Mode) -> None:
    """As the call and its result where there are calls, and else as the move and what the user says to it."""
    run = Played(acts("a"), compress("did a"), look(0), DONE, verdicts=[Passed()])
    run.run()
    chat = decide_messages(run.decisions.asked[3], system=system_prompt(mode), mode=mode)
    texts = [each.text for each in chat if isinstance(each, ToolResult | User)]
    assert any(text.startswith("Looked into [Step 0..1]") for text in texts)
    assert isinstance(chat[-2 if mode == "tools" else -1], ToolResult if mode == "tools" else User)


@pytest.mark.parametrize("mode", MODES)
def test_what_was_thought_beside_a_look_stands_before_it(mode: Mode) -> None:
    """Once, as it is in no step: in each mode, for a host as a text, and not where the policy shows no thoughts."""
    thinking = attrs.evolve(look(0), thought="Was it red?")
    for policy in (Policy(), Policy(thoughts="none")):
        run = Played(
            acts("a"), compress("did a"), thinking, acts("b"), DONE, verdicts=[Passed()], policy=policy
        )
        run.run()
        for asked, shown in zip(run.decisions.asked[3:], (policy.thoughts == "open", False), strict=True):
            chat = decide_messages(asked, system=system_prompt(mode), mode=mode)
            said = [message.text for message in chat if isinstance(message, Assistant)]
            assert any("Was it red?" in text for text in said) == shown
            assert (
                any(
                    "Thought: Was it red?\n" in each.text
                    for each in state_messages(asked)
                    if isinstance(each, User)
                )
                == shown
            )


def test_an_odd_look_is_shown_as_it_was_asked_for() -> None:
    """Words and page are in the move that the model is shown."""
    run = Played(
        acts("a b"), compress("did a"), Decision((), LookInto(0, 1, "b  a", 1)), DONE, verdicts=[Passed()]
    )
    run.run()
    looked = run.decisions.asked[3].looked
    assert looked is not None
    chat = decide_messages(
        attrs.evolve(Decide(view(start("t")), ()), looked=looked), system=system_prompt("text"), mode="text"
    )
    assert any(getattr(message, "text", "") == "Look[0..1; b a; 1]" for message in chat)

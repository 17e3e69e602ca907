"""Notes and thoughts: what a model writes down is a step for which nothing is done; what it thought is shown again."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from mage.agent import Agent, Policy
from mage.chat import MODES, Mode, ToolCall, decide_messages, note_action, offered, system_prompt, written
from mage.chat.replies import Reply
from mage.effects import Action, Capabilities, Decide, Decision, NoEffect, Observed, Tool
from mage.engine import Compress, Grow, Passed
from mage.llm.models import _READERS
from mage.stores import MemoryStore
from mage.testing import ScriptedEnvironment, ScriptedModel
from tests.agent.playing import DONE, Played, acts, compress, revise

PLAN: Final = Grow(note_action("Oak first."), "noted")
THOUGHTFUL: Final = (
    Decision.act("a", thought="A is near."),
    Decision.act("b", thought="Then B."),
    DONE,
)


def _chat(request: Decide, mode: Mode) -> str:
    chat = decide_messages(request, system=system_prompt(mode), mode=mode)
    return json.dumps(written(chat, "chat"), ensure_ascii=False)


def test_a_note_is_a_step_for_which_nothing_is_done() -> None:
    """In the order of the calls; the environment is not asked, and it stands among the steps until the next compress."""
    both = Decision((Action("a"), Action("Oak first.", is_note=True), Action("b")))
    played = Played(both, compress("did"), DONE, verdicts=[Passed()])
    played.run()
    assert played.commands[:3] == [Grow("a", "seen"), PLAN, Grow("b", "seen")]
    assert played.environment.actions == ["a", "b"]  # type: ignore[attr-defined]  # a scripted world
    assert played.judged[0].steps[1].action == PLAN.action
    assert note_action("Oak first.") not in str(played.decisions.asked[-1])


def test_a_run_with_notes_is_resumed_and_run_again() -> None:
    """Its log tells a note from the result of an action, at each of its places."""
    both = Decision((Action("a"), Action("Oak first.", is_note=True), Action("b")))
    played = Played(both, DONE)
    played.run()
    for length in range(len(played.log)):
        asked = sum(getattr(each, "kind", "") == "decided" for each in played.log[:length])
        again = played.again(*(both, DONE)[asked:], environment=ScriptedEnvironment(*["seen"] * 9))
        again.log = played.log[:length]
        again.run()
        assert again.commands == played.commands


def test_what_was_noted_is_no_part_of_what_is_restored() -> None:
    """Going back performs no note again, and has none to undo."""
    world = ScriptedEnvironment(*["seen"] * 9)
    noted = Decision.note("Oak first.")
    played = Played(acts("a"), noted, compress("did"), noted, acts("b"), revise(2, "no"), DONE,
        verdicts=[Passed()], environment=world)  # fmt: skip
    played.run()
    (asked,) = [each for each in world.asked if not isinstance(each, str)]
    assert [step.action for step in asked.path] == ["a"]
    assert [undo.step.action for undo in asked.plan] == ["b"]


def test_an_environment_that_has_a_note_of_its_own_keeps_it() -> None:
    """Ours is not offered then, and a call of that name is an action."""
    note = Tool.of("note", "Write on the board.", text={"type": "string"})
    assert [tool.name for tool in offered([note])].count("note") == 1

    class Board:
        capabilities = Capabilities(tools=[note])

        def reset(self) -> str:
            return ""

        def act(self, action: str) -> str:
            return f"written: {action}"

    model = ScriptedModel(Decision.act('note {"text":"x"}'), DONE)
    store = MemoryStore()
    Agent(model=model, environment=Board(), policy=Policy(max_steps=5)).run(store, "m", task="t")
    assert "written: note" in model.asked[-1].shown.raw[0].observation


@pytest.mark.parametrize("mode", MODES)
def test_a_note_is_shown_as_it_is_made(mode: Mode) -> None:
    """And what a model replies to make one is read as one, in each mode."""
    played = Played(Decision.note("Oak first."), DONE)
    played.run()
    shown = _chat(played.decisions.asked[-1], mode)
    expected = {"tools": '"name": "note"', "text": "Note[Oak first.]", "json": '\\"name\\":\\"note\\"'}
    assert expected[mode] in shown
    replies: dict[Mode, Any] = {
        "tools": Reply(calls=(_call("note", text="Oak first."),), finish="stop"),
        "text": Reply("Note[Oak first.]", finish="stop"),
        "json": Reply(
            '{"thought":"","move":{"name":"note","arguments":{"text":"Oak first."}}}', finish="stop"
        ),
    }
    decided = _READERS[mode](replies[mode], offered(()))
    assert [(each.text, each.is_note) for each in decided.actions] == [("Oak first.", True)]


def _call(name: str, **arguments: str) -> ToolCall:
    return ToolCall("c1", name, json.dumps(arguments))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("thoughts", "shown"), [("open", ["A is near.", "Then B."]), ("last", ["Then B."]), ("none", [])]
)
def test_thoughts_are_shown_as_the_policy_says(mode: Mode, thoughts: Any, shown: list[str]) -> None:
    """Before the step that they came with, as the model wrote them; none of them is part of a step."""
    played = Played(*THOUGHTFUL, policy=Policy(thoughts=thoughts))
    played.run()
    assert played.commands == [Grow("a", "seen"), Grow("b", "seen")]
    chat = _chat(played.decisions.asked[-1], mode)
    assert [thought for thought in ("A is near.", "Then B.") if thought in chat] == shown


def test_a_thought_survives_resuming_and_ends_with_its_subgoal() -> None:
    """It is read from the journal; a compressed step has none, and none counts among the covered steps."""
    played = Played(*THOUGHTFUL[:2], compress("did"), DONE, verdicts=[Passed()])
    played.run()
    assert [len(request.thoughts) for request in played.decisions.asked] == [0, 1, 2, 0]
    again = played.again(THOUGHTFUL[1], DONE)
    again.log = played.log[:3]  # decided, acting, the first step
    again.run()
    assert dict(again.decisions.asked[0].thoughts) == {1: "A is near."}


def test_a_long_thought_is_cut_openly_and_counts() -> None:
    """At most some 1,000 characters are shown; they take room."""
    short, long = [_asked_after(Decision.act("a", thought=thought)) for thought in ("", "x" * 5_000)]
    (shown,) = long.thoughts.values()
    assert len(shown) < 1_100
    assert "[... 4,000 characters left out ...]" in shown
    assert (short.room or 0) - (long.room or 0) > 100


def _asked_after(decision: Decision) -> Decide:
    played = Played(decision, DONE)
    played.run()
    return played.decisions.asked[-1]


def test_a_thought_that_a_server_splits_off_is_kept() -> None:
    """Where the content has none; else the content's is."""
    called = (_call("act", action="a"),)
    read = _READERS["tools"]
    assert read(Reply("", called, aside="Hm.", finish="stop"), offered(())).thought == "Hm."
    assert read(Reply("I look.", called, aside="Hm.", finish="stop"), offered(())).thought == "I look."


def test_a_note_is_recorded_as_without_effect() -> None:
    """So every later run knows that nothing was done for it."""
    played = Played(Decision.note("Oak first."), DONE)
    played.run()
    assert played.replay.state.tree.next_step == 2
    assert Observed("noted", effect=NoEffect()).effect == NoEffect()
    assert played.journal[0].meta["observed"] == {"effect": {"is": "NoEffect"}}
    assert not [each for each in played.commands if isinstance(each, Compress)]

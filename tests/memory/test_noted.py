"""Notes and thoughts in a loop of a host's own."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from mage.chat import Form, note_action, read_reply
from mage.engine import Grow
from mage.memory import Call, Policy
from mage.stores import MemoryStore
from tests.memory.replies import buy, compress, done, journal, memory, notices, reply


def note(text: str) -> tuple[str, dict[str, str]]:
    """Return the call that writes something down."""
    return "note", {"text": text}


@pytest.mark.parametrize("form", get_args(Form))
def test_a_note_is_taken_down_in_the_order_of_the_calls(form: Form) -> None:
    """The host is not asked to carry it out, whatever it says came back; it stands until the next compress."""
    with memory() as kept:
        asked: list[str] = []

        def perform(call: Call) -> str:
            asked.append(call.name)
            return done(call)

        kept.take(reply(buy("a"), note("Oak."), buy("b"), ids="xyz", form=form), perform=perform)
        kept.take(reply(note("Pine."), ids="w", form=form), {"w": "whatever"})
        assert asked == ["buy", "buy"]
        steps = [command for command in journal(kept) if isinstance(command, Grow)]
        assert steps[1] == Grow(note_action("Oak."), "noted")
        assert steps[3] == Grow(note_action("Pine."), "noted")
        assert "Oak." in str(kept.messages(form))
        kept.take(reply(compress("did"), ids="c", form=form))
        assert "Oak." not in str(kept.messages(form))


def test_a_note_that_cannot_be_read_is_told() -> None:
    """Nothing is written down then."""
    with memory() as kept:
        kept.take(reply(("note", {"words": "Oak."}), ids="a"), perform=done)
        assert notices(kept.messages())[0].startswith("A call of your last reply could not be read")
        assert len(journal(kept)) == 1


def test_a_host_without_calls_may_note() -> None:
    """As if the model had called it; and a host whose own tool has that name keeps it."""
    with memory() as kept:
        kept.note("Oak.")
        assert journal(kept)[-1] == Grow(note_action("Oak."), "noted")
        kept.give_way(["note"])
        assert "note" not in [tool["function"]["name"] for tool in kept.tools()]
        kept.take(reply(note("Pine."), ids="a"), perform=lambda call: "on the board")
        assert journal(kept)[-1] == Grow(note_action("Pine."), "on the board")


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("steps", ["text", "calls"])
def test_what_was_said_beside_calls_is_shown_again(form: Form, steps: Any) -> None:
    """Before its action, also where another process opens the memory; content is compared without it."""
    store = MemoryStore()
    with memory(store) as kept:
        kept.take(reply(buy("oak"), text="Oak lasts.", ids="a", form=form), perform=done)
        assert journal(kept)[-1] == Grow('buy {"item":"oak"}', 'buy done: {"item": "oak"}')
    with memory(store) as again:
        shown = str(again.messages(form, steps=steps))
        assert shown.count("Oak lasts.") == 1
        assert shown.index("Oak lasts.") < shown.index('"item":"oak"' if steps == "text" else "buy done")
    with memory(store, policy=Policy(thoughts="none")) as without:
        assert "Oak lasts." not in str(without.messages(form, steps=steps))


@pytest.mark.parametrize(
    "beside",
    [
        {"reasoning_content": "Hm, oak."},
        {"reasoning": "Hm, oak."},
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hm, oak."}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "Hm, oak."}, {"data": "x"}]},
    ],
)
def test_a_thought_in_a_field_of_its_own_is_one(beside: dict[str, Any]) -> None:
    """Where the reply says nothing else; it is no part of what tells one reply from another."""
    said = {**reply(buy("oak"), ids="a"), **beside}
    with memory() as kept:
        kept.take(said, perform=done)
        assert "Thought: Hm, oak.\n" in str(kept.messages()[-1]["content"])
    assert read_reply(said).digest == read_reply(reply(buy("oak"), ids="a")).digest
    with memory() as kept:
        kept.take({**said, "content": "I take oak."}, perform=done)
        text = str(kept.messages()[-1]["content"])
        assert "Thought: I take oak.\n" in text
        assert "Hm" not in text


def test_blocks_of_thinking_are_thoughts() -> None:
    """Anthropic's, and the summaries of Responses."""
    block = {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Hm, oak.", "signature": "s"},
        {"type": "tool_use", "id": "a", "name": "buy", "input": {}},
    ]}  # fmt: skip
    items = {"output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm, oak."}]},
        {"type": "function_call", "call_id": "a", "name": "buy", "arguments": "{}"},
    ]}  # fmt: skip
    assert read_reply(block).thought == read_reply(items).thought == "Hm, oak."

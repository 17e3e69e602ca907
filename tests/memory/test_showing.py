"""What a model is shown: S, how to read it, and what it is told once, in the form that the host asks for."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given

from mage.chat import Form, Style, canonical, state_messages, written
from mage.chat.words import MEMORY
from mage.effects import Decide, Notice
from mage.engine import ExecutionState
from mage.render import render
from mage.render.blocks import Block
from tests.memory.replies import buy, compress, done, memory, reply
from tests.render.states import execution_states


@given(execution_states)
def test_as_text_it_is_one_message_with_all_of_s(shown: ExecutionState) -> None:
    """The words on how to read it, S as `render` has it, what is told once, and whose turn it is."""
    (message,) = state_messages(Decide(shown, (), (Notice("tokens", "Be brief.", "said"),)))
    told = f"{Block('Notice: ', 'Be brief.' + chr(10) + 'said').text}{_opened(shown)}Your turn.\n"
    assert message.text == f"{MEMORY.text}\n\n{render(shown)}{told}"


def _opened(shown: ExecutionState) -> str:
    steps = len(shown.raw)
    return f"Open: {f'{steps} step{chr(115) * (steps > 1)}' if steps else 'no new step'}.\n"


@given(execution_states)
def test_as_calls_the_first_message_stays_while_steps_are_added(shown: ExecutionState) -> None:
    """A provider's prefix cache keeps hitting: all but the last message depends on what was there before."""
    chat = state_messages(Decide(shown, ()), steps="calls")
    fewer = ExecutionState(shown.task, shown.instructions, shown.compressed, shown.raw[:-1], shown.hints)
    before = state_messages(Decide(fewer, ()), steps="calls")
    texts = [canonical(message) for message in written(chat, "chat")]
    for place, old in enumerate(written(before, "chat")[:-1]):
        assert canonical(old) == texts[place]


@pytest.mark.parametrize("form", get_args(Form))
def test_a_call_is_shown_as_a_call_where_that_is_asked(form: Form) -> None:
    """With its name, its arguments and its result; an action that was no call stands as text."""
    with memory() as kept:
        kept.take(reply(buy("oak desk"), ids=["theirs"]), perform=done)
        kept.record("look around", "A room.")
        shown: list[dict[str, Any]] = kept.messages(form, steps="calls")
        text = json.dumps(shown)
        assert '"name": "buy"' in text
        assert "s00000001" in text
        assert "theirs" not in text
        assert "Action: look around\\nObservation: A room." in text
        assert len(kept.messages(form)) == 1


@pytest.mark.parametrize("style", get_args(Style))
def test_the_tools_are_always_the_same(style: Style) -> None:
    """Whatever phase the state is in: providers put tools before messages, and a cache needs them constant."""
    with memory() as kept:
        before = kept.tools(style)
        kept.take(reply(buy("oak desk"), compress("Desk")), perform=done)
        assert kept.tools(style) == before
        assert ["compress" in canonical(before[0]), "revise" in canonical(before[1])] == [True, True]

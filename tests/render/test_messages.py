"""The execution state as chat messages."""

from __future__ import annotations

from hypothesis import given

from mage import ExecutionState, view
from mage.render import NO_CAPS, Caps, Message, messages, render_body, render_hints
from tests.render.parser import parse_messages
from tests.render.states import Move, execution_states, said, taken, visited, walks


def _pairs(chat: list[Message]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in chat]


@given(execution_states)
def test_parsing_the_messages_gives_back_what_was_rendered(shown: ExecutionState) -> None:
    """Nothing is lost between the text and the messages, and nothing can be forged in them."""
    assert parse_messages(_pairs(messages(shown, caps=NO_CAPS))) == said(shown)


@given(walks)
def test_parsing_gives_back_every_reachable_state(walk: list[Move]) -> None:
    """The same for every state along a random run of the engine."""
    for state in visited("task", walk):
        assert parse_messages(_pairs(messages(view(state), caps=NO_CAPS))) == said(view(state))


@given(execution_states)
def test_the_messages_are_in_the_order_of_the_text(shown: ExecutionState) -> None:
    """One message for what comes before R, two for each step of it, and one for hints where there are any."""
    chat = messages(shown)
    hints = [("user", render_hints(shown))] if render_hints(shown) else []
    head = render_body(shown).split("\nAction: ")[0].removesuffix("\n") + "\n"
    assert _pairs(chat[:1]) == [("user", head)]
    assert _pairs(chat[1 + 2 * len(shown.raw) :]) == hints
    assert [message["role"] for message in chat[1 : 1 + 2 * len(shown.raw)]] == ["assistant", "user"] * len(
        shown.raw
    )


@given(walks)
def test_a_grow_only_adds_messages(walk: list[Move]) -> None:
    """All messages but the hints stay as they were when a step is added."""
    for state in visited("task", walk):
        grown = taken(state, Move("grow", 0, "new", "newer"))
        if grown.tree.next_step > state.tree.next_step:
            before = _without_hints(view(state))
            assert _without_hints(view(grown))[: len(before)] == before


def _without_hints(shown: ExecutionState) -> list[Message]:
    return messages(shown)[: 1 + 2 * len(shown.raw)]


@given(execution_states)
def test_caps_apply_to_the_hints_of_messages(shown: ExecutionState) -> None:
    """The caps of `render` mean the same here."""
    caps = Caps(continuations=1, subgoals=0, lessons=1, text_chars=3)
    assert messages(shown, caps=caps)[-1]["content"] == (
        render_hints(shown, caps=caps) or messages(shown, caps=NO_CAPS)[-1]["content"]
    )

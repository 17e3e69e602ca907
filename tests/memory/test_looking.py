"""A look into a line: verbatim, in pages, by words; told once, and for hosts."""

from __future__ import annotations

from typing import Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mage
from mage.chat import Form, Steps
from mage.effects import BadTool, Looked, LookInto
from mage.engine import (
    Active,
    Failed,
    State,
    accept,
    apply_verdict,
    compress,
    fold,
    fold_request,
    grow,
    revise,
    start,
)
from mage.memory.chapters import look_into
from mage.tokens import EstimateCounter
from tests.memory.replies import reply

COUNTER: Final = EstimateCounter()


def finished(state: Active, *steps: tuple[str, str], text: str) -> Active:
    """Return the state behind a subgoal of these steps."""
    for action, observation in steps:
        state = grow(state, action, observation)
    return accept(compress(state, text).unwrap())


def folded(state: Active, first: int, last: int, text: str) -> Active:
    """Return the state with a chapter from a label to a boundary."""
    return fold(state, first, last, text, fold_request(state, first, last, text).unwrap().digest).unwrap()


def history() -> Active:
    """Return a state whose C shows a chapter of a chapter and a summary."""
    state = start("t")
    for number in range(3):
        state = finished(
            state, (f"act {number}", f"price ${number}0"), ("more", "seen"), text=f"did {number}"
        )
    return folded(folded(state, 0, 4, "did 0 and 1"), 0, 6, "did all")


def text_of(state: State, asked: LookInto, page: int = 1_500) -> str:
    """Return what a look shows."""
    found = look_into(state, asked, COUNTER, page=page)
    assert isinstance(found, Looked), found
    return found.text


def test_what_was_undone_can_be_looked_into_where_the_hints_name_it() -> None:
    """All its steps, of which the hints show the first alone: of a subgoal that failed, and of open steps that were left."""
    state = finished(start("t"), ("go", "there"), text="went")
    wrong = compress(grow(grow(state, "find", "two lamps"), "price", "$30"), "found").unwrap()
    failed = apply_verdict(wrong, Failed("No lamp."), wrong.digest).unwrap()
    back = revise(failed, 1, "Look left.").unwrap().state
    told = "Action: find\nObservation: two lamps\nAction: price\nObservation: $30\n"
    assert (
        text_of(back, LookInto(1))
        == f"Looked into [Step 1]: what was undone from there, page 1 of 1\nUndone:\n{told}"
    )
    assert isinstance(back, Active)
    onward = grow(back, "left", "a wall")
    assert text_of(onward, LookInto(1)).endswith(f"Action: left\nObservation: a wall\nUndone:\n{told}")
    assert text_of(onward, LookInto(1, words="30")).splitlines()[1:] == [
        "Undone:",
        "Action: price",
        "Observation: $30",
    ]
    again = revise(grow(onward, "left", "again"), 1, "").unwrap().state
    assert "Observation: again" in text_of(again, LookInto(1))
    assert look_into(again, LookInto(1, 3), COUNTER) != look_into(again, LookInto(1), COUNTER)
    merged = grow(grow(back, "find", "two lamps"), "buy", "ok")  # along what was undone, and away from it
    assert text_of(merged, LookInto(1, words="30")).splitlines()[1:] == [
        "Undone:",
        "Action: price",
        "Observation: $30",
    ]


def test_a_chapter_gives_its_lines_and_these_their_steps() -> None:
    """Down to the raw steps: each line is named by label and boundary, and can be looked into by both (D19)."""
    state = history()
    assert text_of(state, LookInto(0)) == (
        "Looked into [Step 0..6]: the parts, page 1 of 1\n"
        "[Step 0..4] did 0 and 1\nStatus: 2 of its subgoals accepted without a pass\n"
        "[Step 4..6] did 2\nStatus: accepted without a verdict\n"
    )
    assert "[Step 2..4] did 1" in text_of(state, LookInto(0, 4))
    assert text_of(state, LookInto(2, 4)).splitlines()[1:] == [
        "Action: act 1", "Observation: price $10", "Action: more", "Observation: seen",
    ]  # fmt: skip


def test_words_find_what_holds_them_all_wherever_it_stands() -> None:
    """Of a chapter every line and step under it, whatever the case; where nothing holds them, that is said."""
    state = history()
    found = text_of(state, LookInto(0, words="PRICE  $10"))
    assert found.splitlines()[1:] == [
        "[Step 2..4] did 1", "Status: accepted without a verdict", "Action: act 1", "Observation: price $10",
    ]  # fmt: skip
    assert look_into(state, LookInto(0, words="price nowhere"), COUNTER) == (
        "Nothing in [Step 0..6] holds these words"
    )


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (LookInto(3), "[Step 0..6]"),
        (LookInto(0, 5), "[Step 0..6]"),
        (LookInto(-1), "[Step 0..6]"),
        (LookInto(0, page=2), "1 page"),
        (LookInto(0, page=0), "1 page"),
    ],
)
def test_what_there_is_not_is_refused_and_says_what_there_is(asked: LookInto, words: str) -> None:
    """A wrong label, boundary or page is answered by which there are."""
    refused = look_into(history(), asked, COUNTER)
    assert isinstance(refused, str)
    assert words in refused


@given(
    st.lists(st.tuples(st.text(max_size=300), st.text(max_size=300)), min_size=1, max_size=6),
    st.integers(20, 90),
)
def test_the_pages_together_hold_everything_and_each_is_short(
    steps: list[tuple[str, str]], limit: int
) -> None:
    """No page takes more than the limit and its heading, and nothing of what the line stands for is left out."""
    state = finished(start("t"), *steps, text="did it")
    first = text_of(state, LookInto(0), limit)
    count = int(first.splitlines()[0].rpartition(" of ")[2])
    pages = [text_of(state, LookInto(0, page=page), limit).partition("\n")[2] for page in range(1, count + 1)]
    assert all(COUNTER.count(page) <= limit for page in pages)
    shown = "".join(pages)
    assert shown.count("Action: ") >= len({action for action, _ in steps}) > 0
    assert len("".join(shown.split())) >= len(
        "".join("".join(a.split()) + "".join(o.split()) for a, o in steps)
    )


def opened(**named: object) -> mage.Memory:
    """Return a memory of one finished subgoal."""
    memory = mage.Memory.open("memory:", "s", task="t", **named)  # type: ignore[arg-type]  # passed on
    memory.record("buy", "Bought for $310.")
    memory.compress("Bought it.")
    return memory


@pytest.mark.parametrize("form", ["chat", "responses", "anthropic"])
def test_the_model_s_look_is_answered_with_the_next_messages_only(form: Form) -> None:
    """As text, or as call and result; a second take forgets it, and no version was made by it."""
    for steps in get_args(Steps):
        memory = opened()
        memory.messages(form)
        before = memory.session.head
        memory.take(reply(("look", {"label": 0}), form=form))
        for _ in range(2):
            assert "Bought for $310." in str(memory.messages(form, steps=steps))
        assert memory.session.head == before
        memory.take(reply(("look", {"label": 9}), form=form))
        shown = str(memory.messages(form))
        assert "Bought for $310." not in shown
        assert "You cannot look there" in shown


def test_a_host_looks_by_itself() -> None:
    """`Memory.look` returns the text, and raises with what there is."""
    memory = opened()
    assert "Observation: Bought for $310." in memory.look(0)
    with pytest.raises(ValueError, match=r"\[Step 0\.\.1\]"):
        memory.look(5)


def test_our_look_gives_way_to_the_host_s() -> None:
    """Then ours is not offered, and a call of it is the host's, for good; `compress` and `revise` give way to nobody."""
    memory = opened()
    everything = memory.tools()
    for names in (["buy"], ["buy", "look"], []):
        memory.give_way(names)
        assert memory.tools() == (
            everything if names == ["buy"] else [everything[0], everything[1], everything[3]]
        )
    memory.messages()
    memory.take(
        reply(("look", {"at": "pond"})), perform=lambda call: f"A frog at the {call.arguments['at']}."
    )
    assert [step.observation for step in memory.session.state().raw] == ["A frog at the pond."]
    for name in ("compress", "revise"):
        with pytest.raises(BadTool):
            memory.give_way([name])

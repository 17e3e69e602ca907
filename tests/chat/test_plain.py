"""The plain-text moves: any text is one move or an error."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mage.chat.tools import Move, find_move
from mage.effects import EffectError
from mage.engine import Compress, Revise
from tests.llm.twins import tried

_SCRAPS = (
    "Action[", "Compress[", "Revise[", "Finish[", "]", "[", "\n", ";", "3", " ", "Step 24", "[Step 0]", "look", "**", "`", ".",
)  # fmt: skip
texts = st.lists(st.sampled_from(_SCRAPS), max_size=12).map("".join) | st.text(max_size=30)
bodies = st.text(st.characters(exclude_characters="[]\n\r"), max_size=20).map(str.strip)


@given(texts)
@example("Action[a]" * 5)
def test_any_text_is_a_move_or_an_error(text: str) -> None:
    """Nothing else comes of a text, and a move's parts all stand in it, in order."""
    move = tried(lambda: find_move(text))
    if isinstance(move, EffectError):
        assert move.fault in ("wrong_schema", "too_many_calls")
        assert move.unusable
    else:
        assert move.before in text
        assert move.body in text[len(move.before) :]
        assert not isinstance(move.then, Revise) or move.then.boundary >= 0


@given(st.sampled_from(["Action", "Compress", "Finish"]), bodies, bodies, bodies)
def test_what_was_written_is_read(name: str, before: str, body: str, inner: str) -> None:
    """A move after any thought is read whole, with balanced brackets and line breaks within."""
    text = f"{body}[{inner}]\n{body}".strip()
    move = find_move(f"{before}\n{name}[{text}]")
    assert (move.body, move.name) == (text, name)
    assert move.before == before


@given(st.integers(0, 10**9 - 1), bodies)
def test_a_revision_has_a_step_and_a_lesson(step: int, lesson: str) -> None:
    """However the step is spelled, and whatever the lesson says."""
    for spelled in (f"{step}", f"Step {step}", f"[Step {step}]", f" {step} "):
        move = find_move(f"Revise[{spelled}; {lesson}]")
        assert move.then == Revise(step, lesson)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Action[click[Buy Now]]", Move("Action", "click[Buy Now]", "")),
        ("I will now do Action[look]", Move("Action", "look", "I will now do")),
        ("Not Action[a] but\nAction[b]", Move("Action", "b", "Not Action[a] but")),
        ("> **Action[look]**", Move("Action", "look", "")),
        ("Action[press ] key]", Move("Action", "press ] key", "")),
        ("Action[a [b]", Move("Action", "a [b", "")),
        ("Action[look]\nObservation: a door]\nFinish it", Move("Action", "look", "")),
        (
            "Compress[Wrote:\nAction[x]\nand won.]",
            Move("Compress", "Wrote:\nAction[x]\nand won.", "", Compress("Wrote:\nAction[x]\nand won.")),
        ),
        ("Action[use Finish[x]]", Move("Action", "use Finish[x]", "")),
        ("Revise[24]", Move("Revise", "24", "", Revise(24))),
        ("Revise[[Step 24]; a; b]", Move("Revise", "[Step 24]; a; b", "", Revise(24, "a; b"))),
        ("Action[]", Move("Action", "", "")),
    ],
)
def test_a_move_is_found_where_models_put_it(text: str, expected: Move) -> None:
    """Nested brackets, a move within a line, markdown, a lone bracket, an observation made up after it."""
    assert find_move(text) == expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "wrong_schema"),
        ("look around", "wrong_schema"),
        ("action[look]", "wrong_schema"),
        ("Action[look", "wrong_schema"),
        ("Action[look] and then some", "wrong_schema"),
        ("Revise[the start; x]", "wrong_schema"),
        ("Revise[-1; x]", "wrong_schema"),
        ("Revise[; x]", "wrong_schema"),
        ("Action[a]\nAction[b]", "too_many_calls"),
        ("Action[a]\nObservation: x\nFinish[y]", "too_many_calls"),
        ("Action[a [b]\nFinish[c]", "too_many_calls"),
        ("Action[a] is wrong\nAction[b]", "too_many_calls"),
    ],
)
def test_what_cannot_be_told_is_an_error(text: str, fault: str) -> None:
    """No move, one that is not closed, a step that is none, and more than one move."""
    with pytest.raises(EffectError) as caught:
        find_move(text)
    assert caught.value.fault == fault


def test_long_texts_are_read_in_linear_time() -> None:
    """A hundred thousand brackets, closed or not, are no trouble."""
    for text in (
        "Action[" + "[" * 100_000,
        "Action[" + "]" * 100_000 + " x",
        "Action[" * 50_000,
        "[]" * 100_000,
    ):
        with pytest.raises(EffectError):
            find_move(text)

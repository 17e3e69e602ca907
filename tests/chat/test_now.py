"""The last lines of a prompt: what applies now, and nothing that does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat import MODES, Mode, decide_messages, state_messages, system_prompt
from mage.effects import Decide
from mage.engine import Accept, Command, Compress, Grow, Start, StepId, replay, view
from mage.tokens import cut

DID = Compress("did")


def _asked(*commands: Command, boundaries: tuple[int, ...] = (), **more: Any) -> Decide:
    shown = view(replay([Start("Task"), *commands]).unwrap())
    return Decide(shown, tuple(map(StepId, boundaries)), **more)


def _last(request: Decide, mode: Mode) -> list[str]:
    chat = decide_messages(request, system=system_prompt(mode), mode=mode)
    last = chat[-1]
    (whole,) = state_messages(request)
    lines = getattr(last, "text", "").splitlines()
    assert getattr(whole, "text", "").splitlines()[-len(_now(lines)) :] == _now(lines)
    return _now(lines)


def _now(lines: list[str]) -> list[str]:
    began = ("You may revise", "Open: ", "Nothing is open")
    return lines[next(place for place, line in enumerate(lines) if line.startswith(began)) :]


@pytest.mark.parametrize("mode", MODES)
def test_the_last_lines_say_where_the_agent_stands(mode: Mode) -> None:
    """How many steps are open, how much room is left, what is due, and the current instruction once more."""
    steps = [Grow("a", "1"), Grow("b", "2")]
    request = _asked(*steps, boundaries=(0,), room=900, current="Buy\nit.", nudge="instruction")
    assert _last(request, mode) == [
        "You may revise to any [Step N] that is shown.",
        "Open: 2 steps; room: 900 tokens.",
        "Compress first: a new instruction has come while steps are open.",
        "Now: Buy",
        " it.",
        "Your turn.",
    ]


@pytest.mark.parametrize("mode", MODES)
def test_what_does_not_apply_is_not_said(mode: Mode) -> None:
    """No target of Revise, no room, no instruction, nothing due: one line says what is open, and no other."""
    assert _last(_asked(Grow("a", "1")), mode) == ["Open: 1 step.", "Your turn."]
    nothing = _asked(may_compress=False)
    assert _last(nothing, mode) == ["Nothing is open: there is nothing to compress.", "Your turn."]
    rewriting = _asked(Grow("a", "1"), DID, Accept(), room=5)
    assert _last(rewriting, mode) == ["Open: no new step; room: 5 tokens.", "Your turn."]


def test_room_that_is_nearly_used_is_said() -> None:
    """What happens otherwise is said with it."""
    request = _asked(Grow("a", "1"), room=5, nudge="room")
    (told,) = [
        line for line in _last(request, "tools") if line.startswith("The room is nearly used: compress if")
    ]
    assert told.endswith("else an interim account replaces the steps.")


def test_room_is_never_less_than_nothing() -> None:
    """A segment that is longer than it may be has no room."""
    assert _last(_asked(Grow("a", "1"), room=-5), "tools")[0] == "Open: 1 step; room: 0 tokens."


def test_a_long_instruction_is_repeated_in_part() -> None:
    """Both ends of it: the whole stands further up. One that is longer by less than what says so is repeated whole."""
    (line, _) = _last(_asked(Grow("a", "1"), current=f"{'x' * 500}{'y' * 500}"), "tools")[1:]
    assert line == f"Now: {'x' * 200} [... 600 characters left out ...] {'y' * 200}"
    (line, _) = _last(_asked(Grow("a", "1"), current="x" * 450), "tools")[1:]
    assert line == f"Now: {'x' * 450}"


@given(st.text(st.sampled_from("ab  \n")), st.integers(2, 40))
def test_what_is_cut_is_cut_between_words(text: str, longest: int) -> None:
    """Where white space is near; its two ends are kept, and as many characters are said to be left out as are."""
    short = cut(text, longest)
    if len(text) <= longest:
        assert short == text
        return
    first, _, rest = short.partition(" [... ")
    number, _, last = rest.partition(" characters left out ...] ")
    assert text.startswith(first)
    assert text.endswith(last)
    assert len(first) + len(last) <= longest
    assert int(number) == len(text) - len(first) - len(last)
    kept = longest // 2
    near = text[kept - kept // 4 : kept]
    assert len(first) == kept or text[len(first)].isspace() or not any(map(str.isspace, near))

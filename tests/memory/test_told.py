"""What a model is told of where it stands: by its memory, at each turn, only what applies."""

from __future__ import annotations

from typing import Any, Final

from mage.chat import judge_messages, unfounded
from mage.effects import JudgeRequest
from mage.engine import FoldRequest, Passed, Verdict
from mage.memory import Memory, Policy
from mage.stores import MemoryStore
from tests.memory.replies import TASK, buy, compress, done, memory, reply

NUDGE: Final = "Compress first: a new instruction has come while steps are open."
SHORT: Final = "The room is nearly used: "


def _lines(kept: Memory) -> list[str]:
    return str(kept.messages()[-1]["content"]).splitlines()


def _names(kept: Memory) -> list[Any]:
    return [tool["function"]["name"] for tool in kept.tools()]


def test_compressing_is_due_where_an_instruction_comes_while_steps_are_open() -> None:
    """From then until it is done; not for an instruction that comes first, and not for a standing one."""
    with memory() as kept:
        kept.instruct("In oak.")
        kept.take(reply(buy("desk"), ids="a"), perform=done)
        kept.instruct("Be brief.", standing=True)
        lines = _lines(kept)
        assert NUDGE not in lines
        assert lines[-2:] == ["Now: In oak.", "Your turn."]
        kept.instruct("In pine.")
        assert _lines(kept)[-3:] == [NUDGE, "Now: In pine.", "Your turn."]
        kept.take(reply(compress("desk"), ids="b"))
        assert NUDGE not in _lines(kept)
        assert "Instruction: In pine." in _lines(kept)[-6:]  # right above
        assert "Now: " not in str(_lines(kept))


def test_the_room_is_said_to_be_short_where_it_is() -> None:
    """And only there; it shrinks from step to step."""
    with memory(policy=Policy(high_water=1_600)) as kept:
        said: list[str] = []
        for number in range(6):
            kept.take(reply(buy(f"{number} " + "oak " * 60), ids=[f"c{number}"]), perform=done)
            said.append(" ".join(line for line in _lines(kept) if line.startswith((SHORT, "Open: "))))
    assert SHORT not in said[0]
    assert SHORT in " ".join(said)
    rooms = [int(line.partition("room: ")[2].partition(" ")[0]) for line in said[:3]]
    assert rooms == sorted(rooms, reverse=True)
    assert len(set(rooms)) == 3


def test_an_ablation_is_not_spoken_of() -> None:
    """Without Revise no tool, no target and no word of it; without Compress no word of room."""
    with memory(policy=Policy(revise=False)) as kept:
        kept.take(reply(buy("desk"), ids="a"), perform=done)
        assert _names(kept) == ["compress", "look", "note"]
        assert "revise" not in str(kept.messages()).casefold()
    with memory(policy=Policy(compress=False)) as kept:
        kept.take(reply(buy("desk"), compress("desk"), ids="ab"), perform=done)
        assert _names(kept) == ["compress", "revise", "note"]
        shown = str(kept.messages())
        assert "Action: buy" in shown
        assert "room" not in shown
        assert "Nothing is open: there is nothing to compress." in shown


def test_the_tools_follow_from_the_policy_alone() -> None:
    """Not from the phase: they are the same before and after each operation, also where the last one has failed."""
    with memory(policy=Policy(revise=False)) as kept:
        before = kept.tools()
        kept.take(reply(buy("chrome"), compress("chrome"), ids="ab"), perform=done)
        assert kept.tools() == before


def test_a_revise_that_is_ruled_out_is_refused_in_words() -> None:
    """A model that calls it all the same is told so, and the host is not asked to carry it out."""
    with memory(policy=Policy(revise=False)) as kept:
        called = reply(("revise", {"step": 0, "lesson": "no"}), ids="a")
        kept.take(called, perform=lambda call: f"{call.name} by the host")
        assert "Going back is switched off in this run." in str(kept.messages())


def test_without_a_judge_none_is_named() -> None:
    """Each summary is accepted openly then."""
    with Memory.open(MemoryStore(), "m", task=TASK) as kept:
        assert "A judge checks it" not in str(kept.messages())


def test_a_judge_is_shown_the_instruction_that_came_last() -> None:
    """The text may use what it says: the model reads it as it compresses. The digest of the question does not hang on it."""
    asked: list[JudgeRequest] = []

    def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        assert isinstance(request, JudgeRequest)
        asked.append(request)
        return Passed()

    with Memory.open(MemoryStore(), "m", task="t", judge=judge) as kept:
        kept.instruct("A desk for at most $97.40.")
        kept.take(reply(buy("desk"), ids="a"), perform=done)
        kept.instruct("A chair for at most $41.20.")
        kept.take(reply(compress("Desk: oak. $41.20 is for the chair."), ids="b"))
        kept.take(reply(buy("chair"), ids="c"), perform=done)
        kept.take(reply(compress("Chair: linen."), ids="d"))
    assert [(each.instructions, each.later) for each in asked] == [
        (("A desk for at most $97.40.",), ("A chair for at most $41.20.",)),
        (("A chair for at most $41.20.",), ()),
    ]
    assert [unfounded(each) for each in asked] == [(), ()]
    _, shown = judge_messages(asked[0])
    assert "\nAsked for next: A chair for at most $41.20.\nSummary to judge: " in getattr(shown, "text", "")

"""After going back, whoever did it, the model is told why, to where, and what is undone in the environment, or is not."""

from __future__ import annotations

from typing import Literal

import pytest

from mage.agent import Policy
from mage.chat import decide_messages, system_prompt
from mage.effects import Compensable, Decide, Irreversible, NoEffect, NotRestored, Observed, Restored
from mage.engine import Failed, Revise
from mage.memory import Memory
from mage.stores import MemoryStore
from mage.testing import ScriptedEnvironment
from tests.agent.playing import DONE, Played, acts, compress, revise
from tests.memory.replies import TASK, buy, done, memory, notices, reply
from tests.memory.replies import compress as claim
from tests.memory.replies import revise as back


def _told(request: Decide) -> list[str]:
    return [notice.text for notice in request.notices]


def test_a_verdict_that_sends_back_is_said_once() -> None:
    """Why, to where, how much is undone, in the environment too; the feedback stands among the hints alone."""
    played = Played(acts("a"), acts("b"), compress("did"), DONE, verdicts=[Failed("b is blue")])
    played.run()
    asked = played.decisions.asked[-1]
    assert _told(asked) == [
        "[Step 0] has failed (the hints say why), so you are back at [Step 0]: 2 steps are undone, in the environment too."
    ]
    chat = decide_messages(asked, system=system_prompt("text"), mode="text")
    assert sum(getattr(message, "text", "").count("b is blue") for message in chat) == 1


def test_a_model_that_went_back_is_told_what_was_undone() -> None:
    """Its lesson is not said again; what could not be undone is named, and what had no effect is not."""
    looked = Observed("seen", effect=NoEffect())
    world = ScriptedEnvironment(looked, "bought", restored=[NotRestored("sold out")])
    played = Played(acts("look"), acts("buy"), revise(0, "too dear"), DONE, environment=world)
    played.run()
    (notice,) = played.decisions.asked[-1].notices
    assert notice.text == (
        "You have asked for it, so you are back at [Step 0]: 2 steps are undone in your history. "
        "The environment could not be brought back to this point. Why, and what was done there and stands:"
    )
    assert notice.said.splitlines() == ["sold out", "Step 2, buy: not known whether it can be undone"]


@pytest.mark.parametrize("how", ["snapshot", "replay"])
def test_what_lasts_is_named_where_the_environment_is_what_it_was(how: Literal["snapshot", "replay"]) -> None:
    """A world that goes back takes back no mail: what was declared to last is told of, with its reason."""
    sent, paid = (
        Observed("ok", effect=Irreversible("it is sent")),
        Observed("ok", effect=Compensable("refund it")),
    )
    world = ScriptedEnvironment("seen", sent, paid, restored=[Restored(how)])
    played = Played(acts("look"), acts("send"), acts("pay"), revise(0, "no"), DONE, environment=world)
    played.run()
    (notice,) = played.decisions.asked[-1].notices
    assert notice.text.endswith("3 steps are undone, in the environment too. But what lasts stands:")
    assert notice.said.splitlines() == [
        "Step 3, pay: cannot be undone; to make it good: refund it",
        "Step 2, send: cannot be undone: it is sent",
    ]


def test_another_writer_who_goes_back_is_told_of() -> None:
    """That somebody has changed the state, and what became of the model's own steps."""
    played = Played(acts("a"), acts("b"), DONE, others={1: [Revise(0, "no")]})
    played.run()
    told = _told(played.decisions.asked[-1])
    assert "Somebody else has changed your state meanwhile: read it anew." in told
    assert "Of your steps 1 step is left behind, in the environment too." in told


def test_a_host_without_restore_is_said_to_have_undone_nothing() -> None:
    """Whoever goes back: the judge, the model, or another writer of the session."""
    store = MemoryStore()
    with memory(store) as kept:
        kept.take(reply(buy("chrome"), claim("chrome chair"), ids="ab"), perform=done)
        (judged,) = notices(kept.messages())
        assert judged.startswith(
            "[Step 0] has failed (the hints say why), so you are back at [Step 0]: 1 step is"
        )
        assert "could not be brought back" in judged
        kept.take(reply(buy("linen"), ids="c"), perform=done)
        kept.take(reply(back(0, "no"), ids="d"))
        (asked,) = notices(kept.messages())
        assert asked.startswith("You have asked for it, so you are back at [Step 0]: 1 step is")
        kept.take(reply(buy("oak"), ids="e"), perform=done)
        with memory(store) as other:
            other.take(reply(back(0, "no"), ids="f"))
        changed, left = notices(kept.messages())
        assert changed.startswith("Somebody else has changed your state")
        assert left.startswith("Of your steps 1 step is left behind, and nobody knows what was undone")


def test_what_had_no_effect_needs_nobody_to_undo_it() -> None:
    """A host without `restore` whose tool only looked: the environment is as it was."""
    with Memory.open(MemoryStore(), "m", task=TASK) as kept:
        kept.record("look", "a room", effect=NoEffect())
        kept.revise(0, "no")
        assert notices(kept.messages()) == [
            "You have asked for it, so you are back at [Step 0]: 1 step is undone, in the environment too."
        ]


def test_nothing_is_left_to_revise_to_before_anything_was_done() -> None:
    """No target is named where nothing can be undone; with a step open one is."""
    with memory() as kept:
        assert "You may revise to" not in str(kept.messages())
        kept.take(reply(buy("desk"), ids="a"), perform=done)
        assert "You may revise to any [Step N] that is shown." in str(kept.messages())


@pytest.mark.parametrize("known", ["tried", "foreseen"])
def test_what_has_no_effect_is_never_held_back(known: str) -> None:
    """A look may be repeated where a lesson stands: the environment has said, or foresees, that it changes nothing."""
    seen = Observed("seen", effect=NoEffect()) if known == "tried" else "seen"
    world = ScriptedEnvironment(*[seen] * 9, foreseen={"look": NoEffect()} if known == "foreseen" else {})
    played = Played(acts("look"), revise(0, "not this"), acts("look"), DONE, environment=world)
    played.run()
    assert "tried" not in [kind for told in played.told for kind in told]
    assert world.actions == ["look", "look"]
    again = played.again(environment=ScriptedEnvironment())  # foresees nothing; what was done stays done
    again.run()
    assert again.decisions.asked == []
    assert again.commands == played.commands


def test_what_is_held_back_is_said_to_be_undone_and_how_to_insist() -> None:
    """The notice says that nothing was done, and that calling it once more does it."""
    played = Played(acts("a"), revise(0, "not a"), acts("a"), acts("a"), DONE)
    played.run()
    (notice,) = played.decisions.asked[3].notices
    assert notice.text.startswith("Nothing was done: this very action was tried here before")
    assert notice.text.endswith("To have it done all the same, call it once more:")
    assert notice.said == "a"


def test_a_world_that_is_over_names_what_may_be_done() -> None:
    """In the ablation without Revise going back is not among it."""
    for policy, said in (
        (Policy(), "compress, go back or finish."),
        (Policy(revise=False), "compress or finish."),
    ):
        world = ScriptedEnvironment(Observed("won", over=True))
        played = Played(acts("a"), acts("b"), DONE, environment=world, policy=policy)
        played.run()
        notice = played.decisions.asked[-1].notices[0]
        assert notice.text == f"The world takes no more actions: {said}"

"""Every short sequence of commands, and random long ones, on the engine and on another implementation."""

from __future__ import annotations

import attrs
import pytest

from mage.engine import Compress, Start
from specs.conformance import LONG, Answer, Disagreement, Engine, Implementation, Request, search
from specs.exhaustive import exhaust
from specs.explore import SMALL, WIDE, Alphabet, explore


class Forgetful(Implementation):
    """The engine, but for one fault: it takes every summary for a subgoal."""

    def __init__(self) -> None:
        self.engine = Engine()

    def apply(self, request: Request) -> Answer:
        command = request.command
        if isinstance(command, Compress):
            command = attrs.evolve(command, kind="subgoal")
        return self.engine.apply(Request(request.on, command))

    def show(self, state: int) -> bytes:
        return self.engine.show(state)

    def forget(self) -> None:
        self.engine.forget()


@pytest.mark.parametrize("alphabet", [SMALL, WIDE], ids=lambda alphabet: alphabet.name)
def test_it_sees_what_the_explorer_sees(alphabet: Alphabet) -> None:
    """Both meet the same states, edges and refusals at every depth: neither leaves anything out."""
    seen = [attrs.evolve(level, seconds=0) for level in exhaust(Engine(), alphabet, 3)]
    assert seen == [attrs.evolve(level, seconds=0) for level in explore(alphabet, 3)]


def test_a_fault_is_found_on_its_shortest_way() -> None:
    """An implementation that differs is caught, with as few commands as show it."""
    with pytest.raises(Disagreement) as found:
        list(exhaust(Forgetful(), SMALL, 4))
    assert isinstance(found.value.commands[0], Start)
    assert len(found.value.commands) == 3
    assert "fallback" in str(found.value)


def test_a_random_search_compares_all_that_it_was_asked_for() -> None:
    """However many are drawn at once, all are compared, over a quarter long; the same seed draws the same."""
    seen = search(Engine(), 30, 7, at_once=12)
    assert seen == search(Engine(), 30, 7, at_once=12)
    assert seen.sequences == 30
    assert seen.long >= 7
    assert seen.accepted > seen.long * LONG
    assert seen.tried > seen.accepted
    assert set(seen.phases) == {"Active", "Unverified", "Rejected"}
    assert seen != search(Engine(), 30, 8, at_once=12)


def test_a_random_search_finds_a_fault() -> None:
    """An implementation that differs is caught, and how it differs is said."""
    with pytest.raises(Disagreement, match="fallback"):
        search(Forgetful(), 30, 7, at_once=12)

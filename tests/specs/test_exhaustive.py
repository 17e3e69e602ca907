"""Every short sequence of commands, on the engine and on another implementation."""

from __future__ import annotations

import attrs
import pytest

from mage.engine import Compress, Start
from mage.testing import Disagreement, Engine
from mage.testing.implementation import Answer, Implementation, Request
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

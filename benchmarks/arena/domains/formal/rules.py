"""The parts of a derivation as an agent finds them: thinking, working expressions out, answering."""

from __future__ import annotations

from functools import cached_property
from typing import Final, final

import attrs

from benchmarks.arena.domains.calls import TEXT, Call
from benchmarks.arena.domains.formal.deriving import NAMES, TOOLS, derived
from benchmarks.arena.domains.formal.fractions import Unreadable
from benchmarks.arena.domains.formal.proof import Proof
from benchmarks.arena.domains.formal.reading import read
from benchmarks.arena.domains.world import Answer, Told
from mage.effects import Tool

ALL_TOOLS: Final = (
    Tool.of("think", "Write down a thought: what a part asks for, and which way leads there.", thought=TEXT),
    *TOOLS,
    Tool.of("answer", "Hand in the result of the present part. This ends it.", expression=TEXT),
)

MANUAL: Final = """\
You derive a result in parts. Each part asks for one expression or number, and many of them build on the results of
earlier parts, which are named by the part's number and not repeated: keep each result when you have it.
- All definitions and laws that you need stand in the background of the task.
- Think first what a part asks for. Work expressions out with the tools rather than in your head: they are exact.
- At least one thought or one tool comes before each answer. Each part is answered once, and answers are final.
- Write expressions such as 3*x**2 - x/2 + 1, and numbers as whole numbers or fractions; no units, no equals sign.
An answer counts where it equals the right result, in whatever form it is written. Nothing here says whether it does.
When a part is answered, write its result down word for word: later parts need it."""


@final
@attrs.frozen
class Reasoning:
    """What was done for the present part: how often a tool or a thought was used."""

    used: int = 0


@final
@attrs.define(slots=False)  # what is worked out once is kept beside its fields
class FormalRules:
    """The rules of one derivation.

    Attributes:
        proof: its parts.
        cap: actions of a part.
    """

    proof: Proof
    cap: int
    manual: str = MANUAL
    tools: tuple[Tool, ...] = ALL_TOOLS
    looks: frozenset[str] = NAMES | {"think"}

    @cached_property
    def instructions(self) -> tuple[str, ...]:
        """What each part asks for."""
        return tuple(f"Part {place}. {lemma.question}" for place, lemma in enumerate(self.proof.lemmas, 1))

    @property
    def text(self) -> str:
        """What is asked for, at the beginning."""
        count = len(self.proof.lemmas)
        return (
            f"Derive a result in {count} parts. You are told of each part when its turn comes.\n"
            f"BACKGROUND\n{self.proof.background}"
        )

    def begin(self) -> Reasoning:
        """Begin with nothing done."""
        return Reasoning()

    def turn(self, _state: Reasoning, _subtask: int, /) -> tuple[Answer, Reasoning]:
        """Nothing was answered."""
        return (), Reasoning()

    def call(self, state: Reasoning, call: Call, subtask: int, /) -> Told[Reasoning]:
        """Think, work something out, or answer."""
        if call.name == "think":
            return Told("Noted.", Reasoning(state.used + 1))
        if call.name in NAMES:
            return Told(derived(call, self.proof.variables), Reasoning(state.used + 1))
        if not state.used:
            return Told("Not taken: think or work something out before you answer.", state)
        expression = call.text("expression")
        try:
            read(expression, self.proof.variables)
        except Unreadable as error:
            return Told(f"Not taken: {error}.", state)
        return Told(f"Part {subtask + 1} is answered.", Reasoning(), (("expression", expression),))

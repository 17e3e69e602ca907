"""Tasks of formal reasoning: an oracle's plan, and how a run is marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, final

import attrs

from benchmarks.arena.domains.calls import action
from benchmarks.arena.domains.formal.fractions import Unreadable
from benchmarks.arena.domains.formal.mathematics import chain
from benchmarks.arena.domains.formal.physics import story
from benchmarks.arena.domains.formal.proof import Lemma, Proof
from benchmarks.arena.domains.formal.reading import read
from benchmarks.arena.domains.formal.rules import FormalRules
from benchmarks.arena.domains.scoring import Slot
from benchmarks.arena.domains.scoring import chain as chain_score
from benchmarks.arena.domains.task import Marked, Part, Task
from benchmarks.arena.domains.world import Closed


@final
@attrs.frozen
class Formal:
    """Derivations in mathematics or physics.

    Attributes:
        name: which of the two.
        parts: of a derivation in mathematics; a story of physics has its own.
        cap: actions of a part.
    """

    name: Literal["math", "physics"]
    parts: int = 7
    cap: int = 20

    def task(self, seed: int, number: int, /) -> Task:
        """Return a task. Cost: some polynomials."""
        proof = chain(seed, number, self.parts) if self.name == "math" else story(seed, number)
        rules = FormalRules(proof, self.cap)
        plan = tuple(_part(place, lemma) for place, lemma in enumerate(proof.lemmas, 1))
        return Task(f"{self.name}-{seed}-{number}", rules.text, rules, _Marking(proof), plan)


def _part(place: int, lemma: Lemma) -> Part:
    thought = action("think", thought=f"Part {place}: {lemma.question}")
    claim = f"Part {place} answered: {lemma.result}"
    return Part((thought, *lemma.calls, action("answer", expression=lemma.result)), claim)


@final
@attrs.frozen
class _Marking:
    proof: Proof = attrs.field(eq=False)

    def __call__(self, closed: Sequence[Closed]) -> Marked:
        """Mark answers: each is right where it equals the result, in whatever form."""
        given = [dict(each.answer).get("expression") for each in closed]
        given += [None] * (len(self.proof.lemmas) - len(given))
        right = tuple(
            self._is_right(text, lemma) for text, lemma in zip(given, self.proof.lemmas, strict=True)
        )
        return Marked(right, chain_score(right))

    def _is_right(self, text: str | None, lemma: Lemma) -> Slot:
        if text is None:
            return None
        try:
            answer = read(text, self.proof.variables)
        except Unreadable:
            return False
        return answer.is_same(read(lemma.result, self.proof.variables))

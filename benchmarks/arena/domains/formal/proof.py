"""A derivation under construction: parts, each with a question, a result, and the calls that an oracle makes for it."""

from __future__ import annotations

from typing import final

import attrs

from benchmarks.arena.domains.calls import Call, action
from benchmarks.arena.domains.formal.deriving import derived
from benchmarks.arena.domains.formal.fractions import Fraction, Variables
from benchmarks.arena.domains.formal.reading import read


@final
@attrs.frozen
class Lemma:
    """One part.

    Attributes:
        question: what is asked for. It names earlier results by the number of their part, and never repeats one.
        result: what is right, as text.
        calls: what an oracle calls on its way, as actions.
    """

    question: str
    result: str
    calls: tuple[str, ...]


@final
@attrs.frozen
class Proof:
    """A task of parts.

    Attributes:
        background: definitions and lemmas, for the whole task.
        variables: those that stand in its expressions.
        lemmas: the parts.
    """

    background: str
    variables: Variables
    lemmas: tuple[Lemma, ...]


@final
class Work:
    """The calls that lead to one result. Each is worked out as the world does it, so the plan is sound by making."""

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self._calls: list[str] = []

    def expand(self, expression: str) -> str:
        """Work an expression out."""
        return self._do("expand", expression=expression)

    def differentiate(self, expression: str, variable: str) -> str:
        """Differentiate."""
        return self._do("differentiate", expression=expression, variable=variable)

    def integrate(self, expression: str, variable: str) -> str:
        """Integrate, from 0 on."""
        return self._do("integrate", expression=expression, variable=variable)

    def substitute(self, expression: str, variable: str, value: str) -> str:
        """Put a value in place of a variable."""
        return self._do("substitute", expression=expression, variable=variable, value=value)

    def solve(self, left: str, right: str, variable: str) -> str:
        """Solve an equation."""
        return self._do("solve", left=left, right=right, variable=variable)

    def lemma(self, question: str, result: str) -> Lemma:
        """Return the part that these calls solve."""
        self.value(result)
        return Lemma(question, result, tuple(self._calls))

    def value(self, text: str) -> Fraction:
        """Return what a text stands for."""
        return read(text, self._variables)

    def _do(self, name: str, **arguments: str) -> str:
        self._calls.append(action(name, **arguments))
        result = derived(Call(name, arguments), self._variables)
        self.value(result)  # a refusal of a tool is a fault of whoever has drawn the task
        return result

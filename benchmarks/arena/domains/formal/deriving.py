"""What the tools do to expressions: pure functions from texts to a text, for the world and for the oracle's plan alike."""

from __future__ import annotations

from typing import Final

from benchmarks.arena.domains.calls import TEXT, Call
from benchmarks.arena.domains.formal.fractions import Fraction, Unreadable, Variables
from benchmarks.arena.domains.formal.reading import LONGEST, read
from mage.effects import Tool

TOOLS: Final = (
    Tool.of(
        "expand",
        "Work an expression out: brackets are multiplied out, like terms collected.",
        expression=TEXT,
    ),
    Tool.of(
        "differentiate", "The derivative of an expression by a variable.", expression=TEXT, variable=TEXT
    ),
    Tool.of(
        "integrate",
        "The antiderivative of an expression by a variable, the one that is 0 where the variable is 0.",
        expression=TEXT,
        variable=TEXT,
    ),
    Tool.of(
        "substitute",
        "An expression with another in place of a variable.",
        expression=TEXT,
        variable=TEXT,
        value=TEXT,
    ),
    Tool.of(
        "solve",
        "What a variable is where two expressions are equal; for equations that are linear in it.",
        left=TEXT,
        right=TEXT,
        variable=TEXT,
    ),
)
NAMES: Final = frozenset(tool.name for tool in TOOLS)


def derived(call: Call, variables: Variables) -> str:
    """Return what one of the tools says: the result as text, or why there is none. Never raises."""
    try:
        written = str(_result(call, variables))
    except Unreadable as error:
        return f"No result: {error}."
    # what cannot be read again is of no use
    return written if len(written) <= LONGEST else "No result: it is too long to be written."


def _result(call: Call, variables: Variables) -> Fraction:
    if call.name == "solve":
        difference = read(call.text("left"), variables) - read(call.text("right"), variables)
        return difference.root(variables.place(call.text("variable")))
    expression = read(call.text("expression"), variables)
    if call.name == "expand":
        return expression
    place = variables.place(call.text("variable"))
    match call.name:
        case "differentiate":
            return expression.derivative(place)
        case "integrate":
            return expression.integral(place)
        case _:
            return expression.substituted(place, read(call.text("value"), variables))

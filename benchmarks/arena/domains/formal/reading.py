"""An expression from its text: Python's own parser reads it, a few kinds of nodes are taken, nothing is evaluated."""

from __future__ import annotations

import ast
from fractions import Fraction as Rational
from typing import Final

from benchmarks.arena.domains.formal.fractions import Fraction, Unreadable, Variables

LONGEST: Final = 600
"""Characters of an expression."""
_DIGITS: Final = 24
_NESTED: Final = 60
_HINT: Final = "write such as 3*x**2 - x/2 + 1: numbers, variables, + - * / ** and brackets"


def read(text: str, variables: Variables) -> Fraction:
    """Return the expression that a text is.

    Cost: O(length), and what the bounds of `fractions` allow.

    Raises:
        Unreadable: it is none, has an unknown variable, or is too large.
    """
    written = text.strip().strip("$").replace("^", "**").replace("·", "*").replace("−", "-")
    if not written or len(written) > LONGEST:
        raise Unreadable(f"an expression has 1 to {LONGEST} characters")
    try:
        tree = ast.parse(written, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unreadable(f"this is no expression; {_HINT}") from None
    return _value(tree.body, variables, 0)


def _value(node: ast.expr, variables: Variables, depth: int) -> Fraction:
    if depth > _NESTED:
        raise Unreadable("it is nested too deeply")
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _number(number, variables)
        case ast.Name(id=name):
            return variables.variable(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, variables, depth + 1)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, variables, depth + 1)
        case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
            return _value(base, variables, depth + 1).power(_exponent(exponent))
        case ast.BinOp(left=left, op=operator, right=right):
            return _combined(
                operator, _value(left, variables, depth + 1), _value(right, variables, depth + 1)
            )
        case _:
            raise Unreadable(f"it has something in it that is not read here; {_HINT}")


def _combined(operator: ast.operator, left: Fraction, right: Fraction) -> Fraction:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
        case _:
            raise Unreadable(f"it has an operator that is not read here; {_HINT}")


def _exponent(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)) if not isinstance(
            number, bool
        ):
            return -number
        case _:
            raise Unreadable("an exponent is a whole number")


def _number(number: float, variables: Variables) -> Fraction:
    written = str(number)
    if len(written) > _DIGITS or written in ("inf", "nan"):
        raise Unreadable("a number is too long")
    exact = Rational(written)  # 0.1 is a tenth, not what a machine makes of it
    return variables.number(exact.numerator, exact.denominator)

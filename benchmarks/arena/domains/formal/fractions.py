"""Exact arithmetic on rational functions: a numerator and a denominator, each a sparse polynomial of SymPy.

Equality is decided exactly, by a product across: no simplification that might not end, no number that is only near.
Every operation is bounded: what grows beyond `TERMS`, `DEGREE` or `BITS` is refused, whatever was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final  # Any: SymPy says nothing of its types

import attrs
from sympy import QQ
from sympy.polys.rings import PolyElement, ring

TERMS: Final = 60
"""Terms of a numerator or a denominator."""
DEGREE: Final = 40
"""Degree in all variables together."""
BITS: Final = 160
"""Bits of a coefficient's numerator or denominator."""


@final
@attrs.frozen
class Unreadable(Exception):
    """An expression cannot be read, or worked on; the message says why and what can be done."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@final
class Variables:
    """The variables of one task, and the polynomials over them.

    Attributes:
        names: in their order.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._ring: Any = ring(",".join(self.names), QQ)[0]

    def number(self, numerator: int, denominator: int = 1) -> Fraction:
        """Return a number. Its denominator is not 0."""
        return bounded(self._ring(QQ(numerator, denominator)), self._ring(1))

    def variable(self, name: str) -> Fraction:
        """Return a variable.

        Raises:
            Unreadable: there is none of that name.
        """
        return Fraction(self._ring.gens[self.place(name)], self._ring(1))

    def place(self, name: str) -> int:
        """Return which variable has a name, counted from 0.

        Raises:
            Unreadable: there is none of that name.
        """
        if name not in self.names:
            raise Unreadable(f"there is no variable of that name here; there are: {', '.join(self.names)}")
        return self.names.index(name)


@final
@attrs.frozen(eq=False)
class Fraction:
    """A rational function.

    Attributes:
        top: the numerator.
        bottom: the denominator, which is not 0.
    """

    top: Any  # Any: SymPy says nothing of its types
    bottom: Any

    def __add__(self, other: Fraction) -> Fraction:
        if self.bottom == other.bottom:
            return bounded(self.top + other.top, self.bottom)
        return bounded(self.top * other.bottom + other.top * self.bottom, self.bottom * other.bottom)

    def __sub__(self, other: Fraction) -> Fraction:
        return self + -other

    def __neg__(self) -> Fraction:
        return Fraction(-self.top, self.bottom)

    def __mul__(self, other: Fraction) -> Fraction:
        return bounded(self.top * other.top, self.bottom * other.bottom)

    def __truediv__(self, other: Fraction) -> Fraction:
        if not other.top:
            raise Unreadable("it divides by zero")
        return bounded(self.top * other.bottom, self.bottom * other.top)

    def power(self, exponent: int) -> Fraction:
        """Return a whole power, made step by step, so that it is refused as soon as it is too large."""
        if abs(exponent) > DEGREE:
            raise Unreadable(f"an exponent is at most {DEGREE}")
        one = Fraction(self.top.ring(1), self.top.ring(1))
        result = one
        for _ in range(abs(exponent)):
            result = result * self
        return result if exponent >= 0 else one / result

    def is_same(self, other: Fraction) -> bool:
        """Tell whether two are equal wherever both are defined. Exact."""
        return bool(self.top * other.bottom == other.top * self.bottom)

    def has(self, place: int) -> bool:
        """Tell whether a variable stands in it."""
        return any(monomial[place] for part in (self.top, self.bottom) for monomial in part.monoms())

    def derivative(self, place: int) -> Fraction:
        """Return the derivative by a variable."""
        variable = self.top.ring.gens[place]
        top = self.top.diff(variable) * self.bottom - self.top * self.bottom.diff(variable)
        return bounded(top, self.bottom * self.bottom)

    def integral(self, place: int) -> Fraction:
        """Return the antiderivative by a variable that is 0 where the variable is.

        Raises:
            Unreadable: the variable stands in the denominator.
        """
        if any(monomial[place] for monomial in self.bottom.monoms()):
            raise Unreadable("only what has no such variable in its denominator is integrated here")
        result = self.top.ring(0)
        for monomial, coefficient in self.top.terms():
            raised = tuple(each + (at == place) for at, each in enumerate(monomial))
            result += self.top.ring({raised: coefficient / raised[place]})
        return bounded(result, self.bottom)

    def substituted(self, place: int, value: Fraction) -> Fraction:
        """Return it with a value in place of a variable."""
        return _substituted(self.top, place, value) / _substituted(self.bottom, place, value)

    def root(self, place: int) -> Fraction:
        """Return where it is 0, for a variable that stands in the numerator only to the first power.

        Raises:
            Unreadable: it stands there otherwise, or not at all.
        """
        by_power: dict[int, Any] = {}
        for monomial, coefficient in self.top.terms():
            rest = tuple(0 if at == place else each for at, each in enumerate(monomial))
            power = monomial[place]
            by_power[power] = by_power.get(power, self.top.ring(0)) + self.top.ring({rest: coefficient})
        if set(by_power) - {0, 1} or 1 not in by_power:
            raise Unreadable("only what is linear in the variable is solved here")
        return bounded(-by_power.get(0, self.top.ring(0)), by_power[1])

    def __str__(self) -> str:
        top, bottom = self.top.cancel(self.bottom)
        if bottom.is_ground:
            return _written(top / bottom.LC if bottom != 1 else top)
        return f"({_written(top)})/({_written(bottom)})"


def bounded(top: Any, bottom: Any) -> Fraction:  # Any: polynomials of SymPy
    """Return a fraction whose numerator and denominator are not too large.

    Raises:
        Unreadable: one of them is.
    """
    if not isinstance(top, PolyElement) or not isinstance(bottom, PolyElement):
        raise TypeError(f"no polynomials: {type(top).__name__}, {type(bottom).__name__}")
    for part in (top, bottom):
        if len(part) > TERMS or any(sum(monomial) > DEGREE for monomial in part.monoms()):
            raise Unreadable("it grows too large to be worked on")
        if any(_bits(coefficient) > BITS for coefficient in part.coeffs()):
            raise Unreadable("its numbers grow too large to be worked on")
    return Fraction(top, bottom)


def _bits(coefficient: Any) -> int:  # Any: a rational number of SymPy's domain
    return max(int(coefficient.numerator).bit_length(), int(coefficient.denominator).bit_length())


def _substituted(polynomial: Any, place: int, value: Fraction) -> Fraction:  # Any: a polynomial of SymPy
    """Return a polynomial with a value in place of a variable, over the value's denominator to the highest power."""
    degree = max((monomial[place] for monomial in polynomial.monoms()), default=0)
    tops, bottoms = _powers(value.top, degree), _powers(value.bottom, degree)
    total = polynomial.ring(0)
    for monomial, coefficient in polynomial.terms():
        rest = tuple(0 if at == place else each for at, each in enumerate(monomial))
        power = monomial[place]
        total += polynomial.ring({rest: coefficient}) * tops[power] * bottoms[degree - power]
    return bounded(total, bottoms[degree])


def _powers(polynomial: Any, most: int) -> list[Any]:  # Any: polynomials of SymPy
    one = polynomial.ring(1)
    powers = [one]
    for _ in range(most):
        powers.append(bounded(powers[-1] * polynomial, one).top)
    return powers


def _written(polynomial: Any) -> str:  # Any: a polynomial of SymPy
    return str(polynomial.as_expr())

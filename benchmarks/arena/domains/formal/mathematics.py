"""Chains of parts on polynomials: each part takes the result before it, and often one from further back."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final, TypeAlias

from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.formal.fractions import Variables
from benchmarks.arena.domains.formal.proof import Lemma, Proof, Work

_BACKGROUND: Final = """\
All functions are polynomials in x with rational coefficients.
Definition 1. The shift of f by h is the function f(x + h).
Definition 2. The antiderivative of f from c is the function F with F' = f and F(0) = c.
Definition 3. The mean of f up to b is (1/b) times the integral of f from 0 to b.
Definition 4. The tangent of f at a is the line f(a) + f'(a)*(x - a).
Definition 5. The blend of f and g by k is f + k*g.
Lemma 1. The derivative of a blend of f and g is the blend of their derivatives, by the same number.
Lemma 2. A shift of an antiderivative is an antiderivative of the shift, from another number.
Lemma 3. The mean of a blend is the blend of the means."""

_LONGEST: Final = 90
"""Characters of a result: what is longer tests patience."""
_Kind: TypeAlias = Callable[[random.Random, Work, "list[str]"], Lemma]


def chain(seed: int, number: int, parts: int) -> Proof:
    """Return a chain of so many parts, at least two."""
    draw = draws("math", seed, number)
    variables = Variables(("x",))
    lemmas = [_product(draw, Work(variables))]
    while len(lemmas) < parts:
        results = [lemma.result for lemma in lemmas]
        kind = draw.choice(_kinds(results, Work(variables), is_last=len(lemmas) == parts - 1))
        lemma = kind(draw, Work(variables), results)
        if lemma.result not in ("0", *results) and len(lemma.result) <= _LONGEST:
            lemmas.append(lemma)
    return Proof(_BACKGROUND, variables, tuple(lemmas))


def _kinds(results: list[str], work: Work, *, is_last: bool) -> tuple[_Kind, ...]:
    """Return what may follow: numbers lead back to functions, and functions stay of a low degree."""
    degree = _degree(work, results[-1])
    if degree == 0:
        return (_blend_by_it, _scaled)
    if is_last:
        return (_tangent, _blend)
    if degree >= 5:
        return (_derivative, _tangent, _mean)
    return (
        (_antiderivative, _shift, _blend, _derivative, _value) if degree > 1 else (_antiderivative, _squared)
    )


def _degree(work: Work, text: str) -> int:
    return int(work.value(text).top.degree())


def _of(results: list[str]) -> str:
    return f"the result of part {len(results)}"


def _whole(draw: random.Random, most: int = 5) -> int:
    return draw.choice([each for each in range(-most, most + 1) if each])


def _polynomial(draw: random.Random, degree: int) -> str:
    return _sum(" + ".join(f"{_whole(draw)}*x**{power}" for power in range(degree, -1, -1)))


def _sum(text: str) -> str:
    return text.replace("+ -", "- ")


def _product(draw: random.Random, work: Work) -> Lemma:
    left, right = (work.value(_polynomial(draw, degree)) for degree in (2, 1))
    question = f"Let p(x) = {left} and q(x) = {right}. Give p(x)*q(x), multiplied out."
    return work.lemma(question, work.expand(f"({left})*({right})"))


def _derivative(_draw: random.Random, work: Work, results: list[str]) -> Lemma:
    return work.lemma(f"Give the derivative of {_of(results)}.", work.differentiate(results[-1], "x"))


def _antiderivative(draw: random.Random, work: Work, results: list[str]) -> Lemma:
    start = _whole(draw, 9)
    result = work.expand(f"{work.integrate(results[-1], 'x')} + {start}")
    return work.lemma(f"Give the antiderivative from {start} of {_of(results)}.", result)


def _shift(draw: random.Random, work: Work, results: list[str]) -> Lemma:
    by = _whole(draw, 3)
    return work.lemma(
        f"Give the shift by {by} of {_of(results)}.", work.substitute(results[-1], "x", _sum(f"x + {by}"))
    )


def _value(draw: random.Random, work: Work, results: list[str]) -> Lemma:
    at = _whole(draw, 3)
    return work.lemma(
        f"Give the value at x = {at} of {_of(results)}.", work.substitute(results[-1], "x", str(at))
    )


def _mean(draw: random.Random, work: Work, results: list[str]) -> Lemma:
    end = draw.randint(1, 3)
    whole = work.substitute(work.integrate(results[-1], "x"), "x", str(end))
    return work.lemma(f"Give the mean up to {end} of {_of(results)}.", work.expand(f"({whole})/{end}"))


def _tangent(draw: random.Random, work: Work, results: list[str]) -> Lemma:
    at = _whole(draw, 3)
    height = work.substitute(results[-1], "x", str(at))
    slope = work.substitute(work.differentiate(results[-1], "x"), "x", str(at))
    return work.lemma(
        f"Give the tangent at {at} of {_of(results)}, as a polynomial.",
        work.expand(f"({height}) + ({slope})*(x - ({at}))"),
    )


def _squared(_draw: random.Random, work: Work, results: list[str]) -> Lemma:
    return work.lemma(
        f"Give the square of {_of(results)}, multiplied out.", work.expand(f"({results[-1]})**2")
    )


def _blend(draw: random.Random, work: Work, results: list[str]) -> Lemma:
    other, by = _earlier(draw, work, results), _whole(draw, 4)
    return work.lemma(
        f"Give the blend of {_of(results)} and the result of part {other + 1} by {by}.",
        work.expand(_sum(f"({results[-1]}) + {by}*({results[other]})")),
    )


def _blend_by_it(draw: random.Random, work: Work, results: list[str]) -> Lemma:
    one, other = _earlier(draw, work, results), _earlier(draw, work, results)
    slope = work.differentiate(results[other], "x")
    return work.lemma(
        f"Give the blend of the result of part {one + 1} and the derivative of the result of part {other + 1} by "
        f"the number that is {_of(results)}.",
        work.expand(f"({results[one]}) + ({results[-1]})*({slope})"),
    )


def _scaled(draw: random.Random, work: Work, results: list[str]) -> Lemma:
    other = _earlier(draw, work, results)
    return work.lemma(
        f"Multiply the result of part {other + 1} by the number that is {_of(results)}.",
        work.expand(f"({results[-1]})*({results[other]})"),
    )


def _earlier(draw: random.Random, work: Work, results: list[str]) -> int:
    """Return which earlier part, counted from 0, has a function as its result; the first one has."""
    return draw.choice(
        [place for place, text in enumerate(results[:-1] or results) if _degree(work, text) > 0]
    )

"""Chains of parts on motion, circuits and lenses, with the numbers of a story drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.formal.fractions import Unreadable, Variables
from benchmarks.arena.domains.formal.proof import Proof, Work


def story(seed: int, number: int) -> Proof:
    """Return one of the stories. Where its numbers lead to a division by zero, others are drawn."""
    attempt = 0
    while True:
        draw = draws("physics", seed, number, attempt)
        try:
            return draw.choice(_STORIES)(draw)
        except Unreadable:
            attempt += 1


# -- a body on a rail ----------------------------------------------------------------------------------

_MOTION: Final = """\
A body moves along a rail; t is the time in seconds, everything is in SI units.
Law 1. Velocity is the antiderivative of acceleration, position that of velocity.
Law 2. Force is mass times acceleration, momentum is mass times velocity.
Law 3. Power is force times velocity. The work of a time is the integral of power over it.
Law 4. The mean velocity of a time is the way divided by the time."""


def _motion(draw: random.Random) -> Proof:
    variables = Variables(("t",))
    mass, end, later = draw.randint(2, 9), draw.randint(2, 5), draw.randint(6, 9)
    start, place = draw.randint(1, 9), draw.randint(1, 20)
    acceleration = f"{draw.randint(1, 6)}*t**2 - {draw.randint(1, 9)}*t + {draw.randint(1, 9)}"
    work = [Work(variables) for _ in range(7)]
    velocity = work[0].expand(f"{work[0].integrate(acceleration, 't')} + {start}")
    way = work[1].expand(f"{work[1].integrate(velocity, 't')} + {place}")
    force = work[2].expand(f"{mass}*({work[2].differentiate(velocity, 't')})")
    power = work[3].expand(f"({force})*({velocity})")
    total = work[4].substitute(work[4].integrate(power, "t"), "t", str(end))
    ends = [work[5].substitute(way, "t", str(at)) for at in (end, later)]
    mean = work[5].expand(f"(({ends[1]}) - ({ends[0]}))/({later} - {end})")
    momentum = work[6].substitute(velocity, "t", str(later))
    ratio = work[6].expand(f"({total})/({mass}*({momentum})*({mean}))")
    lemmas = (
        work[0].lemma(
            f"The acceleration is {acceleration}, and the velocity at t = 0 is {start}. Give the velocity.",
            velocity,
        ),
        work[1].lemma(f"At t = 0 the body is at {place}. Give its position, from the result of part 1.", way),
        work[2].lemma(
            f"Its mass is {mass}. Give the force, by the derivative of the result of part 1.", force
        ),
        work[3].lemma("Give the power, from the results of parts 1 and 3.", power),
        work[4].lemma(f"Give the work from t = 0 to t = {end}, from the result of part 4.", total),
        work[5].lemma(
            f"Give the mean velocity from t = {end} to t = {later}, from the result of part 2.", mean
        ),
        work[6].lemma(
            f"Divide the result of part 5 by the momentum at t = {later} (the mass is that of part 3, the velocity that of "
            "part 1) and by the result of part 6. Give the number.",
            ratio,
        ),
    )
    return Proof(_MOTION, variables, lemmas)


# -- a circuit in series ---------------------------------------------------------------------------------

_CIRCUIT: Final = """\
A resistor, a coil and a capacitor are in series with a source; t is the time in seconds, everything is in SI units.
Law 1. The current is the derivative of the charge of the capacitor.
Law 2. The voltage of a resistor is resistance times current, that of a coil inductance times the derivative of current.
Law 3. The voltage of a capacitor is charge divided by capacitance. The voltage of the source is the sum of all three.
Law 4. Power is voltage times current. The energy of a time is the integral of power over it."""


def _circuit(draw: random.Random) -> Proof:
    variables = Variables(("t",))
    resistance, coil, capacity = draw.randint(2, 9), draw.randint(1, 5), draw.randint(2, 6)
    end, at = draw.randint(1, 3), draw.randint(2, 5)
    charge = f"{draw.randint(1, 5)}*t**3 - {draw.randint(1, 6)}*t**2 + {draw.randint(1, 9)}*t + {draw.randint(1, 9)}"
    work = [Work(variables) for _ in range(7)]
    current = work[0].differentiate(charge, "t")
    on_coil = work[1].expand(f"{coil}*({work[1].differentiate(current, 't')})")
    source = work[2].expand(f"{resistance}*({current}) + ({on_coil}) + ({charge})/{capacity}")
    power = work[3].expand(f"({source})*({current})")
    energy = work[4].substitute(work[4].integrate(power, "t"), "t", str(end))
    lost = work[5].integrate(work[5].expand(f"{resistance}*({current})**2"), "t")
    heat = work[5].substitute(lost, "t", str(end))
    share = work[6].expand(f"({heat})/({energy})*({work[6].substitute(source, 't', str(at))})")
    lemmas = (
        work[0].lemma(f"The charge of the capacitor is {charge}. Give the current.", current),
        work[1].lemma(
            f"The inductance is {coil}. Give the voltage of the coil, from the result of part 1.", on_coil
        ),
        work[2].lemma(
            f"The resistance is {resistance}, the capacitance {capacity}, the charge that of part 1. Give the voltage of the "
            "source, from the results of parts 1 and 2.",
            source,
        ),
        work[3].lemma("Give the power of the source, from the results of parts 1 and 3.", power),
        work[4].lemma(
            f"Give the energy that it gives from t = 0 to t = {end}, from the result of part 4.", energy
        ),
        work[5].lemma(
            "Give the energy that the resistor of part 3 takes in the time of part 5, from the result of part 1.",
            heat,
        ),
        work[6].lemma(
            f"Divide the result of part 6 by that of part 5, and multiply by the result of part 3 at t = {at}.",
            share,
        ),
    )
    return Proof(_CIRCUIT, variables, lemmas)


# -- two lenses ------------------------------------------------------------------------------------------

_LENSES: Final = """\
Two thin lenses stand on one axis; u is the distance of the object from the first, v a distance to be found, in cm.
Law 1. For a lens of focal length f, an object at distance a and its image at distance b: 1/a + 1/b = 1/f.
Law 2. The image of the first lens is the object of the second: its distance is that of the lenses minus that of the image.
Law 3. The magnification of a lens is minus the distance of the image divided by that of the object.
Law 4. The magnification of two lenses is the product of theirs."""


def _lenses(draw: random.Random) -> Proof:
    variables = Variables(("u", "v"))
    first, second = draw.sample(range(4, 16), 2)
    apart, at = draw.randint(40, 70), draw.randint(75, 99)
    work = [Work(variables) for _ in range(6)]
    image = work[0].solve("1/u + 1/v", f"1/{first}", "v")
    distance = work[1].expand(f"{apart} - {_bracketed(image)}")
    seen = work[2].solve(f"1/v + 1/{_bracketed(distance)}", f"1/{second}", "v")
    factor = work[3].expand(f"({_bracketed(image)}/u)*({_bracketed(seen)}/{_bracketed(distance)})")
    value = work[4].substitute(factor, "u", str(at))
    slope = work[5].substitute(work[5].differentiate(seen, "u"), "u", str(at))
    there = work[5].substitute(seen, "u", str(at))
    total = work[5].expand(f"({slope}) + ({there})*({value})")
    lemmas = (
        work[0].lemma(
            f"The focal length of the first lens is {first}. Give the distance of its image, in u.", image
        ),
        work[1].lemma(
            f"The lenses are {apart} apart. Give the distance of the object from the second lens, by the result of part 1.",
            distance,
        ),
        work[2].lemma(
            f"The focal length of the second lens is {second}. Give the distance of its image, by the result of part 2.",
            seen,
        ),
        work[3].lemma("Give the magnification of both, in u, from the results of parts 1, 2 and 3.", factor),
        work[4].lemma(f"Give the result of part 4 at u = {at}.", value),
        work[5].lemma(
            "Multiply the result of part 3, at the u of part 5, by the result of part 5, and add the derivative by u of the "
            "result of part 3 at the same u.",
            total,
        ),
    )
    return Proof(_LENSES, variables, lemmas)


def _bracketed(text: str) -> str:
    return f"({text})"


_STORIES: Final[tuple[Callable[[random.Random], Proof], ...]] = (_motion, _circuit, _lenses)

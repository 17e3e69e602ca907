"""Formal reasoning: reading is total and bounded, equality is exact, tools agree with SymPy's own."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import benchmarks.arena.domains
from benchmarks.arena.domains.calls import Call, action
from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.formal import fractions
from benchmarks.arena.domains.formal.deriving import derived
from benchmarks.arena.domains.formal.fractions import Fraction, Unreadable, Variables
from benchmarks.arena.domains.formal.physics import _circuit, _lenses, _motion
from benchmarks.arena.domains.formal.reading import read
from benchmarks.arena.domains.world import World
from tests.arena.domains.cases import SMALL, rules_of

VARIABLES = Variables(("x", "y"))
NUMBER = st.integers(-9, 9).map(lambda number: f"({number})")
EXPRESSIONS = st.recursive(
    NUMBER | st.sampled_from(["x", "y"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda each: f"({''.join(each)})"),
        st.tuples(inner, st.integers(0, 3)).map(lambda each: f"({each[0]})**{each[1]}"),
        inner.map(lambda each: f"({each})/(x + 7)"),
    ),
    max_leaves=6,
)
FEW = settings(deadline=None, max_examples=60)


def value(text: str) -> Fraction:
    return read(text, VARIABLES)


def theirs(text: str) -> sympy.Expr:
    """Return what SymPy makes of a text: by its own reader, which may evaluate, as these texts are ours."""
    return sympy.sympify(text, rational=True)


@given(EXPRESSIONS)
@FEW
def test_an_expression_is_read_as_sympy_reads_it(text: str) -> None:
    """What is read here equals, as a rational function, what SymPy's own reader makes of it; and reads back from its text."""
    read_here = value(text)
    assert sympy.cancel(theirs(str(read_here)) - theirs(text)) == 0
    assert value(str(read_here)).is_same(read_here)


@given(EXPRESSIONS, EXPRESSIONS)
@FEW
def test_equality_is_exact(one: str, other: str) -> None:
    """Two expressions are the same where their difference is 0, and only there."""
    assert value(one).is_same(value(other)) == (sympy.cancel(theirs(one) - theirs(other)) == 0)


@given(EXPRESSIONS)
@FEW
def test_tools_agree_with_sympy(text: str) -> None:
    """Derivatives, integrals from 0 on and substitutions are those that SymPy finds, where the tool gives one."""
    x = sympy.Symbol("x")
    found = derived(Call("differentiate", {"expression": text, "variable": "x"}), VARIABLES)
    assert sympy.cancel(theirs(found) - sympy.diff(theirs(text), x)) == 0
    found = derived(Call("integrate", {"expression": text, "variable": "y"}), VARIABLES)
    assert sympy.cancel(sympy.diff(theirs(found), sympy.Symbol("y")) - theirs(text)) == 0
    assert sympy.cancel(theirs(found).subs("y", 0)) == 0
    found = derived(Call("substitute", {"expression": text, "variable": "x", "value": "y**2 + 1"}), VARIABLES)
    assert sympy.cancel(theirs(found) - theirs(text).subs("x", theirs("y**2 + 1"))) == 0


def test_an_equation_is_solved_where_it_is_linear() -> None:
    """The root of a linear equation is found, also among other variables; any other equation is refused in words."""
    solved = Call("solve", {"left": "1/x + 1/y", "right": "1/6", "variable": "y"})
    assert value(derived(solved, VARIABLES)).is_same(value("6*x/(x - 6)"))
    for left in ("y**2", "x"):
        refused = derived(Call("solve", {"left": left, "right": "1", "variable": "y"}), VARIABLES)
        assert refused == "No result: only what is linear in the variable is solved here."


@given(st.text(max_size=60) | st.text("x19*+-/()^. ", max_size=60))
@FEW
def test_reading_is_total(text: str) -> None:
    """Any text is an expression, or is refused in words that say what can be done."""
    try:
        said = str(value(text))
    except Unreadable as refused:
        said = str(refused)
    assert said


REFUSED: Final = {
    "powers": ("9**9**9**9", "(x + y)**41", "(x**30)**30", "(x + y + 1)**20*(x - y)**20", "x**0.5"),
    "numbers": ("9**40*9**40*9**40*9**40", "1234567890123456789012345", "1e400", "1/(x - x)", "True"),
    "nesting": ("1-(" * 70 + "x" + ")" * 70, "-" * 80 + "x", "+".join("x" * 400)),
    "programs": ("__import__('os').getcwd()", "x.real", "[x]", "x if x else y", "f(x)", "'x'", "x % 2"),
    "no expressions": ("", "2x", "x =  3", "\x00", "\ud800", "z"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_expression_or_too_large_is_refused(kind: str) -> None:
    """Powers of powers, calls, attributes and the like are refused at once, and nothing of them is performed."""
    for text in REFUSED[kind]:
        with pytest.raises(Unreadable):
            value(text)


def test_numbers_are_exact() -> None:
    """A decimal is the fraction that it is written as; a caret is a power, as people write it."""
    assert value("0.1 + 0.2").is_same(value("3/10"))
    assert value("x^2").is_same(value("x*x"))
    assert value("$x·x$").is_same(value("x**2"))
    assert not value("0.3333333333").is_same(value("1/3"))


def test_an_answer_counts_in_whatever_form() -> None:
    """The right result written otherwise is right, another is not; the world takes both, and says the same."""
    task = SMALL["math"].task(2, 0)
    right = rules_of(task).proof.lemmas[0].result
    told = set()
    for answer, counts in ((f"(({right})*2 + 4)/2 - 2", True), (f"{right} + 1", False)):
        world = World(task.rules)
        world.reset()
        world.act(action("think", thought="Let me see."))
        told.add(world.act(action("answer", expression=answer)).text)
        assert task.mark(world.standing.closed).right[0] is counts
    assert told == {"Part 1 is answered."}


def test_a_thought_comes_before_an_answer() -> None:
    """Nothing is taken before a step of reasoning, nor what cannot be read; the part goes on."""
    world = World(SMALL["physics"].task(2, 0).rules)
    world.reset()
    assert world.act(action("answer", expression="1")).text.startswith("Not taken: think or work")
    world.act(action("think", thought="Now."))
    assert world.act(action("answer", expression="2 apples")).text.startswith(
        "Not taken: this is no expression"
    )
    assert world.standing.closed == ()


@pytest.mark.parametrize("story", [_motion, _circuit, _lenses])
def test_each_story_of_physics_uses_earlier_results(story: object) -> None:
    """In each story every part but those with data of their own names the part that it builds on, and none quotes it."""
    assert callable(story)
    proof = story(draws("a story"))
    for place, lemma in enumerate(proof.lemmas):
        assert place == 0 or "part" in lemma.question
        assert all(len(other.result) < 4 or other.result not in lemma.question for other in proof.lemmas)


def test_nothing_is_evaluated() -> None:
    """No file of the arena's domains calls `eval`, `exec`, `compile` or a reader of SymPy that uses them."""
    folder = Path(benchmarks.arena.domains.__file__ or "").parent
    called = {
        node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    }
    assert "parse" in called  # of `ast`, which only reads
    assert not called & {"eval", "exec", "sympify", "parse_expr", "lambdify", "compile_command", "S"}


def test_only_polynomials_are_taken() -> None:
    """A fraction is made of polynomials; anything else is a fault of the program."""
    with pytest.raises(TypeError, match="no polynomials: int, int"):
        fractions.bounded(1, 2)

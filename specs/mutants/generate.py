"""Every mutant of a source file, from mutmut's operators, as an edit of its text.

Two things differ from mutmut's own use of them: properties are mutated like any method, and so is what a
module or a class body evaluates on import. Left alone are what has no behaviour of its own: `__all__`, type
aliases, `NewType` and `TYPE_CHECKING`.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, final

import attrs
import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import Mutation, MutationVisitor, deep_replace
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

ROOT: Final = Path(__file__).resolve().parents[2]
ENGINE: Final = "mage/engine"

_WITHOUT_BEHAVIOUR: Final = ("__all__", "TypeAlias", "NewType(", "TYPE_CHECKING")


@final
@attrs.frozen
class Name:
    """What a mutant is known by, whatever else changes in its file.

    Attributes:
        file: the path of the source.
        where: the function, as in `Tree.step`, or the class or the constant that is made on import.
        before: the changed lines as they were, each without its indentation.
        after: the same lines, changed.
        nth: which one, where several in one place read the same; from 1.
    """

    file: str
    where: str
    before: str
    after: str
    nth: int = 1

    def __str__(self) -> str:
        again = f" (no. {self.nth})" if self.nth > 1 else ""
        return f"{self.file}, {self.where}{again}:\n  - {_listed(self.before)}\n  + {_listed(self.after)}"


def _listed(lines: str) -> str:
    return lines.replace("\n", "\n    ")


@final
@attrs.frozen
class Mutant:
    """One change of one file.

    Attributes:
        name: what it is known by.
        in_function: whether it takes effect when a function is called; else on import.
        lines: the first and the last line of the innermost statement around the change.
        within: all lines of the function that it is in; outside of one, its own.
        source: the whole text of the changed file.
    """

    name: Name
    in_function: bool
    lines: tuple[int, int]
    within: range
    source: str = attrs.field(repr=False)


@final
@attrs.frozen
class _Found:
    mutation: Mutation
    statement: CodeRange
    definition: CodeRange | None
    where: str
    in_function: bool


@final
class _Visitor(MutationVisitor):
    """mutmut's visitor, which also keeps where each mutation is."""

    def __init__(self) -> None:
        super().__init__(mutation_operators, IgnoredCode(set(), set(), set()))
        self.found: list[_Found] = []
        self._around: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        self._around.append(node)
        if isinstance(node, cst.SimpleStatementLine) and self._is_without_behaviour(node):
            return False
        known = len(self.mutations)
        goes_on = super().on_visit(node)
        if len(self.mutations) > known:
            place = (self._statement(), self._definition(), self._where(), self._is_in_body())
            self.found.extend(_Found(mutation, *place) for mutation in self.mutations[known:])
        return goes_on

    def on_leave(self, original_node: cst.CSTNode) -> None:
        self._around.pop()
        super().on_leave(original_node)

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.FunctionDef) and len(node.decorators) == 1:
            decorator = node.decorators[0].decorator
            if isinstance(decorator, cst.Name) and decorator.value == "property":
                return False
        if isinstance(node, cst.If) and cst.Module([]).code_for_node(node.test) == "TYPE_CHECKING":
            return True
        return super()._skip_node_and_children(node)

    def _is_without_behaviour(self, node: cst.SimpleStatementLine) -> bool:
        if any(isinstance(outer, cst.FunctionDef) for outer in self._around):
            return False
        text = cst.Module([]).code_for_node(node.with_changes(leading_lines=()))
        head = text.split("\n", maxsplit=1)[0]
        return any(word in head for word in _WITHOUT_BEHAVIOUR)

    def _is_in_body(self) -> bool:
        """Tell whether the change takes effect when a function is called; a default does before."""
        kinds = {type(node) for node in self._around}
        return cst.FunctionDef in kinds and cst.Param not in kinds

    def _statement(self) -> CodeRange:
        statements = (cst.BaseStatement, cst.SimpleStatementLine, cst.Module)
        innermost = next(node for node in reversed(self._around) if isinstance(node, statements))
        return self._range(innermost)

    def _definition(self) -> CodeRange | None:
        functions = [node for node in self._around if isinstance(node, cst.FunctionDef)]
        return self._range(functions[0]) if functions else None

    def _range(self, node: cst.CSTNode) -> CodeRange:
        place = self.get_metadata(PositionProvider, node)
        assert isinstance(place, CodeRange)
        return place

    def _where(self) -> str:
        definitions = (cst.FunctionDef, cst.ClassDef)
        names = [node.name.value for node in self._around if isinstance(node, definitions)]
        if names:
            return ".".join(names)
        statement = self._around[1]
        code = cst.Module([]).code_for_node(statement.with_changes(leading_lines=())).strip()
        return code.split("\n", maxsplit=1)[0].partition(":")[0].partition("=")[0].strip()


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Return every mutant of a source file, in order of place. Cost: a parse, and O(its mutants).

    Args:
        file: the path by which it is known.
        source: its text.
    """
    wrapper = MetadataWrapper(cst.parse_module(source))
    visitor = _Visitor()
    wrapper.visit(visitor)
    positions = wrapper.resolve(PositionProvider)
    seen: set[str] = set()
    names: Counter[Name] = Counter()
    mutants: list[Mutant] = []
    for found in visitor.found:
        mutated = _mutated(wrapper.module, source, positions, found.mutation)
        if mutated == source or mutated in seen:
            continue
        seen.add(mutated)
        before, after = _changed_lines(source, mutated)
        name = Name(file, found.where, before, after)
        names[name] += 1
        lines = (found.statement.start.line, found.statement.end.line)
        around = found.definition or positions.get(found.mutation.original_node, found.statement)
        within = range(around.start.line, around.end.line + 1)
        mutant = Mutant(attrs.evolve(name, nth=names[name]), found.in_function, lines, within, mutated)
        mutants.append(mutant)
    return mutants


def _mutated(
    module: cst.Module, source: str, positions: Mapping[cst.CSTNode, CodeRange], mutation: Mutation
) -> str:
    """Return the changed text: the node's own span replaced, or the module rendered where that is no span."""
    old, new = mutation.original_node, mutation.mutated_node
    place = positions.get(old)
    if place is not None and not isinstance(old, cst.BaseCompoundStatement):
        lines = source.splitlines(keepends=True)
        start = sum(map(len, lines[: place.start.line - 1])) + place.start.column
        end = sum(map(len, lines[: place.end.line - 1])) + place.end.column
        span, code = source[start:end], module.code_for_node(new).strip()
        if _squeezed(span) == _squeezed(module.code_for_node(old)):
            return source[:start] + span.replace(span.strip(), code) + source[end:]
    rendered = deep_replace(module, old, new)
    assert isinstance(rendered, cst.Module)
    return rendered.code


def _squeezed(code: str) -> str:
    return "".join(code.split())


def _changed_lines(source: str, mutated: str) -> tuple[str, str]:
    """Return the lines that differ, before and after, as a reader would name them."""
    before, after = source.splitlines(), mutated.splitlines()
    while before and after and before[0] == after[0]:
        before, after = before[1:], after[1:]
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    return _dedented(before), _dedented(after)


def _dedented(lines: list[str]) -> str:
    return "\n".join(textwrap.dedent(line) for line in lines)


def engine_mutants(root: Path = ROOT) -> Iterator[Mutant]:
    """Yield every mutant of the engine, file by file."""
    for path in sorted((root / ENGINE).glob("*.py")):
        yield from mutants_of(str(path.relative_to(root)), path.read_text(encoding="utf-8"))

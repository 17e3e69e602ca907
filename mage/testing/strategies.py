"""Hypothesis strategies, from a text to a whole history: what commands are made of, commands, histories, states.

A few contents and texts are drawn often, so that steps merge, summaries are met again and lessons accumulate; any other
string is drawn now and then. `mage.codec` can write every drawn value, and every value is printed as Python that makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, Protocol, TypeAlias, TypeVar, final, get_args

import attrs
from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter
from returns.pipeline import is_successful

from mage.engine import (
    Accept,
    Active,
    ApplyVerdict,
    Chapter,
    Command,
    Compress,
    Digest,
    Failed,
    Fold,
    Grow,
    IllegalPhase,
    Instruct,
    Kind,
    Passed,
    Refusal,
    Rejected,
    Retext,
    Revise,
    Revised,
    Start,
    State,
    StepId,
    Unverified,
    Verdict,
    apply,
    fold_request,
    judge_request,
    revise,
    start,
    view,
)
from mage.engine.ids import ROOT_STEP
from mage.engine.journal import Operation
from mage.engine.nodes import FAULTS, KINDS

# -- a command on the engine, and commands as Python that can be pasted ---------------------------------

HEADING: Final = "from mage.engine import *"
"""The names that printed commands need."""

Refusing: TypeAlias = Refusal | IllegalPhase
"""The reason why a command was not carried out."""


@final
@attrs.frozen
class Edge:
    """One command on the engine: the states before and after.

    Attributes:
        before: the state before the command.
        command: the command.
        after: the state after it; `before` itself where it was refused.
        refusal: the reason why it was refused, or None.
        revised: the result of a revise, or None.
    """

    before: State
    command: Operation
    after: State
    refusal: Refusing | None = None
    revised: Revised | None = None


def carry_out(state: State, command: Operation) -> Edge:
    """Carry out one command on the engine; a refusal and an illegal phase stand in the `Edge`, not raised.

    Cost: that of the operation.

    Raises:
        NotText, UnknownName, NotAnId: a value of the command is no text, no name or no id.
    """
    try:
        if isinstance(command, Revise):
            return _carry_out_revise(state, command)
        result = apply(state, command)
    except IllegalPhase as illegal:
        return Edge(state, command, state, illegal)
    if is_successful(result):
        return Edge(state, command, result.unwrap())
    return Edge(state, command, state, result.failure())


def _carry_out_revise(state: State, command: Revise) -> Edge:
    result = revise(state, command.boundary, command.lesson)
    if is_successful(result):
        revised = result.unwrap()
        return Edge(state, command, revised.state, None, revised)
    return Edge(state, command, state, result.failure())


def state_after(commands: Iterable[Command]) -> State:
    """Return the state after these commands, a `Start` first; a refused command changes nothing.

    A state that `states()` draws is printed as a call of this function. Cost: that of the commands.

    Raises:
        ValueError: there is no `Start` among them.
        NotText, UnknownName, NotAnId: a value of a command is no text, no name or no id.
    """
    state: State | None = None
    for command in commands:
        try:
            state = apply(state, command).value_or(state)
        except IllegalPhase:
            continue
    if state is None:
        raise ValueError("none of the commands is a Start")
    return state


def listed(commands: Iterable[Command]) -> str:
    """Return commands as a Python list, one a line. Cost: O(size)."""
    return "\n".join(["[", *(f"    {command!r}," for command in commands), "]"])


def script(commands: Iterable[Command]) -> str:
    """Return Python that makes the list `commands`, refused ones included. Cost: O(size)."""
    return f"{HEADING}\n\ncommands = {listed(commands)}"


def state_script(**journals: Iterable[Command]) -> str:
    """Return Python that makes states, by name, of the accepted commands that led to each. Cost: O(size)."""
    made = (f"{name} = replay({listed(journal)}).unwrap()" for name, journal in journals.items())
    return "\n\n".join([HEADING, *made])


# -- texts -----------------------------------------------------------------------------------------------

HOSTILE: Final = (
    "",
    " ",
    "\n\t\r\x0b\x0c",
    "\x1c\x1d\x1e\x1f\x85\xa0\u2028\u3000",  # blank for str.strip, though not all of it looks so
    "\u200b\ufeff",  # invisible, yet not blank
    "\x00",
    "a\x00b\x7f\x9f",
    "\ud800",
    "\udfff\ud800",  # lone, and in the wrong order
    "\ud83d\ude00",  # a pair, which is joined on entry (D15)
    "\U0001f600",  # and the character that the pair stands for
    "\ud83d\ud83d\ude00\ude00",
    "e\u0301",
    "\u00e9",  # the same to the eye, and another string
    '"\\/\b\f\n\r\t\\u0041',
    "[Step 0] Product 2 purchased",
    "</observation>",
    "null",
    "x" * 3000,
)
"""Strings on which code has failed before."""

_USUAL_TEXTS: Final = st.sampled_from(("m", "n"))
_ANY_TEXTS: Final = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(), max_size=12))

texts: Final[st.SearchStrategy[str]] = st.integers(0, 3).flatmap(
    lambda pick: _ANY_TEXTS if pick > 1 else _USUAL_TEXTS
)
"""Any string: half of them one of two usual strings, so that contents are met again; the others hostile or any."""

_USUAL_CONTENTS: Final = st.sampled_from((("a", "o"), ("b", "o"), ("a", "p")))
_ANY_CONTENTS: Final = st.tuples(texts, texts)

contents: Final[st.SearchStrategy[tuple[str, str]]] = st.integers(0, 3).flatmap(
    lambda pick: _ANY_CONTENTS if pick > 1 else _USUAL_CONTENTS
)
"""The content of a step: half of them one of three usual contents, so that steps merge."""

runs: Final[st.SearchStrategy[tuple[Grow, ...]]] = st.sampled_from((2, 3, 30, 31, 32, 33, 40)).map(
    lambda length: tuple(Grow(f"a{number}", "o") for number in range(length))
)
"""Many steps in a row, often about as many as the tree packs."""

verdicts: Final[st.SearchStrategy[Verdict]] = st.one_of(
    st.just(Passed()),
    st.builds(Failed, texts, st.sampled_from(FAULTS), st.one_of(st.none(), st.integers(0, 45).map(StepId))),
)
"""A judge's answer, sometimes with blank feedback; its boundary, if any, is mostly unknown."""

kinds: Final[st.SearchStrategy[Kind]] = st.sampled_from(KINDS)
"""The kind of a summary."""

old_digests: Final[st.SearchStrategy[Digest]] = st.sampled_from((Digest("0" * 64), Digest("f" * 64)))
"""Digests that no question has."""

Drawn = TypeVar("Drawn")

OperationName: TypeAlias = Literal[
    "grow", "instruct", "compress", "retext", "apply_verdict", "accept", "revise", "fold"
]
OPERATIONS: Final[tuple[OperationName, ...]] = get_args(OperationName)
"""The operations that `draw_command` can draw."""


class Drawing(Protocol):
    """Draws from a strategy: the `draw` of a composite or of `st.data()`."""

    def __call__(self, strategy: st.SearchStrategy[Drawn], /) -> Drawn:
        """Return a drawn value."""
        ...


_ONE_IN_TWO: Final = st.booleans()
_ONE_IN_EIGHT: Final = st.sampled_from((*[False] * 7, True))
_LESSONS: Final = st.one_of(st.just(""), texts)
_PLACES: Final = st.integers(0, 45)
_UPWARDS: Final = st.sampled_from((0, 1, 1, 1, 2, 2, 3, 5, 12))
"""The number of boundaries that a revise goes up, mostly small, so that long histories become deep too."""


def legal_boundaries(state: State) -> list[StepId]:
    """Return the boundaries that a revise takes in this state, in path order (D7), found by reading the tree. Cost: O(way)."""
    boundaries = {summary.boundary for summary in state.tree.way_upwards()} | {ROOT_STEP}
    if isinstance(state, Rejected):
        boundaries.remove(state.tree.boundary)
    return sorted(boundaries)


def _grow(draw: Drawing, state: State) -> Operation:
    return Grow(*draw(contents))


def _grow_again(draw: Drawing, state: State) -> Operation:
    """Take a known step again, if there is one below the step head."""
    known = state.tree.step_children(state.tree.step_head)
    if not known:
        return Grow("a", "o")
    place = draw(_PLACES) if len(known) > 1 else 0
    child = state.tree.step(known[place % len(known)])
    return Grow(child.action, child.observation)


def _grow_on(draw: Drawing, state: State) -> Operation:
    """Take a new step, so that trees get large."""
    return Grow(f"a{state.tree.next_step}", "o")


def _instruct(draw: Drawing, state: State) -> Operation:
    return Instruct(draw(texts), draw(_ONE_IN_TWO))


def _compress(draw: Drawing, state: State) -> Operation:
    return Compress(draw(texts), draw(kinds))


def _retext(draw: Drawing, state: State) -> Operation:
    return Retext(draw(texts))


def _answered(verdict: Verdict) -> _Draw:
    return lambda _, state: ApplyVerdict(
        verdict, state.digest if isinstance(state, Unverified) else Digest("0" * 64)
    )


def _answered_late(draw: Drawing, state: State) -> Operation:
    return ApplyVerdict(draw(verdicts), draw(old_digests))


def _apply_verdict(draw: Drawing, state: State) -> Operation:
    if not isinstance(state, Unverified) or draw(_ONE_IN_EIGHT):
        return _answered_late(draw, state)
    return ApplyVerdict(draw(verdicts), state.digest)


def _failed_from(draw: Drawing, state: State) -> Operation:
    """Fail a summary, and name one of the boundaries that may be named."""
    if not isinstance(state, Unverified):
        return _answered_late(draw, state)
    origins = judge_request(state).boundaries
    return ApplyVerdict(Failed("f", "execution", origins[draw(_PLACES) % len(origins)]), state.digest)


def _accept(draw: Drawing, state: State) -> Operation:
    return Accept()


def _go_back(draw: Drawing, state: State) -> Operation:
    legal = legal_boundaries(state)
    return Revise(legal[-1 - draw(_UPWARDS) % len(legal)], draw(_LESSONS))


def _go_anywhere(draw: Drawing, state: State) -> Operation:
    """Go back to any step: mostly none at which a summary of the path ends, or the boundary of a failed summary."""
    return Revise(draw(_PLACES) % (state.tree.next_step + 1), draw(_LESSONS))


def _fold(draw: Drawing, state: State) -> Operation:
    """Fold some of the newest lines; where none can be folded, name any range."""
    lines = [line for line in view(state).compressed if isinstance(line, Chapter) or line.kind == "subgoal"]
    if not isinstance(state, Active) or len(lines) < 2 or draw(_ONE_IN_EIGHT):
        return _fold_anything(draw, state)
    last = len(lines) - 1 - draw(_UPWARDS) % (len(lines) - 1)
    first = max(0, last - 1 - draw(_UPWARDS))
    return _folding(state, lines[first].label, lines[last].boundary, draw(texts))


def _fold_anything(draw: Drawing, state: State) -> Operation:
    return Fold(draw(_PLACES), draw(_PLACES), draw(texts), draw(old_digests))


def _folding(state: Active, first: StepId, last: StepId, text: str) -> Operation:
    request = fold_request(state, first, last, text).value_or(None)
    return Fold(first, last, text, request.digest if request is not None else "0" * 64)


def _fold_two(draw: Drawing, state: State) -> Operation:
    """Fold the two oldest lines or the two newest, so that chapters stand inside chapters, and end together."""
    lines = view(state).compressed
    if not isinstance(state, Active) or len(lines) < 2:
        return _grow(draw, state)
    last = 1 if draw(_ONE_IN_TWO) else len(lines) - 1
    return _folding(state, lines[last - 1].label, lines[last].boundary, "m")


def _fold_unjudged(draw: Drawing, state: State) -> Operation:
    """Fold the two oldest lines with another digest, sometimes into a blank text."""
    lines = view(state).compressed
    last = lines[1].boundary if len(lines) > 1 else draw(_PLACES)
    return Fold(ROOT_STEP, last, " " if draw(_ONE_IN_TWO) else "m", draw(old_digests))


def _revise(draw: Drawing, state: State) -> Operation:
    return (_go_anywhere if draw(_ONE_IN_EIGHT) else _go_back)(draw, state)


def _anything(draw: Drawing, state: State) -> Operation:
    return _DRAWN[draw(_ANY_OPERATION)](draw, state)


_Draw: TypeAlias = Callable[[Drawing, State], Operation]
_Move: TypeAlias = Operation | _Draw
"""A command, or a function that draws one."""

_DRAWN: Final[dict[OperationName, _Draw]] = {
    "grow": _grow,
    "instruct": _instruct,
    "compress": _compress,
    "retext": _retext,
    "apply_verdict": _apply_verdict,
    "accept": _accept,
    "revise": _revise,
    "fold": _fold,
}
_ANY_OPERATION: Final[st.SearchStrategy[OperationName]] = st.sampled_from(OPERATIONS)

_GROW: Final[tuple[_Move, ...]] = (
    Grow("a", "o"),
    Grow("b", "o"),
    Grow("a", "p"),
    *[_grow_on] * 3,
    *[_grow_again] * 3,
    _grow,
)
_COMPRESS: Final[tuple[_Move, ...]] = (
    Compress("m"),
    Compress("n"),
    Compress("m", "fallback"),
    Compress("n", "fallback"),
    _compress,
)
_INSTRUCT: Final[tuple[_Move, ...]] = (Instruct("m"), Instruct("n", standing=True), _instruct)
_JUDGE: Final[tuple[_Move, ...]] = (
    *[_answered(Passed())] * 3,
    *[_answered(Failed("f"))] * 2,
    _failed_from,
    _apply_verdict,
)
_RETEXT: Final[tuple[_Move, ...]] = (Retext("m"), Retext("n"), _retext)


def _table(*moves: _Move) -> st.SearchStrategy[_Move]:
    """Return a strategy for one of these, which shrinks to the first; any other command comes last."""
    return st.sampled_from((*moves, *[_anything] * (len(moves) // 15 + 1)))


_REFUSED: Final[dict[type[State], tuple[_Move, ...]]] = {
    Active: (Instruct(" "), Compress("\n"), _go_anywhere, _fold_anything, _fold_unjudged),
    Unverified: (Instruct(" "), Retext("\t"), _answered(Failed(" ")), _answered_late, _go_anywhere),
    Rejected: (Retext("\t"), _go_anywhere),
}
"""Commands that are legal in the phase and yet refused, always or mostly."""
_NEXT_WITH_NOTHING_OPEN: Final = _table(
    *_GROW * 2,
    _compress,
    Compress("m"),
    *_INSTRUCT,
    _go_back,
    _go_back,
    *[_fold, _fold_two] * 2,
    *_REFUSED[Active],
)
_NEXT: Final[dict[type[State], st.SearchStrategy[_Move]]] = {
    Active: _table(*_GROW * 2, *_COMPRESS * 3, *_INSTRUCT * 2, _go_back, _fold, *_REFUSED[Active]),
    Unverified: _table(
        *_JUDGE * 3, Accept(), Accept(), *_GROW, *_RETEXT, *_INSTRUCT, _go_back, *_REFUSED[Unverified]
    ),
    Rejected: _table(*[_go_back] * 3, *_RETEXT * 2, Accept(), Accept(), *_REFUSED[Rejected]),
}


def draw_command(draw: Drawing, state: State, operation: OperationName | None = None) -> Operation:
    """Draw the next command in this state: of this operation, legal or not, or mostly one that fits the phase.

    A command that fits the phase may be refused too, because it names an unknown id or is blank.
    """
    if operation is not None:
        return _DRAWN[operation](draw, state)
    closed = isinstance(state, Active) and state.tree.step_head == state.tree.boundary
    move = draw(_NEXT_WITH_NOTHING_OPEN if closed else _NEXT[type(state)])
    return move(draw, state) if callable(move) else move


@st.composite
def commands(draw: st.DrawFn, state: State, operation: OperationName | None = None) -> Operation:
    """Draw the next command in this state: of this operation, legal or not, or mostly one that fits the phase."""
    return draw_command(draw, state, operation)


@final
@attrs.frozen(repr=False)
class History:
    """A task, and every command that was tried after the start, in order. The `repr` is Python to paste.

    Attributes:
        start: the state at the start.
        edges: each command with the states around it, refused ones included.
    """

    start: Active
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, commands: Iterable[Command]) -> History:
        """Return the history of these commands, a `Start` first. Cost: that of the commands.

        Raises:
            ValueError: the first command is no `Start`, or another one is.
            NotText, UnknownName, NotAnId: a command holds what is no text, no name or no id.
        """
        first, *others = commands
        if not isinstance(first, Start):
            raise ValueError(f"the first command of a history is its Start, not {first!r}")
        began = start(first.task)
        state: State = began
        edges: list[Edge] = []
        for command in others:
            if isinstance(command, Start):
                raise ValueError("a history has one Start, and it is the first command")
            edges.append(carry_out(state, command))
            state = edges[-1].after
        return cls(began, tuple(edges))

    def __repr__(self) -> str:
        return f"History.of({listed(self.tried)})"

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        printer.text(repr(self))  # Hypothesis would print the fields of the class

    @property
    def tried(self) -> tuple[Command, ...]:
        """The start and every command after it, refused ones included."""
        return (Start(self.start.tree.task), *(edge.command for edge in self.edges))

    @property
    def states(self) -> tuple[State, ...]:
        """The start, and the state after each command that was not refused."""
        return (self.start, *(edge.after for edge in self.edges if edge.refusal is None))

    @property
    def journal(self) -> tuple[Command, ...]:
        """The start and the commands that were not refused, as a journal has them."""
        accepted = (edge.command for edge in self.edges if edge.refusal is None)
        return (Start(self.start.tree.task), *accepted)


_SIZES: Final = st.integers(0, 50)
_ONE_IN_SIXTY: Final = st.sampled_from((*[False] * 59, True))


@st.composite
def histories(draw: st.DrawFn, sizes: st.SearchStrategy[int] = _SIZES) -> History:
    """Draw a history of as many commands as `sizes` says; sometimes one of them is a run of many steps."""
    first = start(draw(texts))
    state: State = first
    edges: list[Edge] = []
    for _ in range(draw(sizes)):
        many = draw(_ONE_IN_SIXTY) and not isinstance(state, Rejected)
        for command in draw(runs) if many else (draw_command(draw, state),):
            edges.append(carry_out(state, command))
            state = edges[-1].after
    return History(first, tuple(edges))


@st.composite
def journals(draw: st.DrawFn, sizes: st.SearchStrategy[int] = _SIZES) -> tuple[Command, ...]:
    """Draw a journal: a `Start` and the commands that were accepted, of as many as `sizes` says."""
    return draw(histories(sizes)).journal


def states(sizes: st.SearchStrategy[int] = _SIZES) -> st.SearchStrategy[State]:
    """Return a strategy for states after as many commands as `sizes` says, or up to three more, so that each phase is met."""
    return _ended_journals(sizes).map(state_after)


@st.composite
def _ended_journals(draw: st.DrawFn, sizes: st.SearchStrategy[int]) -> list[Command]:
    history = draw(histories(sizes))
    journal, state = list(history.journal), history.states[-1]
    for command in draw(_ENDINGS):
        digest = state.digest if isinstance(state, Unverified) else ""
        edge = carry_out(state, ApplyVerdict(Failed("f"), digest) if command is None else command)
        state = edge.after
        if edge.refusal is None:
            journal.append(edge.command)
    return journal


_ENDINGS: Final[st.SearchStrategy[tuple[Operation | None, ...]]] = st.sampled_from(
    ((), (), (Grow("a", "o"), Compress("m")), (Grow("a", "o"), Compress("m"), None))
)
"""The commands after a history, so that each phase is met; None stands for a failed verdict."""

"""What can go wrong: refusals are values, mistakes of the program are raised.

An operating error (an agent names a boundary that is not there) is a frozen value inside a `Failure`; the
state is left as it was (L7). A mistake of the calling program (an operation in a phase where it is not
legal) is raised at once, as a `MageError`.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

import attrs

from mage.engine.ids import Digest, StepId


class MageError(Exception):
    """The root of everything that mage raises on purpose."""


@final
class IllegalPhase(MageError):
    """An operation was called in a phase where it is not legal (D6); `TRANSITIONS` says which are.

    Attributes:
        operation: the operation's name, such as `"compress"`.
        phase: the name of the phase that the state is in; `"nothing"` before a start.
        legal: the names of the phases in which the operation is legal.
    """

    def __init__(self, operation: str, phase: str, legal: tuple[str, ...]) -> None:
        self.operation = operation
        self.phase = phase
        self.legal = legal
        super().__init__(operation, phase, legal)

    def __str__(self) -> str:
        legal = " and ".join(_where(phase) for phase in self.legal)
        return f"{self.operation} is not legal {_where(self.phase)}; it is legal {legal}"


def _where(phase: str) -> str:
    return "before a start" if phase == "nothing" else f"in {phase}"


@final
class InvariantError(MageError):
    """A state breaks an invariant of SEMANTICS.md: it was forged, or mage has a fault.

    Attributes:
        invariant: `"I1"` to `"I12"`.
        name: its sentence-name, such as `"steps_form_a_tree"`.
        detail: where, and what was found.
    """

    def __init__(self, invariant: str, name: str, detail: str) -> None:
        self.invariant = invariant
        self.name = name
        self.detail = detail
        super().__init__(invariant, name, detail)

    def __str__(self) -> str:
        return f"{self.invariant} {self.name}: {self.detail}"


@final
class UnknownStep(MageError, LookupError):
    """No step has this id."""

    def __init__(self, step: StepId) -> None:
        self.step = step
        super().__init__(step)

    def __str__(self) -> str:
        return f"there is no step {self.step}"


@final
class UnknownSummary(MageError, LookupError):
    """No summary has this id."""

    def __init__(self, summary: int) -> None:
        self.summary = summary
        super().__init__(summary)

    def __str__(self) -> str:
        return f"there is no summary {self.summary}"


@final
class NotText(MageError, TypeError):
    """Something other than a string was given where content is kept (D15)."""

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(found)

    def __str__(self) -> str:
        return f"content is text: expected a str, found {self.found} (serialize it first)"


@final
class UnknownName(MageError, ValueError):
    """A name that must be one of a few is none of them, such as a kind or a fault."""

    def __init__(self, what: str, found: str, known: tuple[str, ...]) -> None:
        self.what = what
        self.found = found
        self.known = known
        super().__init__(what, found, known)

    def __str__(self) -> str:
        return f"{self.found!r} is no {self.what}; known are {', '.join(self.known)}"


@final
class NotAnId(MageError, TypeError):
    """Something other than an integer was given where a step is named."""

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(found)

    def __str__(self) -> str:
        return f"a boundary is the id of a step: expected an int, found {self.found}"


def require_id(found: int) -> StepId:
    """Return `found` as a plain integer.

    Raises:
        NotAnId: it is no integer.
    """
    if not isinstance(found, int):
        raise NotAnId(type(found).__name__)
    return StepId(int(found))


@final
@attrs.frozen
class EmptySegment:
    """Nothing is open since the current boundary, so there is nothing to compress (D3)."""

    boundary: StepId

    def __str__(self) -> str:
        return f"nothing to compress: no step was taken since [Step {self.boundary}]"


@final
@attrs.frozen
class BlankSummary:
    """The summary's text is blank (D3)."""

    def __str__(self) -> str:
        return "the summary's text is blank: say what the steps achieved"


@final
@attrs.frozen
class BlankInstruction:
    """The instruction's text is blank (D17)."""

    def __str__(self) -> str:
        return "the instruction is blank: say what is wanted"


@final
@attrs.frozen
class BlankFeedback:
    """A failed verdict says nothing about what is wrong (D5)."""

    def __str__(self) -> str:
        return "a failed verdict needs feedback: say what is wrong"


@final
@attrs.frozen
class StaleVerdict:
    """The verdict answers a question that was overtaken, or none at all (D5).

    Attributes:
        digest: what the verdict was given for.
        expected: the digest of the pending head summary, or None where none is pending.
    """

    digest: Digest
    expected: Digest | None

    def __str__(self) -> str:
        given = str(self.digest)[:12]
        if self.expected is None:
            return f"verdict for {given}: no summary is pending, nothing waits for a verdict"
        return f"verdict for {given}: the pending summary is {self.expected[:12]}; judge that one"


@final
@attrs.frozen
class UnknownBoundary:
    """Nobody can go back to this step: no summary on the way that may stay ends there (D5, D7).

    Attributes:
        boundary: what was asked for.
        legal: the boundaries that may be named now, in path order.
        shown: those of them at which a line of C ends.
    """

    boundary: StepId
    legal: tuple[StepId, ...]
    shown: tuple[StepId, ...] = ()

    def __str__(self) -> str:
        named = sorted({*self.shown, *self.legal[-NEWEST:]})
        if not named:
            return f"[Step {self.boundary}] cannot be named here: a fault of the text begins at no step"
        steps = " ".join([f"[Step {step}]" for step in named])
        more = len(self.legal) - len(named)
        rest = f", and {more} more between them" if more else ""
        return f"[Step {self.boundary}] is not a boundary to go back to; these are: {steps}{rest}"


NEWEST: Final = 20
"""How many of the newest boundaries a refusal or a prompt names, besides those of shown lines."""


@final
@attrs.frozen
class UnfoldableRange:
    """These lines of C do not make a chapter: two or more, whole, all of finished subgoals (D19).

    Attributes:
        first: the label that was named as that of the first line.
        last: the boundary that was named as that of the last.
        lines: label and boundary of every line that may be folded, oldest first.
    """

    first: StepId
    last: StepId
    lines: tuple[tuple[StepId, StepId], ...]

    def __str__(self) -> str:
        named = f"[Step {self.first}..{self.last}]"
        return f"{named} is no run of two or more lines of finished subgoals; those are: {_named(self.lines)}"


@final
@attrs.frozen
class UnknownLine:
    """C has no such line, and none of its chapters has it inside (D19).

    Attributes:
        label: the label that was named.
        boundary: the boundary that was named, or None.
        lines: label and boundary of every line of C, oldest first.
    """

    label: StepId
    boundary: StepId | None
    lines: tuple[tuple[StepId, StepId], ...]

    def __str__(self) -> str:
        named = f"[Step {self.label}]" if self.boundary is None else f"[Step {self.label}..{self.boundary}]"
        return f"{named} is no line of what is compressed; these are: {_named(self.lines)}"


def _named(lines: tuple[tuple[StepId, StepId], ...]) -> str:
    """Name the newest lines by their ends."""
    shown = " ".join([f"[Step {label}..{boundary}]" for label, boundary in lines[-NEWEST:]])
    return "... " * (len(lines) > NEWEST) + (shown or "none")


CompressRefusal: TypeAlias = EmptySegment | BlankSummary
FoldRefusal: TypeAlias = UnfoldableRange | BlankSummary
Refusal: TypeAlias = (
    BlankInstruction
    | EmptySegment
    | BlankSummary
    | StaleVerdict
    | BlankFeedback
    | UnknownBoundary
    | UnfoldableRange
)

"""The nodes of the two layers and the verdicts that summaries carry.

A node is a frozen value that names others by id and never holds them, so that nothing recurses over the
depth of a tree.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, final

import attrs

from mage.engine.errors import UnknownName
from mage.engine.ids import NO_SUMMARY, NOWHERE, ROOT_STEP, ROOT_SUMMARY, Digest, StepId, SummaryId

Kind: TypeAlias = Literal["subgoal", "fallback"]
Fault: TypeAlias = Literal["execution", "summary"]
KINDS: Final[tuple[Kind, ...]] = ("subgoal", "fallback")
FAULTS: Final[tuple[Fault, ...]] = ("execution", "summary")


def as_kind(kind: str) -> Kind:
    """Return a kind by its name; a member of a str enum enters as a plain string.

    Raises:
        UnknownName: there is no such kind.
    """
    for known in KINDS:
        if kind == known:
            return known
    raise UnknownName("kind", kind, KINDS)


def as_fault(fault: str) -> Fault:
    """Return a fault by its name; a member of a str enum enters as a plain string.

    Raises:
        UnknownName: there is no such fault.
    """
    for known in FAULTS:
        if fault == known:
            return known
    raise UnknownName("fault", fault, FAULTS)


@final
@attrs.frozen
class Pending:
    """Nobody has judged the summary's present text."""


@final
@attrs.frozen
class Passed:
    """The judge found nothing wrong."""


@final
@attrs.frozen
class Failed:
    """The judge found something wrong (D16).

    Attributes:
        feedback: what is wrong; not blank.
        fault: `"execution"` where the steps are wrong, `"summary"` where only the text is.
        boundary: where the mistake began, if the judge named it: a boundary that revise may go back to (D5).
    """

    feedback: str
    fault: Fault = "execution"
    boundary: StepId | None = None


@final
@attrs.frozen
class Accepted:
    """The host took the summary without a pass, openly (D6).

    Attributes:
        despite: the failed verdict that was overruled, or None where there was none.
    """

    despite: Failed | None = None


Verdict: TypeAlias = Passed | Failed
"""What a judge answers."""
SummaryVerdict: TypeAlias = Pending | Passed | Failed | Accepted
"""What a summary carries."""


@final
@attrs.frozen
class Lesson:
    """What was learned, left at a boundary by a revise or by a verdict whose text was replaced (D4, D8)."""

    boundary: StepId
    text: str


@final
@attrs.frozen
class Instruction:
    """An instruction placed at a step (D17).

    Attributes:
        text: what is wanted; not blank.
        standing: whether it stays in force past the subgoal it was given for.
    """

    text: str
    standing: bool = False


@final
@attrs.frozen(weakref_slot=False)
class Step:
    """One action and its observation, recorded raw: a node of the bottom layer (Table 2).

    Attributes:
        id: its place in the order of creation; 0 is the root.
        parent: the step it was taken from; the root has none (-1).
        action: what the agent did.
        observation: what came back.
    """

    id: StepId
    parent: StepId
    action: str
    observation: str

    @property
    def content(self) -> tuple[str, str]:
        """The pair (a, o) by which siblings are told apart (I2)."""
        return (self.action, self.observation)


def _covers_in_short(covers: tuple[StepId, ...]) -> str:
    return repr(covers) if len(covers) <= 8 else f"<{len(covers)} steps, {covers[0]} to {covers[-1]}>"


@final
@attrs.frozen(weakref_slot=False)
class Summary:
    """What replaces a run of steps in the context: a node of the top layer (Table 2).

    Attributes:
        id: unique, never reused (D1).
        parent: the summary it continues; the root has none (-1).
        after: the summary head that it was made from: its parent, or the last of the fallbacks that it took
            in (D12); the root has none (-1).
        label: the boundary it starts from, shown to the agent as `[Step 24]` (D1).
        covers: the steps it stands for, in execution order.
        text: what the agent reads instead of them.
        kind: `"subgoal"`, or `"fallback"` for one that ends no subgoal (D12).
        verdict: what was said of its present text.
        base: itself, or the nearest summary above it that is no fallback. A cache, right for every summary
            on the way; it takes no part in equality.
        above: the running hash of what C says above it, unfolded (D5). A cache as well.
    """

    id: SummaryId
    parent: SummaryId
    after: SummaryId
    label: StepId
    covers: tuple[StepId, ...] = attrs.field(repr=_covers_in_short)
    text: str
    kind: Kind
    verdict: SummaryVerdict
    base: SummaryId = attrs.field(eq=False, repr=False)
    above: Digest = attrs.field(eq=False, repr=False)

    @property
    def boundary(self) -> StepId:
        """The last step it covers: where the next segment starts, `cover_nodes[-1]` in the paper."""
        return self.covers[-1]


@final
@attrs.frozen
class Chapter:
    """One text that is shown in C in place of a run of finished subgoals (D19).

    Attributes:
        label: the label of the first summary under it.
        boundary: the boundary of the last.
        text: what the agent reads instead of their texts.
        accepted: how many of the summaries under it were accepted without a pass.
        first: the first summary under it.
        last: the last summary under it; the chapter ends there.
    """

    label: StepId
    boundary: StepId
    text: str
    accepted: int
    first: SummaryId
    last: SummaryId


Line: TypeAlias = Summary | Chapter
"""What one line of C shows."""

ROOT: Final = Step(ROOT_STEP, NOWHERE, "", "")
ROOT_OF_SUMMARIES: Final = Summary(
    ROOT_SUMMARY,
    NO_SUMMARY,
    NO_SUMMARY,
    NOWHERE,
    (ROOT_STEP,),
    "",
    "subgoal",
    Passed(),
    ROOT_SUMMARY,
    Digest(""),
)

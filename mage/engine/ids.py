"""Names of things: steps, summaries and what a judge was asked.

Order comes from ids, never from a clock (D15). `NewType` keeps the two layers apart wherever a tree is read:
mypy refuses a `SummaryId`, or the result of any arithmetic, where a `StepId` is meant. Only `revise` takes a
plain integer too, because boundaries come back from models.
"""

from __future__ import annotations

from typing import Final, NewType

StepId = NewType("StepId", int)
"""A step: 0 is the root, every parent is smaller than its children (I1)."""

SummaryId = NewType("SummaryId", int)
"""A summary: 0 is the root; unique and never reused (D1)."""

Digest = NewType("Digest", str)
"""SHA-256, in hex, of what a judge is asked about one summary (D5)."""

ROOT_STEP: Final = StepId(0)
ROOT_SUMMARY: Final = SummaryId(0)
NOWHERE: Final = StepId(-1)
"""The parent of the root step and the label of the root summary: no step has this id."""
NO_SUMMARY: Final = SummaryId(-1)
"""The parent of the root summary: no summary has this id."""

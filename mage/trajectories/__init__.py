"""Other people's traces as histories: importers that turn them into commands, and what is counted on them.

A trace is bytes; `load` finds its format by looking and returns its trajectories, or a `TraceError` that
says which record is wrong. Contents are kept exactly as the trace has them (D15); ids, times and labels that
the agent never saw are left out. Each format's module says what becomes a step.
"""

from mage.trajectories.counts import Counts, counts
from mage.trajectories.loading import FORMATS, detect, load
from mage.trajectories.trajectory import Steps, TraceError, Trajectory

__all__ = ["FORMATS", "Counts", "Steps", "TraceError", "Trajectory", "counts", "detect", "load"]

"""Other people's traces as histories: importers that turn them into commands, and counts of these.

A trace is bytes; `load` finds its format by a look at them and returns its trajectories, or a `TraceError` that
names the wrong record. A record that is merely unusual is read, and `Trajectory.remarks` names it. Contents are
kept exactly as the trace has them (D15); ids, times and labels that the agent never saw are left out of the
tree. `placed` says at which steps the records of the file stand, `mage.trajectories.formats` what becomes a step,
`needs` which values its actions can only have from earlier ones (`mage.trajectories.measure`).
"""

from mage.trajectories.atif import atif_document
from mage.trajectories.coding import Compaction, compactions
from mage.trajectories.loading import FORMATS, detect, formats, load
from mage.trajectories.measure import Counts, Coverage, Need, Share, Use, counts, needs, use_of, values_in
from mage.trajectories.trajectory import Entry, Mistake, Remark, Steps, TraceError, Trajectory, placed

__all__ = [
    "FORMATS",
    "Compaction",
    "Counts",
    "Coverage",
    "Entry",
    "Mistake",
    "Need",
    "Remark",
    "Share",
    "Steps",
    "TraceError",
    "Trajectory",
    "Use",
    "atif_document",
    "compactions",
    "counts",
    "detect",
    "formats",
    "load",
    "needs",
    "placed",
    "use_of",
    "values_in",
]

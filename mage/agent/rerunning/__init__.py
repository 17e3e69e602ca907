"""A run, run again: exactly, from its tape alone; or with something changed, asking only what that changes.

from mage.agent import rerun, what_if

again = rerun("sqlite:///work.db", "monday")
assert again.same                            # the same state, byte for byte; nobody was asked
other = what_if("sqlite:///work.db", "monday", judge=my_stricter_judge)
print(other.difference, other.asked, other.recorded)
"""

from mage.agent.rerunning.answerers import Tally
from mage.agent.rerunning.exact import Rerun, has_tape, policy_of, remembered, rerun
from mage.agent.rerunning.what_if import WhatIf, what_if

__all__ = ["Rerun", "Tally", "WhatIf", "has_tape", "policy_of", "remembered", "rerun", "what_if"]

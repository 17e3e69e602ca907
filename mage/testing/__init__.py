"""Tools for the tests of programs that embed mage.

    pip install 'mage-state[testing]'

- **Strategies** for Hypothesis: `texts`, `contents`, `verdicts`, `kinds`; `commands(state)`, what may come next;
  `histories()`, `journals()`, `states()`.
- **A stateful test**: `VersionMachine`, which carries out commands on any earlier version; subclass it for tests of yours.
- **Answers from a script**: `ScriptedModel`, `ScriptedEnvironment`, `ScriptedJudge`, `ScriptedSummarizer`, for programs
  that ask; `Recording` and `RecordingEnvironment` keep the requests to real ones, and the answers.
- **Promises of stores**: `mage.testing.stores` tests each on a store of yours.

A failing example prints Python to paste below `from mage.engine import *`: the commands that made its state.
`state_after(commands)` and `History.of(commands)` make a state and a history of them.

A property that must hold for every state:

    from hypothesis import given
    from mage import view
    from mage.engine import State
    from mage.testing import states

    @given(states())
    def test_the_task_is_always_shown(state: State) -> None:
        assert view(state).task == state.tree.task
"""

try:
    import hypothesis as _hypothesis  # noqa: F401  # everything below needs it
except ModuleNotFoundError as _missing:
    if _missing.name != "hypothesis":
        raise
    raise ModuleNotFoundError(
        "mage.testing needs its extra: pip install 'mage-state[testing]'", name="hypothesis"
    ) from None

from mage.testing.machine import Version, Versioned, VersionMachine, canonical, differences
from mage.testing.scripted import (
    AwaitedEnvironment,
    Recording,
    RecordingEnvironment,
    Scripted,
    ScriptedEnvironment,
    ScriptedJudge,
    ScriptedModel,
    ScriptedSummarizer,
    ScriptEnded,
)
from mage.testing.strategies import (
    HOSTILE,
    Edge,
    History,
    carry_out,
    commands,
    contents,
    histories,
    journals,
    kinds,
    state_after,
    states,
    texts,
    verdicts,
)

__all__ = [
    "HOSTILE",
    "AwaitedEnvironment",
    "Edge",
    "History",
    "Recording",
    "RecordingEnvironment",
    "ScriptEnded",
    "Scripted",
    "ScriptedEnvironment",
    "ScriptedJudge",
    "ScriptedModel",
    "ScriptedSummarizer",
    "Version",
    "VersionMachine",
    "Versioned",
    "canonical",
    "carry_out",
    "commands",
    "contents",
    "differences",
    "histories",
    "journals",
    "kinds",
    "state_after",
    "states",
    "texts",
    "verdicts",
]

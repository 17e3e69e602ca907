"""What you test with when you embed mage, or write another implementation of it, in any language.

    pip install 'mage-state[testing]'

- **Strategies** for Hypothesis: `texts`, `contents`, `verdicts`, `kinds`, `runs`; `commands(state)`, what may
  come next; `histories()`, `journals()`, `states()`; `sequences()`, long ones for comparing.
- **Forms**: `canonical(state)` is all that can be observed of a state, as plain data; `canonical_json` its
  bytes, `fingerprint` their SHA-256; `differences` says where two forms differ.
- **Another implementation**: `compare(implementation, commands)` holds it against the engine, `shortest` finds
  the few commands that show what is wrong. `JsonLines`
  runs one that is a program, by the protocol of PROTOCOL.md; `python -m mage.testing.serve` is one such.
- **A stateful test**: `VersionMachine`, which goes on from any version that ever was; yours to build on.
- **Answers from a script**: `ScriptedModel`, `ScriptedEnvironment`, `ScriptedJudge`, `ScriptedSummarizer`, for programs
  that ask; `Recording` and `RecordingEnvironment` keep what real ones were asked and answered.
- **A store of journals of yours**: `mage.testing.stores` asks it for everything that it promises.
- `check(state)` and `check_change(before, after)` are mage's own.

A property of your own over everything that mage can get into:

    from hypothesis import given
    from mage import State, view
    from mage.testing import states

    @given(states())
    def test_the_task_is_always_shown(state: State) -> None:
        assert view(state).task == state.tree.task
"""

from mage.engine import check, check_change

try:
    import hypothesis as _hypothesis  # noqa: F401  # everything below needs it
except ModuleNotFoundError as _missing:
    if _missing.name != "hypothesis":
        raise
    raise ModuleNotFoundError(
        "mage.testing needs its extra: pip install 'mage-state[testing]'", name="hypothesis"
    ) from None

from mage.testing.comparing import Disagreement, compare, disagreement, script, shortest
from mage.testing.drawing import OPERATIONS, Drawing, OperationName, commands, draw_command, legal_boundaries
from mage.testing.edges import Edge, Refusing, carry_out
from mage.testing.effects import (
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
from mage.testing.forms import (
    Canonical,
    canonical,
    canonical_json,
    differences,
    fingerprint,
    plain_verdict,
    spelled,
)
from mage.testing.implementation import (
    BEFORE_START,
    Answer,
    Detail,
    Engine,
    Implementation,
    Outcome,
    Reached,
    Refused,
    Request,
    UnknownState,
    answer_of,
    outcome_of,
)
from mage.testing.json_lines import BadAnswer, JsonLines, NoAnswer
from mage.testing.stateful import Version, Versioned, VersionMachine
from mage.testing.strategies import LENGTHS, MOST, History, histories, journals, sequences, states
from mage.testing.values import HOSTILE, contents, kinds, old_digests, runs, texts, verdicts

__all__ = [
    "BEFORE_START",
    "HOSTILE",
    "LENGTHS",
    "MOST",
    "OPERATIONS",
    "Answer",
    "AwaitedEnvironment",
    "BadAnswer",
    "Canonical",
    "Detail",
    "Disagreement",
    "Drawing",
    "Edge",
    "Engine",
    "History",
    "Implementation",
    "JsonLines",
    "NoAnswer",
    "OperationName",
    "Outcome",
    "Reached",
    "Recording",
    "RecordingEnvironment",
    "Refused",
    "Refusing",
    "Request",
    "ScriptEnded",
    "Scripted",
    "ScriptedEnvironment",
    "ScriptedJudge",
    "ScriptedModel",
    "ScriptedSummarizer",
    "UnknownState",
    "Version",
    "VersionMachine",
    "Versioned",
    "answer_of",
    "canonical",
    "canonical_json",
    "carry_out",
    "check",
    "check_change",
    "commands",
    "compare",
    "contents",
    "differences",
    "disagreement",
    "draw_command",
    "fingerprint",
    "histories",
    "journals",
    "kinds",
    "legal_boundaries",
    "old_digests",
    "outcome_of",
    "plain_verdict",
    "runs",
    "script",
    "sequences",
    "shortest",
    "spelled",
    "states",
    "texts",
    "verdicts",
]

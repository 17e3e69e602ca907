"""What the core and the agent ask for, as frozen values, and the Protocols of what answers: model, judge, environment.

Nothing here performs anything. Any function of the right signature is a judge, a summarizer or a model; an
`async def` one is its awaitable twin. An answer may come as it is or as `Metered`, with what it took.
`mage.testing` has scripted ones for tests.

    asked             of             answered by
    Decide            Model          Decision
    Begin, Act        Environment    Observed
    Restore           Environment    Restored | NotRestored
    JudgeRequest      Judge          Verdict
    SummaryRequest    Summarizer     str
"""

from mage.effects.answers import EFFECT_FAULTS, EffectError, EffectFault, Metered, Usage, metered
from mage.effects.deciding import (
    Action,
    AsyncModel,
    Decide,
    Decision,
    Finish,
    Model,
    Notice,
    NoticeKind,
    PromptedModel,
    Then,
)
from mage.effects.environment import (
    ACTION_EFFECTS,
    RESET,
    Act,
    ActionEffect,
    AsyncEnvironment,
    BadEnvironment,
    Begin,
    Capabilities,
    Compensable,
    CustomRestore,
    Divergence,
    Environment,
    Foresight,
    Irreversible,
    NoEffect,
    NotRestored,
    Observed,
    Restore,
    Restored,
    Restoring,
    Reversible,
    Snapshots,
    Undo,
    lasts,
)
from mage.effects.judging import AsyncJudge, AsyncSummarizer, Judge, Summarizer, SummaryRequest
from mage.effects.tools import BadTool, JsonValue, Schema, Tool
from mage.engine import JudgeRequest, Verdict

__all__ = [
    "ACTION_EFFECTS",
    "EFFECT_FAULTS",
    "RESET",
    "Act",
    "Action",
    "ActionEffect",
    "AsyncEnvironment",
    "AsyncJudge",
    "AsyncModel",
    "AsyncSummarizer",
    "BadEnvironment",
    "BadTool",
    "Begin",
    "Capabilities",
    "Compensable",
    "CustomRestore",
    "Decide",
    "Decision",
    "Divergence",
    "EffectError",
    "EffectFault",
    "Environment",
    "Finish",
    "Foresight",
    "Irreversible",
    "JsonValue",
    "Judge",
    "JudgeRequest",
    "Metered",
    "Model",
    "NoEffect",
    "NotRestored",
    "Notice",
    "NoticeKind",
    "Observed",
    "PromptedModel",
    "Restore",
    "Restored",
    "Restoring",
    "Reversible",
    "Schema",
    "Snapshots",
    "Summarizer",
    "SummaryRequest",
    "Then",
    "Tool",
    "Undo",
    "Usage",
    "Verdict",
    "lasts",
    "metered",
]

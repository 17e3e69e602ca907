"""What the core and the agent ask of the world, as frozen values, and the Protocols of who answers.

Nothing here performs anything. Any function of the right signature is a judge, a summarizer or a model; an
`async def` one is its awaitable twin. An answer may come as it is or as `Metered`, with what it took.
`mage.testing` has scripted ones for tests.

    asked             of whom       answered by
    Decide            Model         Decision
    Begin, Act        World         Observed
    Restore           World         Restored | NotRestored
    JudgeRequest      Judge         Verdict
    SummaryRequest    Summarizer    str
"""

from mage.effects.acting import (
    Act,
    AsyncWorld,
    Begin,
    Compensable,
    Divergence,
    Foresight,
    Irreversible,
    NoEffect,
    NotRestored,
    Observed,
    Restore,
    Restored,
    Reversible,
    Undo,
    World,
    WorldEffect,
    foresight_of,
    lasts,
)
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
    Then,
)
from mage.effects.judging import AsyncJudge, AsyncSummarizer, Judge, Summarizer, SummaryRequest
from mage.engine import JudgeRequest, Verdict

__all__ = [
    "EFFECT_FAULTS",
    "Act",
    "Action",
    "AsyncJudge",
    "AsyncModel",
    "AsyncSummarizer",
    "AsyncWorld",
    "Begin",
    "Compensable",
    "Decide",
    "Decision",
    "Divergence",
    "EffectError",
    "EffectFault",
    "Finish",
    "Foresight",
    "Irreversible",
    "Judge",
    "JudgeRequest",
    "Metered",
    "Model",
    "NoEffect",
    "NotRestored",
    "Notice",
    "NoticeKind",
    "Observed",
    "Restore",
    "Restored",
    "Reversible",
    "Summarizer",
    "SummaryRequest",
    "Then",
    "Undo",
    "Usage",
    "Verdict",
    "World",
    "WorldEffect",
    "foresight_of",
    "lasts",
    "metered",
]

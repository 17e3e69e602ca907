"""The agent: a loop that grows its tree, has its summaries judged, and goes back after a failed verdict (Section 3).

    from mage.agent import Agent, Policy

    agent = Agent(model=my_model, environment=MyEnvironment(), judge=my_judge)
    outcome = agent.run("sqlite:///work.db", "monday", task="Buy a desk, then a chair that fits it.")

The loop is a program over effects (`mage.agent.loop`): it performs nothing itself. `Agent` calls model, environment,
judge and summarizer, `AsyncAgent` awaits them. Every answer is a note in the journal of the session
(`mage.agent.log`), so an interrupted run continues where it was, and can be run again without a model.
"""

from mage.agent.agent import Agent, AsyncAgent
from mage.agent.log import BadRunLog, RunDiverged
from mage.agent.reruns import Rerun, remembered, rerun
from mage.agent.what_ifs import CallCounts, WhatIf, what_if
from mage.memory.policy import (
    BadPolicy,
    Outcome,
    Policy,
    RunFailed,
    RunFinished,
    RunStopped,
    Totals,
    outcome_document,
)
from mage.memory.requests import (
    AgentEvent,
    AgentHook,
    Asked,
    AskFailed,
    BadAgent,
    NotAwaitable,
    Noticed,
    RunEnded,
    extracted,
)

__all__ = [
    "Agent",
    "AgentEvent",
    "AgentHook",
    "AskFailed",
    "Asked",
    "AsyncAgent",
    "BadAgent",
    "BadPolicy",
    "BadRunLog",
    "CallCounts",
    "NotAwaitable",
    "Noticed",
    "Outcome",
    "Policy",
    "Rerun",
    "RunDiverged",
    "RunEnded",
    "RunFailed",
    "RunFinished",
    "RunStopped",
    "Totals",
    "WhatIf",
    "extracted",
    "outcome_document",
    "remembered",
    "rerun",
    "what_if",
]

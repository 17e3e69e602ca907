"""The agent: a loop that grows its tree, has its summaries judged, and goes back when it was wrong (Section 3).

    from mage.agent import Agent, Policy

    agent = Agent(model=my_model, environment=MyEnvironment(), judge=my_judge)
    outcome = agent.run("sqlite:///work.db", "monday", task="Buy a desk, then a chair that fits it.")

The loop is a program over effects (`mage.agent.loop`): it performs nothing itself. `Agent` calls who answers,
`AsyncAgent` awaits them. Whatever was answered is on the run's tape, so a run that was interrupted anywhere
goes on where it was, and can be run again without a model.
"""

from mage.agent.asynchronous import AsyncAgent
from mage.agent.rerunning import Rerun, Tally, WhatIf, remembered, rerun, what_if
from mage.agent.sync import Agent
from mage.agent.tape import BadTape, TapeDiverged, tape_name
from mage.memory.events import AgentEvent, AgentHook, Asked, AskFailed, Noticed, RunEnded
from mage.memory.extracted import extracted
from mage.memory.guards import BadAgent, NotAwaitable
from mage.memory.outcomes import Outcome, RunFailed, RunFinished, RunStopped, Totals, outcome_document
from mage.memory.policy import BadPolicy, Policy

__all__ = [
    "Agent",
    "AgentEvent",
    "AgentHook",
    "AskFailed",
    "Asked",
    "AsyncAgent",
    "BadAgent",
    "BadPolicy",
    "BadTape",
    "NotAwaitable",
    "Noticed",
    "Outcome",
    "Policy",
    "Rerun",
    "RunEnded",
    "RunFailed",
    "RunFinished",
    "RunStopped",
    "Tally",
    "TapeDiverged",
    "Totals",
    "WhatIf",
    "extracted",
    "outcome_document",
    "remembered",
    "rerun",
    "tape_name",
    "what_if",
]

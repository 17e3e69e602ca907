"""The agent: a loop that grows its tree, has its summaries judged, and goes back when it was wrong (Section 3).

    from mage.agent import Agent, Policy

    agent = Agent(model=my_model, environment=MyEnvironment(), judge=my_judge)
    outcome = agent.run("sqlite:///work.db", "monday", task="Buy a desk, then a chair that fits it.")

The loop is a program over effects (`mage.agent.loop`): it performs nothing itself. `Agent` calls who answers,
`AsyncAgent` awaits them. Whatever was answered is on the run's tape, so a run that was interrupted anywhere
goes on where it was, and can be run again without a model.
"""

from mage.agent.asynchronous import AsyncAgent
from mage.agent.awaiting import NotAwaitable
from mage.agent.events import AgentEvent, Asked, AskFailed, Noticed, RunEnded
from mage.agent.given import BadAgent
from mage.agent.hooks import AgentHook
from mage.agent.outcomes import Outcome, RunFailed, RunFinished, RunStopped, Totals, outcome_document
from mage.agent.policy import BadPolicy, Policy
from mage.agent.rerunning import Rerun, Tally, WhatIf, rerun, what_if
from mage.agent.summarizing import extracted
from mage.agent.sync import Agent
from mage.agent.tape import BadTape, TapeDiverged, tape_name

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
    "rerun",
    "tape_name",
    "what_if",
]

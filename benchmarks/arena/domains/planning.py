"""An agent that knows the solution: it plays a task's plan, and says what each of its prompts would have taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import attrs

from benchmarks.arena.domains.task import Task
from mage.chat import canonical, decide_messages, offered, system_prompt, written
from mage.effects import Decide, Decision, EffectError, Metered, Usage
from mage.tokens import TokenCounter


@final
class PlanModel:
    """A model, to an agent: the actions of a plan, one by one, and a compress with the oracle's claim after each part.

    Nobody is asked. The tokens of a decision are those of the prompt that a model would have been sent, counted here.
    """

    def __init__(self, task: Task, counter: TokenCounter) -> None:
        self._decisions = _decisions(task)
        self._counter = counter

    def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Return the next decision of the plan.

        Raises:
            EffectError: the plan has no more.
        """
        decision = next(self._decisions, None)
        if decision is None:
            raise EffectError("server", "the plan is at its end")
        said = "".join(action.text for action in decision.actions) or str(decision.then)
        usage = Usage(self._counter.count(_prompt(request)), self._counter.count(said), estimated=1)
        return Metered(decision, usage, "plan", "")


def _decisions(task: Task) -> Iterator[Decision]:
    for part in task.plan:
        yield from (Decision.act(action) for action in part.actions)
        yield Decision.compress(part.claim)
    yield Decision.finish("Done.")


def _prompt(request: Decide) -> str:
    """Return all that goes to a server with tool calls for this question."""
    system = system_prompt("tools", tools=request.tools, manual=request.manual, rules=request.rules)
    tools = [attrs.asdict(tool, recurse=False) for tool in offered(request.tools, request.rules)]
    chat = written(decide_messages(request, system=system, mode="tools", tools=request.tools), "chat")
    return f"{canonical(tools)}\n{canonical(chat)}"

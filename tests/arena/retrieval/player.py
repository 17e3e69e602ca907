"""A scripted model that plays the plans of some tasks beside a memory system: it is shown one subtask at a time.

Which subtask that is, it reads from the instruction; how far it is, from the calls that stand in the chat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.arena.domains.task import Task
from mage.chat import parse_action
from tests.llm.server import Answer, Completion, Request, call_of, calls, says


def playing(tasks: Sequence[Task]) -> Callable[[Request], Answer]:
    """Return what answers as the model of these tasks."""

    def answer(request: Request) -> Answer:
        messages: list[dict[str, Any]] = request.body["messages"]
        if not request.body.get("tools"):
            return says('{"reasoning": "It is so.", "passed": true, "fault": "none", "feedback": ""}')
        said = "\n".join(str(message["content"] or "") for message in messages)
        task = next(task for task in tasks if task.text.splitlines()[0] in said)
        place = _place(task, said)
        made = sum(len(message.get("tool_calls") or []) for message in messages)
        if made == len(task.plan[place].actions):
            return calls("finish", answer="Done.")
        name, arguments = parse_action(task.plan[place].actions[made])
        call = call_of(name, json.dumps(arguments), made)
        return Completion({"content": None, "tool_calls": [call]}, finish="tool_calls")

    return answer


def _place(task: Task, said: str) -> int:
    """Return the place of the subtask whose instruction, and no other's, stands in a prompt."""
    shown = [
        place
        for place, instruction in enumerate(task.rules.instructions)
        if f"Instruction: {instruction.splitlines()[0]}\n" in said.replace(" Instruction: ", "")
    ]
    assert len(shown) == 1, shown
    return shown[0]

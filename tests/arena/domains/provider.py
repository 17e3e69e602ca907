"""A scripted provider that knows the plans of some tasks: it reads which task it is asked about, and how far that is.

The next action follows from the open steps and the finished parts that stand in the chat, so it does not matter how
many ask at once, nor whether a run was interrupted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from benchmarks.arena.domains.task import Task
from mage.chat import parse_action
from tests.llm.server import Answer, Completion, Request, call_of, calls, says

_USAGE: Final = {"prompt_tokens": 1000, "completion_tokens": 10}
_PASSED: Final = '{"reasoning": "It is so.", "passed": true, "fault": "none", "feedback": ""}'


def knowing(tasks: Sequence[Task]) -> Callable[[Request], Answer]:
    """Return what answers as the model and the judge of these tasks."""
    by_text = {task.text.splitlines()[0]: task for task in tasks}
    assert len(by_text) == len(tasks), "the first lines of their texts tell tasks apart"

    def answer(request: Request) -> Answer:
        if not request.body.get("tools"):
            return says(_PASSED)
        said = "\n".join(_texts(request.body["messages"][1:]))
        task = next(task for line, task in by_text.items() if line in said)
        return _next(task, said, _made(request.body["messages"]))

    return answer


def _texts(messages: Sequence[dict[str, Any]]) -> list[str]:
    return [message["content"] or "" for message in messages]


def _made(messages: Sequence[dict[str, Any]]) -> list[tuple[str, object]]:
    found = [call["function"] for message in messages for call in message.get("tool_calls") or []]
    return [(each["name"], json.loads(each["arguments"])) for each in found]


def _next(task: Task, said: str, made: list[tuple[str, object]]) -> Answer:
    done = len(re.findall(r"^\[Step \d+\] ", said, re.MULTILINE))
    if done == len(task.plan):
        return calls("finish", answer="Done.")
    part = task.plan[done]
    if len(made) == len(part.actions):
        return calls("compress", text=part.claim)
    name, arguments = parse_action(part.actions[len(made)])
    call = call_of(name, json.dumps(arguments), len(made))
    return Completion({"content": None, "tool_calls": [call]}, finish="tool_calls", usage=_USAGE)

"""Replies as three interfaces give them, and memories over stores of any kind, for tests."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from mage.chat import Form
from mage.engine import Failed, FoldRequest, JudgeRequest, Passed, Verdict
from mage.memory import Call, Memory, Policy
from mage.stores import JournalStore, MemoryStore

TASK: Final = "Buy a desk, then a chair that fits it."
Made = tuple[str, Mapping[str, Any]]
"""A call: the tool's name, and its arguments."""


def compress(text: str) -> Made:
    """Return the call that completes a subgoal."""
    return "compress", {"text": text}


def revise(step: int, lesson: str) -> Made:
    """Return the call that goes back."""
    return "revise", {"step": step, "lesson": lesson}


def buy(item: str) -> Made:
    """Return a call to a tool of the host's."""
    return "buy", {"item": item}


def reply(
    *calls: Made, text: str = "", form: Form = "chat", ids: Iterable[str] | None = None
) -> dict[str, Any]:
    """Return a reply as an interface gives it; ids are its own unless given."""
    keys = itertools.cycle([""]) if ids is None else iter(ids)
    made = [(next(keys), name, dict(arguments)) for name, arguments in calls]
    match form:
        case "chat":
            called = [
                {
                    "id": key,
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for key, name, arguments in made
            ]
            return {"role": "assistant", "content": text or None, "tool_calls": called or None}
        case "responses":
            items: list[dict[str, Any]] = [{"type": "reasoning", "summary": []}]
            if text:
                items.append(
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": text}],
                    }
                )
            items += [
                {"type": "function_call", "call_id": key, "name": name, "arguments": json.dumps(arguments)}
                for key, name, arguments in made
            ]
            return {"object": "response", "output": items}
        case "anthropic":
            blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
            if text:
                blocks.append({"type": "text", "text": text})
            blocks += [
                {"type": "tool_use", "id": key, "name": name, "input": arguments}
                for key, name, arguments in made
            ]
            return {"type": "message", "role": "assistant", "content": blocks}


def done(call: Call) -> str:
    """Carry out a call."""
    return f"{call.name} done: {json.dumps(call.arguments)}"


def judged_by(bad: str) -> Callable[[JudgeRequest | FoldRequest], Verdict]:
    """Return a judge for whom what names this word was done wrongly."""

    def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        return Failed(f"{bad} does not fit", "execution") if bad in request.text else Passed()

    return judge


def memory(store: JournalStore | None = None, *, bad: str = "chrome", policy: Policy | None = None) -> Memory:
    """Open a memory, of a new store unless one is given."""
    return Memory.open(
        MemoryStore() if store is None else store, "m", task=TASK, judge=judged_by(bad), policy=policy
    )


def journal(of: Memory) -> list[object]:
    """Return the commands of a memory's journal."""
    return [entry.command for entry in of.session.history()]


def notices(shown: list[dict[str, Any]]) -> list[str]:
    """Return what a model is told once, from the messages it is shown as chat completions take them."""
    _, _, told = str(shown[-1]["content"]).rpartition(
        "\nopen since [Step "
    )  # behind the words on how to read it
    return [line.removeprefix("Notice: ") for line in told.splitlines() if line.startswith("Notice: ")]

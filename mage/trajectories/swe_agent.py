"""SWE-agent trajectories (`.traj`), both shapes.

With a `trajectory` that is not empty, each of its entries is a step; else each assistant message of the
`history` is, and all that follows until the next one is its observation. The action is all that the agent
wrote: its thought and its action, and its reply where that says more. The task is what stands in the
`history` before the agent first acts, demonstrations included; it is blank where there is no history.
The state of the environment, times, and the queries are left out (D15).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from mage.engine import Grow, Start
from mage.trajectories.fields import Spot, field, items_at, text_at
from mage.trajectories.messages import Said, joined, task_of
from mage.trajectories.parts import calls_of, content_text
from mage.trajectories.trajectory import Malformed, Steps, Trajectory

__all__ = ["is_swe_agent", "load_swe_agent"]


def is_swe_agent(document: Spot) -> bool:
    """Tell whether a file looks like a SWE-agent trajectory."""
    return document.has("trajectory") or (document.has("history") and not document.has("question"))


def load_swe_agent(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...] | Malformed:
    """Return one trajectory, named `stem`."""
    entries = items_at(document, "trajectory", "a list of steps") if document.has("trajectory") else []
    if isinstance(entries, Malformed):
        return entries
    history = (
        items_at(document, "history", "a list of messages") if document.has("history") or not entries else []
    )
    if isinstance(history, Malformed):
        return history
    head = list(takewhile(lambda spot: not _acts(spot), history))
    said = _all_said(head)
    if isinstance(said, Malformed):
        return said
    grown = _entries(entries) if entries else _turns(history[len(head) :])
    if isinstance(grown, Malformed):
        return grown
    return (Trajectory(stem, (Start(task_of(said)), *grown), summarized=False),)


def _acts(message: Spot) -> bool:
    """Tell whether the agent acts here, and not in a demonstration."""
    role, demo = message.get("role"), message.get("is_demo")
    return role is not None and role.value == "assistant" and (demo is None or demo.value is not True)


def _all_said(messages: Sequence[Spot]) -> list[Said] | Malformed:
    said: list[Said] = []
    for message in messages:
        role = text_at(message, "role")
        if isinstance(role, Malformed):
            return role
        content = field(message, "content")
        text = content if isinstance(content, Malformed) else content_text(content)
        if isinstance(text, Malformed):
            return text
        said.append(Said(role, text))
    return said


def _entries(entries: Sequence[Spot]) -> list[Grow] | Malformed:
    grown: list[Grow] = []
    for entry in entries:
        observation = text_at(entry, "observation")
        if isinstance(observation, Malformed):
            return observation
        action = field(entry, "action")
        written = action if isinstance(action, Malformed) else _written(entry, "response")
        if isinstance(written, Malformed):
            return written
        grown.append(Grow(written, observation))
    return grown


def _turns(messages: Sequence[Spot]) -> list[Grow] | Malformed:
    """Read messages of which the first is one where the agent acts."""
    grown: list[Grow] = []
    for turn in _by_turn(messages):
        action = _written(turn[0], "content")
        if isinstance(action, Malformed):
            return action
        said = _all_said(turn[1:])
        if isinstance(said, Malformed):
            return said
        grown.append(Grow(action, joined(said)))
    return grown


def _by_turn(messages: Sequence[Spot]) -> Iterator[Sequence[Spot]]:
    starts = [place for place, message in enumerate(messages) if _acts(message)]
    for start, end in pairwise([*starts, len(messages)]):
        yield messages[start:end]


def _written(spot: Spot, reply_name: str) -> str | Malformed:
    """Return all that the agent wrote; where its action is blank, the calls that stand for it."""
    texts: list[str] = []
    for name in (reply_name, "thought", "action"):
        found = spot.get(name)
        text = "" if found is None else content_text(found)
        if isinstance(text, Malformed):
            return text
        texts.append(text)
    calls = calls_of(spot)
    if isinstance(calls, Malformed):
        return calls
    reply, thought, action = texts
    return _once(reply, thought, action if action.strip() else "\n".join(map(str, calls)))


def _once(reply: str, thought: str, action: str) -> str:
    """Return all three, each once: a reply is as a rule the thought, or the thought and the fenced action."""
    usual = [_squeezed(text) for text in ("", thought, action, f"{thought}```{action}```")]
    parts = [thought, action]
    if _squeezed(reply) not in usual:
        parts = [reply, action] if thought in reply else [reply, thought, action]
    return "\n".join([part for part in parts if part.strip()])


def _squeezed(text: str) -> str:
    return "".join(text.split())

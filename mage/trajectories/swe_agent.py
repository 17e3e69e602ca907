"""SWE-agent trajectories (`.traj`), both shapes.

With a `trajectory` that is not empty, each of its entries is a step; else each assistant message of the
`history` is, and all that follows until the next one is its observation. The action is all that the agent
wrote: its thought and its action, and its reply where that says more. The task is what stands in the
`history` before the agent first acts, demonstrations included; it is blank where there is no history.
The state of the environment, times, and the queries are left out (D15).

With `steps="tools"` each tool call of the `history` with its result is a step, as in a chat; a run that
called no tools, because its actions stand in its replies, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from mage.engine import Grow, Start
from mage.trajectories.fields import Spot, field, items_at, text_at
from mage.trajectories.messages import Said, conversation, entries_of, joined, steps_of, task_of
from mage.trajectories.oddities import Oddities
from mage.trajectories.parts import calls_of, content_text, text_of
from mage.trajectories.trajectory import Made, Malformed, Steps, Trajectory, entry_at, made_of

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
    odd = Oddities()
    head = list(takewhile(lambda spot: not _acts(spot), history))
    said = _all_said(head, odd)
    if isinstance(said, Malformed):
        return said
    made = _steps(entries, history[len(head) :], steps, odd)
    if isinstance(made, Malformed):
        return made
    begin = Made(Start(task_of(said)), entries_of(said))
    return (made_of(stem, [begin, *made], remarks=odd.remarks),)


def _steps(
    entries: Sequence[Spot], acts: Sequence[Spot], steps: Steps, odd: Oddities
) -> list[Made] | Malformed:
    if steps == "tools":
        return _calls(acts, odd)
    return _entries(entries, odd) if entries else _turns(acts, odd)


def _acts(message: Spot) -> bool:
    """Tell whether the agent acts here, and not in a demonstration."""
    role, demo = message.get("role"), message.get("is_demo")
    return role is not None and role.value == "assistant" and (demo is None or demo.value is not True)


def _all_said(messages: Sequence[Spot], odd: Oddities) -> list[Said] | Malformed:
    said: list[Said] = []
    for message in messages:
        role = text_at(message, "role")
        if isinstance(role, Malformed):
            return role
        said.append(Said(role, text_of(message, odd), entry=entry_at(message.path)))
    return said


def _calls(messages: Sequence[Spot], odd: Oddities) -> list[Made] | Malformed:
    """Read the tool calls of messages of which the first is one where the agent acts."""
    talk = conversation(messages, odd)
    if isinstance(talk, Malformed):
        return talk
    if not any(turn.calls for turn in talk.turns):
        return Malformed(("history",), "no message of it calls a tool, so it has no steps for --steps tools")
    return list(steps_of(talk.turns, "tools", odd))


def _entries(entries: Sequence[Spot], odd: Oddities) -> list[Made] | Malformed:
    made: list[Made] = []
    for entry in entries:
        for name in ("observation", "action"):
            needed = field(entry, name)
            if isinstance(needed, Malformed):
                return needed
        grow = Grow(_written(entry, "response", odd), text_of(entry, odd, name="observation"))
        made.append(Made(grow, (entry_at(entry.path),)))
    return made


def _turns(messages: Sequence[Spot], odd: Oddities) -> list[Made] | Malformed:
    """Read messages of which the first is one where the agent acts."""
    made: list[Made] = []
    for turn in _by_turn(messages):
        said = _all_said(turn[1:], odd)
        if isinstance(said, Malformed):
            return said
        grow = Grow(_written(turn[0], "content", odd), joined(said))
        made.append(Made(grow, tuple([entry_at(message.path) for message in turn])))
    return made


def _by_turn(messages: Sequence[Spot]) -> Iterator[Sequence[Spot]]:
    starts = [place for place, message in enumerate(messages) if _acts(message)]
    for start, end in pairwise([*starts, len(messages)]):
        yield messages[start:end]


def _written(spot: Spot, reply_name: str, odd: Oddities) -> str:
    """Return all that the agent wrote; where its action is blank, the calls that stand for it."""
    texts: list[str] = []
    for name in (reply_name, "thought", "action"):
        found = spot.get(name)
        texts.append("" if found is None else content_text(found, odd))
    reply, thought, action = texts
    if action.strip():
        return _once(reply, thought, action)
    return _once(reply, thought, "\n".join([call.action for call in calls_of(spot, odd)]))


def _once(reply: str, thought: str, action: str) -> str:
    """Return all three, each once: a reply is as a rule the thought, or the thought and the fenced action."""
    usual = [_squeezed(text) for text in ("", thought, action, f"{thought}```{action}```")]
    parts = [thought, action]
    if _squeezed(reply) not in usual:
        parts = [reply, action] if thought in reply else [reply, thought, action]
    return "\n".join([part for part in parts if part.strip()])


def _squeezed(text: str) -> str:
    return "".join(text.split())

"""What is handed back after a compaction or a resume: S, the last steps word for word, and names that stand nowhere else.

The client takes some 10,000 characters of additional context; more it puts into a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mage.chat.parts import cut
from mage.engine import State, Step, view
from mage.engine.tree import trace
from mage.integrations.claude_code.state import compact, follow, transcript_of
from mage.render import render
from mage.session import Session
from mage.stores import JournalStore, UnknownJournal
from mage.trajectories.claude_code import summary_text
from mage.trajectories.compactions import in_short, missing, names_of

_STATE: Final = 5_000
"""Characters of S."""
_STEPS: Final = 2_400
"""Characters of the last steps."""
_STEP: Final = 600
"""Characters of an action or an observation among them."""
_NAMES: Final = 1_600
"""Characters of the names."""


def handed_back(store: JournalStore, name: str, event: Mapping[str, object], url: str) -> str:
    """Return what the model is to read when its session begins, is resumed or was compacted; nothing where nothing is known."""
    transcript = event.get("transcript_path")
    path = transcript if isinstance(transcript, str) else ""
    source = event.get("source")
    if source == "compact":
        compact(store, name, event)
    elif source == "resume":
        follow(store, name, path)
    else:
        return _recording(name)
    try:
        with Session.open(store, name, wait=False) as session:
            state = session.phase
    except UnknownJournal:
        return _recording(name)
    summary = summary_text(transcript_of(path)) if source == "compact" else ""
    return context_of(state, name, summary)


def _recording(name: str) -> str:
    return (
        f"mage records this session as {name!r}. Where the tools of its MCP server are here, `compress` a finished"
        " subgoal, and `look` into what was compressed: each takes that name as `session`."
    )


def context_of(state: State, name: str, summary: str) -> str:
    """Return S and what a summary has lost, in at most 10,000 characters. Cost: O(size of S and of the last segment).

    Args:
        state: where the session stands.
        name: the session's name, for the tools that look into it.
        summary: the client's own summary, which the model has anyway.
    """
    shown = cut(render(view(state)), _STATE)
    last = state.tree.head_summary
    steps = trace(state.tree, last.label, state.tree.step_head)
    told = f"This is where the session stands, as mage has recorded it under the name {name!r}. What was tried and left"
    parts = [
        f"{told} is not to be tried again. The tools `state`, `look` and `revise` of the MCP server mage take that name.",
        shown,
    ]
    tail = _tail(steps, _STEPS)
    if tail:
        parts.append(f"The last steps, word for word:\n{tail}")
    names = in_short(missing(names_of(steps), f"{summary}\n{shown}\n{tail}"), _NAMES)
    if names:
        parts.append(f"Names in these steps that stand nowhere above, the newest first: {names}")
    return "\n\n".join(parts)


def _tail(steps: Sequence[Step], room: int) -> str:
    """Return the last of the steps, in order, as many as there is room for."""
    found: list[str] = []
    for step in reversed(steps):
        text = f"Action: {cut(step.action, _STEP)}\nObservation: {cut(step.observation, _STEP)}"
        room -= len(text)
        if room < 0:
            break
        found.append(text)
    return "\n".join(found[::-1])

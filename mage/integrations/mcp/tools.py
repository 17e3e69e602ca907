"""The tools of the MCP server, and the words that teach a model to work with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from mage.chat import COMPRESS, REVISE, verdict_schema_of
from mage.effects import Schema, Tool

CYCLE: Final = """\
This server keeps where you stand in a long task, in the session that you name, so that you need not.
1. start, with the task. After a break, or when you are unsure: state. What it shows is so, whatever you remember.
2. Do one thing in the world, then grow: what you did and what came back, word for word, before you do the next.
3. When a subgoal is complete: compress, alone in your reply. Your text stands for its steps from now on, so write down \
what was done, found and decided, with exact names and numbers.
4. A summary is judged before it is trusted. Where you are asked to judge, compare text and steps as strictly as if \
somebody else had written them, and answer by verdict.
5. What has failed is put right before you go on: revise to where it went wrong, with a lesson, and undo in the world \
what you are told you left there. Where only the text is wrong, compress once more, with a true one.
6. look shows what a line [Step N] stands for; history and fork are for looking back, and for another way.
Each answer ends with where you stand. compress and revise take the version that it names."""

_NAME: Final[Schema] = {"type": "string", "description": "the name of the session"}
_TEXT: Final[Schema] = {"type": "string"}
_PAGE: Final[Schema] = {"type": "integer", "description": "0, or what the answer before names for more"}
_DECIDED_ON: Final[Schema] = {"type": "integer", "description": "the version that the last answer named"}
_END: Final[Schema] = {
    "type": ["integer", "null"],
    "description": "the M of a line [Step N..M]; null where N alone names it",
}
_LABEL: Final[Schema] = {"type": "integer", "description": "the N of a line [Step N]"}
_DIGEST: Final[Schema] = {"type": "string", "description": "of the summary that was judged"}
_NEW: Final[Schema] = {"type": "string", "description": "the name of the new session"}
_BEGINS: Final[Schema] = {"type": "integer", "description": "the version at which it begins"}


def _of(schema: Schema) -> dict[str, Schema]:
    return dict(cast("Mapping[str, Schema]", schema["properties"]))


def _tool(name: str, description: str, **properties: Schema) -> Tool:
    return Tool.of(name, description, session=_NAME, **properties)


TOOLS: Final = (
    _tool("start", "Begin a session for a task, or go on with the one of this name.", task=_TEXT),
    _tool("grow", "Record an action that was carried out, and its result.", action=_TEXT, observation=_TEXT),
    _tool(COMPRESS.name, COMPRESS.description, **_of(COMPRESS.parameters), version=_DECIDED_ON),
    _tool(
        "verdict",
        "Judge the summary that waits for a verdict: compare it with its steps.",
        digest=_DIGEST,
        **_of(verdict_schema_of(asks_steps=True)),
    ),
    _tool(REVISE.name, REVISE.description, **_of(REVISE.parameters), version=_DECIDED_ON),
    _tool(
        "look",
        "See the steps that a line [Step N] stands for, or the lines of a chapter.",
        step=_LABEL,
        boundary=_END,
        page=_PAGE,
    ),
    _tool("state", "See where you stand: what is done, what is open, what was tried.", page=_PAGE),
    _tool("history", "See what was recorded, the newest first.", page=_PAGE),
    _tool("fork", "Make another session that begins at a version of this one.", new=_NEW, version=_BEGINS),
)
"""All of them, strict."""
LOOKING: Final = frozenset({"look", "state", "history"})
"""The names of those that change nothing."""
ANSWER: Final = Tool.of(
    "answer",
    "What every tool returns.",
    told={"type": "string", "description": "what came of it, and what to do"},
    text={"type": "string", "description": "what was asked for, or this page of it"},
    more={"type": ["integer", "null"], "description": "the page behind it, null where there is none"},
    session=_NAME,
    version={"type": "integer"},
    phase={"type": "string", "enum": ["Active", "Unverified", "Rejected"]},
    digest={"type": ["string", "null"], "description": "of the summary that waits for a verdict"},
    boundaries={
        "type": "array",
        "items": {"type": "integer"},
        "description": "where revise may go back to, the newest of it",
    },
).parameters
"""The schema of their structured results."""

Given: TypeAlias = Mapping[str, Any]  # JSON that fits the parameters of its tool

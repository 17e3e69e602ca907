"""What a hook hears, and what it records: one event of the client, as JSON on standard input."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from mage.codec.strict_json import action_text, canonical
from mage.engine.journal import Grow, Instruct, Start
from mage.stores.errors import NameTaken, UnknownJournal
from mage.stores.opening import open_store
from mage.stores.protocol import JournalStore, now, record_behind
from mage.stores.records import NOTHING, draft, random_salt, seal

# -- what came back from a tool -----------------------------------------------------------------------------


_MEDIA: Final = ("image", "pdf", "document", "audio")


def observation_of(came: object) -> str:
    """Return what came back as text: a shell's output as it stands, parts as their texts, any other value as canonical JSON."""
    if isinstance(came, str):
        return came
    if came is None:
        return ""
    if isinstance(came, dict) and isinstance(came.get("stdout"), str):
        parts = [
            came["stdout"],
            came.get("stderr"),
            "(interrupted)" if came.get("interrupted") is True else "",
        ]
        return "\n".join([part for part in parts if isinstance(part, str) and part])
    found = _content_of(came)
    if not isinstance(found, list) or not any(isinstance(part, dict) and "type" in part for part in found):
        return canonical(came)
    from mage.chat.messages import content_of  # noqa: PLC0415  # slow to load, and most tools return no parts

    return content_of(found).text


def _content_of(came: object) -> object:
    """Return the content of a tool of MCP, or an image or a document as one; any other object has none."""
    if not isinstance(came, dict):
        return came
    inner = came.get("content")
    if isinstance(inner, list):
        return inner
    return [came] if came.get("type") in _MEDIA else None


# -- events -------------------------------------------------------------------------------------------------


Event: TypeAlias = Mapping[str, Any]
"""An event as the client spells it. It may have anything in it: other people's programs write it."""

_PATIENCE: Final = 5.0
"""Seconds to wait for another hook that writes; the client waits as long."""
_VARIABLE: Final = "MAGE_STORE"
_OWN: Final = "mcp__mage__"
"""How the client calls the tools of our own MCP server: what they do to the session is no step in it."""
_USAGE: Final = "say where: mage hook claude-code STORE, such as ~/claude-code.db"


def main(arguments: Sequence[str]) -> int:
    """Hear one event, and print what the client is to know. Whatever goes wrong, the client goes on.

    Args:
        arguments: what stands behind `mage hook`: the client's name and the store.

    Returns:
        0, always: another status would stop the client, or what it is at.
    """
    try:
        store = _store_in(arguments)
        said = heard(_event(sys.stdin.buffer.read()), store)
        if said:
            sys.stdout.write(said)
            sys.stdout.flush()
    except Exception as error:  # whatever it is, in a store or in an event: the client's work is worth more
        told = " ".join(f"{type(error).__name__}: {error}".split())
        _complain(f"mage hook: nothing was recorded: {told[:500]}\n")
    return 0


def _complain(line: str) -> None:
    try:
        sys.stderr.write("".join(char if char.isprintable() else " " for char in line.rstrip()) + "\n")
    except (OSError, ValueError, AttributeError):  # nobody listens
        return


def _event(said: bytes) -> Event:
    try:
        event: Event = json.loads(said, parse_constant=str, parse_float=_finite)
    except (ValueError, RecursionError):
        raise ValueError("standard input is no event: a JSON object is expected there") from None
    return event


def _finite(written: str) -> float | str:
    """Return a number, or as text one that JSON cannot have: a tool may well return one."""
    number = float(written)
    return number if abs(number) < float("inf") else written


def _store_in(arguments: Sequence[str]) -> str:
    match arguments:
        case ["claude-code", store] if not store.startswith("-"):
            return store
        case ["claude-code"] if os.environ.get(_VARIABLE):
            return os.environ[_VARIABLE]
        case [client, *_] if client != "claude-code":
            raise ValueError(f"{client!r} is no client whose hooks are known: claude-code is")
        case _:
            raise ValueError(_USAGE)


def heard(event: Event, url: str) -> str:
    """Record an event, and return what the client is to read: a line of JSON, or nothing. Cost: O(1) for most events.

    Raises:
        ValueError: it is no event, or of no session.
        StoreError: the store cannot be used.
    """
    if not isinstance(event, dict) or not text_in(event, "session_id"):
        raise ValueError("it is no event of a session: a JSON object with session_id is expected")
    with open_store(url, patience=_PATIENCE) as store:
        match event.get("hook_event_name"):
            case "PostToolUse" | "PostToolUseFailure":
                _used(store, event)
            case "UserPromptSubmit":
                _asked(store, event)
            case "Stop" | "SubagentStop":
                _stopped(store, event)
            case "PreCompact":
                from mage.integrations.claude_code.state import compact  # noqa: PLC0415  # loads a session

                compact(store, session_of(event), event)
            case "SessionStart":
                from mage.integrations.claude_code.state import handed_back  # noqa: PLC0415  # as above

                return _as_context(handed_back(store, session_of(event), event, url))
            case _:  # an event that needs no record, or one of a newer client
                return ""
    return ""


def text_in(event: Event, field: str) -> str:
    """Return a text of an event; the empty one where it has none."""
    found = event.get(field)
    return found if isinstance(found, str) else ""


def session_of(event: Event) -> str:
    """Return the name of the session that an event belongs to: of a subagent its own."""
    agent = text_in(event, "agent_id")
    return text_in(event, "session_id") + (f"/agent-{agent}" if agent else "")


def _as_context(text: str) -> str:
    if not text:
        return ""
    told = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": told}) + "\n"


# -- what is recorded ----------------------------------------------------------------------------------


def _used(store: JournalStore, event: Event) -> None:
    given = event.get("tool_input")
    name = text_in(event, "tool_name") or "tool"
    if name.startswith(_OWN):
        return
    action = action_text(name, given) if isinstance(given, dict) else f"{name} {canonical(given)}"
    came = event.get("tool_response", event.get("error"))
    key = text_in(event, "tool_use_id")
    record(store, event, Grow(action, observation_of(came)), {"call": key} if key else {})


def _asked(store: JournalStore, event: Event) -> None:
    """Begin the session with the user's first words; all others are instructions."""
    prompt = text_in(event, "prompt")
    if prompt.strip() and not _begun(store, event, prompt):
        record(store, event, Instruct(prompt), {})


def _stopped(store: JournalStore, event: Event) -> None:
    """Record the model's last words, and look whether the user had gone back before this turn."""
    words = text_in(event, "last_assistant_message")
    is_nobody = event.get("hook_event_name") == "SubagentStop" and not text_in(event, "agent_id")
    if words.strip() and not is_nobody:
        record(store, event, Grow(words, ""), {})
    if text_in(event, "transcript_path") and not text_in(event, "agent_id"):
        from mage.integrations.claude_code.state import follow  # noqa: PLC0415  # loads a session

        follow(store, session_of(event), text_in(event, "transcript_path"))


def record(store: JournalStore, event: Event, command: Grow | Instruct, meta: Mapping[str, object]) -> None:
    """Record a command on the session of an event, behind whatever is there; begin it where there is none."""
    name, given = session_of(event), {**meta, "at": now()}
    try:
        head = record_behind(store, name, command, given)
    except UnknownJournal:
        task = text_in(event, "agent_type") or f"Work of Claude Code in {text_in(event, 'cwd') or 'a folder'}"
        _begun(store, event, task)
        head = record_behind(store, name, command, given)
    if head is None:
        from mage.integrations.claude_code.state import settle  # noqa: PLC0415  # loads a session

        settle(store, name, command, meta)


def _begun(store: JournalStore, event: Event, task: str) -> bool:
    """Begin the session of an event, unless it is there."""
    name = session_of(event)
    try:
        store.head(name)
    except UnknownJournal:
        about = {"client": "claude-code", "folder": text_in(event, "cwd")}
        start = seal(NOTHING, draft(None, Start(task), {"at": now(), "log": about}), random_salt)
        try:
            store.create(name, [start])
        except NameTaken:  # another hook was faster
            return False
        return True
    return False

"""A client that runs hooks as Claude Code does: it keeps its own log, and tells each hook what its own would hear."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, final

from mage.integrations.claude_code import heard
from tests.trajectories.coding_logs import Row, boundary, call, lines, replied, returned, said, summary


@final
class Client:
    """One session of a client, over a store."""

    def __init__(self, folder: Path, *, is_logging: bool = True) -> None:
        self.url = str(folder / "work.db")
        self.name = "5e55"
        self.rows: list[Row] = []
        self.heard: list[Row] = []
        """Every event that a hook heard."""
        self._log = folder / "5e55.jsonl"
        self._is_logging = is_logging
        self._head: str | None = None
        self._count = 0
        self._turns: list[str | None] = []  # what stood before each word of the user

    def _write(self, *rows: Row) -> None:
        self.rows += rows
        self._head = rows[-1]["uuid"]
        if self._is_logging:
            self._log.write_bytes(lines(*self.rows))

    def _id(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def event(self, kind: str, **more: Any) -> Row:
        """Return an event as a hook hears it."""
        base = {"session_id": self.name, "transcript_path": str(self._log), "cwd": "/home/pond"}
        return {**base, "hook_event_name": kind, **more}

    def tell(self, kind: str, **more: Any) -> str:
        """Let a hook hear an event; return the context that it gives back."""
        event = self.event(kind, **more)
        self.heard.append(event)
        answer = heard(json.loads(json.dumps(event)), self.url)
        context = json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""
        assert isinstance(context, str)
        return context

    def say(self, text: str) -> None:
        """Let the user say something: the hook hears it before it is in the log."""
        self.tell("UserPromptSubmit", prompt=text)
        self._turns.append(self._head)
        self._write(said(self._id("u"), self._head, text))

    def use(self, tool: str, response: Any, **given: Any) -> None:
        """Let the model use a tool: call and result are in the log when the hook hears of it."""
        key, reply, result = self._id("t"), self._id("a"), self._id("r")
        text = response if isinstance(response, str) else json.dumps(response)
        before = self._head
        self._write(replied(reply, before, call(key, tool, **given)), returned(result, reply, key, text))
        self.tell("PostToolUse", tool_name=tool, tool_input=given, tool_response=response, tool_use_id=key)

    def stop(self, text: str) -> None:
        """Let the model end its turn."""
        self._write(replied(self._id("a"), self._head, text))
        self.tell("Stop", last_assistant_message=text)

    def rewind(self, turns: int = 1) -> None:
        """Let the user go back: no hook hears of it, and the log says it only with the next record."""
        self._head = self._turns[-turns]
        del self._turns[-turns:]

    @property
    def turns(self) -> int:
        """How many turns may be taken back: nothing before the first, nor past a compaction."""
        return len(self._turns) - 1

    def compact(self, text: str) -> str:
        """Let the client compact, and return what the hook hands back."""
        self.tell("PreCompact", trigger="auto", custom_instructions="")
        cut, after = self._id("c"), self._head or ""
        self._write(boundary(cut, after), summary(self._id("c"), cut, text))
        self._turns = [self._head]
        return self.tell("SessionStart", source="compact")

    def resume(self) -> str:
        """Let the client go on with the session in a new process."""
        return self.tell("SessionStart", source="resume")

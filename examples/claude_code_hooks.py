"""What Claude Code's hooks record, and what they hand back after a compaction: python examples/claude_code_hooks.py

Needs: pip install mage-state. In place of the client, which calls `mage hook claude-code hooks.db` for each event
(README has its settings), this program does; it makes a new session each time that it is run.
"""

import json
import subprocess
import sys
from typing import Any
from uuid import uuid4

SESSION = str(uuid4())


def hook(event: str, **more: Any) -> str:
    """Let a hook hear an event, and return the context that it hands back."""
    told = json.dumps({"session_id": SESSION, "hook_event_name": event, "cwd": ".", **more})
    command = [sys.executable, "-m", "mage", "hook", "claude-code", "hooks.db"]
    out = subprocess.run(command, input=told, capture_output=True, text=True, check=True).stdout  # noqa: S603  # our own command
    return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out else ""


def use(number: int, tool: str, response: Any, **given: Any) -> None:
    """Let the model use a tool."""
    hook("PostToolUse", tool_name=tool, tool_input=given, tool_response=response, tool_use_id=f"t{number}")


hook("SessionStart", source="startup")
hook("UserPromptSubmit", prompt="Mend the pump of well 4711.")
use(1, "Bash", {"stdout": "1 failed: test_flow_829", "stderr": ""}, command="pytest")
use(2, "Grep", "src/valve.py:17: FLOW_LIMIT = 3", pattern="FLOW")
hook("UserPromptSubmit", prompt="Set it to 5, and leave src/legacy.py alone.")
hook("PreCompact", trigger="auto")
print(hook("SessionStart", source="compact"))

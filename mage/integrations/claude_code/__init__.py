"""The hooks of Claude Code: a session that survives its client's compaction. The client runs `mage hook claude-code STORE`.

Each tool use is a step, what the user says an instruction; before a compaction the open steps get an account, and after
it the execution state is handed back as additional context. Where the user has gone back, the tree does. A hook that
fails says so in one line, and never stops the client.

A hook is a process of its own for each call of a tool, so nothing is loaded here that most of them do not need:
`hearing` records, and only what must know the whole session (`state`, `context`) loads more.
"""

from mage.integrations.claude_code.hearing import main

__all__ = ["main"]

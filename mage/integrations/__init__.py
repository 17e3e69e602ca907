"""mage in other people's tools: one module each, most of them behind an extra of its name.

`openai_agents`, `langchain` and `pydantic_ai` do the same two things around each call of the model: the memory follows
the framework's transcript (`Memory.follow`), and S is sent in its place (`Memory.messages`). The transcript itself stays
the framework's. `mcp` is a server of sessions, `claude_code` the hooks of that client, `opentelemetry` events for
traces. Nothing is imported here: import the module that you need.
"""

__all__ = ()

"""mage in the tools that people already use: one module each, behind an extra of its name.

`openai_agents`, `langchain` and `pydantic_ai` do the same two things around each call of the model: the framework's
transcript is followed (`Memory.follow`), and S is sent in its place (`Memory.messages`). The transcript itself stays
the framework's. `mcp` is a server of sessions. Nothing is imported here: import the module that you need.
"""

__all__ = ()

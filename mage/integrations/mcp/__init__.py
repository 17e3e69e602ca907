"""An MCP server over a store: an agent's execution state for any client that speaks the Model Context Protocol.

    pip install 'mage-state[mcp]'

    from mage.integrations.mcp import serve_stdio, state_server
    asyncio.run(serve_stdio(state_server(open_store("sqlite:///work.db"))))    # this is `mage mcp work.db`

The protocol has no sessions of its own, so each tool takes the name of ours; `tools` has what
they are, `operations` what they do. Processes may serve one store, and clients one process.
"""

try:
    import mcp as _mcp  # noqa: F401  # everything below needs it
except ModuleNotFoundError as _missing:
    if _missing.name != "mcp":
        raise
    raise ModuleNotFoundError(
        "mage.integrations.mcp needs its extra: pip install 'mage-state[mcp]'", name="mcp"
    ) from None


from mage.integrations.mcp.server import serve_stdio, state_server

__all__ = ["serve_stdio", "state_server"]

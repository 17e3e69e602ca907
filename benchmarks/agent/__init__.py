"""What the agent's context costs over a long run, beside keeping everything."""

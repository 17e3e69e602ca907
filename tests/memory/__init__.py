"""Memory: what a loop of one's own is shown, and what becomes of replies."""

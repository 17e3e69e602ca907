"""Memory systems that are not the agent's own: what the paper sets beside MAGE, and anybody's.

attached     a system beside this project's agent, by the paper's protocol, with its caps and its account
chunks       systems of our own: random chunks, BM25
"""

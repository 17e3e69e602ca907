"""Memory systems that are not the agent's own: what the paper sets beside MAGE, and anybody's.

attached     a system beside this project's agent, by the paper's protocol, with its caps and its account
chunks       systems of our own: random chunks, BM25
minilm       all-MiniLM-L6-v2 over numpy: dense retrieval, and the embedding of every other system
others       Mem0, SimpleMem, MemoryOS, ReasoningBank, HippoRAG, each behind two calls
gateway      what they are given in place of a provider: it counts
server       MemoryArena's memory server interface, client and server
wire         JSON over HTTP, both ends
catalogue    systems by name, with parameters
joined       a named system put beside an agent for one task, and what the row says of it
serving      the command `serve`, and the options of a memory system

`domains/README.md` has the protocol, the systems, their versions, and what a figure means.
"""

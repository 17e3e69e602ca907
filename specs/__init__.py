"""What the engine means: the words (README.md), a naive reference, laws, and what compares them with the code."""

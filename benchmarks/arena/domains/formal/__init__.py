"""Formal reasoning: derivations in parts, of mathematics and of physics, where a part's result is used by later ones.

    fractions    exact arithmetic on rational functions, over SymPy's sparse polynomials
    reading      an expression from its text, within bounds: parsed, never evaluated as a program
    deriving     what a tool does to an expression, and how a plan calls it
    mathematics  chains of parts on polynomials
    physics      chains of parts on motion, circuits and lenses
    rules        the parts as an agent finds them
    tasks        tasks, their oracle's plan and how a run is marked

It needs SymPy, of the dependency group `arena`. Code is never run: there is no tool for it.
"""

"""How strong the tests of the engine are: faults are put into it, one at a time, and a test must notice.

A *mutant* is the engine with one small change. It is *killed* when a test of the kill suite fails, and has
*survived* when none does. `survivors.toml` names every survivor with the reason why nothing that anyone can
observe tells it from the engine; a survivor that is not named there fails the check, and so does a name that
is killed after all or is there no more. A mutant that does not end within its time is counted apart, as a
*timeout*, and never called killed.

    python -m specs.mutants --all               all of mage/engine; the result goes to last.json
    python -m specs.mutants --changed [BASE]    the functions that differ from a commit (default: last.json's)

The changes come from mutmut (its operators, and its rules of what to leave alone); running them does not. Its
own runner replaces each function by a trampoline, which reaches neither a property nor anything that is
evaluated on import (defaults, fields, tables, constants: a fifth of our mutants), and starts pytest anew for
every mutant. Here pytest collects once, and every mutant is a fork of that process: in a function only its
code object is swapped (`life.py`). The tests that reach the changed statement run, the cheapest first, until
one fails (`observed.py`).

What this does not see: text inside f-strings, decorators and annotations are not mutated; what a file of
tests makes on import was made by the engine without the mutant; and `--changed` does not notice a test that
was weakened, `--all` does.
"""

"""The garbage collector, held off while very many values are made that all stay.

It would walk over them again and again to find nothing: that was a third of the time to open a session from a
snapshot, and a sixth of the time to read and fold its records.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Collect no garbage, in any thread, until the block ends; where the host has the collector off it stays off.

    The block awaits nothing, and what is done in it makes no cycles: so nothing piles up meanwhile that the collector
    would have freed, but for what other threads make. Of several threads in such blocks the first to end switches
    it on again: it is never left off.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()

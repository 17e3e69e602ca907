"""A command that is asked to stop: it ends as after Ctrl-C, and removes what was only there while it worked."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

__all__ = ["removing_what_is_left"]


@contextmanager
def removing_what_is_left() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block by an exception, so that what it made for a while is removed.

    The process then ends with status 128 and the signal's number, as a shell says it. In a thread that is not the
    main one nothing is changed: only that one hears of signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kinds = [signal.SIGTERM] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGHUP]
    before = {kind: signal.signal(kind, _end) for kind in kinds if signal.getsignal(kind) == signal.SIG_DFL}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _end(number: int, _: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # the second one would stop the removing
    sys.exit(128 + number)

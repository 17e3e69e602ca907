"""SQLite's write-ahead log as bytes: what of it SQLite reads, and what it would leave out without a word.

A log is a header of 32 bytes and frames, each 24 bytes and a page. A frame counts where its salts are the
header's and the checksum, which runs on from frame to frame, is right; at the first that does not, SQLite
stops. Frames of an older use of the file, with other salts, may follow: that is no fault.
"""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["log_problem"]

_HEADER: Final = 32
_FRAME: Final = 24
_MAGIC: Final = 0x377F0682
_FORMAT: Final = 3_007_000


def log_problem(data: bytes) -> str | None:
    """Return what SQLite would leave out of a log, and why; None where that is nothing. Cost: O(length)."""
    if not data:
        return None
    if len(data) < _HEADER:
        return f"{len(data)} bytes are left of it, less than its header"
    magic, version, size = struct.unpack(">III", data[:12])
    if magic & ~1 != _MAGIC or version != _FORMAT or not 512 <= size <= 65536 or size & (size - 1):
        return "its first bytes are not those of a log, so nothing of it is read"
    order = ">" if magic & 1 else "<"
    sums = _summed(data[:24], order, (0, 0))
    if sums != struct.unpack(">II", data[24:32]):
        return "its header does not match its checksum, so nothing of it is read"
    return _frames_problem(data, size, order, sums)


def _frames_problem(data: bytes, size: int, order: str, sums: tuple[int, int]) -> str | None:
    salts = data[16:24]
    step = _FRAME + size
    count = (len(data) - _HEADER) // step
    for number in range(count):
        start = _HEADER + number * step
        frame = data[start : start + step]
        sums = _summed(frame[_FRAME:], order, _summed(frame[:8], order, sums))
        if frame[8:16] != salts:
            if any(_salts(data, later, step) == salts for later in range(number + 1, count)):
                return (
                    f"frame {number + 1} of {count} is not of this log, so it and those after it are not read"
                )
            return None
        if sums != struct.unpack(">II", frame[16:24]):
            return (
                f"frame {number + 1} of {count} does not match its checksum, so it and those after it are not"
                " read: they were torn, or changed since"
            )
    if (len(data) - _HEADER) % step >= 16 and _salts(data, count, step) == salts:
        return "its last frame is cut, by an append that was refused for lack of room or by a copy that ended early"
    return None


def _salts(data: bytes, number: int, step: int) -> bytes:
    start = _HEADER + number * step + 8
    return data[start : start + 8]


def _summed(data: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second

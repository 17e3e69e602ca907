"""What comes in from a server, before anything reads it: how much of it, from where, and which headers.

A reply is asked for as it is, without compression. One that is compressed all the same is unpacked piece by
piece, and counted as it grows: a small body may be a large text. Of the headers those are kept that mean
something here; none may choose how the body is decoded.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final, final

import httpx2

from mage.effects import EffectError
from mage.llm.bounds import Bounds, GaveUp, left

__all__ = ["Meter", "headers_of", "refuse_elsewhere"]

_PIECE: Final = 65_536
_WINDOWS: Final = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
_KEPT: Final = ("content-type", "date", "location", "retry-after", "retry-after-ms", "x-should-retry")


@final
class Meter:
    """Unpacks a body, and counts it against the largest that is taken.

    Raises:
        GaveUp: it is packed as nobody has asked for.
    """

    def __init__(self, headers: httpx2.Headers, bounds: Bounds) -> None:
        self._largest = bounds.largest
        self._packed = self._unpacked = 0
        packing = headers.get("content-encoding", "").strip().lower()
        if packing not in ("", "identity", *_WINDOWS):
            raise _gave_up("the reply is compressed in a way that was not asked for")
        window = _WINDOWS.get(packing)
        self._unpacking = None if window is None else zlib.decompressobj(window)

    def take(self, piece: bytes) -> Iterator[bytes]:
        """Yield what the next bytes are, unpacked, in pieces. Cost: O(length of what is yielded), in constant memory.

        Raises:
            GaveUp: the body grows too large.
            httpx2.DecodingError: it is not packed as it says.
        """
        self._packed = self._counted(self._packed, piece)
        for part in self._parts(piece):
            self._unpacked = self._counted(self._unpacked, part)
            yield part

    def _counted(self, before: int, piece: bytes) -> int:
        if before + len(piece) > self._largest:
            raise _gave_up(f"the reply is larger than {self._largest:,} bytes, the most that is read")
        return before + len(piece)

    def _parts(self, piece: bytes) -> Iterator[bytes]:
        if self._unpacking is None:
            yield piece
            return
        try:
            while piece and not self._unpacking.eof:
                yield self._unpacking.decompress(piece, _PIECE)
                piece = self._unpacking.unconsumed_tail
        except zlib.error as error:
            raise httpx2.DecodingError(str(error)) from None


def _gave_up(detail: str) -> GaveUp:
    return GaveUp(EffectError("server", detail))


def headers_of(status: int, headers: httpx2.Headers) -> dict[str, str]:
    """Return the headers of a response that are kept.

    Where a server asks to be left alone for longer than the call may take, it is not asked again: what it said
    says more than that the time is over.

    Raises:
        GaveUp: the call's time is over.
    """
    kept = {name: headers[name] for name in _KEPT if name in headers}
    if "content-type" in kept:  # a charset would be obeyed, and some of them unpack
        kept["content-type"] = kept["content-type"].partition(";")[0].strip()
    rest = left()
    if rest is not None and status >= 400 and _named_wait(kept) > rest:
        kept["x-should-retry"] = "false"
    return kept


def _named_wait(headers: dict[str, str]) -> float:
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return float(headers.get(name, "")) / scale
        except ValueError:
            continue
    return 0.0


def refuse_elsewhere(response: httpx2.Response) -> None:
    """Refuse a redirect that leaves the server: whoever is there would get the key and the texts.

    Raises:
        GaveUp: it names another scheme, host or port, or nothing that can be read.
    """
    request = response.request
    if not response.has_redirect_location:
        return
    try:
        target = request.url.join(response.headers["location"])
    except httpx2.InvalidURL:
        target = httpx2.URL()
    if _origin(target) != _origin(request.url):
        raise GaveUp(
            EffectError(
                "rejected",
                f"the server redirects to another address (HTTP {response.status_code}), which is not followed: "
                "it would get the key and the texts; give that address as base_url if you trust it",
            )
        )


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    port = {"http": 80, "https": 443}.get(url.scheme) if url.port is None else url.port
    return url.scheme, url.host, port

"""The summarizer of an agent that has none: it extracts, and asks nobody."""

from __future__ import annotations

from mage.effects import SummaryRequest
from mage.render.extract import extract

__all__ = ["extracted", "extracted_awaited"]


def extracted(request: SummaryRequest, /) -> str:
    """Return the most telling lines of the steps (`mage.render.extract`), which say that they are an extract."""
    return extract(request.steps)


async def extracted_awaited(request: SummaryRequest, /) -> str:
    """Return what `extracted` does, where a summarizer is awaited."""
    return extract(request.steps)

"""The summarizer of an agent that has none: it extracts, and asks nobody."""

from __future__ import annotations

from typing import Final

from mage.effects import ChapterRequest, EffectError, SummaryRequest
from mage.render.extract import extract

_NO_CHAPTERS: Final = "an extract is no chapter: a summarizer writes those"


def extracted(request: SummaryRequest | ChapterRequest, /) -> str:
    """Return the values and the most telling lines of the steps (`mage.render.extract`); the text says that it is an extract.

    It stays within the request's limit as `mage.tokens.EstimateCounter` counts.

    Raises:
        EffectError: a chapter is asked for. What later work needs of finished subgoals no extract can tell.
    """
    if isinstance(request, ChapterRequest):
        raise EffectError("unreachable", _NO_CHAPTERS)
    return extract(request.steps, request.limit)


async def extracted_awaited(request: SummaryRequest | ChapterRequest, /) -> str:
    """Return what `extracted` does, where a summarizer is awaited."""
    return extracted(request)

"""Asking again: a judge or a summarizer whose reply cannot be used is told why, at most twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from mage.effects import EffectError, Metered, Usage
from mage.effects.program import Program
from mage.llm.asking import Reply, charged

__all__ = ["TIMES", "insist"]

Answer = TypeVar("Answer")

TIMES: Final = 3
"""How often one question is put."""


async def insist(
    ask: Callable[[str], Program[Reply]], read: Callable[[Reply], Answer], *, model: str, prompt: str
) -> Metered[Answer]:
    """Put a question until the reply can be used, at most `TIMES` times, and count all that it took.

    Args:
        ask: puts it; given what was wrong with the last reply, empty at first.
        read: what the reply says; raises `EffectError` where it cannot be used.
        model: the model's name, where the reply does not give one.
        prompt: the hash of the wording.

    Raises:
        EffectError: nobody answered, or no reply could be used; of the last reply.
    """
    spent = Usage(calls=0)
    told = ""
    left = TIMES
    while True:
        left -= 1
        try:
            reply = await ask(told)
        except EffectError as error:  # nobody answered: the client has already retried
            raise charged(error, spent) from None
        spent += reply.usage
        try:
            return Metered(read(reply), spent, reply.model or model, prompt)
        except EffectError as error:
            if not left:
                raise charged(error, spent) from None
            told = error.detail

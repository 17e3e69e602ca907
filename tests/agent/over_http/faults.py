"""The fault cases of `tests.llm.cases` as parameters: some run always, all of them with the slow tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import pytest

from mage.effects import EFFECT_FAULTS, EffectFault
from tests.llm.cases import STREAMS, UNANSWERED, USELESS
from tests.llm.server import Answer, Status

_ALWAYS: Final = frozenset(
    {
        "a refusal",
        "cut off for length",
        "no content",
        "compress and finish",
        "overflow, as OpenAI says it",
        "asked too often",
        "a failure",
        "overloaded",
        "a body that breaks off",
        "a wrong key",
        "a stream that breaks",
        "a stream that just ends",
    }
)


@attrs.frozen
class Case:
    """One way in which a reply can be wrong or missing.

    Attributes:
        name: in words.
        fault: what it comes to, where the model is asked.
        answer: what the server does.
        stream: whether replies come in pieces.
    """

    name: str
    fault: EffectFault
    answer: Answer
    stream: bool = False

    @property
    def useless(self) -> bool:
        """Whether there is a reply, which nobody can use."""
        return self.fault in EFFECT_FAULTS[:7]

    @property
    def is_text(self) -> bool:
        """Whether a summarizer may well have meant it."""
        return self.name == "no call"

    @property
    def schema_is_blamed(self) -> bool:
        """Whether a judge that was never answered tries again without a schema."""
        if self.fault == "overflow":
            return False
        failed = isinstance(self.answer, Status) and self.answer.status in (400, 404, 422, 500)
        return failed or self.name == "an error within a stream"


def _cases(table: Mapping[str, tuple[EffectFault, Answer]], *, stream: bool = False) -> list[Any]:
    return [
        pytest.param(
            Case(name, fault, answer, stream), id=name, marks=[] if name in _ALWAYS else [pytest.mark.slow]
        )
        for name, (fault, answer) in table.items()
    ]


CASES: Final = [*_cases(USELESS), *_cases(UNANSWERED), *_cases(STREAMS, stream=True)]

"""What comes with an answer: what it cost, who gave it; and the one error of an effect that got none."""

from __future__ import annotations

from typing import Final, Generic, Literal, TypeAlias, TypeVar, final

import attrs
from attrs.validators import and_, ge, instance_of

from mage.engine.errors import MageError

__all__ = ["EFFECT_FAULTS", "EffectError", "EffectFault", "Metered", "Usage", "metered"]

Answer_co = TypeVar("Answer_co", covariant=True)
_COUNT: Final = and_(instance_of(int), ge(0))


@final
@attrs.frozen
class Usage:
    """Tokens of one or more calls, as the provider counted them, or as we did where it did not.

    Raises:
        TypeError: a count is no integer.
        ValueError: one is below 0: added up it would make a limit void.

    Attributes:
        prompt: tokens read.
        completion: tokens written.
        cached: how many of those read came from the provider's cache.
        calls: how many calls these are.
        estimated: for how many of them we counted, as the provider gave no number that can be true.
    """

    prompt: int = attrs.field(default=0, validator=_COUNT)
    completion: int = attrs.field(default=0, validator=_COUNT)
    cached: int = attrs.field(default=0, validator=_COUNT)
    calls: int = attrs.field(default=1, validator=_COUNT)
    estimated: int = attrs.field(default=0, validator=_COUNT)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.calls + other.calls,
            self.estimated + other.estimated,
        )

    @property
    def document(self) -> dict[str, object]:
        """The counts as a JSON object; `estimated` stands in it where it is not 0."""
        return {name: count for name, count in attrs.asdict(self).items() if name != "estimated" or count}

    @property
    def total(self) -> int:
        """Tokens read and written."""
        return self.prompt + self.completion


@final
@attrs.frozen
class Metered(Generic[Answer_co]):
    """An answer with what it took. Whoever answers may give it in place of the bare answer.

    Attributes:
        value: the answer.
        usage: what the calls took, those included that brought nothing usable.
        model: the name of the model that answered; empty where none did.
        prompt_hash: the hash of the prompt's wording, so that one can tell which version was used.
    """

    value: Answer_co
    usage: Usage = Usage()
    model: str = ""
    prompt_hash: str = ""

    @property
    def meta(self) -> dict[str, object]:
        """What is kept beside the record that came of it: a JSON object, empty where nothing is known."""
        known: dict[str, object] = {"model": self.model, "prompt": self.prompt_hash}
        kept = {name: value for name, value in known.items() if value}
        return {**kept, "usage": self.usage.document} if self.usage != Usage() else kept


Bare = TypeVar("Bare")


def metered(answer: Bare | Metered[Bare]) -> Metered[Bare]:
    """Return an answer with what it took; a bare one took one call that nobody counted."""
    return answer if isinstance(answer, Metered) else Metered(answer)


EffectFault: TypeAlias = Literal[
    "refusal",
    "empty",
    "truncated",
    "not_json",
    "wrong_schema",
    "unknown_tool",
    "too_many_calls",
    "overflow",
    "rate_limit",
    "server",
    "timeout",
    "dropped",
    "unreachable",
    "rejected",
    "environment",
]
"""How an effect can fail.

    refusal, empty, truncated, not_json,      a model has answered, and the answer cannot be used
    wrong_schema, unknown_tool, too_many_calls
    overflow                                  the prompt does not fit into the model's context
    rate_limit, server, timeout, dropped,     nobody has answered, also not when asked again
    unreachable
    rejected                                  the provider takes no such request: key, model or parameters
    environment                               the environment could not carry out an action
"""

EFFECT_FAULTS: Final[tuple[EffectFault, ...]] = (
    "refusal",
    "empty",
    "truncated",
    "not_json",
    "wrong_schema",
    "unknown_tool",
    "too_many_calls",
    "overflow",
    "rate_limit",
    "server",
    "timeout",
    "dropped",
    "unreachable",
    "rejected",
    "environment",
)
_UNUSABLE: Final = frozenset(EFFECT_FAULTS[:7])


@final
class EffectError(MageError):
    """An effect has no answer. Raise it from a model, judge, summarizer or environment: the agent has an end for each.

    Attributes:
        fault: what kind of failure it is.
        detail: one line for people and for the model; no key, no prompt.
        retry_after: seconds after which the provider would like to be asked again; None where it did not say.
        usage: what the calls took nevertheless.
    """

    def __init__(
        self, fault: EffectFault, detail: str, *, retry_after: float | None = None, usage: Usage | None = None
    ) -> None:
        self.fault: EffectFault = fault
        self.detail = detail
        self.retry_after = retry_after
        self.usage = Usage(calls=0) if usage is None else usage
        super().__init__(fault, detail)

    @property
    def unusable(self) -> bool:
        """Whether a model has answered and may be told what was wrong with it."""
        return self.fault in _UNUSABLE

    def __str__(self) -> str:
        return f"{self.fault.replace('_', ' ')}: {self.detail}"

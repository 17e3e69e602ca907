"""How answers are spelled on a tape: attrs values as JSON, by cattrs, each union tagged with its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from mage.agent.tape import BadTape
from mage.effects import (
    Decision,
    Divergence,
    EffectError,
    Metered,
    NotRestored,
    Observed,
    Restored,
    Then,
    Usage,
    WorldEffect,
)
from mage.engine import StepId, Verdict

try:
    from cattrs import Converter
    from cattrs.errors import BaseValidationError
    from cattrs.strategies import configure_tagged_union
except ModuleNotFoundError as missing:
    if missing.name != "cattrs":
        raise
    raise ModuleNotFoundError(
        "mage.agent needs its extra: pip install 'mage-state[agent]'", name="cattrs"
    ) from None

__all__ = ["failure_document", "failure_of", "metered_document", "metered_of", "spelled", "understood"]

Answer = TypeVar("Answer")


def _converter() -> Converter:
    made = Converter(omit_if_default=True)
    made.register_structure_hook(StepId | int, lambda given, _: int(given))
    for union in (Then, Verdict, WorldEffect, Restored | NotRestored):
        configure_tagged_union(union, made, tag_name="is")
        _let_it_be_none(made, union)
    return made


def _let_it_be_none(made: Converter, union: Any) -> None:
    """Teach a converter a union that is optional: to cattrs that is another union."""
    made.register_structure_hook(
        union | None, lambda given, _: None if given is None else made.structure(given, union)
    )
    made.register_unstructure_hook(
        union | None, lambda given: None if given is None else made.unstructure(given, union)
    )


_CONVERTER: Final = _converter()
_FORMS: Final[Mapping[str, Any]] = {
    "decided": Decision,
    "judged": Verdict,
    "verdict": Verdict,
    "summarized": str,
    "started": Observed,
    "restored": Restored | NotRestored,
    "resumed": Restored | NotRestored,
    "effect": WorldEffect,
    "usage": Usage,
    "divergence": Divergence,
}
"""The type of what an entry of each kind holds."""


def spelled(kind: str, value: object) -> Any:
    """Return a value in JSON."""
    return _CONVERTER.unstructure(value, _FORMS[kind])


def understood(kind: str, document: object) -> Any:
    """Return the value of a JSON document, of the type that belongs to `kind`.

    Raises:
        BadTape: it is none.
    """
    try:
        return _CONVERTER.structure(document, _FORMS[kind])
    except (BaseValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadTape(f"what a tape holds as {kind!r} cannot be read ({type(error).__name__})") from error


def metered_document(kind: str, answer: Metered[Any]) -> dict[str, object]:
    """Return an answer, and what it took, in JSON."""
    said: dict[str, object] = {"value": spelled(kind, answer.value), "usage": spelled("usage", answer.usage)}
    named = {"model": answer.model, "prompt": answer.prompt_hash}
    return {**said, **{name: value for name, value in named.items() if value}}


def metered_of(kind: str, data: Mapping[str, Any]) -> Metered[Any]:
    """Return the answer of an entry.

    Raises:
        BadTape: it holds none.
    """
    return Metered(
        understood(kind, data.get("value")),
        understood("usage", data.get("usage", {})),
        str(data.get("model", "")),
        str(data.get("prompt", "")),
    )


def failure_document(error: EffectError) -> dict[str, object]:
    """Return why there is no answer, in JSON."""
    said: dict[str, object] = {
        "fault": error.fault,
        "detail": error.detail,
        "usage": spelled("usage", error.usage),
    }
    return {"failed": said if error.retry_after is None else {**said, "retry_after": error.retry_after}}


def failure_of(data: Mapping[str, Any]) -> EffectError | None:
    """Return why an entry holds no answer, None where it holds one."""
    failed = data.get("failed")
    if not isinstance(failed, dict):
        return None
    usage: Usage = understood("usage", failed.get("usage", {}))
    return EffectError(failed["fault"], failed["detail"], retry_after=failed.get("retry_after"), usage=usage)

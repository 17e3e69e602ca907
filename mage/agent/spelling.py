"""How answers are spelled on a tape: attrs values as JSON, by cattrs, each union tagged with its class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, get_args, get_origin

from mage.agent.forms import Acting, Again, Began, Ended, Failure, Kept, Overtaken, Restoring, Taken
from mage.agent.tape import BadTape, TapeEntry
from mage.effects import (
    ActionEffect,
    Decision,
    Divergence,
    EffectError,
    Metered,
    NotRestored,
    Observed,
    Restored,
    Then,
    Tool,
    Usage,
)
from mage.engine import StepId, Verdict
from mage.memory.policy import BadPolicy, Policy

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

__all__ = [
    "failure_document",
    "failure_of",
    "metered_document",
    "metered_of",
    "policy_in",
    "require_sound",
    "spelled",
    "understood",
]

Answer = TypeVar("Answer")

_PLAIN: Final[Mapping[type, tuple[type, ...]]] = {
    str: (str,),
    int: (int,),
    bool: (bool,),
    float: (int, float),
}
"""What may stand for a value of each plain type."""


def _converter() -> Converter:
    """Return what writes and reads; it reads nothing as what it is not, so that `null` is no text "None"."""
    made = Converter(omit_if_default=True, forbid_extra_keys=True)
    for exact, kinds in _PLAIN.items():
        made.register_structure_hook(exact, _only(exact, kinds))
    made.register_structure_hook_factory(_is_a_tuple, _of_a_list)
    made.register_structure_hook(StepId | int, lambda given, _: made.structure(given, int))
    made.register_structure_hook(Tool, lambda given, _: Tool(**given))
    for union in (Then, Verdict, ActionEffect, Restored | NotRestored):
        configure_tagged_union(union, made, tag_name="is")
        _let_it_be_none(made, union)
    return made


def _only(exact: type, kinds: tuple[type, ...]) -> Callable[[object, object], object]:
    """Return what reads a value of these types, and no other: `true` is no number."""

    def read(given: object, _: object) -> object:
        if type(given) not in kinds:
            raise TypeError(f"{type(given).__name__} is no {exact.__name__}")
        return given

    return read


def _is_a_tuple(kind: Any) -> bool:  # Any: whatever is asked for
    origin: object = get_origin(kind)
    return origin is tuple


def _of_a_list(kind: Any, made: Converter) -> Callable[[object, object], object]:  # Any: a `tuple[X, ...]`
    """Return what reads a list, and nothing else that can be gone through: a text is no list of its letters."""
    each = get_args(kind)[0]
    hook = made.get_structure_hook(each)

    def read(given: object, _: object) -> object:
        if not isinstance(given, list):
            raise TypeError(f"{type(given).__name__} is no list")
        return tuple([hook(one, each) for one in given])

    return read


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
    "observed": Kept,
    "failed": Failure,
    "began": Began,
    "acting": Acting,
    "again": Again,
    "restoring": Restoring,
    "taken": Taken,
    "overtaken": Overtaken,
    "text": str,
    "ended": Ended,
    "effect": ActionEffect,
    "usage": Usage,
    "divergence": Divergence,
}
"""The type of what an entry of each kind holds, and of what is kept in the meta of a step."""
_OF_AN_ANSWER: Final = frozenset(("value", "usage", "model", "prompt"))
_OF_OVERTAKEN: Final = ("version", "observation", "observed", "instead")


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
        BadTape: it holds none, or something beside it.
    """
    unknown = sorted(data.keys() - _OF_AN_ANSWER)
    if unknown:
        raise BadTape(
            f"what a tape holds as {kind!r} cannot be read: there is no {unknown[0]!r} in an answer"
        )
    return Metered(
        understood(kind, data.get("value")),
        understood("usage", data.get("usage", {})),
        understood("text", data.get("model", "")),
        understood("text", data.get("prompt", "")),
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
    """Return why an entry holds no answer, None where it holds one.

    Raises:
        BadTape: it says that it holds none, and not why; or something beside that.
    """
    if "failed" not in data:
        return None
    if len(data) > 1:
        raise BadTape("what a tape holds as 'failed' cannot be read: there is something beside it")
    said: Failure = understood("failed", data["failed"])
    return EffectError(said.fault, said.detail, retry_after=said.retry_after, usage=said.usage)


def policy_in(document: object) -> Policy:
    """Return the policy that a tape holds.

    Raises:
        BadTape: it is none.
    """
    try:
        return Policy.of(document)
    except BadPolicy as error:
        raise BadTape(f"what a tape holds as 'policy' cannot be read: {error}") from error


def require_sound(entry: TapeEntry) -> None:
    """Do nothing if all of an entry is of the types that belong to its kind.

    Raises:
        BadTape: something is not, or there is no such kind.
    """
    match entry.kind:
        case "policy":
            policy_in(entry.data)
        case "remembered":  # whatever JSON the caller of `Agent.run` wants
            pass
        case "overtaken":  # with the meta of what was not recorded
            known = {name: entry.data[name] for name in _OF_OVERTAKEN if name in entry.data}
            understood("overtaken", known)
        case "acting" | "again" | "restoring" | "taken" | "resumed" | "ended":
            understood(entry.kind, entry.data)
        case "decided" | "summarized" | "judged" | "verdict" | "started" | "restored":
            if failure_of(entry.data) is None:
                metered_of(entry.kind, entry.data)
        case "act_failed" if failure_of(entry.data) is not None:
            pass
        case _:
            raise BadTape(f"a tape holds no {entry.kind[:40]!r}, or not so")

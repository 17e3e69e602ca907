"""What the interfaces share: a request as a script reads it, a reply as it writes it, a refusal, OpenAI's checks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias, final

import attrs

Json: TypeAlias = dict[str, Any]  # JSON as tests write it
NAME = re.compile(r"[a-zA-Z0-9_-]+")
_NOT_SHOWN = {
    "type",
    "role",
    "id",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "signature",
    "encrypted_content",
}


@final
class Refusal(Exception):
    """The provider refuses the request.

    Args:
        message: why, in the provider's words.
        param: where, as OpenAI writes it.
        code: the provider's code, where it has one.
        kind: the error's type.
        status: of HTTP.
    """

    def __init__(
        self,
        message: str,
        param: str | None = None,
        code: str | None = None,
        kind: str = "invalid_request_error",
        status: int = 400,
    ) -> None:
        super().__init__(message)
        self.message, self.kind, self.status = message, kind, status
        self.error: Json = {"message": message, "type": kind, "param": param, "code": code}  # OpenAI's


@final
@attrs.frozen
class Prompt:
    """A request, by whichever interface it came.

    Attributes:
        interface: that one.
        text: all that the model is shown, a line each: the system prompt, calls and results included, tools not.
        tools: the names of the tools that are offered.
        asks: the properties of the JSON that is asked for; empty where text is.
        thinks: whether the model is to think.
        turn: how many requests with tools were answered before.
    """

    interface: Literal["chat", "responses", "anthropic"]
    text: str
    tools: tuple[str, ...]
    asks: frozenset[str]
    thinks: bool
    turn: int


@final
@attrs.frozen
class Reply:
    """What the model replies.

    Attributes:
        text: "" for none.
        calls: name and arguments of each.
        thought: what it thinks where the request wants that; None where it does not think all the same.
        cut: whether the reply ended at the most tokens that were allowed.
    """

    text: str = ""
    calls: tuple[tuple[str, Json], ...] = ()
    thought: str | None = "Let me see."
    cut: bool = False


def shown(value: object) -> Iterator[str]:
    """Yield each text within JSON that a model would see."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from () if key in _NOT_SHOWN else shown(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from shown(inner)


def asked(schema: Json | None) -> frozenset[str]:
    """Return the properties of the JSON that is asked for."""
    return frozenset((schema or {}).get("properties", ()))


def tokens(body: Json) -> int:
    """Return about how many tokens a request takes."""
    return len(json.dumps(body)) // 4


def check_string(value: object, param: str, *, longest: int | None = None, name: bool = False) -> None:
    """Refuse what is no string, too long, or no name: langmanus#119, fastllm#45, mcp-use#90."""
    if not isinstance(value, str):
        kind = "null" if value is None else "an object" if isinstance(value, dict) else "something else"
        text = f"Invalid type for '{param}': expected a string, but got {kind} instead."
        raise Refusal(text, param, "invalid_type")
    if longest is not None and len(value) > longest:
        text = f"Expected a string with maximum length {longest}, but got a string with length {len(value)} instead."
        raise Refusal(f"Invalid '{param}': string too long. {text}", param, "string_above_max_length")
    if name and not NAME.fullmatch(value):
        text = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        raise Refusal(f"Invalid '{param}': {text}", param, "invalid_value")


def check_one_of(value: object, known: Sequence[str], param: str) -> None:
    """Refuse a word that is not known: llama_index#17748, rust-genai#119."""
    if value not in known:
        comma = "," if len(known) > 2 else ""
        listed = f"{', '.join(repr(word) for word in known[:-1])}{comma} and {known[-1]!r}"
        raise Refusal(f"Invalid value: '{value}'. Supported values are: {listed}.", param, "invalid_value")


def check_functions(functions: Sequence[tuple[str, Json]]) -> None:
    """Refuse tools with wrong or repeated names, or schemas that say to be strict and are not: openai-agents-mcp#2.

    Args:
        functions: each as it stands in the request, after where that is.
    """
    names: set[str] = set()
    for param, function in functions:
        name, schema = function.get("name", ""), function.get("parameters") or {}
        check_string(name, f"{param}.name", longest=64, name=True)
        if name in names:  # DeepSeek's words: CLIProxyAPI#4788
            raise Refusal("Tool names must be unique.", "tools", "invalid_request_error")
        names.add(name)
        fault = next(loose(schema), "") if function.get("strict") else ""
        if schema and schema.get("type") != "object":
            fault = (
                f"""schema must be a JSON Schema of 'type: "object"', got 'type: "{schema.get("type")}"'."""
            )
        if fault:
            text = f"Invalid schema for function '{name}': {fault}"
            raise Refusal(text, f"{param}.parameters", "invalid_function_parameters")


def check_format(found: Json | None, param: str) -> None:
    """Refuse a schema for the reply that says to be strict and is not."""
    if found and found.get("strict") and (fault := next(loose(found.get("schema")), "")):
        raise Refusal(f"Invalid schema for response_format '{found.get('name')}': {fault}", param)


def loose(schema: object, context: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield why a schema is not strict, in OpenAI's words."""
    if isinstance(schema, list):
        schema = {str(place): inner for place, inner in enumerate(schema)}
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            yield f"In context={context}, 'additionalProperties' is required to be supplied and to be false."
        for name in set(schema.get("properties", ())) - set(schema.get("required", ())):
            text = (
                "'required' is required to be supplied and to be an array including every key in properties."
            )
            yield f"In context={context}, {text} Missing '{name}'."
    for key, inner in schema.items():
        if key in ("allOf", "oneOf", "not"):
            yield f"In context={context}, '{key}' is not permitted."
        yield from loose(inner, (*context, key))

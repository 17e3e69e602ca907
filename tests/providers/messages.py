"""Anthropic's Messages: what is refused, read and written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, final

import attrs

from tests.llm.server import Request
from tests.providers.forms import NAME, Json, Prompt, Refusal, Reply, asked, loose, shown, tokens

_ROLE_OF: Final = {"tool_use": "assistant", "tool_result": "user"}
_THOUGHTS: Final = ("thinking", "redacted_thinking")
_BOUND: Final = (
    "The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
_START: Final = (
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
    "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous "
    "turns. To avoid this requirement, disable `thinking`."
)
_PREFILL: Final = (
    "This model does not support assistant message prefill. The conversation must end with a user message."
)


@final
@attrs.frozen
class _Thought:
    """A thinking block that was given: its text, the thoughts before it, and all else before it."""

    text: str
    before: list[str]
    prefix: str


@final
class Messages:
    """Messages.

    Args:
        bound: whether a thinking block is refused behind a prefix that is not its own, as for accounts made since
            2026-08-31 and models from Claude Fable 5.1 on; that a request may have it dropped is not known here.
        prefill: whether the last message may be the assistant's, as for models before Claude 4.6.
    """

    def __init__(self, *, bound: bool = True, prefill: bool = False) -> None:
        self._bound = bound
        self._prefill = prefill
        self._thoughts: dict[str, _Thought] = {}  # by signature
        self._thoughtless: set[str] = set()  # ids of calls that were given without a thought

    def check(self, request: Request) -> None:
        """Raise `Refusal` where the provider would refuse the request."""
        body = request.body
        roles = [message.get("role") for message in body["messages"]]
        contents = _contents(body)
        for place, (role, blocks) in enumerate(zip(roles, contents, strict=True)):
            _check_message(role, blocks, place, may_be_empty=role == "assistant" and place == len(roles) - 1)
        _check_text(_blocks(body.get("system")), "system")
        if roles[:1] != ["user"]:  # lobehub#1601
            raise Refusal('messages: first message must use the "user" role')
        if roles[-1] == "assistant":
            self._check_prefill(contents[-1])
        _check_pairs(contents)
        _check_tools(body.get("tools", ()))
        self._check_signatures(body, contents)
        if _thinks(body):
            self._check_start(body, roles, contents)

    def _check_prefill(self, blocks: Sequence[Json]) -> None:
        """Refuse a reply that was begun (agentic-ai-engineering#43), or that ends in a space where it may be."""
        if not self._prefill:
            raise Refusal(_PREFILL)
        if blocks and re.search(r"\s$", blocks[-1].get("text", "")):
            raise Refusal("messages: final assistant content cannot end with trailing whitespace")

    def _check_signatures(self, body: Json, contents: Sequence[list[Json]]) -> None:
        """Refuse thoughts that were not given (claude-code-hub#518), or not behind what stands before them now:
        opencode#48637, and the pages on preserved thinking at platform.claude.com.
        """
        before: list[str] = []
        for place, spot, block in _each(contents, "thinking"):
            at = f"messages.{place}.content.{spot}"
            if "signature" not in block:  # WordPress/ai-provider-for-anthropic#27
                raise Refusal(f"{at}.thinking.signature: Field required")
            thought = self._thoughts.get(block["signature"])
            if thought is None or thought.text != block["thinking"]:
                raise Refusal(f"{at}: Invalid `signature` in `thinking` block")
            # The oldest thoughts may be left out, none between others.
            same = thought.before[len(thought.before) - len(before) :] == before
            if self._bound and not (same and thought.prefix == _prefix(body, contents[:place])):
                raise Refusal(f"{at}: Invalid `signature` in `thinking` block. {_BOUND}")
            before.append(block["signature"])

    def _check_start(self, body: Json, roles: Sequence[str], contents: Sequence[list[Json]]) -> None:
        """Refuse calls that go on without the thought that they began with: opencode#3077, and of adaptive thinking
        the page on thinking in tool workflows at platform.claude.com.
        """
        start = len(roles)
        while start and (roles[start - 1] == "assistant" or _ids(contents[start - 1], "tool_result")):
            start -= 1
        blocks = contents[start] if start < len(roles) else []
        unthought = (
            self._thoughtless.issuperset(_ids(blocks, "tool_use")) and body["thinking"]["type"] == "adaptive"
        )
        if blocks and blocks[0]["type"] not in _THOUGHTS and not unthought:
            found = f"Expected `thinking` or `redacted_thinking`, but found `{blocks[0]['type']}`."
            raise Refusal(f"messages.{start}.content.0.type: {found} {_START}")

    def prompt(self, body: Json, turn: int) -> Prompt:
        """Return a request as scripts read it."""
        text = "\n".join([*shown(body.get("system")), *shown(body["messages"])])
        tools = tuple(tool["name"] for tool in body.get("tools", ()))
        schema = ((body.get("output_config") or {}).get("format") or {}).get("schema")
        return Prompt("anthropic", text, tools, asked(schema), _thinks(body), turn)

    def answer(self, body: Json, reply: Reply, serial: int) -> Json:
        """Return the body of a reply, the server's `serial`-th."""
        content: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
        for place, (name, arguments) in enumerate(reply.calls):
            use = {"type": "tool_use", "id": f"toolu_{serial}_{place}", "name": name, "input": arguments}
            content.append(use)
        if _thinks(body) and reply.thought is not None:
            signature, contents = f"signature-{serial}", _contents(body)
            before = [block["signature"] for _, _, block in _each(contents, "thinking")]
            self._thoughts[signature] = _Thought(reply.thought, before, _prefix(body, contents))
            content.insert(0, {"type": "thinking", "thinking": reply.thought, "signature": signature})
        else:
            self._thoughtless.update(_ids(content, "tool_use"))
        return {
            "id": f"msg_{serial}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": "max_tokens" if reply.cut else "tool_use" if reply.calls else "end_turn",
            "usage": {"input_tokens": tokens(body), "output_tokens": 8},
        }

    def error(self, refusal: Refusal) -> Json:
        """Return the body of an error."""
        return {"type": "error", "error": {"type": refusal.kind, "message": refusal.message}}


def _thinks(body: Json) -> bool:
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def _blocks(content: str | list[Json] | None) -> list[Json]:
    """Return content as blocks: a text is one, "" is none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def _contents(body: Json) -> list[list[Json]]:
    return [_blocks(message.get("content")) for message in body["messages"]]


def _each(contents: Sequence[list[Json]], kind: str) -> Iterator[tuple[int, int, Json]]:
    for place, blocks in enumerate(contents):
        yield from ((place, spot, block) for spot, block in enumerate(blocks) if block["type"] == kind)


def _ids(blocks: Sequence[Json], kind: str) -> list[str]:
    key = "id" if kind == "tool_use" else "tool_use_id"
    return [block[key] for block in blocks if block["type"] == kind]


def _prefix(body: Json, contents: Sequence[list[Json]]) -> str:
    """Return what must stay as it is before a thought: all but other thoughts, and marks for caches."""
    kept = [[block for block in blocks if block["type"] not in _THOUGHTS] for blocks in contents]
    text = json.dumps([_blocks(body.get("system")), body.get("tools"), kept], sort_keys=True)
    return re.sub(r'"cache_control": \{[^}]*\}, ', "", text)


def _check_message(role: str, blocks: Sequence[Json], place: int, *, may_be_empty: bool) -> None:
    """Refuse a message that is wrong by itself: LibreChat#3372, bifrost#5097."""
    at = f"messages.{place}"
    if role == "system":  # taken by models from Claude Opus 4.8 on: simonw/llm-anthropic#73
        raise Refusal(f"{at}: role 'system' is not supported on this model")
    if role not in ("user", "assistant"):
        raise Refusal(f"{at}.role: Input should be 'user' or 'assistant'")
    if not blocks and not may_be_empty:
        text = "all messages must have non-empty content except for the optional final assistant message"
        raise Refusal(f"{at}: {text}")
    _check_text(blocks, "messages")
    for spot, block in enumerate(blocks):
        kind, here = block["type"], f"{at}.content.{spot}.{block['type']}"
        if role != _ROLE_OF.get(kind, role):
            raise Refusal(f"{at}: `{kind}` blocks can only be in `{_ROLE_OF[kind]}` messages")
        for key in {"tool_use": ["id"], "tool_result": ["tool_use_id"]}.get(kind, ()):
            if not NAME.fullmatch(block[key]):
                raise Refusal(f"{here}.{key}: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if kind == "tool_use" and not isinstance(block.get("input"), dict):
            raise Refusal(f"{here}.input: Input should be a valid dictionary")
        if kind == "tool_result":
            _check_text(_blocks(block.get("content")), "messages")


def _check_text(blocks: Sequence[Json], at: str) -> None:
    """Refuse empty texts (claude-code#59812), and blanks without another text (LibreChat-AI/agents#124, goose#7343)."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    if "" in texts:
        raise Refusal(f"{at}: text content blocks must be non-empty")
    if texts and not "".join(texts).strip():
        raise Refusal(f"{at}: text content blocks must contain non-whitespace text")


def _check_pairs(contents: Sequence[list[Json]]) -> None:
    """Refuse calls whose results are not what the next message begins with, and the reverse: claude-code#8612,
    claude-code#18947, cua#524.
    """
    known: set[str] = set()
    for place, spot, block in _each(contents, "tool_use"):
        if block["id"] in known:
            raise Refusal(f"messages.{place}.content.{spot}: `tool_use` ids must be unique")
        known.add(block["id"])
    waiting: list[str] = []
    for place, blocks in enumerate([*contents, []]):
        results = _ids(blocks, "tool_result")
        first = _ids(blocks[: len(results)], "tool_result")
        if missing := ", ".join(call for call in waiting if call not in first):
            text = "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            found = f"`tool_use` ids were found without `tool_result` blocks immediately after: {missing}."
            raise Refusal(f"messages.{place - 1}: {found} {text}")
        for spot, result in enumerate(results):
            at = f"messages.{place}.content.{spot}"
            if result not in waiting:
                text = "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                raise Refusal(
                    f"{at}: unexpected `tool_use_id` found in `tool_result` blocks: {result}. {text}"
                )
            if result in results[:spot]:
                text = f"Found multiple `tool_result` blocks with id: {result}"
                raise Refusal(f"{at}: each tool_use must have a single result. {text}")
        waiting = _ids(blocks, "tool_use")


def _check_tools(tools: Sequence[Json]) -> None:
    """Refuse tools: huly-mcp#66, vercel/ai#20681, claude-code#10687."""
    for place, tool in enumerate(tools):
        at, schema = f"tools.{place}.custom", tool.get("input_schema", {})
        if not re.fullmatch("[a-zA-Z0-9_-]{1,128}", tool["name"]):
            raise Refusal(f"{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if schema.get("type") != "object":
            wrong = "Input should be 'object'" if "type" in schema else "Field required"
            raise Refusal(f"{at}.input_schema.type: {wrong}")
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            text = "input_schema does not support oneOf, allOf, or anyOf at the top level"
            raise Refusal(f"{at}.input_schema: {text}")
        if tool.get("strict") and any("'additionalProperties'" in fault for fault in loose(schema)):
            text = "For 'object' type, 'additionalProperties' must be explicitly set to false"
            raise Refusal(f"{at}: {text}")
    if len({tool["name"] for tool in tools}) < len(tools):
        raise Refusal("tools: Tool names must be unique.")

"""What a call took: as its server says, where that can be true; else as we count it, and it is said that we did.

A run's limit of tokens adds up what servers report. One that reports nothing, a negative number, a text, or a
number that no tokenizer could come to would make the limit void, or end a run that has taken little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from mage.chat import Assistant, canonical
from mage.effects import Usage
from mage.llm.asking import Call, Reply
from mage.tokens import TokenCounter

__all__ = ["counted"]

_LONGEST_TOKEN: Final = 128
"""Bytes: the longest entry of the vocabularies that `mage.tokens` knows is a run of so many spaces."""
_TEMPLATE: Final = 10_000
"""Tokens that a server may put around what it was sent: the frame of a chat, an account of its tools."""
_MOST_WRITTEN: Final = 1_000_000
"""Tokens that no model writes in one reply, what it thinks unseen included."""


def counted(reply: Reply, call: Call, counter: TokenCounter) -> Reply:
    """Return a reply whose usage can be true, with what `counter` finds in place of what cannot.

    Cost: O(size of call and reply), once more where something must be counted.
    """
    sent, said = list(_sent(call)), [*_said(reply)]
    usage, size = reply.usage, _bytes(sent)
    prompt, completion = usage.prompt, usage.completion
    if not _can_be(prompt, size, 2 * size + _TEMPLATE):
        prompt = _counted(sent, counter)
    if not _can_be(completion, _bytes(said), _MOST_WRITTEN):
        completion = _counted(said, counter)
    if (prompt, completion) == (usage.prompt, usage.completion):
        cached = min(usage.cached, prompt)
        return (
            reply if cached == usage.cached else attrs.evolve(reply, usage=attrs.evolve(usage, cached=cached))
        )
    cached = usage.cached if prompt == usage.prompt else 0
    ours = Usage(prompt, completion, min(cached, prompt), usage.calls, estimated=usage.calls)
    return attrs.evolve(reply, usage=ours)


def _can_be(reported: int, size: int, most: int) -> bool:
    """Tell whether so many tokens may be so many bytes."""
    return bool(size) <= reported <= most and reported * _LONGEST_TOKEN >= size


def _sent(call: Call) -> Iterator[str]:
    """Yield the texts of a call."""
    for message in call.messages:
        yield message.text
        if isinstance(message, Assistant) and message.call is not None:
            yield message.call.name
            yield message.call.arguments
    for tool in call.tools:
        yield canonical(attrs.asdict(tool, recurse=False))
    if call.schema is not None:
        yield canonical(call.schema)


def _said(reply: Reply) -> Iterator[str]:
    """Yield the texts of a reply, what it thought aside among them."""
    yield from (reply.text, reply.refusal, reply.aside)
    for call in reply.calls:
        yield from (call.name, call.arguments)


def _bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode(errors="surrogatepass")) for text in texts)


def _counted(texts: Iterable[str], counter: TokenCounter) -> int:
    return sum(counter.count(text) for text in texts)

"""A provider with faults: which request of which kind gets which answer in place of the reply that was meant."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, final  # Any: JSON as it comes

import attrs

from mage.effects import Usage
from tests.agent.over_http.mind import KINDS, Kind, asked_of, mind
from tests.llm.server import Answer, Raw, Request, Streamed

ALWAYS = 10_000


@final
@attrs.frozen
class Fault:
    """What goes wrong.

    Attributes:
        kind: whose requests; None for nobody's.
        answer: what they get.
        first: from which of them on.
        times: how many of them.
    """

    kind: Kind | None = None
    answer: Answer | None = None
    first: int = 0
    times: int = ALWAYS

    def at(self, kind: Kind, number: int) -> Answer | None:
        """Return what a request gets in place of its reply."""
        return self.answer if kind == self.kind and 0 <= number - self.first < self.times else None


HEALTHY = Fault()


@final
class Provider:
    """Answers requests, for `ScriptedServer(answering=...)`.

    Attributes:
        seen: the bodies, in order.
        billed: what was charged, by kind.
    """

    def __init__(
        self, fault: Fault = HEALTHY, on_request: Callable[[int], Answer | None] | None = None
    ) -> None:
        self.seen: list[dict[str, Any]] = []
        self.billed: dict[Kind, Usage] = dict.fromkeys(KINDS, Usage(calls=0))
        self._fault = fault
        self._on_request = on_request

    def __call__(self, request: Request) -> Answer:
        """Return the answer to a request, and note it with its price."""
        kind, number = asked_of(request), len(self.seen)
        wrong = None if self._on_request is None else self._on_request(number)
        wrong = self._fault.at(kind, self.count(kind)) if wrong is None else wrong
        self.seen.append(request.body)
        answer = _priced(mind(request), number) if wrong is None else wrong
        self.billed[kind] += _price(answer)
        if wrong is None and request.body.get("stream"):
            return _streamed(json.loads(_priced(mind(request), number).body))
        return answer

    def count(self, kind: Kind) -> int:
        """Return how often one was asked."""
        return sum(body["model"] == kind for body in self.seen)


def _priced(reply: Raw, number: int) -> Raw:
    """Return a reply that costs something else than every other."""
    usage = {"prompt_tokens": 100 + number, "completion_tokens": 10 + number}
    details = {"prompt_tokens_details": {"cached_tokens": number}}
    return Raw(json.dumps({**json.loads(reply.body), "usage": {**usage, **details}}).encode())


def _price(answer: Answer) -> Usage:
    """Return what a provider charges for an answer: for a whole completion what it says, for an error nothing.

    A stream without a fault of its own that ends early is a reply whose price nobody was told.
    """
    if isinstance(answer, Streamed):
        sound = all(isinstance(chunk, dict) and not _is_error(chunk) for chunk in answer.chunks)
        untold = int(sound and not answer.breaks)
        return Usage(calls=untold, estimated=untold)
    document: Any = {}
    if isinstance(answer, Raw) and answer.body.startswith(b"{"):
        try:
            document = json.loads(answer.body)
        except ValueError:  # it breaks off
            return Usage(calls=0)
    if "choices" not in document or _is_error(document):
        return Usage(calls=0)
    usage = document["usage"]
    return Usage(
        usage["prompt_tokens"], usage["completion_tokens"], usage["prompt_tokens_details"]["cached_tokens"]
    )


def check_billed(took: Mapping[Kind, Usage], billed: Mapping[Kind, Usage]) -> None:
    """Fail unless a run took what was billed; of a call whose price nobody was told, some tokens."""
    for kind in KINDS:
        ours, theirs = took[kind], billed[kind]
        assert (ours.calls, ours.estimated) == (theirs.calls, theirs.estimated)
        assert ours == theirs if not ours.estimated else ours.total > theirs.total


def _is_error(document: dict[str, Any]) -> bool:
    """Tell whether a document is an error, or has one in place of a choice."""
    return any("error" in place for place in (document, *document.get("choices", ())))


def _streamed(document: dict[str, Any]) -> Streamed:
    """Return a completion in pieces."""
    (choice,) = document["choices"]
    message = choice["message"]
    called = [{"index": place, **call} for place, call in enumerate(message.get("tool_calls") or [])]
    pieces: list[dict[str, Any] | str] = [
        {"model": document["model"], "choices": [{"index": 0, "delta": {"role": "assistant"}}]},
        {"choices": [{"index": 0, "delta": {"content": message.get("content"), "tool_calls": called}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {"choices": [], "usage": document["usage"]},
    ]
    return Streamed(pieces)

"""A scripted model for memory systems: it answers what each of them asks, with what stands in the question.

It finds what a trace of the shop says was bought, and gives it back in the form that is asked for: so a test can tell
whether what was written comes back. It is no model, and its name says so (`scripted-1`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from tests.llm.server import Answer, Request, Status, says

_FACT: Final = re.compile(r"Bought as product \d+: [^\n\"\\]*")
_CANDIDATES: Final = re.compile(r"\[\[ ## fact_before_filter ## \]\]\n(.*)")

Said: TypeAlias = Callable[[list[str], str], str]
"""What is said of some facts and the question that they stand in."""


def facts_in(text: str) -> list[str]:
    """Return what a text says was bought, each once."""
    return list(dict.fromkeys(found.strip() for found in _FACT.findall(text))) or ["Nothing was bought."]


def writing(request: Request) -> Answer:
    """Answer as the model of whichever memory system has asked."""
    if not request.path.endswith("/chat/completions"):
        return Status(404)
    messages: list[dict[str, Any]] = request.body["messages"]
    asked = "\n".join(str(message["content"]) for message in messages)
    last = str(messages[-1]["content"])
    for words, said in _QUESTIONS.items():
        if words in asked:
            return says(said(facts_in(last), last))
    return Status(500, {"error": {"message": f"nobody asks so: {asked[:200]}", "code": "unknown_question"}})


def _filtered(_facts: list[str], last: str) -> str:
    found = _CANDIDATES.findall(last)
    return f"[[ ## fact_after_filter ## ]]\n{found[-1] if found else '[]'}\n\n[[ ## completed ## ]]"


_PURCHASE: Final = re.compile(r"Bought as product (\d+): (\S+) (.+), (\$[\d.]+)\.")


def _triples(facts: list[str], _last: str) -> str:
    """Say each purchase in seven ways: HippoRAG fails on the least of few facts, whose weight is 0."""
    found = [said for fact in facts for said in _PURCHASE.findall(fact)]
    triples = [
        triple
        for place, code, title, price in found
        for triple in (
            ("agent", "bought", code),
            ("agent", "paid", price),
            (code, "is", title),
            (code, "costs", price),
            (title, "costs", price),
            (f"product {place}", "is", code),
            (f"product {place}", "is called", title),
        )
    ]
    return json.dumps({"triples": triples})


def _entities(facts: list[str], _last: str) -> str:
    found = [said for fact in facts for said in _PURCHASE.findall(fact)]
    names = [name for place, *said in found for name in (f"product {place}", *said)]
    return json.dumps({"named_entities": ["agent", *names]})


def _extracted(facts: list[str], _last: str) -> str:
    return json.dumps([{"lossless_restatement": fact, "keywords": fact.split()[:3]} for fact in facts])


def _remembered(facts: list[str], _last: str) -> str:
    return json.dumps({"memory": [{"id": str(at), "text": fact} for at, fact in enumerate(facts)]})


def _lessons(facts: list[str], _last: str) -> str:
    return json.dumps(
        [{"title": fact[:50], "description": "What was bought.", "content": fact} for fact in facts[:3]]
    )


def _topics(facts: list[str], _last: str) -> str:
    return json.dumps([{"theme": "shopping", "keywords": ["product"], "content": " ".join(facts)}])


_QUESTIONS: Final[dict[str, Said]] = {
    # HippoRAG, both of them; the question that names facts holds the other two as examples
    "fact_before_filter": _filtered,
    '"triples"': _triples,
    '"named_entities"': _entities,
    # Mem0, SimpleMem
    "You are a Memory Extractor": _remembered,
    "professional information extraction assistant": _extracted,
    "You are a query": lambda facts, _: "[]",
    # MemoryOS
    "conversation continuity detector": lambda facts, _: "true",
    "meta-summary updater": lambda facts, _: " ".join(facts),
    "analyzing dialogue topics": _topics,
    "expert in keyword extraction": lambda facts, _: "product, bought, price",
    "user preference analysis": lambda facts, _: "None",
    "knowledge extraction assistant": lambda facts, _: (
        f"【User Private Data】\n- None\n【Assistant Knowledge】\n- {facts[0]}"
    ),
    # ReasoningBank
    "impartial judge evaluating": lambda facts, _: json.dumps({"outcome": "success", "rationale": facts[0]}),
    "memory distiller": _lessons,
    "keep_both": lambda facts, _: json.dumps({"action": "keep_both"}),
}

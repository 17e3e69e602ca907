"""The loop with a real language model on loopback, in every mode: ten steps, every token counted.

Never its success: it is too small. So whatever it says is made a reply of its mode: by a schema, by a grammar.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, final

import attrs
import httpx2
import openai
import pytest

from mage import Session
from mage.agent import Agent, Outcome, Policy, RunFailed, RunStopped
from mage.chat import MODES, Mode, note_in, parse_action
from mage.effects import EFFECT_FAULTS, Capabilities, Tool, Usage
from mage.llm import ChatJudge, ChatModel, ChatSummarizer
from mage.memory.policy import KINDS_OF_CALL, KindOfCall
from mage.stores import JournalStore, MemoryStore
from mage.tokens import EstimateCounter
from tests.agent.twins import left_by, rerun
from tests.llm.small_model import NAME, calling, require, serving

pytestmark = pytest.mark.worlds

STEPS: Final = 10
LIVES: Final = 40
"""It likes to say that it has finished; then somebody asks for more. At most so often."""
TASK: Final = "Look at every shelf, and take a pear."
RUN: Final = "s"
ITEMS: Final = {"top": "a pear", "middle": "two books", "bottom": "nothing"}
OPEN: Final = 50
"""Tokens that open steps may take before they are summarized: the quarter of a mark that the fixed part has passed."""
GRAMMAR: Final = r"""
root ::= "Action[" act "]" | "Compress[" text "]" | "Finish[" text "]"
act ::= ("look" | "take") " {\"shelf\": \"" ("top" | "middle" | "bottom") "\"}"
text ::= [A-Za-z0-9 ,.]{1,60}
"""
"""What a reply in the mode without tool calls may be."""
UNUSABLE: Final = EFFECT_FAULTS[:7]
POLICY: Final = Policy(
    max_steps=STEPS, judge_down="accept", summary_limit=120, cool_down=3, max_retexts=1, max_revisions=1
)


@final
class Shelves:
    """Three shelves, two tools."""

    tools = (
        Tool.of("look", "Look at a shelf.", shelf={"type": "string", "enum": list(ITEMS)}),
        Tool.of("take", "Take what lies on a shelf.", shelf={"type": "string", "enum": list(ITEMS)}),
    )

    capabilities = Capabilities("replay", tools=tools)

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def reset(self) -> str:
        self.taken = set()
        return "Three shelves: top, middle, bottom."

    def act(self, action: str) -> str:
        name, arguments = parse_action(action)
        shelf = str(arguments["shelf"])
        there = "nothing" if shelf in self.taken else ITEMS[shelf]
        if name == "take":
            self.taken.add(shelf)
        return f"You {'take' if name == 'take' else 'see'} {there}."


@final
class Bill:
    """What the server says that its replies took, by kind of call, read off the wire."""

    def __init__(self) -> None:
        self.took: dict[KindOfCall, Usage] = dict.fromkeys(KINDS_OF_CALL, Usage(calls=0))

    def came(self, response: httpx2.Response) -> None:
        """Note what a reply took."""
        response.read()
        if response.is_success:
            usage = response.json()["usage"]
            cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
            counted = Usage(usage["prompt_tokens"], usage["completion_tokens"], cached)
            self.took[_kind_of(json.loads(response.request.content))] += counted


def _kind_of(body: dict[str, Any]) -> KindOfCall:
    """Return who asks: the model in one of its modes, the judge for JSON of a schema of its own, a summarizer for a text."""
    if "tools" in body or "grammar" in body:
        return "model"
    if "response_format" not in body:
        return "summarizer"
    return "judge" if body["response_format"]["json_schema"]["name"] == "verdict" else "model"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The model's server; where it is not installed, the test is skipped, but never in CI."""
    require()
    with serving() as plain, calling(plain) as url:
        yield url


def _run(url: str, store: JournalStore, bill: Bill, world: Shelves, mode: Mode) -> Outcome:
    http = openai.DefaultHttpxClient(event_hooks={"response": [bill.came]})
    with openai.OpenAI(base_url=url, api_key="none", http_client=http, max_retries=0, timeout=120) as client:
        extra = {"grammar": GRAMMAR} if mode == "text" else {}
        model = ChatModel(
            client, NAME, mode=mode, longest=60, max_tokens=250, temperature=0.8, seed=7, extra=extra
        )
        counter = EstimateCounter()
        agent = Agent(
            model=model,
            environment=world,
            judge=ChatJudge(client, NAME, longest=80, max_tokens=200, temperature=0.0),
            summarizer=ChatSummarizer(client, NAME, max_tokens=100, temperature=0.5, seed=7),
            policy=attrs.evolve(POLICY, high_water=4 * OPEN),
            counter=counter,
        )
        return agent.run(store, RUN, task=TASK)


def _until_it_stops(url: str, store: JournalStore, bill: Bill, mode: Mode) -> Outcome:
    """Run until the policy stops it. Where it finishes, somebody asks for more; where it fails, it is run again."""
    world, lives = Shelves(), 0
    while not isinstance(outcome := _run(url, store, bill, world, mode), RunStopped):
        lives += 1
        assert lives < LIVES, "it does nothing but finish or fail"
        if isinstance(outcome, RunFailed):
            assert outcome.reason in {f"model: {fault}" for fault in UNUSABLE}, outcome.detail
            continue
        with Session.open(store, RUN, wait=False) as session:
            session.instruct(f"Look at a shelf once more, and tell what you see. ({lives})")
    return outcome


@pytest.mark.parametrize("mode", MODES)
def test_ten_steps_with_a_real_model(address: str, mode: Mode) -> None:
    """Its actions fit their schemas, the run stops at its limit, and the totals are what the server has counted."""
    store, bill = MemoryStore(), Bill()
    outcome = _until_it_stops(address, store, bill, mode)
    assert isinstance(outcome, RunStopped)
    assert (outcome.reason, outcome.totals.steps >= STEPS) in (("max_steps", True), ("idle", False))
    assert outcome.totals.tokens == bill.took
    model, summarizer = bill.took["model"], bill.took["summarizer"]
    assert model.prompt > 100 * model.calls > 0
    assert model.completion > 0
    if outcome.totals.steps >= STEPS:
        assert model.calls >= STEPS - 1  # the first step is what the world showed
        # it has compressed, or the open segment has passed the mark; what a summarizer writes may be of no use
        assert outcome.totals.summaries > 0 or summarizer.prompt > 0
    left = left_by(store, RUN)
    acted = [step for step in left.state.tree.steps() if note_in(*step.content) is None]
    for step in acted[1:]:
        name, arguments = parse_action(step.action)
        assert name in ("look", "take")
        assert set(arguments) == {"shelf"}
        assert arguments["shelf"] in ITEMS
    assert rerun(store, RUN)[1] == outcome, "its log plays the same run without a model"

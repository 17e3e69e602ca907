"""What a run took and cost: by kind of call, by model, in sum, how much of it cached, at the prices of a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.cli.live import Cost, Price
from mage.effects import Usage
from mage.memory.policy import Totals
from tests.cli.children import in_one_line, place
from tests.cli.runner import mage
from tests.llm.server import ScriptedServer, calls, says

__all__ = ["place"]

LAMPS = ("Light it.", "--environment", "tests.cli.gated:Lamps", "--session", "w.db#a")
PASSED = {"reasoning": "So.", "passed": True, "fault": "none", "feedback": ""}
COUNTS = st.integers(0, 10_000)
USAGES = st.builds(
    lambda prompt, completion, share: Usage(prompt, completion, prompt * share // 10),
    *(COUNTS, COUNTS, st.integers(0, 10)),
)


def test_sampling_reaches_every_call_and_is_remembered() -> None:
    """Temperature, seed, most tokens and further parameters, of model, judge and summarizer; of a resumed run, too."""
    replies = (calls("act", action="light one"), calls("compress", text="Lit."), says(json.dumps(PASSED)))
    asked = ("--temperature", "0.5", "--seed", "7", "--max-tokens", "99", "--extra", '{"top_k": 3}')
    with ScriptedServer(*replies, calls("finish", answer="Done.")) as server:
        mage("run", *LAMPS, "--model", "m", "--base-url", server.url, *asked, "--max-steps", 2)
        assert mage("run", "--session", "w.db#a", "--policy", "max_steps=none", "--seed", 8).status == 0
        sent = [
            [request.body[key] for key in ("temperature", "seed", "max_tokens", "top_k")]
            for request in server.requests
        ]
    assert sent == [[0.5, 7, 99, 3]] + [[0.5, 8, 99, 3]] * 3


@pytest.mark.parametrize(
    "extra",
    [
        *("", "{", "[]", "3", '{"a": 1} x', '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}'),
        *('{"model": "x"}', '{"messages": []}'),
    ],
)
def test_further_parameters_are_a_json_object(extra: str) -> None:
    """Anything else is a usage error."""
    ran = mage("run", *LAMPS, "--model", "m", "--extra", extra)
    assert (ran.status, "--extra" in ran.err) == (2, True)
    assert mage("run", *LAMPS, "--model", "m", "--temperature", "inf").status == 2


def test_a_run_tells_its_sum_the_cached_share_and_the_cost() -> None:
    """The scripted server counts 100 tokens in, 60 of them cached, and 10 out, and names another model than was asked."""
    Path("prices.json").write_text(
        '{"scripted": {"prompt": 1000, "cached": 100, "completion": 10000}}', encoding="utf-8"
    )
    replies = (calls("act", action="light one"), calls("compress", text="Lit."), says(json.dumps(PASSED)))
    with ScriptedServer(*replies, calls("finish", answer="Done.")) as server:
        ran = mage("run", *LAMPS, "--model", "m", "--base-url", server.url, "--prices", "prices.json")
    told = "model 3 calls, 330 tokens; judge 1 call, 110 tokens; in all 4 calls, 440 tokens, of the prompts 60% cached; cost 0.5840"
    assert told in ran.out
    assert told in mage("rerun", "w.db#a", "--prices", "prices.json").out
    again = json.loads(mage("rerun", "w.db#a", "--prices", "prices.json", "--json").out)
    assert again["cost"] == {"amount": pytest.approx(0.584), "unpriced": []}
    assert again["outcome"]["models"] == {
        "scripted-1": {"prompt": 400, "completion": 40, "cached": 240, "calls": 4}
    }


def test_a_reply_that_cannot_be_used_costs_as_any_other() -> None:
    """It is of the model that was asked, and the run's record says so too."""
    Path("prices.json").write_text('{"scripted": {"prompt": 1000, "completion": 0}}', encoding="utf-8")
    with ScriptedServer(says("hm?"), says("hm?"), calls("finish", answer="Done.")) as server:
        asked = ("--model", "m", "--base-url", server.url, "--prices", "prices.json", "--json")
        told = json.loads(mage("run", *LAMPS, *asked, "--policy", "judge_finish=false").out)
    assert told["cost"] == {"amount": pytest.approx(0.3), "unpriced": []}
    assert (
        json.loads(mage("rerun", "w.db#a", "--prices", "prices.json", "--json").out)["cost"] == told["cost"]
    )


def test_a_model_without_a_price_is_named() -> None:
    """What is not known is said, and not counted as nothing; of several prices that fit, the longest name counts."""
    prices = {"m": Price(1, 1, 1), "m-large": Price(1_000_000, 0, 0)}
    found = Cost.of(
        {"m-large-2": Usage(2), "m-small": Usage(0, 1_000_000), "other": Usage(5), "idle": Usage()}, prices
    )
    assert found == Cost(3.0, ("other",))
    assert str(found) == "cost 3.0000, without other, which no price is given for"


@pytest.mark.parametrize(
    "prices",
    [
        *(
            b"",
            b"[]",
            b"\xff",
            b'{"m": 3}',
            b'{"m": {"prompt": 1}}',
            b'{"m": {"prompt": -1, "completion": 1}}',
        ),
        *(b'{"m": {"prompt": true, "completion": 1}}', b'{"m": {"prompt": NaN, "completion": 1}}'),
        *(
            b'{"m": {"prompt": 1, "completion": 1, "more": 1}}',
            b'{"m": {"prompt": 1%b, "completion": 1}}' % (b"0" * 400),
        ),
    ],
)
def test_a_table_that_is_none_is_refused(prices: bytes) -> None:
    """In one line, before anything is run."""
    Path("prices.json").write_bytes(prices)
    assert in_one_line(mage("run", "--offline", "--prices", "prices.json"), "prices.json: ")


@given(st.lists(st.tuples(st.sampled_from(["model", "judge", "summarizer"]), USAGES, st.sampled_from("ab"))))
def test_by_kind_and_by_model_the_sum_is_one(spent: list[tuple[str, Usage, str]]) -> None:
    """Whatever was asked of whom; and the cost is that of each call, added up."""
    totals = Totals()
    for kind, usage, model in spent:
        totals = totals.spent(kind, usage, model)  # type: ignore[arg-type]  # one of three literals
    assert (
        totals.usage
        == sum(totals.models.values(), Usage(calls=0))
        == sum([each for _, each, _ in spent], Usage(calls=0))
    )
    prices = {"a": Price(3, 1, 7), "b": Price(2, 2, 2)}
    each = sum(prices[model].of(usage) for _, usage, model in spent)
    assert Cost.of(totals.models, prices).amount == pytest.approx(each)

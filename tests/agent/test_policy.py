"""A policy as a value: what it refuses to be, and its JSON."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.agent import BadPolicy, Policy
from mage.agent.agent import first_policy, next_policy
from mage.agent.log import RecordedRun, RunNote
from mage.effects import Capabilities
from mage.engine import start
from mage.memory.journal import Tally
from mage.tokens import EstimateCounter

policies = st.builds(
    Policy,
    wait=st.booleans(),
    high_water=st.none() | st.integers(0, 9_999),
    keep_raw=st.integers(0, 9),
    cool_down=st.integers(0, 20),
    on_fail=st.sampled_from(["revise", "accept", "stop"]),
    judge_down=st.sampled_from(["accept", "stop", "leave"]),
    exhausted=st.sampled_from(["accept", "stop"]),
    on_divergence=st.sampled_from(["tell", "stop"]),
    max_steps=st.none() | st.integers(0, 9_999),
    max_total_tokens=st.none() | st.integers(0, 9_999),
    max_revisions=st.integers(0, 9),
    maintain=st.booleans(),
    revise=st.booleans(),
    compress=st.booleans(),
)


@given(policies)
def test_a_policy_is_read_as_it_was_written(policy: Policy) -> None:
    """Its document names what differs from the defaults, and leads back to it."""
    document = policy.document()
    assert Policy.of(document) == policy
    assert all(getattr(Policy(), name) != value for name, value in document.items())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("wait", 1), ("wait", None), ("high_water", -1), ("high_water", True), ("high_water", 1.5), ("cool_down", None),
        ("max_steps", "9"), ("on_fail", "retry"), ("judge_down", None), ("exhausted", ""), ("max_idle", -3),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_refused_by_name(name: str, value: object) -> None:
    """A wrong value is refused, and the message names the field and what it must be."""
    wrong: dict[str, Any] = {name: value}
    with pytest.raises(BadPolicy, match=rf"{name} must be"):
        Policy.of(wrong)


@pytest.mark.parametrize("document", [None, 3, ["wait"], "wait"])
def test_what_is_no_object_is_no_policy(document: object) -> None:
    """A policy is a JSON object."""
    with pytest.raises(BadPolicy, match="a policy is a JSON object"):
        Policy.of(document)


def test_an_unknown_name_is_refused() -> None:
    """What no policy has is refused, and the message lists what there is."""
    with pytest.raises(BadPolicy, match="no 'patience' in a policy; there are wait, high_water"):
        Policy.of({"patience": 3})


def recorded(first: Policy, *later: Policy, judged: bool) -> RecordedRun:
    """Return a run that was begun with a policy, and had others later."""
    notes = [RunNote("policy", each.document()) for each in later]
    return RecordedRun(
        version=1,
        policy=first,
        counter=EstimateCounter(),
        overhead=0,
        judged=judged,
        introduced=Capabilities(),
        remembered={},
        state=start("t"),
        tally=Tally(),
        log=notes,
    )


@given(policies, policies, st.booleans())
def test_who_has_no_judge_cannot_maintain(given: Policy, had: Policy, judged: bool) -> None:
    """With a judge the policy is what was given, or the one of before; without, it is that without Maintain."""
    found = recorded(had, judged=judged)
    assert first_policy(given, is_judged=True) == given
    assert first_policy(None, is_judged=False) == Policy(maintain=False)
    assert next_policy(given, found, is_judged=True) == given
    assert next_policy(given, found, is_judged=False) == attrs.evolve(given, maintain=False)
    assert next_policy(None, found, is_judged=False) == attrs.evolve(had, maintain=False)


@given(policies)
def test_a_run_that_gets_a_judge_maintains_from_then_on(policy: Policy) -> None:
    """That there was no judge is no choice; that the ablation without Maintain was chosen is one, and stays."""
    unjudged = recorded(first_policy(policy, is_judged=False), judged=False)
    assert next_policy(None, unjudged, is_judged=True) == attrs.evolve(policy, maintain=True)
    chosen = recorded(policy, attrs.evolve(policy, maintain=False), judged=True)
    assert next_policy(None, chosen, is_judged=True) == policy

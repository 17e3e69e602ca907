"""The plain form shows everything that two states could differ in, and is spelled in one way only."""

from __future__ import annotations

import hashlib
import json
from typing import cast

import pytest
from hypothesis import given

from mage import Failed, Passed
from mage.engine import (
    Accepted,
    Active,
    Pending,
    State,
    StepId,
    SummaryVerdict,
    accept,
    compress,
    grow,
    revise,
    start,
)
from mage.testing import History, canonical, differences, histories, states
from mage.testing.machine import canonical_json, plain_verdict
from specs.conformance import fingerprint


@given(histories())
def test_equal_states_and_equal_forms_are_the_same(history: History) -> None:
    """Two states of one history are equal exactly when their forms are, and their bytes, and fingerprints."""
    last = history.states[-1]
    for state in history.states:
        assert (state == last) == (canonical(state) == canonical(last))
        assert (state == last) == (canonical_json(state) == canonical_json(last))
        assert (state == last) == (fingerprint(state) == fingerprint(last))


@given(states())
def test_the_bytes_are_those_of_the_documented_convention(state: State) -> None:
    """Sorted keys, no spaces, UTF-8, lone surrogates escaped: as PROTOCOL.md says, in Python."""
    written = json.dumps(canonical(state), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert canonical_json(state) == written.encode(errors="backslashreplace")
    assert b"\n" not in canonical_json(state)
    assert fingerprint(state) == hashlib.sha256(canonical_json(state)).hexdigest()


def test_what_must_be_escaped_is_escaped_in_lower_case() -> None:
    """Quotes, backslashes, controls and lone surrogates; all else stands as it is."""
    state = start('"\\\n\x1f\x7f\ud83d\U0001f600\u00e9\u2028')
    task = b'"task":"\\"\\\\\\n\\u001f\x7f\\ud83d' + "\U0001f600\u00e9\u2028".encode() + b'"}'
    assert canonical_json(state).endswith(task)


def test_differences_name_the_part() -> None:
    """What differs is named with both sides; a part that one side lacks differs too."""
    state = grow(start("t"), "a", "o")
    text = differences(canonical(state), canonical(start("t")), "the reference")
    assert "R[0]: the engine has (1, 0, 'a', 'o'), the reference nothing" in text
    assert "heads[0]: the engine has 1, the reference 0 (and 1 more places)" in text
    assert "task" not in text
    assert differences({"new": 1}, {}) == "new: the engine has 1, the other None"
    assert differences({"new": (1,)}, {"new": None}) == "new: the engine has (1,), the other None"


@given(states(), states())
def test_differences_are_told_exactly_where_there_are_any(one: State, other: State) -> None:
    """Nothing is said of equal forms, and each part that differs is named once."""
    ours, theirs = canonical(one), canonical(other)
    parts = [line for part in ours for line in [part] if ours[part] != theirs[part]]
    told = differences(ours, theirs)
    assert (told == "") == (one == other)
    assert all(f"{part}[" in told or f"{part}:" in told for part in parts)


def several() -> list[State]:
    """Return states that differ in one thing each from a neighbour."""
    begun = grow(start("t"), "a", "o")
    pending = compress(begun, "m").unwrap()
    accepted = accept(pending)
    back = revise(accepted, 0, "l").unwrap().state
    return [
        start("u"),
        start("t"),
        begun,
        grow(start("t"), "a", "p"),
        pending,
        compress(begun, "n").unwrap(),
        compress(begun, "m", "fallback").unwrap(),
        accepted,
        back,
        revise(accepted, 0, "").unwrap().state,
        revise(back, 0, "l").unwrap().state,
        grow(accepted, "b", "o"),
        grow(grow(accepted, "b", "o"), "c", "o"),
    ]


def test_every_difference_shows() -> None:
    """States that differ in a text, a kind, a verdict, a lesson or a head have different forms."""
    forms = [canonical_json(state) for state in several()]
    assert len(set(forms)) == len(forms)


@pytest.mark.parametrize(
    ("verdict", "plain"),
    [
        (Pending(), ("pending", "", "", None)),
        (Passed(), ("passed", "", "", None)),
        (Failed("f", "summary"), ("failed", "f", "summary", None)),
        (Accepted(), ("accepted", "", "", None)),
        (Accepted(Failed("f", boundary=StepId(0))), ("accepted", "f", "execution", 0)),
    ],
)
def test_verdicts_are_words(verdict: SummaryVerdict, plain: tuple[str, str, str, int | None]) -> None:
    """A verdict is a word with feedback and fault; an accepted one keeps those it was accepted despite."""
    assert plain_verdict(verdict) == plain


def test_only_verdicts_have_a_plain_form() -> None:
    """What is no verdict is a mistake of the program."""
    with pytest.raises(AssertionError):
        plain_verdict(cast("SummaryVerdict", Active))

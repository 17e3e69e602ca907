"""States in JSON: each comes back equal, one spelling each, and a forged one is refused."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.pipeline import is_successful
from returns.result import Result

from mage import Passed, view
from mage.codec import DecodeError, decode_tree, encode_tree
from mage.engine import (
    Active,
    Command,
    Rejected,
    State,
    StepId,
    Unverified,
    accept,
    apply_verdict,
    check,
    compress,
    grow,
    judge_request,
    revise,
    start,
)
from tests.codec.malformed import SOUND_TREE
from tests.codec.strategies import HOSTILE, histories, states


@given(states)
def test_every_state_survives(state: State) -> None:
    """Phase, digest, tree and what is shown come back equal, and so do hashes."""
    back = decode_tree(encode_tree(state)).unwrap()
    assert back == state
    assert type(back) is type(state)
    assert hash(back) == hash(state)
    assert view(back) == view(state)


@given(states)
def test_equal_states_have_one_spelling(state: State) -> None:
    """A state that was read back is written as the one that was first written, to the byte."""
    data = encode_tree(state)
    assert encode_tree(decode_tree(data).unwrap()) == data


@given(histories(), st.lists(st.sampled_from(("grow", "compress", "pass", "accept", "revise")), max_size=6))
def test_a_state_goes_on_after_a_reload_as_if_nothing_had_been(
    history: tuple[tuple[Command, ...], State], moves: list[str]
) -> None:
    """Indexes, bases of instructions and places on the path are whole: the same moves lead to equal states."""
    stayed = history[1]
    reloaded = decode_tree(encode_tree(stayed)).unwrap()
    for move in moves:
        stayed, reloaded = _moved(stayed, move), _moved(reloaded, move)
        assert stayed == reloaded
        assert view(stayed) == view(reloaded)
        check(reloaded)


def _moved(state: State, move: str) -> State:
    match state:
        case Active() if move == "grow":
            return grow(state, "a", "seen")
        case Active() if move == "compress":
            return compress(state, "desk bought").value_or(None) or state
        case Unverified() if move == "pass":
            return apply_verdict(state, Passed(), judge_request(state).digest).unwrap()
        case Unverified() | Rejected() if move == "accept":
            return accept(state)
        case _:
            path = state.tree.summary_path()
            return revise(state, state.tree.summary(path[(len(path) - 1) // 2]).boundary, "").unwrap().state


def test_a_file_has_a_node_a_line() -> None:
    """So a person can read it, and a diff of two files shows what changed."""
    state = grow(grow(start("Furnish the study"), "search[desk]", "three desks"), "buy[oak desk]", "")
    assert encode_tree(state).decode().splitlines() == [
        '{"format":"mage-tree","version":1,"phase":"Active","task":"Furnish the study",'
        '"step_head":2,"summary_head":0,',
        '"steps":[',
        '{"id":1,"parent":0,"action":"search[desk]","observation":"three desks"},',
        '{"id":2,"parent":1,"action":"buy[oak desk]","observation":""}',
        "],",
        '"summaries":[],',
        '"lessons":[],',
        '"instructions":[],',
        '"chapters":[]}',
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_every_string_survives(text: str) -> None:
    """In the task and in steps; the file is good UTF-8."""
    state = grow(start(text), text, text * 2)
    data = encode_tree(state)
    data.decode()
    assert decode_tree(data).unwrap() == state


def test_a_tree_may_be_spelled_otherwise_and_is_the_same() -> None:
    """Order of keys and white space carry no meaning."""
    document = json.loads(SOUND_TREE)
    backwards = {key: document[key] for key in reversed(document)}
    spelled = json.dumps(backwards, indent=3, sort_keys=True).encode()
    assert decode_tree(spelled).unwrap() == decode_tree(SOUND_TREE).unwrap()


def test_the_digest_is_computed_and_never_read() -> None:
    """A judge's answer given before a restart is still taken after it, and none can be forged by the file."""
    state = decode_tree(SOUND_TREE).unwrap()
    assert isinstance(state, Unverified)
    assert state.digest.encode() not in SOUND_TREE
    assert isinstance(apply_verdict(state, Passed(), state.digest).unwrap(), Active)


@pytest.mark.parametrize("phase", ["Unverified", "Rejected"])
def test_a_phase_without_a_summary_is_refused(phase: str) -> None:
    """The root is passed, so nothing waits for a judge."""
    data = encode_tree(start("Furnish the study")).replace(b'"Active"', f'"{phase}"'.encode())
    assert str(decode_tree(data).failure()) == (
        f'$.phase: expected "Active", for summary 0 is passed, found "{phase}"'
    )


def test_an_invariants_error_is_cut_short() -> None:
    """It may repeat feedback of a failed verdict, which may be long."""
    document = json.loads(SOUND_TREE)
    document["summaries"][0]["verdict"] = {
        "type": "failed",
        "feedback": "x" * 10_000,
        "fault": "summary",
        "boundary": None,
    }
    problem = decode_tree(json.dumps(document).encode()).failure().problem
    assert problem.startswith("I8 way_is_trusted: summary 1 above the head is Failed(feedback='xxx")
    assert problem.endswith("x... (10098 characters)")


@given(st.binary())
def test_arbitrary_bytes_are_refused_and_never_raise(data: bytes) -> None:
    """They are no tree."""
    assert isinstance(decode_tree(data).failure(), DecodeError)


@given(states, st.data())
def test_a_file_with_bytes_changed_never_raises(state: State, data: st.DataObject) -> None:
    """Flipped, lost and doubled bytes give a state that holds all invariants, or an error."""
    whole = encode_tree(state)
    start_at = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start_at, min(len(whole), start_at + 4)))
    inserted = data.draw(st.binary(max_size=4) | st.just(whole[start_at:end] * 2))
    check_total(whole[:start_at] + inserted + whole[end:])


_scalars = st.none() | st.booleans() | st.integers(-2, 9) | st.just("") | st.just("desk") | st.floats()
_anything = _scalars | st.lists(_scalars, max_size=3) | st.dictionaries(st.just("id"), _scalars)


@given(st.just(json.loads(SOUND_TREE)) | states.map(encode_tree).map(json.loads), st.data())
def test_a_file_with_values_changed_never_raises(document: dict[str, Any], data: st.DataObject) -> None:
    """Another value, a missing or a doubled one, at any depth: a sound state or an error with a place."""
    document = copy.deepcopy(document)
    place: Any = document
    while True:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and data.draw(st.integers(0, 9)):
            place = place[key]
            continue
        _spoil(place, key, data)
        break
    check_total(json.dumps(document).encode())


def _spoil(place: Any, key: Any, data: st.DataObject) -> None:
    way = data.draw(st.sampled_from(("other", "near", "drop", "double")))
    if way == "near" and type(place[key]) is int:
        place[key] += data.draw(st.sampled_from((-1, 1)))
    elif way == "drop":
        del place[key]
    elif way == "double" and isinstance(place, list):
        place.insert(key, copy.deepcopy(place[key]))
    else:
        place[key] = data.draw(_anything)


_ids = st.integers(0, 5)


@given(
    states.filter(lambda state: state.tree.next_summary > 1).map(encode_tree).map(json.loads),
    st.lists(
        st.tuples(
            st.integers(0, 9),
            st.fixed_dictionaries(
                {}, optional={"parent": _ids, "label": _ids, "covers": st.lists(_ids, min_size=1, max_size=3)}
            ),
        ),
        max_size=3,
    ),
    _ids,
    _ids,
)
def test_summaries_that_do_not_hold_together_never_raise(
    document: dict[str, Any], changes: list[tuple[int, dict[str, Any]]], step_head: int, summary_head: int
) -> None:
    """Whatever several summaries and the heads say of each other, a pending one among them."""
    for place, change in changes:
        document["summaries"][place % len(document["summaries"])].update(change)
    check_total(json.dumps(document).encode())
    check_total(json.dumps({**document, "step_head": step_head, "summary_head": summary_head}).encode())


def test_a_pending_summary_below_its_own_covers_is_refused() -> None:
    """Its digest cannot be taken: the covers are looked at first."""
    state = compress(grow(grow(start("task"), "a", "o"), "b", "o"), "text").unwrap()
    document = json.loads(encode_tree(state))
    document["summaries"][0].update(label=2, covers=[1])
    refused = decode_tree(json.dumps(document).encode()).failure()
    assert "I3 covers_are_contiguous: summary 1 has label 2, its parent ends at 0" in refused.problem


def check_total(data: bytes) -> None:
    result = decode_tree(data)
    assert isinstance(result, Result)
    if is_successful(result):
        check(result.unwrap())
        assert decode_tree(encode_tree(result.unwrap())).unwrap() == result.unwrap()
    else:
        assert result.failure().path.startswith("$")
        assert str(result.failure()).isprintable()


def test_a_chain_of_100_000_steps_survives() -> None:
    """Nothing recurses over its depth."""
    state = start("Furnish the study")
    for number in range(100_000):
        state = grow(state, f"look {number}", "nothing")
    assert decode_tree(encode_tree(state)).unwrap() == state


def test_a_star_of_steps_survives() -> None:
    """Many children of one step cost no more than a chain."""
    state: Active | Unverified = start("Furnish the study")
    for number in range(5_000):
        state = revise(grow(state, f"look {number}", ""), StepId(0), "").unwrap().state
    assert decode_tree(encode_tree(state)).unwrap() == state

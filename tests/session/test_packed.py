"""Packed snapshots of any shape: a state along which every walk ends, or refused in bounded time and memory."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage import Passed, view
from mage.engine import (
    Command,
    State,
    accept,
    apply_verdict,
    check,
    compress,
    fold,
    fold_request,
    grow,
    replay,
    revise,
    start,
)
from mage.session.loading import pack, unpack
from mage.stores import open_store, snapshot_digest
from mage.testing import journals
from mage.testing.stores import chain
from tests.cli.runner import mage


def sample() -> State:
    """Return a state with branches, summaries, one that took another in, a chapter, a lesson and an instruction."""
    state: Any = start("t")
    for number in range(3):
        state = grow(grow(state, f"a{number}", "o"), f"b{number}", "o")
        pending = compress(state, f"s{number}").unwrap()
        state = apply_verdict(pending, Passed(), pending.digest).unwrap()
    state = accept(compress(grow(state, "d", "o"), "half", "fallback").unwrap())
    state = accept(compress(grow(state, "e", "o"), "whole").unwrap())
    request = fold_request(state, 0, 4, "both").unwrap()
    state = fold(state, 0, 4, "both", request.digest).unwrap()
    state = revise(state, 6, "").unwrap().state
    state = accept(compress(grow(state, "f", "o"), "last").unwrap())
    request = fold_request(state, 4, 9, "last two").unwrap()
    state = fold(state, 4, 9, "last two", request.digest).unwrap()
    return revise(grow(state, "c", "o"), state.tree.boundary, "lesson").unwrap().state


PACKED: list[Any] = json.loads(pack(sample()))

LOOPS: dict[str, tuple[list[Any], object]] = {
    "a step that is its own parent": ([2, 0], 1),
    "steps that are each other's parents": ([2, 1], 3),
    "an abandoned step that is its own parent": ([2, 6], 7),
    "a parent before the root": ([2, 0], -1),
    "a parent that is no id": ([2, 2], 1.0),
    "a parent that is a truth": ([2, 1], True),
    "a step head beyond the steps": ([1, 1], 99),
    "a step head that is no id": ([1, 1], "3"),
    "a step head above the boundary": ([1, 1], 2),
    "a summary head beyond the summaries": ([1, 2], 9),
    "a summary that is its own parent": ([4, 0, 0], 1),
    "a summary whose parent comes later": ([4, 1, 0], 3),
    "covers that do not run on": ([4, 1, 3], [4, 3]),
    "covers that go round": ([4, 1, 3], [3, 4, 3, 4]),
    "covers of no step": ([4, 1, 3], [99]),
    "no covers": ([4, 1, 3], []),
    "a way that is a circle": ([4, 1, 1], 2),
    "a way that leaves the path out": ([4, 2, 1], 1),
    "a way to no summary": ([4, 2, 1], 99),
    "a summary that came after what is no id": ([4, 0, 1], "0"),
    "a chapter of one summary": ([7, 0, 4], 2),
    "a chapter without summaries": ([7, 0, 5], 99),
    "a chapter that ends elsewhere": ([7, 0, 1], 3),
    "a chapter without a text": ([7, 0, 2], None),
    "another label": ([4, 1, 2], 0),
    "a lesson at no step": ([5, 0, 0], 99),
    "a text that is none": ([3, 0], 7),
    "a task that is none": ([1, 0], None),
    "a text less": ([3], PACKED[3][1:]),
}


def changed(place: list[Any], value: object) -> bytes:
    """Return the snapshot with one value changed."""
    document = copy.deepcopy(PACKED)
    inner: Any = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return json.dumps(document, separators=(",", ":")).encode()


@pytest.mark.parametrize("name", LOOPS)
def test_what_forms_no_tree_is_refused_and_said(name: str) -> None:
    """Each shape in which a walk would not end, or end nowhere: no state, and why."""
    assert isinstance(unpack(changed(*LOOPS[name])), str)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=6,
)


def places(value: object, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the place of every value in a document."""
    found = [above] if above else []
    if isinstance(value, list):
        found += [place for number, inner in enumerate(value) for place in places(inner, (*above, number))]
    return found


@given(st.sampled_from([place for place in places(PACKED) if place[0]]), JSON_VALUES)
def test_whatever_stands_anywhere_every_walk_ends(place: tuple[Any, ...], value: object) -> None:
    """Any value in any place of a snapshot: it is refused, or a state that can be seen, packed and checked."""
    found = unpack(changed(list(place), value))
    if not isinstance(found, State):
        return
    found.tree.active_path()
    found.tree.segment()
    found.tree.summary_path()
    list(found.tree.way_upwards())
    again = unpack(pack(found))
    assert isinstance(again, State)
    assert view(again) == view(found)


@given(journals())
def test_what_was_packed_comes_back(commands: tuple[Command, ...]) -> None:
    """Every state that an agent can reach is unpacked as it was."""
    state = replay(commands).unwrap()
    found = unpack(pack(state))
    assert found == state
    assert isinstance(found, State)
    check(found)


def test_a_snapshot_whose_steps_form_a_loop_harms_nobody(tmp_path: Path) -> None:
    """With the right digest, as whoever can write the store can make it: `show` passes it over, `doctor` names it."""
    url = f"sqlite:///{tmp_path / 'work.db'}"
    with open_store(url) as store:
        head = store.create("a", chain(7))
        data = changed(*LOOPS["steps that are each other's parents"])
        store.keep_snapshot("a", 7, data, snapshot_digest(head, data))
    assert mage("show", f"{url}#a").status == 0
    told = json.loads(mage("doctor", url, "--json").out)
    assert [(each["fault"], each["version"]) for each in told["findings"]] == [("snapshot", 7)]
    assert "their own ancestors" in told["findings"][0]["reason"]

"""What a tree file holds, and what its fields demand of each other."""

from __future__ import annotations

import json
from typing import cast, get_args

import attrs
from hypothesis import given
from hypothesis import strategies as st

from mage.codec import encode_tree
from mage.codec.strict_json import Array, Json, Object, Problem
from mage.codec.trees import TREE, contradictions
from mage.engine import Chapter, State, Step, Summary
from mage.engine.nodes import Instruction
from tests.codec.malformed import SOUND_TREE
from tests.codec.strategies import states


def test_a_node_in_a_file_has_fields_of_the_node() -> None:
    """The keys that a shape demands are fields of the class, but for those that can be derived."""
    for kind, shape, derived in (
        (Step, _elements(TREE, "steps"), set[str]()),
        (Summary, _elements(TREE, "summaries"), {"base", "above"}),
        (Instruction, _elements(_elements(TREE, "instructions"), "placed"), set()),
        (Chapter, _elements(_elements(TREE, "chapters"), "chapters"), {"label", "boundary", "last"}),
    ):
        assert shape.fields.keys() | derived == {field.name for field in attrs.fields(kind)}


def _elements(shape: Object, field: str) -> Object:
    array = shape.fields[field]
    assert isinstance(array, Array)
    assert isinstance(array.element, Object)
    return array.element


def test_the_phases_are_the_engines() -> None:
    """The names in the file are those of the classes."""
    names = [phase.__name__ for phase in get_args(State)]
    assert [TREE.fields["phase"].problem(cast("Json", name)) for name in names] == [None] * 3


@given(states)
def test_no_reachable_state_contradicts_itself(state: State) -> None:
    """Whatever the operations lead to has the shape, and its fields fit each other."""
    document = json.loads(encode_tree(state))
    assert TREE.problem(document) is None
    assert list(contradictions(document)) == []


@given(st.sampled_from(("steps", "summaries")), st.data())
def test_every_node_stands_at_its_id_and_names_earlier_ones(field: str, data: st.DataObject) -> None:
    """Any other id, and any parent that is not earlier, is found where it stands: no cycle, no gap."""
    tree = json.loads(SOUND_TREE)
    index = data.draw(st.integers(0, len(tree[field]) - 1))
    number = data.draw(st.integers(0, 9))
    tree["chapters"] = []
    wrong_id = {**tree, field: _with(tree[field], index, id=number)}
    wrong_parent = {**tree, field: _with(tree[field], index, parent=number)}
    found = [problem.path for problem in contradictions(wrong_id)]
    assert found == ([] if number == index + 1 else [f".{field}[{index}].id"])
    found = [problem.path for problem in contradictions(wrong_parent)]
    assert found == ([] if number <= index else [f".{field}[{index}].parent"])


def _with(nodes: list[dict[str, object]], index: int, **changes: object) -> list[dict[str, object]]:
    return [{**node, **changes} if place == index else node for place, node in enumerate(nodes)]


@given(st.lists(st.integers(0, 6), max_size=5))
def test_covers_rise_and_name_steps(covers: list[int]) -> None:
    """They are let pass exactly where they are different steps in order; the first that is not is named."""
    tree = json.loads(SOUND_TREE)
    tree["summaries"][2]["covers"] = covers
    found = next(contradictions(tree), None)
    sound = covers == sorted(set(covers)) and set(covers) <= {1, 2, 3, 4}
    assert (found is None) == sound
    if found is not None:
        assert found.path.startswith(".summaries[2].covers[")


def test_an_empty_tree_allows_the_root_alone() -> None:
    """Without steps and summaries both heads are 0 and the phase is Active."""
    tree = {**json.loads(SOUND_TREE), "steps": [], "summaries": [], "lessons": []}
    tree["instructions"] = []
    tree["chapters"] = []
    assert next(contradictions(tree)) == Problem(".step_head", "expected an id from 0 to 0, found 4")
    tree["step_head"] = tree["summary_head"] = 0
    wrong_phase = 'expected "Active", for summary 0 is passed, found "Unverified"'
    assert list(contradictions(tree)) == [Problem(".phase", wrong_phase)]

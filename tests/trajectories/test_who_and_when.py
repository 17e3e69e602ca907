"""Who&When: each entry is a step, and the human labels stay outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import StepId
from mage.trajectories import load
from mage.trajectories.fields import Json, Spot
from mage.trajectories.who_and_when import is_who_and_when
from tests.shared_data import SHARED, needs_shared
from tests.trajectories.samples import TEXT, WHO_AND_WHEN, final_state, grown, loaded, task

FILES = sorted((SHARED / "data/who_and_when").glob("*.json"))


def test_entries_are_steps() -> None:
    """Who spoke is the action, what was said the observation; the question is the task and no step."""
    found = loaded(WHO_AND_WHEN)[0]
    assert task(found) == "How deep is the pond?"
    assert grown(found) == [
        ("Orchestrator (thought)", "Somebody must measure."),
        ("Orchestrator (-> Diver)", "Measure it."),
        ("Diver", "Two metres."),
    ]


def test_labels_stay_outside() -> None:
    """What people found out after the run is not in the tree."""
    told = repr(loaded(WHO_AND_WHEN)[0].commands)
    assert all(label not in told for label in ("3 m", "tape was wet"))


@pytest.mark.parametrize(
    "entry", [{"role": "human", "content": "How deep?"}, {"role": "Diver", "content": "q"}]
)
def test_first_entry_that_is_not_the_question_is_a_step(entry: Json) -> None:
    """Only a person's first entry that repeats the question is left out."""
    found = loaded({"history": [entry, {"role": "human", "content": "q"}], "question": "q"})[0]
    assert len(grown(found)) == 2


def test_name_of_an_agent_comes_before_its_role() -> None:
    """Where entries have names, the action tells them with the role."""
    found = loaded({"history": [{"role": "assistant", "name": "Diver", "content": "2 m"}], "question": "q"})[
        0
    ]
    assert grown(found) == [("Diver (assistant)", "2 m")]


@given(st.lists(st.tuples(TEXT, TEXT), max_size=5), TEXT)
def test_nothing_that_was_said_is_lost(said: list[tuple[str, str]], question: str) -> None:
    """Every entry but the repeated question is a step with its role and its content, in order."""
    history: list[Json] = [{"role": role, "content": content} for role, content in said]
    found = loaded(
        {"history": [{"role": "human", "content": f" {question}\n"}, *history], "question": question}
    )[0]
    assert (task(found), grown(found)) == (question, said)


def test_looks_alone_decide() -> None:
    """A history with a question is Who&When's."""
    assert is_who_and_when(Spot({"history": 1, "question": 2}))
    assert not is_who_and_when(Spot({"history": 1}))
    assert not is_who_and_when(Spot([{"history": 1, "question": 2}]))


@needs_shared
def test_there_are_files_to_read() -> None:
    """The next test reads 17 files."""
    assert len(FILES) == 17


@needs_shared
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_real_run_replays_and_its_label_names_a_step(file: Path) -> None:
    """Every real run replays; the step with the id `mistake_step` is the entry that people found wrong."""
    run = json.loads(file.read_bytes())
    (found,) = load(file.read_bytes(), file=str(file)).unwrap()
    tree = final_state(found).tree
    assert (found.name, tree.task) == (file.stem, run["question"])
    assert tree.next_step == len(run["history"])
    for place, entry in enumerate(run["history"][1:], start=1):
        assert tree.step(StepId(place)).content == (entry["role"], entry["content"])
    assert tree.step(StepId(int(run["mistake_step"]))).action.startswith(run["mistake_agent"])

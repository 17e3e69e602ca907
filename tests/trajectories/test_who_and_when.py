"""Who&When: each entry is a step, and the human labels stay outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat import canonical
from mage.engine import StepId
from mage.trajectories import Entry, Trajectory, load, placed
from mage.trajectories.formats import is_who_and_when
from mage.trajectories.trajectory import Json, Spot
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


def _run(history: list[Json], **labels: Json) -> Trajectory:
    return loaded({"question": "q", "history": history, **labels})[0]


def _steps(found: Trajectory) -> tuple[StepId, ...] | None:
    """Return the steps of the one entry that is said to be the mistake; None where it is none."""
    (mistake,) = found.mistakes
    return None if mistake.entry is None else placed(found)[mistake.entry]


ASKED: Json = {"role": "human", "content": "q"}
EXPERT: Json = {"role": "assistant", "name": "Diver", "content": "2 m"}
OTHER: Json = {"role": "user", "name": "Terminal", "content": "ok"}


@pytest.mark.parametrize(
    ("history", "step", "expected"),
    [
        ([ASKED, EXPERT, OTHER], "2", (2,)),
        ([ASKED, EXPERT, OTHER], "0", (0,)),
        ([EXPERT, OTHER], "0", (1,)),
        ([EXPERT, OTHER], 1, (2,)),
        ([EXPERT, EXPERT, EXPERT], "2", (3,)),
        ([EXPERT, ASKED, OTHER], "2", (3,)),
    ],
)
def test_mistake_is_at_the_step_of_its_entry(
    history: list[Json], step: Json, expected: tuple[StepId, ...]
) -> None:
    """`mistake_step` counts entries from 0 in every file, whether the first is the question, and no step, or not."""
    found = _run(history, mistake_step=step, mistake_agent="Diver", mistake_reason="wet")
    assert expected == _steps(found)
    assert (found.mistakes[0].agent, found.mistakes[0].reason) == ("Diver", "wet")


@pytest.mark.parametrize("step", ["2", 2, -1, "x", "", "1.0", [], 10**9, "9" * 5_000, "²"])
def test_label_that_means_no_entry_is_kept_and_said(step: Json) -> None:
    """A label that names no entry refuses no trace: it is there as the file says it, at no step."""
    found = _run([EXPERT, OTHER], mistake_step=step)
    assert _steps(found) is None
    assert found.mistakes[0].said == (step if isinstance(step, str) else canonical(step))
    assert [remark.record for remark in found.remarks] == ["mistake_step"]


@pytest.mark.parametrize(("agent", "said"), [("Diver", 0), ("Terminal", 1), ("", 0)])
def test_label_that_names_another_agent_is_said(agent: str, said: int) -> None:
    """Some labels name one agent and count to the entry of another: both are kept, and that is said."""
    assert len(_run([EXPERT, OTHER], mistake_step="0", mistake_agent=agent).remarks) == said


def test_role_may_say_more_than_the_agent() -> None:
    """`Orchestrator (thought)` is said by the Orchestrator."""
    found = _run(
        [{"role": "Orchestrator (thought)", "content": "?"}], mistake_step="0", mistake_agent="Orchestrator"
    )
    assert found.remarks == ()


def test_run_without_a_label_has_no_mistake() -> None:
    """Nobody looked at it, so nothing is said."""
    assert _run([EXPERT]).mistakes == _run([EXPERT], mistake_step=None).mistakes == ()


@given(
    st.lists(
        st.tuples(st.sampled_from(["human", "user", "Diver"]), st.sampled_from(["q", " q", "x"])), max_size=6
    )
)
def test_every_entry_is_placed_at_what_it_says(said: list[tuple[str, str]]) -> None:
    """Whoever speaks first and whatever is repeated, each entry is at a step with its content, or is the task."""
    history: list[Json] = [{"role": role, "content": content} for role, content in said]
    found = _run(history)
    where, tree = placed(found), final_state(found).tree
    for place, (role, content) in enumerate(said):
        (step,) = where[Entry(f"history[{place}]", place)]
        assert tree.step(step).content == (role, content) if step else content.strip() == tree.task


@needs_shared
def test_there_are_files_to_read() -> None:
    """The next test reads 17 files."""
    assert len(FILES) == 17


@needs_shared
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_real_run_replays_and_its_label_names_a_step(file: Path) -> None:
    """Every real run replays; its label is at the step of the entry that people found wrong."""
    run = json.loads(file.read_bytes())
    (found,) = load(file.read_bytes(), file=str(file)).unwrap()
    tree = final_state(found).tree
    assert (found.name, tree.task) == (file.stem, run["question"])
    assert tree.next_step == len(run["history"])
    for place, entry in enumerate(run["history"][1:], start=1):
        assert tree.step(StepId(place)).content == (entry["role"], entry["content"])
    steps = _steps(found)
    assert steps is not None
    assert tree.step(steps[0]).action.startswith(run["mistake_agent"])
    assert found.remarks == ()


@needs_shared
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_label_is_at_its_entry_where_the_question_is_not_repeated(file: Path) -> None:
    """Real runs without their first entry, as the algorithm-generated files are: the label stays at what it names."""
    run = json.loads(file.read_bytes())
    place = int(run["mistake_step"])
    labelled = run["history"][place]
    run["history"] = run["history"][1:]
    run["mistake_step"] = str(place - 1)
    (found,) = load(json.dumps(run).encode(), file=str(file)).unwrap()
    steps = _steps(found)
    assert steps is not None
    assert final_state(found).tree.step(steps[0]).content == (labelled["role"], labelled["content"])

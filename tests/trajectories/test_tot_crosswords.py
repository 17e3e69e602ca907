"""Tree-of-Thought crosswords: the log says where the search stands, and the tree must stand there too."""

from __future__ import annotations

import json

import attrs
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import (
    Accept,
    Accepted,
    Command,
    Compress,
    Grow,
    Revise,
    Start,
    State,
    StepId,
    Summary,
    apply,
    view,
)
from mage.trajectories import Counts, Trajectory, counts, load
from mage.trajectories.formats import is_tot_crosswords
from mage.trajectories.trajectory import Json, Spot
from tests.shared_data import SHARED, needs_shared
from tests.trajectories.samples import TOT_CROSSWORDS, final_state, loaded


def _record(moves: list[str], place: int) -> Json:
    return {"actions": list(moves), "info": {"r": place}, "count": {"sure": place}}


def _path(state: State) -> list[str]:
    tree = state.tree
    return [tree.step(step).action for step in tree.active_path()[1:]]


def _paths(trajectory: Trajectory) -> list[list[str]]:
    """Return the active path's actions after each accepted move: each record of the real logs adds one."""
    state: State | None = None
    paths: list[list[str]] = []
    for command in trajectory.commands:
        state = apply(state, command).unwrap()
        if isinstance(command, Accept):
            paths.append(_path(state))
    return paths


def test_search_of_the_sample() -> None:
    """Each move is grown, summarized by itself and accepted; the way back is a revise without a lesson."""
    found = loaded(TOT_CROSSWORDS)
    assert [each.name for each in found] == ["0", "1"]
    assert all(each.summarized for each in found)
    moves = [("h1. alder", 1, 0.2), ("v1. aspen", 2, 0.4), ("v2. larch", 0, 0.3), ("h2. maple", 3, 0.1)]
    first, second, third, fourth = [
        (Grow(move, f'{{"count":{{"sure":{sure}}},"info":{{"r":{r}}}}}'), Compress(move), Accept())
        for move, sure, r in moves
    ]
    expected: tuple[Command, ...] = (
        *first,
        *second,
        Revise(StepId(1)),
        *third,
        Revise(StepId(0)),
        *fourth,
    )
    assert found[0].commands[1:] == expected
    assert isinstance(found[0].commands[0], Start)
    total = Counts(steps=4, merges=0, revisions=2, abandoned=3, branch_points=2, summaries=4, max_depth=2)
    assert counts(found[0].commands) == total


MOVES = st.lists(st.sampled_from(["a", "b", "c"]), max_size=4)


@given(st.lists(MOVES, min_size=1, max_size=10))
def test_tree_stands_where_each_record_says(paths: list[list[str]]) -> None:
    """Whatever the paths, after each record the active path is its path; a longer log only adds commands."""
    records = [_record(moves, place) for place, moves in enumerate(paths)]
    earlier: tuple[Command, ...] = ()
    for place, moves in enumerate(paths, start=1):
        found = loaded([records[:place]])[0]
        assert _path(final_state(found)) == moves
        assert found.commands[: len(earlier)] == earlier
        earlier = found.commands


@given(st.lists(MOVES, min_size=1, max_size=8))
def test_what_each_record_saw_is_kept(paths: list[list[str]]) -> None:
    """The info and count of every record stand in a step, or as a lesson where no move was new."""
    found = loaded([[_record(moves, place) for place, moves in enumerate(paths)]])[0]
    kept = [
        command.observation if isinstance(command, Grow) else command.lesson
        for command in found.commands
        if isinstance(command, Grow | Revise)
    ]
    seen = [f'{{"count":{{"sure":{place}}},"info":{{"r":{place}}}}}' for place in range(len(paths))]
    assert [each for each in kept if each] == seen


@given(st.lists(MOVES, min_size=1, max_size=8))
def test_every_step_has_a_summary_that_says_its_move(paths: list[list[str]]) -> None:
    """On the path, each summary covers one step, its text is the move, and it is openly accepted."""
    found = loaded([[_record(moves, place) for place, moves in enumerate(paths)]])[0]
    state = final_state(found)
    shown = view(state)
    assert [summary.text for summary in shown.compressed] == _path(state)
    summaries = [each for each in shown.compressed if isinstance(each, Summary)]
    assert len(summaries) == len(shown.compressed)
    assert all(len(summary.covers) == 1 for summary in summaries)
    assert all(summary.verdict == Accepted() for summary in summaries)


def test_record_without_a_new_move_leaves_its_observation_as_a_lesson() -> None:
    """A search that comes back to a move it made, or stays, says there what it saw."""
    found = loaded([[_record(["a", "b"], 1), _record(["a"], 2), _record(["a"], 3)]])[0]
    seen = ['{"count":{"sure":2},"info":{"r":2}}', '{"count":{"sure":3},"info":{"r":3}}']
    assert found.commands[-2:] == tuple(Revise(StepId(1), lesson) for lesson in seen)
    assert found.commands[1] == Grow("a", "")


def test_same_move_again_merges() -> None:
    """A search that takes a move again and sees the same comes back to the step it was at."""
    found = loaded([[_record(["a"], 1), _record(["b"], 1), _record(["a"], 1)]])[0]
    assert (counts(found.commands).steps, counts(found.commands).merges) == (2, 1)


def test_looks_alone_decide() -> None:
    """A list of lists of records with actions is such a log; other lists are not."""
    assert is_tot_crosswords(Spot([[], [1, {"actions": 5}]]))
    assert not is_tot_crosswords(Spot([{"actions": []}]))
    assert not is_tot_crosswords(Spot({"actions": []}))


@needs_shared
def test_real_search_stands_where_each_of_its_1856_records_says() -> None:
    """Over the 20 real searches, after each record the active path equals the record's actions."""
    data = (SHARED / "data/tot_crosswords_dfs_prune.json").read_bytes()
    puzzles = json.loads(data)
    found = load(data, file="tot.json").unwrap()
    expected = [[record["actions"] for record in puzzle] for puzzle in puzzles]
    assert expected == [_paths(trajectory) for trajectory in found]
    assert sum(len(records) for records in expected) == 1_856


@needs_shared
def test_real_search_has_the_counts_that_a_reference_counted() -> None:
    """1,856 steps and summaries, 1,160 revisions, no merges, 1,735 abandoned steps, 632 branch points."""
    data = (SHARED / "data/tot_crosswords_dfs_prune.json").read_bytes()
    found = [attrs.astuple(counts(each.commands)) for each in load(data, file="tot.json").unwrap()]
    assert len(found) == 20
    assert [sum(numbers) for numbers in zip(*found, strict=True)][:6] == [1_856, 0, 1_160, 1_735, 632, 1_856]
    assert max(numbers[6] for numbers in found) == 9

"""Long and wide histories through everything the engine does: nothing recurses over a tree, all of it ends."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from functools import cache

import pytest

from mage.engine import (
    Active,
    Failed,
    Kind,
    Passed,
    Rejected,
    Step,
    StepId,
    accept,
    apply_verdict,
    check,
    check_change,
    compress,
    grow,
    instruct,
    judge_request,
    retext,
    revise,
    start,
    view,
)

STEPS = 100_000
SUMMARIES = 5_000
WIDE = 20_000
INSTRUCTIONS = 3_000


def _one_open_segment() -> Active:
    state = start("task")
    for number in range(STEPS):
        state = grow(state, f"action {number}", f"observation {number}")
    return state


def _in_summaries(kind: Kind) -> Active:
    state = start("task")
    for number in range(STEPS):
        state = grow(state, f"action {number}", f"observation {number}")
        if (number + 1) % (STEPS // SUMMARIES) == 0:
            state = accept(compress(state, f"text {number}", kind).unwrap())
    return state


def _children_of_one_step() -> Active:
    state = start("task")
    for number in range(WIDE):
        state = _active_at_root(grow(state, "look", f"observation {number}"), "")
    return state


def _revisions_at_one_boundary() -> Active:
    state = start("task")
    for number in range(WIDE):
        state = _active_at_root(grow(state, "look", "nothing"), f"lesson {number}")
    return state


def _subgoals_of_one_summary() -> Active:
    state = start("task")
    for number in range(INSTRUCTIONS):
        state = accept(compress(grow(state, "try", f"{number}"), f"text {number}").unwrap())
        state = _active_at_root(state, "")
    return state


def _instructions_at_one_step() -> Active:
    state = grow(start("task"), "action", "observation")
    for number in range(INSTRUCTIONS):
        state = instruct(state, f"instruction {number}", standing=number % 2 == 0).unwrap()
    return state


def _instructions_along_the_path() -> Active:
    state = start("task")
    for number in range(INSTRUCTIONS):
        state = instruct(state, f"instruction {number}", standing=number % 2 == 0).unwrap()
        state = grow(state, "action", f"{number}")
    return state


def _active_at_root(state: Active, lesson: str) -> Active:
    back = revise(state, 0, lesson).unwrap().state
    assert isinstance(back, Active)
    return back


HISTORIES: dict[str, Callable[[], Active]] = {
    "one open segment": _one_open_segment,
    "summaries": lambda: _in_summaries("subgoal"),
    "fallbacks of one subgoal": lambda: _in_summaries("fallback"),
    "children of one step": _children_of_one_step,
    "revisions at one boundary": _revisions_at_one_boundary,
    "subgoals of one summary": _subgoals_of_one_summary,
    "instructions at one step": _instructions_at_one_step,
    "instructions along the path": _instructions_along_the_path,
}


@cache
def _built(name: str) -> Active:
    return HISTORIES[name]()


@pytest.fixture(params=HISTORIES)
def state(request: pytest.FixtureRequest) -> Active:
    """One of the histories; each is built once."""
    return _built(str(request.param))


def test_every_operation_works(state: Active) -> None:
    """Each operation, in each phase where it is legal, takes a long history like a short one."""
    grown = grow(state, "one", "more")
    told = instruct(grown, "one more").unwrap()
    pending = compress(told, "all of it").unwrap()
    request = judge_request(pending)
    assert len(judge_request(pending, since_root=True).steps) == len(pending.tree.active_path()) - 1
    assert request.steps[-1].content == ("one", "more")
    rejected = apply_verdict(pending, Failed("wrong"), request.digest).unwrap()
    assert isinstance(rejected, Rejected)
    reworded = retext(rejected, "better").unwrap()
    passed = apply_verdict(reworded, Passed(), reworded.digest).unwrap()
    assert accept(rejected).tree.summary_head == passed.tree.summary_head
    for before, after in ((grown, told), (told, pending), (pending, rejected), (rejected, reworded)):
        check_change(before, after)


def test_revise_leaves_all_of_it(state: Active) -> None:
    """Going back to the root abandons the whole active path, newest step first."""
    path = state.tree.active_path()
    revised = revise(state, 0, "a lesson").unwrap()
    assert [step.id for step in revised.abandoned] == list(path[:0:-1])
    assert revised.state.tree.active_path() == (0,)
    check_change(state, revised.state)


def test_what_is_not_there_is_refused(state: Active) -> None:
    """A boundary that does not exist is refused with all that do."""
    legal = revise(state, -1, "a lesson").failure().legal
    assert len(legal) == len(state.tree.summary_path())


def test_all_of_it_is_shown(state: Active) -> None:
    """The view holds every summary of the path, every open step, and everything that was tried or learned."""
    shown = view(state)
    tree = state.tree
    assert list(shown.compressed) == [tree.summary(each) for each in tree.summary_path()[1:]]
    assert [step.id for step in shown.raw] == list(tree.segment())
    assert [step.id for step in shown.hints.continuations] == list(tree.step_children(tree.step_head))
    assert [tried.id for tried in shown.hints.subgoals] == list(tree.summary_children(tree.summary_head))
    assert tuple([lesson.text for lesson in shown.hints.lessons]) == tree.lessons_at(shown.boundary)
    assert repr(shown)
    assert shown == view(state)
    assert hash(shown) == hash(view(state))


def test_it_is_short_to_print(state: Active) -> None:
    """The repr of a state says where it stands, whatever the size of its tree."""
    assert len(repr(state)) < 200


def test_it_equals_itself_built_again(request: pytest.FixtureRequest, state: Active) -> None:
    """The same history built twice is equal and hashes alike; one step more makes a difference."""
    again = HISTORIES[request.node.callspec.params["state"]]()
    assert again == state
    assert hash(again) == hash(state)
    assert grow(again, "one", "more") != state


def test_copies_equal_it(state: Active) -> None:
    """Deep copies and pickles equal what they were made from, and hash alike."""
    for twin in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert twin == state
        assert hash(twin) == hash(state)


def test_it_holds_every_invariant(state: Active) -> None:
    """The full check of a long history finds nothing."""
    check(state)


@pytest.mark.parametrize("name", HISTORIES)
def test_it_is_freed(name: str) -> None:
    """Once nobody holds a history, every step of it is gone at once: no cycles, no recursion."""
    gc.collect()
    before = _steps_alive()
    history = HISTORIES[name]()
    assert _steps_alive() - before == history.tree.next_step - 1
    del history
    assert _steps_alive() == before


def _steps_alive() -> int:
    return sum(type(each) is Step for each in gc.get_objects())


def test_a_summary_of_all_steps() -> None:
    """One summary may cover 100,000 steps, and prints in one short line."""
    pending = compress(_built("one open segment"), "all of it").unwrap()
    summary = pending.tree.summary(pending.tree.summary_head)
    assert len(summary.covers) == STEPS
    assert len(repr(summary)) < 200
    assert revise(pending, 0, "").unwrap().abandoned[0].id == StepId(STEPS)
    check(pending)

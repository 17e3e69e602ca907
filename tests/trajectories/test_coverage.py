"""Which values actions need, and what of them S would have shown."""

from __future__ import annotations

import json
from typing import Final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage import Memory
from mage.bundle import encode_bundle, pack
from mage.effects import NoEffect, Reversible
from mage.engine import Accept, Command, Compress, Grow, Instruct, Revise, Start
from mage.render import Meter
from mage.stores import MemoryStore
from mage.tokens import EstimateCounter
from mage.trajectories import Coverage, Need, Share, Trajectory, load, needs, use_of, values_in
from mage.trajectories.measure import Covering, measure, together

NOTHING: Final[frozenset[str]] = frozenset()
PAD: Final = "and so it goes on for a while, as such pages do. " * 8


def trace(*commands: Command, trials: bool = False, spoken: bool = False) -> Trajectory:
    """Return a trace of these commands."""
    return Trajectory("x", (Start("Buy SKU-7."), *commands), summarized=False, trials=trials, spoken=spoken)


def call(name: str, **arguments: object) -> str:
    """Return the action of a call."""
    return f"{name} {json.dumps(arguments)}"


def values(*commands: Command, trials: bool = False, spoken: bool = False) -> list[set[str]]:
    """Return what each step needs."""
    return [set(need.values) for need in needs(trace(*commands, trials=trials, spoken=spoken))]


def covered(trajectory: Trajectory, budget: int | None = None) -> Coverage:
    """Return the coverage of a trace under a budget."""
    covering = Covering(needs(trajectory))
    measure(
        trajectory.commands,
        Meter(EstimateCounter()),
        budget=budget,
        trials=trajectory.trials,
        decided=covering.decided,
    )
    return covering.coverage


# -- what is needed -------------------------------------------------------------------------------------


def test_a_value_is_needed_where_it_came_from_an_earlier_observation() -> None:
    """Not where the task gave it, the agent wrote it first, or nobody has seen it."""
    found = values(
        Grow(call("find", sku="SKU-7", page=200), "lot LOT-1, page 200"),
        Grow(call("take", lot="LOT-1", page=200, other="LOT-2"), "LOT-2 taken"),
        Grow(call("take", lot="LOT-2"), ""),
    )
    assert found == [set(), {"LOT-1"}, set()]


def test_what_an_instruction_gives_is_not_needed() -> None:
    """It is always shown."""
    found = values(Grow("look", "lot LOT-1"), Instruct("take LOT-1"), Grow("take LOT-1", ""))
    assert found == [set(), set()]


def test_beside_calls_what_is_said_is_no_action() -> None:
    """In a run that makes calls, arguments count alone, of any call of a step and however deep; in one without, all words."""
    said = Grow("I found LOT-1 in SEA", "good")
    assert values(Grow("look", "LOT-1 and ABC"), said) == [set(), {"LOT-1"}]
    deep = Grow(f"Now both.\n{call('a', lots=[{'id': 'LOT-1'}])}\n{call('b', n=4711, code='ABC')}", "")
    assert values(Grow(call("look"), "LOT-1, 4711, ABC"), said, deep) == [
        set(),
        set(),
        {"LOT-1", "4711", "ABC"},
    ]


def test_each_trial_knows_nothing_of_those_before_it() -> None:
    """What another trial has seen is not to be copied from."""
    run: list[Command] = [Grow("look", "LOT-1"), Revise(0, ""), Grow("take LOT-1", "")]
    assert values(*run, trials=True) == [set(), set()]
    assert values(*run) == [set(), {"LOT-1"}]
    assert [need.trial for need in needs(trace(*run, trials=True))] == [0, 1]


def test_where_agents_speak_their_words_are_the_actions() -> None:
    """What one says is news for the others; those who report do nothing themselves."""
    found = values(
        Grow("Planner", "look for it"),
        Grow("WebSurfer", "there is LOT-1"),
        Grow("Planner", "take LOT-1 by 10:30"),
        Grow("WebSurfer", "LOT-1 was taken at 10:30"),
        Grow("Checker", "taken at 10:30"),
        spoken=True,
    )
    assert found == [set(), set(), {"LOT-1"}, set(), {"10:30"}]


def test_who_and_when_is_such_a_run() -> None:
    """Its importer says so."""
    document = {"question": "q", "history": [{"role": "Planner", "content": "x"}], "mistake_step": "0"}
    (found,) = load(json.dumps(document).encode(), file="x.json").unwrap()
    assert found.spoken


# -- which actions write --------------------------------------------------------------------------------


def test_writes_are_told_by_the_names_of_tools() -> None:
    """Nobody says it of a step without a call, nor where no names are given."""
    run = trace(Grow(call("look"), ""), Grow(call("book"), ""), Grow("well", ""))
    told = needs(run, writes=lambda name: name == "book")
    assert [need.writes for need in told] == [False, True, None]
    assert [need.writes for need in needs(run)] == [None, None, None]


def test_writes_are_told_by_declared_effects() -> None:
    """A session whose environment declared what its actions do says which of them change something."""
    store = MemoryStore()
    memory = Memory.open(store, "x", task="t")
    memory.record("look", "", effect=NoEffect())
    memory.record("book", "", effect=Reversible("cancel"))
    memory.record("think", "")
    (found,) = load(b"".join(encode_bundle(pack(store, "x"))), file="x.mage").unwrap()
    assert [need.writes for need in needs(found)] == [False, True, None]


# -- what is covered ------------------------------------------------------------------------------------

CODES: Final = st.sampled_from(["LOT-1", "LOT-2", "A-17", "4711", "x@y.org", "SEA"])
SEEN: Final = st.lists(CODES, max_size=4).map(" and ".join)
ACTS: Final = st.lists(CODES, max_size=3).map(lambda found: call("take", lots=found))
STEPS: Final = st.lists(st.builds(Grow, ACTS, SEEN), max_size=20)


@given(STEPS)
def test_the_full_history_covers_everything(steps: list[Command]) -> None:
    """Where nothing is compressed nothing can be lost, and nothing is far."""
    shares = covered(trace(*steps)).shares()
    assert all(share.covered == share.of for share in shares.values())
    assert shares["far"] == Share(0, 0)


@given(STEPS, st.integers(100, 400))
def test_counts_agree_with_each_other(steps: list[Command], budget: int) -> None:
    """Far values are some of all, what is missing is far where no open step is cut, and no part is more than the whole."""
    coverage = covered(trace(*steps), budget)
    for use in coverage.uses:
        assert use.missing <= use.far <= use.need.values
    shares = coverage.shares()
    assert all(0 <= share.covered <= share.of for share in shares.values())
    assert shares["far"].of <= shares["values"].of
    assert shares["values"].of - shares["values"].covered == shares["far"].of - shares["far"].covered
    assert (shares["runs"].covered == shares["runs"].of) is (
        shares["actions"].covered == shares["actions"].of
    )


@given(STEPS, st.integers(1, 400))
def test_a_value_that_was_never_seen_counts_nowhere(steps: list[Command], budget: int) -> None:
    """An action that copies from nothing changes no number."""
    own = [*steps, Grow(call("take", lots=["OWN-99"]), "")]
    assert covered(trace(*own), budget).shares() == covered(trace(*steps), budget).shares()


def test_what_a_summary_leaves_out_is_missing() -> None:
    """The values of the trace's own summaries and of extracts are covered, those that nothing shows are not."""
    run = trace(
        Grow(call("look"), f"LOT-1 and LOT-2 {PAD}"),
        Compress("LOT-1 is there"),
        Accept(),
        Grow(call("take", a="LOT-1", b="LOT-2"), ""),
    )
    (use,) = covered(run).uses
    assert (set(use.far), set(use.missing)) == ({"LOT-1", "LOT-2"}, {"LOT-2"})
    assert covered(run).values == Share(1, 2)
    assert covered(run).actions == Share(0, 1)


def test_what_is_cut_out_of_an_open_step_is_missing_though_it_is_near() -> None:
    """A step that is longer than the budget shows its two ends."""
    run = trace(Grow(call("look"), f"{PAD * 9}LOT-1 {PAD * 9}"), Grow(call("take", a="LOT-1"), ""))
    (use,) = covered(run, 200).uses
    assert (set(use.far), set(use.missing)) == (set(), {"LOT-1"})


def test_a_budget_covers_by_extracts() -> None:
    """What they list is shown although no step is."""
    looked = [Grow(call("look", n=place), f"lot LOT-{place} {PAD}") for place in range(9)]
    coverage = covered(trace(*looked, Grow(call("take", a="LOT-0"), "")), 200)
    assert coverage.far == Share(1, 1)


def test_shares_of_nothing_are_nothing() -> None:
    """No part of no values."""
    assert Coverage(()).values.part is None
    assert Share(1, 2).part == 0.5


def test_runs_of_several_traces_stay_apart() -> None:
    """A run that misses a value is one of three, whatever their numbers."""
    good = use_of(Need(frozenset({"LOT-1"})), NOTHING, frozenset({"LOT-1"}))
    bad = use_of(Need(frozenset({"LOT-1"}), trial=1), NOTHING, NOTHING)
    assert together([Coverage((good, bad)), Coverage(()), Coverage((good,))]).trials == Share(2, 3)


@pytest.mark.parametrize("writes", [True, None])
def test_actions_that_write_are_counted_apart(writes: bool | None) -> None:
    """Those of which nobody says so are not among them."""
    use = use_of(Need(values_in("LOT-1"), writes), NOTHING, NOTHING)
    assert Coverage((use, attrs.evolve(use, need=Need(values_in("LOT-1"), False)))).writes == Share(
        0, int(writes is True)
    )

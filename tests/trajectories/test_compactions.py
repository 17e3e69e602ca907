"""What a client's compactions threw away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Accept, Command, Compress, Grow, Revise, Start, StepId
from mage.trajectories import Compaction, compactions
from mage.trajectories.coding import missing, names_in
from mage.trajectories.trajectory import Made, made_of
from tests.trajectories.coding_logs import CLAUDE_CODE, read


def test_names_that_were_lost_are_told_from_those_that_were_missed() -> None:
    """A name that the text has is kept; of the others one that a later action uses was needed again."""
    main, _ = read(*CLAUDE_CODE)
    (found,) = compactions(main)
    assert found == Compaction(
        found.version,
        StepId(0),
        found.boundary,
        3,
        "The pump's flow was looked at.",
        found.names,
        found.lost,
        ("pump.py",),
    )
    assert {"test_flow_4711", "tests/test_pump.py", "pump.py"} <= set(found.lost)
    assert found.names == len(found.lost)


def test_each_compaction_has_its_own_steps_and_what_came_behind_it() -> None:
    """What the second one lost was in its own steps; what the first one lost may be missed behind the second."""
    commands: list[Command] = [
        Start("Go."),
        Grow("read a1.txt", "b2.txt"),
        Compress("a1.txt was read.", "fallback"),
        Accept(),
        Grow("read c3.txt", ""),
        Compress("Something else was read.", "fallback"),
        Accept(),
        Grow("write b2.txt", ""),
    ]
    first, second = compactions(made_of("x", map(Made, commands)))
    assert (first.names, first.lost, first.missed) == (2, ("b2.txt",), ("b2.txt",))
    assert (second.steps, second.lost, second.missed) == (1, ("c3.txt",), ())


def test_subgoals_of_the_agents_own_are_no_compactions() -> None:
    """Only fallbacks are: a finished subgoal is not thrown away. And without any there is none."""
    commands: list[Command] = [
        Start("Go."),
        Grow("a1", ""),
        Compress("Done."),
        Accept(),
        Revise(StepId(0), ""),
    ]
    assert compactions(made_of("x", map(Made, commands))) == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("edit src/app/main.py, please", ["src/app/main.py"]),
        ("call `do_it()` and fooBar in 'x.y'.", ["do_it", "fooBar", "x.y"]),
        ("mail ann@pond.org about #4711 now...", ["ann@pond.org", "4711"]),
        ("The end. No names at all; a 7 is short.", []),
    ],
)
def test_names_are_what_can_only_be_copied(text: str, names: list[str]) -> None:
    """Paths, identifiers, numbers and addresses are; words are not."""
    assert names_in(text) == names


@given(st.text())
def test_text_misses_no_name_of_its_own(text: str) -> None:
    """Whatever it says, it has what it says."""
    assert missing(names_in(text), text) == ()

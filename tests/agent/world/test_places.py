"""Where a world is, and which snapshots are kept."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mage.agent.restore import Kept, KeptSnapshots, Place, trails
from mage.engine import Step, StepId

contents = st.lists(st.tuples(st.text("ab1:", max_size=3), st.text("ab1:", max_size=3)), max_size=4)


def path(done: list[tuple[str, str]], first: int = 1) -> list[Step]:
    return [Step(StepId(at), StepId(at - 1), *content) for at, content in enumerate(done, first)]


@given(contents, contents, st.sampled_from(["", "a", "b"]), st.sampled_from(["", "a", "b"]))
def test_a_place_is_known_by_what_was_done_to_the_world(
    one: list[tuple[str, str]], other: list[tuple[str, str]], opening: str, beginning: str
) -> None:
    """Trails are equal where openings and contents are, wherever an action ends; ids play no part."""
    same = trails(opening, path(one))[-1] == trails(beginning, path(other, first=40))[-1]
    assert same == ((opening, one) == (beginning, other))


def test_a_surrogate_pair_is_the_character_it_spells() -> None:
    """What an environment shows unjoined is the place that its recorded step leads to (D15)."""
    one, other = (trails(text, path([(text, text)]))[-1] for text in ("\ud83d\ude00", "\U0001f600"))
    assert one == other


def deep(number: int) -> list[Place]:
    return [Place(trail) for trail in trails("", path([("go", "on")] * number))]


@pytest.mark.parametrize("most", [0, 1, 2, 3, 8, 64])
def test_snapshots_are_bounded_and_the_newest_is_there(most: int) -> None:
    """However many are put, no more than the bound are kept; with one at least, the last is among them."""
    kept = KeptSnapshots(most)
    for place in deep(300):
        kept.put(Kept(place, None))
        assert len(kept) <= most
        assert (kept.get(place.trail) is not None) == (most > 0)


@given(st.integers(1, 2_000))
@example(2_000)
def test_older_snapshots_are_fewer_and_never_far(steps: int) -> None:
    """With 64 kept, going back by n steps replays no more than a quarter of n and two."""
    kept = KeptSnapshots(64)
    places = deep(steps)
    for place in places:
        kept.put(Kept(place, None))
    missing = 0
    for depth, place in enumerate(places):
        missing = 0 if kept.get(place.trail) else missing + 1
        assert missing <= (steps - depth) / 4 + 2


def test_a_place_that_is_put_again_counts_as_new() -> None:
    """Put again, it outlives places that were visited after it."""
    kept = KeptSnapshots(8)
    places = deep(30)
    for place in places[1:]:
        kept.put(Kept(places[0], "boundary"))
        kept.put(Kept(place, None))
    found = kept.get(places[0].trail)
    assert found is not None
    assert found.snapshot == "boundary"

"""Group travel: trips from rows of others, wishes that refer to others' plans, and the published leniency."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena.domains.calls import action
from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.travel.alike import is_alike, is_like_any
from benchmarks.arena.domains.travel.invented import invented_row
from benchmarks.arena.domains.travel.rows import BadRow, read_rows, trip_of
from benchmarks.arena.domains.travel.tasks import Travelling
from benchmarks.arena.domains.travel.trip import Day, Option, Slot
from benchmarks.arena.domains.travel.wishes import Reference, Wish
from benchmarks.arena.domains.world import World, played
from tests.arena.domains.cases import SMALL, actions_of, rules_of
from tests.shared_data import SHARED, needs_shared

FEW = settings(deadline=None, max_examples=25)
ROWS = st.integers(0, 10_000).map(lambda seed: invented_row(draws(seed), cities=2))


@needs_shared
def test_real_rows_are_trips_with_groups() -> None:
    """Each of TravelPlanner's 45 rows is a trip of 3, 5 or 7 days, and its plan solves the group that is drawn on it."""
    rows = read_rows(SHARED / "data" / "travelplanner" / "train_ref_info.jsonl")
    assert len(rows) == 45
    assert {len(trip_of(row).days) for row in rows} == {3, 5, 7}
    travelling = Travelling(members=3, wishes=3, rows=rows)
    for number in range(45):
        task = travelling.task(1, number)
        assert all(traveller.wishes for traveller in rules_of(task).group.travellers[1:])
        assert task.mark(played(task.rules, actions_of(task)).closed).score.sr == 1


@given(ROWS)
@settings(FEW, max_examples=6)
def test_a_made_up_row_is_one_of_the_same_schema(row: dict[str, Any]) -> None:
    """It passes through JSON and the loader: two cities, five days, something to choose in each slot."""
    trip = trip_of(json.loads(json.dumps(row)))
    assert len(trip.days) == 5
    assert len(trip.slots) == 5 * 4 + 3 + 4  # meals and a sight each day, three legs, four nights
    assert all(len(trip.at(slot)) > 2 for slot in trip.slots)
    for kind in ("restaurant", "hotel", "attraction"):
        names = [option.name for option in trip.of(kind, trip.days[0].city)]
        assert not any(is_like_any(name, names[:place]) for place, name in enumerate(names))


def test_days_follow_from_the_dates_of_the_legs() -> None:
    """One is in a city from the day on which one comes, until one leaves it after breakfast, lunch and dinner."""
    row = {
        "Flight from A to B on 2022-03-16": [],
        "Self-driving from A to B": "self-driving, from A to B, duration: 1 hour, distance: 9 km, cost: 4",
        "Taxi from A to B": "No valid information.",
        "Flight from B to A on 2022-03-18": "There is no flight from B to A on 2022-03-18.",
        "Restaurants in B": [
            {"Name": " Two  Spoons", "Average Cost": 12, "Cuisines": "Cafe, Grill", "Aggregate Rating": 4.1},
            {"Name": "Two Spoons", "Average Cost": 99, "Cuisines": "Bakery", "Aggregate Rating": 1},
        ],
    }
    trip = trip_of(row)
    assert trip.days == (Day("B", "A to B"), Day("B"), Day("B", "B to A"))
    assert trip.at(Slot(1, "transport")) == (
        Option("transport", "Self-driving", "A to B", 4, 0.0, ("takes 1 hour",)),
    )
    assert trip.at(Slot(2, "lunch")) == (Option("restaurant", "Two Spoons", "B", 12, 4.1, ("Cafe", "Grill")),)
    meals = [Slot(day, name) for day in (1, 2, 3) for name in ("breakfast", "lunch", "dinner")]
    assert [*trip.slots] == [Slot(1, "transport"), *meals]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({}, "at least two keys"),
        (
            {"Flight from A to B on 2022-03-18": [], "Flight from B to A on 2022-03-16": []},
            "order of their dates",
        ),
        ({"Flight from A to B on 2022-03-99": [], "Flight from B to A on 2022-03-16": []}, "not as expected"),
        (
            {"Flight from A to B on 2022-03-01": [{}], "Flight from B to A on 2022-03-16": []},
            "not as expected",
        ),
    ],
)
def test_a_row_that_is_none_is_refused(row: dict[str, Any], why: str) -> None:
    """What a row lacks is said."""
    with pytest.raises(BadRow, match=why):
        trip_of(row)


@pytest.mark.parametrize(
    ("text", "why"), [("[]\n", "no JSON object"), ("{\n", "no JSON"), (None, "cannot be read")]
)
def test_a_file_that_holds_no_rows_is_refused(tmp_path: Path, text: str | None, why: str) -> None:
    """Which line of which file is no row is said."""
    path = tmp_path / "rows.jsonl"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(BadRow, match=why):
        read_rows(path)


def test_a_wish_is_met_by_one_option() -> None:
    """What is compared with another's choice, what it must have, and which of those that fit: nothing is left to chance."""
    plain, fine, dear = (
        Option("restaurant", name, "B", price, rating, tags)
        for name, price, rating, tags in (
            ("Plain", 10, 3.0, ("Grill",)),
            ("Fine", 20, 4.5, ("Grill",)),
            ("Dear", 30, 4.5, ("Cafe",)),
        )
    )
    unknown = Option("restaurant", "Unknown", "B", 0, 0.0, ("Grill",))
    options, slot = (plain, fine, dear, unknown), Slot(1, "lunch")

    def right(relation: Any, pick: Any, other: Option, tag: str = "") -> Option | None:
        return Wish(slot, Reference(relation, 0, slot), tag, pick).met_by(options, other)

    assert right("same", "cheapest", dear) == dear
    assert right("dearer", "cheapest", plain) == fine
    assert right("dearer", "cheapest", plain, "Cafe") == dear
    assert right("dearer", "cheapest", dear) is None
    assert right("cheaper", "best rated", dear) == fine
    assert right("cheaper", "best rated", plain) is None  # what nobody knows the price of is not cheaper
    assert right("better", "cheapest", plain) == fine
    assert right("better", "cheapest", unknown) == plain
    assert right("other", "cheapest", plain) == fine
    wish = Wish(slot, Reference("dearer", 1, Slot(2, "dinner")), "Grill", "cheapest")
    assert wish.text(["Ada", "Ben"]) == (
        "day 1 lunch: the cheapest restaurant with Grill that costs more than Ben's day 2 dinner."
    )


@given(st.integers(0, 10_000))
@FEW
def test_who_ignores_a_wish_is_not_right(seed: int) -> None:
    """The first traveller's choice never counts where a member wishes for another, lenient as the rule is."""
    task = SMALL["travel"].task(seed, 0)
    first, *members = rules_of(task).group.travellers
    for member in members:
        for wish in member.wishes:
            assert not is_alike(first.plan[wish.slot].name, member.plan[wish.slot].name)


def test_names_count_as_one_by_the_published_ratio() -> None:
    """A name that is nearly right counts, one that is half right does not."""
    assert is_alike("Halls Corner House", "Hall's Corner House")
    assert not is_alike("Corner House", "Garden Spoon")


def test_a_plan_that_is_partly_right_counts_in_the_soft_progress_alone() -> None:
    """A member with one wrong slot does not pass, and loses of the soft progress only what that wish was worth."""
    task = Travelling(members=2, wishes=2).task(3, 0)
    first, second = task.plan
    wrong_slot = rules_of(task).group.travellers[2].wishes[0].slot
    skipped = [
        each
        for each in second.actions
        if f'"day":{wrong_slot.day},' not in each or f'"{wrong_slot.name}"' not in each
    ]
    marked = task.mark(played(task.rules, [*first.actions, *skipped]).closed)
    assert marked.right == (True, False)
    assert (marked.score.sr, marked.score.ps, marked.score.soft_ps) == (0, 1 / 2, 3 / 4)
    assert marked.score.answered == pytest.approx(31 / 32)


def test_only_ids_of_the_last_search_can_be_booked() -> None:
    """An id of an earlier search, an invented one, one of another kind or city: each is refused in words."""
    task = SMALL["travel"].task(3, 0)
    world = World(task.rules)
    world.reset()
    city = rules_of(task).group.trip.days[0].city
    asked = dict.fromkeys(("words", "min_rating", "min_price", "max_price"))
    assert "3 found" not in world.act(action("find", kind="hotel", where="Nowhere", page=1, **asked)).text
    found = world.act(action("find", kind="hotel", where=city.upper(), page=1, **asked)).text
    assert found.count("\n2-") == 8
    world.act(action("find", kind="restaurant", where=city, page=2, **asked))
    for day, slot, option, why in (
        (1, "accommodation", "2-1", "no id of the last search"),
        (1, "accommodation", "3-1", "takes a hotel"),
        (9, "dinner", "3-1", "a plan has no day 9 dinner"),
        (2, "transport", "3-1", "a plan has no day 2 transport"),
    ):
        assert why in world.act(action("book", day=day, slot=slot, option=option)).text
    assert world.act(action("book", day=1, slot="dinner", option="3-1")).text.startswith(
        "Booked, day 1 dinner: "
    )
    shown = world.act("itinerary").text
    assert shown.count("missing") == len(rules_of(task).group.trip.slots) - 1
    assert (
        world.act(action("find", kind="restaurant", where=city, page=99, **asked)).text
        == "There is no such page."
    )


def test_a_search_keeps_to_its_limits() -> None:
    """Least rating, least and highest price and words narrow a search; what shares most words comes first, then the cheap."""
    task = SMALL["travel"].task(3, 0)
    city = rules_of(task).group.trip.days[0].city
    options = rules_of(task).group.trip.of("restaurant", city)
    limits = {"words": None, "min_rating": 3.5, "min_price": 20, "max_price": 80}
    world = World(attrs.evolve(rules_of(task)))
    world.reset()
    fit = [each for each in options if each.rating >= 3.5 and 20 <= each.price <= 80]
    text = world.act(action("find", kind="restaurant", where=city, page=1, **limits)).text
    assert text.startswith(f"{len(fit)} found")
    assert min(fit, key=lambda each: (each.price, each.name)).name in text.splitlines()[1]
    cuisine = options[0].tags[0]
    named = {"words": cuisine, "min_rating": None, "min_price": None, "max_price": None}
    text = world.act(action("find", kind="restaurant", where=city, page=1, **named)).text
    assert text.startswith(f"{sum(cuisine in each.tags for each in options)} found")

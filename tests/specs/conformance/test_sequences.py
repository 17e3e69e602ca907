"""Sequences reach what they promise: phases, operations, refusals, lengths; nothing is drawn in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from mage.codec import decode_command, encode_command
from mage.engine import TRANSITIONS, Accepted, Command, State
from mage.engine.tree import CHUNK
from mage.testing import HOSTILE
from specs.conformance import LENGTHS, MOST, Outcome, outcome_of, sequences

A_FEW: Callable[..., settings] = lambda number: settings(max_examples=number, derandomize=True, database=None)  # noqa: E731


def walked(tried: tuple[Command, ...]) -> list[tuple[State | None, Command, Outcome]]:
    """Return each command of a sequence with the state it was tried in and what came of it."""
    walk: list[tuple[State | None, Command, Outcome]] = []
    state: State | None = None
    for command in tried:
        outcome = outcome_of(state, command)
        walk.append((state, command, outcome))
        state = outcome.after
    return walk


def test_every_row_of_the_table_is_met() -> None:
    """Sequences meet every operation in every phase, with each phase it leads to and each refusal."""
    seen: Counter[tuple[str, str, str]] = Counter()

    @A_FEW(1_000)
    @given(sequences())
    def count(tried: tuple[Command, ...]) -> None:
        for state, command, outcome in walked(tried):
            came_of_it = outcome.after if outcome.refusal is None else outcome.refusal
            operation = type(command).__name__.lower()
            seen[type(state).__name__, operation, type(came_of_it).__name__] += 1

    count()
    for row in TRANSITIONS:
        if row.operation not in ("judge_request", "fold_request"):
            for met in (*row.leads_to, *row.refuses) or ("IllegalPhase",):
                operation = row.operation.replace("_", "")
                assert seen[row.phase, operation, met] > 0, (row.phase, operation, met)
    assert seen["NoneType", "start", "Active"] == 1_000
    assert seen["NoneType", "grow", "IllegalPhase"] > 0
    assert sum(seen[phase, "start", "IllegalPhase"] for phase in ("Active", "Unverified", "Rejected")) > 20


def test_lengths_are_as_promised_and_nothing_is_discarded() -> None:
    """As many commands are accepted as were asked for, at least; what is begun is finished."""
    begun: list[int] = []
    accepted: list[int] = []

    def note(wanted: int) -> int:
        begun.append(wanted)
        return wanted

    @A_FEW(200)
    @given(sequences(LENGTHS.map(note)))
    def measure(tried: tuple[Command, ...]) -> None:
        accepted.append(sum(outcome.refusal is None for _, _, outcome in walked(tried)) - 1)
        assert begun[-1] <= accepted[-1]

    measure()
    assert len(accepted) == 200
    # Hypothesis cuts short a few of the first tenth on purpose, in search of small examples.
    assert len(begun) - len(accepted) <= 200 // 10
    assert max(accepted) <= MOST
    assert sum(length > 100 for length in accepted) >= 200 // 4
    assert sum(accepted) / len(accepted) > 40


def test_sequences_go_deep_and_wide() -> None:
    """Long sequences pack steps, finish many summaries, fork, take two fallbacks in, fold three times."""
    deepest = widest = large = chapters = 0
    fallbacks = lessons = despite = False

    @A_FEW(60)
    @given(sequences(st.just(101)))
    def measure(tried: tuple[Command, ...]) -> None:
        nonlocal deepest, widest, large, chapters, fallbacks, lessons, despite
        tree = walked(tried)[-1][2].after.tree  # type: ignore[union-attr]
        path = [tree.summary(summary) for summary in tree.summary_path()]
        deepest = max(deepest, len(path))
        large += tree.next_step > 2 * CHUNK
        widest = max(widest, *[len(tree.step_children(step)) for step in tree.active_path()])
        kinds = [summary.kind for summary in tree.way_upwards()]
        fallbacks |= ("subgoal", "fallback", "fallback") in zip(kinds, kinds[1:], kinds[2:], strict=False)
        chapters = max(chapters, sum(len(tree.chapters_at(summary.id)) for summary in path))
        lessons |= any(len(tree.lessons_at(summary.boundary)) > 1 for summary in tree.summaries())
        despite |= any(
            isinstance(summary.verdict, Accepted) and summary.verdict.despite is not None
            for summary in tree.summaries()
        )

    measure()
    assert deepest >= 8
    assert widest >= 3
    assert large >= 5
    assert chapters >= 3
    assert fallbacks
    assert lessons
    assert despite


@settings(max_examples=50)
@given(sequences())
def test_whatever_is_drawn_can_be_written(tried: tuple[Command, ...]) -> None:
    """Every command of a sequence can stand in a journal, and is read back as one that does the same."""
    for state, command, outcome in walked(tried):
        again = decode_command(encode_command(command)).unwrap()
        assert outcome_of(state, again).after == outcome.after


def test_hostile_texts_are_drawn() -> None:
    """Within a few hundred sequences most of the hostile strings stand somewhere."""
    seen: set[str] = set()

    @A_FEW(1_000)
    @given(sequences(st.just(12)))
    def collect(tried: tuple[Command, ...]) -> None:
        for command in tried:
            seen.update(getattr(command, part, "") for part in ("action", "observation", "text", "lesson"))

    collect()
    assert len(seen & set(HOSTILE)) >= len(HOSTILE) - 4

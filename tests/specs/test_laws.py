"""The laws as functions: kept by what the engine does, broken by forged edges, each by its own.

Most edges are forged by giving a real command another end than it has.
"""

from __future__ import annotations

import attrs
import pytest
from rpds import HashTrieMap

from mage.engine import (
    Accept,
    Active,
    Compress,
    Fold,
    Grow,
    IllegalPhase,
    Instruct,
    Retext,
    Revise,
    State,
    StepId,
    Unverified,
    accept,
    compress,
    fold_request,
    grow,
    instruct,
    revise,
    start,
)
from mage.testing import Edge, carry_out
from specs import decision_laws, laws
from specs.laws import EDGE_LAWS, Law, Snapshot, laws_of, old_versions_stand, refusal_changes_nothing
from tests.specs.forged import sound, with_step, with_summary


def back(state: State, lesson: str = "") -> Active:
    """Return the state after a revise to the root."""
    revised = revise(state, 0, lesson).unwrap().state
    assert isinstance(revised, Active)
    return revised


ROOT = start("task")
OPEN = grow(grow(ROOT, "a", "o"), "b", "o")
PLACED = instruct(OPEN, "i").unwrap()
PENDING = compress(OPEN, "m").unwrap()
BRANCHED = grow(back(accept(PENDING)), "z", "o")
BESIDE = compress(BRANCHED, "n").unwrap()
GROWN_AFTER = grow(accept(BESIDE), "y", "o")
CUT = grow(accept(compress(OPEN, "m", "fallback").unwrap()), "c", "o")
FINISHED = accept(compress(grow(accept(PENDING), "c", "o"), "n").unwrap())
FOLD = Fold(0, 3, "x", fold_request(FINISHED, 0, 3, "x").unwrap().digest)
FOLDED = carry_out(FINISHED, FOLD).after


def index_lost(state: Active | Unverified) -> Active | Unverified:
    """Return the state without what finds a branch by its content, or a summary by its boundary."""
    settled = state.tree._settled
    top = attrs.evolve(settled.top, branches=HashTrieMap())
    tree = attrs.evolve(state.tree, settled=attrs.evolve(settled, branches=HashTrieMap(), top=top))
    return attrs.evolve(state, tree=tree)


def not_gone(state: State) -> Edge:
    """Return a revise to the root that lists what it abandons, and stays where it was."""
    return attrs.evolve(carry_out(state, Revise(StepId(0))), after=state)


def unlisted(state: State) -> Edge:
    """Return a revise to the root that does not list what it abandons."""
    edge = carry_out(state, Revise(StepId(0)))
    assert edge.revised is not None
    return attrs.evolve(edge, revised=attrs.evolve(edge.revised, abandoned=()))


FORGED: tuple[tuple[Edge, Law], ...] = (
    (Edge(OPEN, Grow("c", "o"), ROOT), laws.nothing_is_lost),
    (Edge(OPEN, Grow("c", "o"), with_step(OPEN, 1, action="z")), laws.nothing_is_lost),
    (Edge(PENDING, Accept(), with_summary(PENDING, 1, covers=(StepId(1),))), laws.nothing_is_lost),
    (Edge(back(OPEN, "l"), Grow("c", "o"), back(OPEN)), laws.nothing_is_lost),
    (Edge(PLACED, Grow("c", "o"), OPEN), laws.nothing_is_lost),
    (Edge(BRANCHED, Grow("z", "o"), index_lost(BRANCHED)), laws.grow_is_idempotent),
    (Edge(BRANCHED, Compress("n"), index_lost(BESIDE)), laws.compress_reuses_summary),
    (
        Edge(GROWN_AFTER, Revise(StepId(3)), back(GROWN_AFTER)),
        laws.revise_restores,
    ),
    (Edge(GROWN_AFTER, Revise(StepId(0)), grow(back(GROWN_AFTER), "x", "o")), laws.revise_restores),
    (not_gone(GROWN_AFTER), laws.revise_restores),
    (not_gone(accept(BESIDE)), laws.errors_are_isolated),
    (not_gone(OPEN), laws.errors_are_isolated),
    (unlisted(OPEN), laws.errors_are_isolated),
    (Edge(OPEN, Grow("c", "o"), grow(grow(OPEN, "c", "o"), "d", "o")), laws.changes_are_local),
    (Edge(OPEN, Grow("c", "o"), grow(back(OPEN), "c", "o")), laws.changes_are_local),
    (Edge(OPEN, Compress("m"), compress(grow(OPEN, "c", "o"), "m").unwrap()), laws.changes_are_local),
    (Edge(OPEN, Grow("c", "o"), back(OPEN, "l")), laws.changes_are_local),
    (Edge(OPEN, Revise(StepId(0)), back(back(OPEN, "l"), "k")), laws.changes_are_local),
    (Edge(OPEN, Instruct("i"), instruct(PLACED, "j").unwrap()), laws.changes_are_local),
    (Edge(OPEN, Grow("c", "o"), PENDING), laws.changes_are_local),
    (Edge(BESIDE, Accept(), with_summary(accept(BESIDE), 1, text="z")), laws.changes_are_local),
    (Edge(sound(), Accept(), with_summary(accept(sound()), 2, parent=1)), laws.changes_are_local),
    (Edge(OPEN, Grow("c", "o"), attrs.evolve(OPEN)), laws.no_change_same_object),
    (Edge(PENDING, Retext("n"), PENDING), laws.retext_is_a_detour_saved),
    (Edge(sound(), Retext("n"), sound()), laws.retext_is_a_detour_saved),
    (
        Edge(CUT, Compress("n"), compress(CUT, "n", "fallback").unwrap()),
        decision_laws.fallbacks_leave_no_trace,
    ),
    (
        Edge(PLACED, Compress("m", "fallback"), compress(OPEN, "m", "fallback").unwrap()),
        decision_laws.fallback_hides_nothing,
    ),
    (
        Edge(back(OPEN, "l"), Compress("m", "fallback"), compress(OPEN, "m", "fallback").unwrap()),
        decision_laws.fallback_hides_nothing,
    ),
    (Edge(FINISHED, FOLD, FINISHED), laws.fold_changes_only_what_is_shown),
    (Edge(FINISHED, FOLD, carry_out(FOLDED, Grow("z", "o")).after), laws.fold_changes_only_what_is_shown),
    (Edge(FINISHED, FOLD, FINISHED), laws.changes_are_local),
    (Edge(FOLDED, Grow("z", "o"), grow(FINISHED, "z", "o")), laws.changes_are_local),
)


@pytest.mark.parametrize(("edge", "law"), FORGED)
def test_a_forged_edge_breaks_its_law(edge: Edge, law: Law) -> None:
    """What a forged edge breaks is found by the law that says so."""
    assert list(law(edge))


def test_every_law_can_be_broken() -> None:
    """Each law over an edge is broken by some forged one, so none is empty words."""
    broken = {law for _, law in FORGED}
    assert broken == {law for number, law in EDGE_LAWS.items() if number.startswith("L")}


def test_what_the_engine_does_breaks_none() -> None:
    """The commands that the edges are forged from keep every law as they are."""
    for edge, _ in FORGED:
        if isinstance(edge.before, Active | Unverified):
            real = carry_out(edge.before, edge.command)
            assert [wrong for law in EDGE_LAWS.values() for wrong in law(real)] == []


def test_an_old_version_that_changed_is_noticed() -> None:
    """L2: another form or another hash than when the snapshot was taken is noticed."""
    snapshot = Snapshot.of(OPEN)
    assert list(old_versions_stand(snapshot)) == []
    assert list(old_versions_stand(attrs.evolve(snapshot, plain={})))
    assert list(old_versions_stand(attrs.evolve(snapshot, hash=snapshot.hash + 1)))


def test_a_refusal_that_changes_something_is_noticed() -> None:
    """L7: where a command was refused, the state must be as in the snapshot; else this law says nothing."""
    changed = attrs.evolve(Snapshot.of(OPEN), plain={})
    refused = Edge(OPEN, Accept(), OPEN, IllegalPhase("accept", "Active", ()))
    assert list(refusal_changes_nothing(refused, changed))
    assert list(refusal_changes_nothing(refused, Snapshot.of(OPEN))) == []
    assert list(refusal_changes_nothing(Edge(OPEN, Grow("a", "o"), OPEN), changed)) == []


def test_laws_of_a_command_leave_out_those_that_say_nothing() -> None:
    """A law that is not among those of a kind of command finds nothing in any edge of that kind."""
    commands = (Grow("c", "o"), Compress("m"), Accept(), Revise(StepId(0)), Instruct("i"), Retext("n"), FOLD)
    for command in commands:
        asked = {number for number, _ in laws_of(command)}
        assert asked <= set(EDGE_LAWS)
        for state in (OPEN, PENDING, sound(), CUT, FINISHED):
            edge = carry_out(state, command)
            for number in set(EDGE_LAWS) - asked:
                assert list(EDGE_LAWS[number](edge)) == []

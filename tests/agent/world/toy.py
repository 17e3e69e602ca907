"""A small world made by Hypothesis, restored in each of the ways there are, and its awaited twin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, final

import attrs
from hypothesis import strategies as st

from mage.effects import (
    ActionEffect,
    Capabilities,
    Compensable,
    EffectError,
    Irreversible,
    NoEffect,
    Observed,
    Reversible,
)
from tests.agent.ways import RestoredBy, restored_by

STATES: Final = 6
Kind: TypeAlias = Literal["look", "turn", "break", "pay", "push"]
"""No effect, reversible, irreversible, compensable, undeclared."""
Doing: TypeAlias = tuple[Kind, tuple[int, ...]]
"""What an action does: its kind, and where it leads from each state."""
KINDS: Final[tuple[Kind, ...]] = ("look", "turn", "break", "pay", "push")


@final
@attrs.frozen
class Spec:
    """A deterministic world: what each action does in each state, of which an observation shows the half.

    Attributes:
        opening: what a reset shows.
        moves: what each action does.
        over: states in which the world takes no more actions.
        asking: states that come with an instruction.
        refusing: states in which the last action cannot be carried out.
    """

    opening: str
    moves: tuple[Doing, ...]
    over: frozenset[int] = frozenset()
    asking: frozenset[int] = frozenset()
    refusing: frozenset[int] = frozenset()


def moves() -> st.SearchStrategy[Doing]:
    """Draw an action: what only looks leads nowhere, what can be undone is a permutation."""
    anywhere = st.tuples(*[st.integers(0, STATES - 1)] * STATES)
    return st.one_of(
        st.just(("look", tuple(range(STATES)))),
        st.permutations(range(STATES)).map(lambda to: ("turn", tuple(to))),
        st.tuples(st.sampled_from(KINDS[2:]), anywhere),
    )


def states() -> st.SearchStrategy[frozenset[int]]:
    return st.frozensets(st.integers(1, STATES - 1), max_size=2)


specs: Final = st.builds(
    Spec,
    opening=st.sampled_from(["", "  ", "a room", "\ud83d\ude00 a joined pair"]),
    moves=st.lists(moves(), min_size=2, max_size=5).map(tuple),
    over=states(),
    asking=states(),
    refusing=states(),
)


class Toy:
    """The world of a spec. `noise` is added to what it shows: the n-th number to the n-th answer, then nothing."""

    def __init__(
        self, spec: Spec, restoring: RestoredBy = "replay", noise: Iterable[int] = (), keep: int = 64
    ) -> None:
        self.spec = spec
        self.capabilities = Capabilities(restored_by(restoring, self, keep))
        self.state = 0
        self.called: list[str] = []
        self._noise = iter(noise)

    def reset(self) -> Observed | str:
        self.called.append("reset!")
        self.state = 0
        return self.spec.opening + "." * next(self._noise, 0)

    def act(self, action: str) -> Observed | str:
        self.called.append(action)
        undo = action.startswith("un")
        number = int(action.removeprefix("un"))
        kind, to = self.spec.moves[number]
        if self.state in self.spec.refusing and number == len(self.spec.moves) - 1:
            raise EffectError("environment", "it does not move")
        self.state = to.index(self.state) if undo else to[self.state]
        return Observed(
            f"{action}: {self.state % 2}" + "." * next(self._noise, 0),
            over=self.state in self.spec.over,
            instructions=("hurry",) if self.state in self.spec.asking else (),
            effect=self._effect(kind, action),
        )

    def save(self) -> int:
        self.called.append("snapshot!")
        return self.state

    def load(self, snapshot: int) -> None:
        self.called.append("restore!")
        self.state = snapshot

    def _effect(self, kind: Kind, action: str) -> ActionEffect | None:
        match kind:
            case "look":
                return NoEffect()
            case "turn":
                return Reversible(f"un{action}")
            case "break":
                return Irreversible("it broke")
            case "pay":
                return Compensable("ask for the money")
            case "push":
                return None

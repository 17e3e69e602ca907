"""Tree-of-Thought logs of mini crosswords: a depth-first search that says where it stands.

The file is a list of puzzles, each a list of records. A record's `actions` are the path from the root to
where the search stands. Each move that is new on the path is grown, summarized by itself and accepted; where
the path goes back, the tree is first revised to the boundary that both paths share. The lesson is blank,
since the log does not say why the search went back. The observation of a record's last move is the
canonical JSON of its `info` and `count`; moves before it that no record stands for have none. A record that
adds no move leaves its observation as a lesson where it stands.

The logs carry no clues, so the task only says which puzzle it is. Running numbers are left out (D15).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

import attrs

from mage.engine import Accept, Command, Compress, Grow, Revise, Start, State, StepId, apply
from mage.engine.ids import ROOT_STEP
from mage.trajectories.fields import Json, Spot, canonical, field, items_at
from mage.trajectories.trajectory import Entry, Made, Malformed, Steps, Trajectory, entry_at, made_of


@final
@attrs.frozen
class _Record:
    moves: tuple[str, ...]
    observation: str
    entry: Entry


def is_tot_crosswords(document: Spot) -> bool:
    """Tell whether a file looks like such a log: some record of some puzzle of it has actions."""
    puzzles = document.items("a list")
    if isinstance(puzzles, Malformed):
        return False
    inner = [puzzle.items("a list") for puzzle in puzzles]
    return any(
        record.has("actions") for records in inner if not isinstance(records, Malformed) for record in records
    )


def load_tot_crosswords(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...] | Malformed:
    """Return one trajectory for each puzzle, named by its place from 0."""
    puzzles = document.items("a list of puzzles")
    if isinstance(puzzles, Malformed):
        return puzzles
    loaded: list[Trajectory] = []
    for place, puzzle in enumerate(puzzles):
        records = _records(puzzle)
        if isinstance(records, Malformed):
            return records
        loaded.append(made_of(str(place), _search(place, records), summarized=True))
    return tuple(loaded)


def _records(puzzle: Spot) -> list[_Record] | Malformed:
    spots = puzzle.items("a list of records")
    if isinstance(spots, Malformed):
        return spots
    records: list[_Record] = []
    for spot in spots:
        moves = _moves(spot)
        if isinstance(moves, Malformed):
            return moves
        state: dict[str, Json] = {}
        for name in ("info", "count"):
            found = field(spot, name)
            if isinstance(found, Malformed):
                return found
            state[name] = found.value
        records.append(_Record(moves, canonical(state), entry_at(spot.path)))
    return records


def _moves(record: Spot) -> tuple[str, ...] | Malformed:
    spots = items_at(record, "actions", "a list of moves")
    if isinstance(spots, Malformed):
        return spots
    moves: list[str] = []
    for spot in spots:
        move = spot.text()
        if isinstance(move, Malformed):
            return move
        if not move.strip():
            return spot.expected("a move that is not blank")
        moves.append(move)
    return tuple(moves)


def _search(puzzle: int, records: Sequence[_Record]) -> list[Made]:
    """Return the commands of one search; the engine tells at which step each move of the path stands."""
    begin = Start(f"Fill in mini crossword {puzzle}. (The log does not carry its clues.)")
    made = [Made(begin)]
    state = _after(None, begin)
    path: list[tuple[str, StepId]] = []
    for record in records:
        for command in _record(record, path):
            state = _after(state, command)
            made.append(Made(command, (record.entry,)))
            if isinstance(command, Compress):
                path.append((command.text, state.tree.step_head))
    return made


def _after(state: State | None, command: Command) -> State:
    return apply(state, command).unwrap()


def _record(record: _Record, path: list[tuple[str, StepId]]) -> Iterator[Command]:
    """Yield a record's commands; cuts `path` back to what stays."""
    shared = 0
    while shared < min(len(path), len(record.moves)) and path[shared][0] == record.moves[shared]:
        shared += 1
    new = record.moves[shared:]
    back = shared < len(path)
    del path[shared:]
    boundary = path[-1][1] if path else ROOT_STEP
    if back or not new:
        yield Revise(boundary, "" if new else record.observation)
    for place, move in enumerate(new, start=1):
        yield Grow(move, record.observation if place == len(new) else "")
        yield Compress(move)
        yield Accept()

"""Bundles that `mage export` wrote: the session that was exported, and those that it reads through."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from mage.bundle import BUNDLE_FORMAT, Bundle, decode_bundle
from mage.engine import Command, Compress, State
from mage.stores.errors import DamagedRecord
from mage.stores.folding import command_of, fold
from mage.stores.records import Record
from mage.trajectories.fields import Json
from mage.trajectories.journals import undecoded
from mage.trajectories.oddities import shortened
from mage.trajectories.trajectory import Entry, Made, Remark, TraceError, Trajectory, made_of

__all__ = ["is_bundle", "load_bundle"]


def is_bundle(first: Json) -> bool:
    """Tell whether a file's first line is the header of a bundle."""
    return isinstance(first, dict) and first.get("format") == BUNDLE_FORMAT


def load_bundle(data: bytes, file: str) -> Result[tuple[Trajectory, ...], TraceError]:
    """Return the sessions of a bundle by their names, the one that was exported last.

    Those before it are there because it reads through them, and are marked so. Cost: that of decoding, and a
    replay of each.
    """
    decoded = decode_bundle(data)
    if not is_successful(decoded):
        return Failure(undecoded(file, decoded.failure()))
    bundle = decoded.unwrap()
    loaded: list[Trajectory] = []
    for place in range(len(bundle.journals)):
        session = Bundle(bundle.journals[: place + 1]).flat.session
        try:
            commands = _commands(session.records)
        except DamagedRecord as damaged:
            where = f"record {damaged.version} of {session.name}"
            return Failure(TraceError(file, where, damaged.reason, damaged.version - 1))
        loaded.append(_trajectory(session.name, commands))
    *before, exported = loaded
    return Success((*[attrs.evolve(each, lineage=True) for each in before], _with_lineage(exported, before)))


def _commands(records: Sequence[Record]) -> list[Command]:
    state: State | None = None
    commands: list[Command] = []
    for record in records:
        commands.append(command_of(state, record))
        state = fold([record], state)
    return commands


def _trajectory(name: str, commands: Sequence[Command]) -> Trajectory:
    made = [
        Made(command, (Entry(f"record {place + 1} of {name}", place),))
        for place, command in enumerate(commands)
    ]
    return made_of(name, made, summarized=any(isinstance(command, Compress) for command in commands))


def _with_lineage(exported: Trajectory, before: Sequence[Trajectory]) -> Trajectory:
    """Say which other sessions the file holds: nobody should think that it shows all."""
    remarks = [
        Remark(f"session {shortened(each.name)!r}, which this one was forked from; --task shows it", 1, "$")
        for each in before
    ]
    return attrs.evolve(exported, remarks=tuple(remarks))

"""Series that belong in one table: the same agent on the same tasks, a line for each memory, a column for each domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, final

import attrs

from benchmarks.arena.domains.registry import NAMES
from benchmarks.arena.domains.results import Row
from benchmarks.arena.domains.scoring import mean
from benchmarks.arena.reports.series import LABORATORY, Said, Series, all_series, number_of, tokens_of

ABLATIONS: Final = {
    "mage": "MAGE (Full)",
    "mage-without-compress": "w/o Compress",
    "mage-without-maintain": "w/o Maintain",
    "mage-without-revise": "w/o Revise",
}
NAMED: Final = {"full-history": "Long Context", "mage": "MAGE"}
_OF_A_BLOCK: Final = ("agent", "size", "seed", "tasks", "model", "judge", "mode", "temperature")
_BESIDE: Final = ("domain", "memory", "data")


@final
@attrs.frozen
class Block:
    """The series of one table.

    Attributes:
        settings: that all of them share.
        series: by the label of the memory and the domain.
        memories: the memory behind each label.
        notes: what each memory has besides, in all of its series, and what its figures are worth.
        limited: the labels of memories whose figures are not simply measured.
    """

    settings: Mapping[str, object]
    series: Mapping[tuple[str, str], Series]
    memories: Mapping[str, str]
    notes: tuple[str, ...] = ()
    limited: frozenset[str] = frozenset()

    @property
    def labels(self) -> list[str]:
        """The memories, full history first and this project's last, as the paper has them."""
        return list(self.memories)

    @property
    def domains(self) -> list[str]:
        """The domains that are in it, in the paper's order."""
        there = {domain for _, domain in self.series}
        return [*[name for name in NAMES if name in there], *sorted(there.difference(NAMES))]

    def rows_of(self, label: str, domains: Iterable[str]) -> tuple[Row, ...]:
        """Return the rows of a memory in some domains."""
        found = [self.series.get((label, domain)) for domain in domains]
        return tuple([row for each in found if each is not None for row in each.rows])


def blocks(rows: Iterable[Row], *, laboratory: bool = False) -> list[Block]:
    """Return the blocks of some rows: of the laboratory alone, or of all but those."""
    series = [each for each in all_series(rows) if (each.settings.get("agent") == LABORATORY) == laboratory]
    found: dict[str, list[Series]] = {}
    for each in series:
        found.setdefault(str(_shared_by_a_block(each.settings)), []).append(each)
    return [_block(found[key]) for key in sorted(found)]


def _block(series: Sequence[Series]) -> Block:
    extras = [_extras(each.settings) for each in series]
    shared = {
        name: value for name, value in extras[0].items() if all(each.get(name) == value for each in extras)
    }
    apart = _told_apart(series, extras)
    settings = _shared_by_a_block(series[0].settings)
    labelled: dict[tuple[str, str], Series] = {}
    memories: dict[str, str] = {}
    notes: dict[str, None] = {}
    limited, worth = set[str](), dict[str, None]()
    for each, extra in sorted(zip(series, extras, strict=True), key=lambda pair: _rank(pair[0], pair[1])):
        memory = each.of("memory")
        told = ", ".join(f"{name}={_plain(value)}" for name, value in extra.items() if name in apart[memory])
        held = {name: _plain(value) for name, value in extra.items() if name not in {*apart[memory], *shared}}
        if held:
            notes[
                f"{NAMED.get(memory, memory)}: {', '.join(f'{name} {value}' for name, value in held.items())}."
            ] = None
        limits = each.limits  # beside the name, so that no line of any table can be read without it
        worth.update({f"[{short}]: {why}.": None for short, why in limits.items()})
        label = f"{NAMED.get(memory, memory)}{f' ({told})' if told else ''}{''.join(f' [{short}]' for short in limits)}"
        while (
            label,
            each.of("domain"),
        ) in labelled:  # two that differ in what has no name here, such as data
            label = f"{label}, other data"
        labelled[label, each.of("domain")] = each
        memories[label] = memory
        limited.update([label] if limits else [])
    told_of = (*notes, *sorted(worth))
    return Block({**settings, **shared}, labelled, memories, told_of, frozenset(limited))


def _told_apart(
    series: Sequence[Series], extras: Sequence[Mapping[str, object]]
) -> dict[str, frozenset[str]]:
    """Return for each memory the settings in which its own series differ: they belong in its labels."""
    by_memory: dict[str, list[Mapping[str, object]]] = {}
    for each, extra in zip(series, extras, strict=True):
        by_memory.setdefault(each.of("memory"), []).append(extra)
    return {
        memory: frozenset(
            [
                name
                for name in {name for each in found for name in each}
                if len({str(each.get(name)) for each in found}) > 1
            ]
        )
        for memory, found in by_memory.items()
    }


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return str(value)


def _shared_by_a_block(settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings that all series of a block share; of a judge its name, and not whether there is one."""
    return {
        name: settings[name]
        for name in _OF_A_BLOCK
        if name in settings and not isinstance(settings[name], bool)
    }


def _extras(settings: Mapping[str, object]) -> dict[str, object]:
    """Return what a series differs in beside its block, its domain and its memory."""
    apart = {*_shared_by_a_block(settings), *_BESIDE}
    found = {name: value for name, value in settings.items() if name not in apart}
    policy = found.pop("policy", None)
    return {**found, **(policy if isinstance(policy, dict) else {})}


def _rank(series: Series, extra: Mapping[str, object]) -> tuple[int, str, str]:
    memory = series.of("memory")
    places = ["full-history", "full-history-judged"]
    if memory in places:
        return (places.index(memory), memory, str(extra))
    ours = list(ABLATIONS)
    return (3 + ours.index(memory) if memory in ours else 2, memory, str(extra))


def averages(block: Block) -> list[Said]:
    """Return for each memory that has every domain of its block its means, over domains and over tasks."""
    found: list[Said] = []
    for label in block.labels:
        each = [block.series.get((label, domain)) for domain in block.domains]
        known = [series for series in each if series is not None]
        if len(known) < len(each):
            continue  # over other domains it would be another number
        rows = block.rows_of(label, block.domains)
        names = ("sr", "ps")
        said: Said = {"memory": block.memories[label], "label": label, "agent": block.settings.get("agent")}
        found.append(
            {
                **said,
                "domains": len(known),
                "tasks": len(rows),
                "over_domains": {
                    **{name: mean(series.mean(name) for series in known) for name in names},
                    "tokens": mean(
                        mean(tokens) for tokens in (tokens_of(each.rows) for each in known) if tokens
                    ),
                },
                "over_tasks": {
                    **{name: mean(number_of(row.get(name)) for row in rows) for name in names},
                    "tokens": mean(tokens_of(rows)),
                },
            }
        )
    return found

"""What rows of tasks come to: an object for each series, its intervals, and what it differs by from full history.

A series is all tasks that were run in the same way: one domain, one memory, one agent. Every task of it counts, the
failed ones as nothing. Nothing here raises on a row that lacks something, or has it in another type: that is nothing too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import sqrt
from typing import Final, TypeAlias, cast, final

import attrs

from benchmarks.arena.coverage import Drawn, draw, interval
from benchmarks.arena.domains.results import Row, key_of
from benchmarks.arena.domains.scoring import mean

Said: TypeAlias = "dict[str, object]"
"""An object of the report."""

BASELINE: Final = "full-history"
"""The memory beside which every other is put: the paper's long context."""
LABORATORY: Final = "context-reader"
"""The agent of the laboratory's rows."""
_LARGEST: Final = 1e15
_Z: Final = 1.959964  # 95 %
_SEED: Final = 1
_ALIKE: Final = (
    "agent",
    "domain",
    "seed",
    "size",
    "tasks",
    "model",
    "mode",
    "temperature",
    "mistakes",
    "recall",
    "strength",
    "cart",
    "data",
    "rows",
)
"""What two series must share to be put beside each other: the same tasks, by the same agent."""
_HABITS: Final = ("mistakes", "recall")
"""What two scripted readers must share: how often they err, and what they notice."""
_NO_MODEL: Final = "no model acted"
_MEASURED: Final = "measured"
_SHORT: Final = 40
"""Characters of a name for what a figure is worth; rows may come from anybody."""


@final
@attrs.frozen
class Series:
    """All tasks that were run in one way.

    Attributes:
        settings: that they share.
        rows: one for each task, in the order of their numbers.
    """

    settings: Mapping[str, object]
    rows: tuple[Row, ...]

    def of(self, name: str) -> str:
        """Return a setting as text; a question mark where it is missing."""
        return str(self.settings.get(name, "?"))

    def values(self, name: str) -> list[float]:
        """Return a number of each task; what a task does not have is 0."""
        return [number_of(row.get(name)) for row in self.rows]

    def mean(self, name: str) -> float:
        """Return the mean of a number over the tasks."""
        return mean(self.values(name))

    @property
    def figures(self) -> tuple[str, ...]:
        """What the rows of a memory system say that their figures are worth: one sentence, or several in their order."""
        told = [row.get("memory_system") for row in self.rows]
        found = {each.get("figures") for each in told if isinstance(each, dict)}
        return tuple(sorted(each for each in found if isinstance(each, str)))

    @property
    def limits(self) -> dict[str, str]:
        """What the figures are worth that are not simply measured: a short name, and why."""
        return dict([_limit(each) for each in self.figures if each != _MEASURED])


def number_of(value: object) -> float:
    """Return a value as a number; 0 where it is none, or one that no measure here can have."""
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
    return float(cast("float", value)) if is_one else 0.0


def all_series(rows: Iterable[Row]) -> list[Series]:
    """Return the series of some rows, in the order of their settings, whatever the order of the rows."""
    found: dict[str, dict[int, Row]] = {}
    for row in rows:
        key, number = key_of(row)
        found.setdefault(key, {})[number] = row
    made = []
    for key in sorted(found):
        ordered = tuple(found[key][number] for number in sorted(found[key]))
        made.append(Series(cast("Mapping[str, object]", ordered[0]["settings"]), ordered))
    return made


def who_acted(settings: Mapping[str, object]) -> str:
    """Say what the agent of a series was, and what its scores can therefore say."""
    agent = settings.get("agent")
    if agent == "plan":
        return (
            f"{_NO_MODEL}: a plan plays every task right by construction, whatever it is shown; its tokens are what the"
            " prompts would have taken"
        )
    if agent in ("reader", LABORATORY):
        return f"{_NO_MODEL}: a scripted reader decides by the task's rules with what stands in its prompt"
    if agent == "model":
        judge = settings.get("judge") or settings.get("model")
        return f"the model {settings.get('model')} acted (judge: {judge}, replies by {settings.get('mode', 'tools')})"
    return f"agent: {agent}"


def has_a_model(settings: Mapping[str, object]) -> bool:
    """Tell whether a model acted, so that a score says something of one."""
    return _NO_MODEL not in who_acted(settings)


def _limit(figures: str) -> tuple[str, str]:
    if figures.startswith(f"{_MEASURED};"):
        return "writer not known", figures
    short, _, why = figures.partition(":")
    return short[:_SHORT], why.strip() or figures


# -- what a series comes to --------------------------------------------------------------------------------


def report(rows: Iterable[Row]) -> list[Said]:
    """Return an object for each series, in the order of their settings. Cost: O(2,000 x tasks)."""
    series = all_series(rows)
    return [{**_summary(each), **_paired(each, beside(each, series))} for each in series]


def _summary(series: Series) -> Said:
    rows, count = series.rows, len(series.rows)
    sr = series.mean("sr")
    said: Said = {
        "domain": series.of("domain"),
        "memory": series.of("memory"),
        "agent": series.of("agent"),
        "acted": who_acted(series.settings),
        "tasks": count,
        "sr": sr,
        "sr_interval": list(wilson(min(count, max(0, round(sr * count))), count)),
        "ps": series.mean("ps"),
        "ps_interval": interval_of(series.values("ps")),
        "answered": series.mean("answered"),
        "stopped_by_cap": series.mean("stopped_by_cap"),
        "stopped": sum(row.get("outcome") == "stopped" for row in rows),
        "failed": sum(row.get("outcome") == "failed" for row in rows),
        "steps": series.mean("steps"),
        "summaries": series.mean("summaries"),
        "revisions": series.mean("revisions"),
        "tokens": mean(tokens_of(rows)),
        "tokens_tasks": len(tokens_of(rows)),
        "tokens_interval": interval_of(tokens_of(rows)),
        "tokens_by_call": calls_of(rows),
        "settings": dict(series.settings),
        "origin": next((row["origin"] for row in rows if "origin" in row), None),
    }
    if series.figures:
        said["figures"] = "; and ".join(series.figures)
    for name in ("soft_ps", "guessed"):
        if any(name in row for row in rows):
            said[name] = series.mean(name)
    return said


def has_tokens(row: Row) -> bool:
    """Tell whether a row has the tokens of a task. One whose run has failed has a part of them or none, and would look cheap."""
    return row.get("outcome") != "failed" and (number_of(row.get("tokens")) > 0 or row.get("tokens") == 0)


def tokens_of(rows: Iterable[Row]) -> list[float]:
    """Return the tokens of each task of which they are known."""
    return [number_of(row.get("tokens")) for row in rows if has_tokens(row)]


def calls_of(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return for each kind of call how many a task has on average, and the tokens that were read and written.

    The average is over the tasks whose run has not failed.
    """
    kinds: dict[str, dict[str, float]] = {}
    rows = [
        row for row in rows if row.get("outcome") != "failed" and isinstance(row.get("tokens_by_call"), dict)
    ]
    for row in rows:
        told = row.get("tokens_by_call")
        for kind, usage in sorted(told.items()) if isinstance(told, dict) else ():
            of = kinds.setdefault(str(kind), {"calls": 0.0, "prompt": 0.0, "completion": 0.0})
            for name in of:
                of[name] += number_of(usage.get(name)) / len(rows) if isinstance(usage, dict) else 0.0
    return kinds


# -- intervals and differences --------------------------------------------------------------------------------


def wilson(right: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, by Wilson's score; of nothing it is everything."""
    if not count:
        return (0.0, 1.0)
    share, square = right / count, _Z * _Z
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = _Z * sqrt(share * (1 - share) / count + square / (4 * count * count)) / (1 + square / count)
    return (max(0.0, middle - half), min(1.0, middle + half))


@final
@attrs.frozen
class _Task:
    """A task, which is drawn anew alone."""

    group: str


@lru_cache(maxsize=64)
def _drawn(count: int) -> Drawn:
    return draw([_Task(str(place)) for place in range(count)], _SEED)


def interval_of(values: Sequence[float]) -> list[float]:
    """Return the 95 % interval of a mean, by tasks drawn anew (2,000 times, seeded); one point where all are equal."""
    if len(set(values)) <= 1:
        return [mean(values)] * 2
    return list(cast("tuple[float, float]", interval(_drawn(len(values)).means(values))))


def pairs_of(one: Series, other: Series) -> list[tuple[Row, Row]]:
    """Return the rows of the tasks that two series share."""
    theirs = {key_of(row)[1]: row for row in other.rows}
    return [(row, theirs[key_of(row)[1]]) for row in one.rows if key_of(row)[1] in theirs]


def difference(pairs: Sequence[tuple[Row, Row]], name: str) -> tuple[float, list[float]]:
    """Return by how much the first has more of a number than the second on average, and the 95 % interval.

    Tokens are compared over the pairs in which those of both are known.
    """
    pairs = with_tokens(pairs) if name == "tokens" else pairs
    found = [number_of(one.get(name)) - number_of(other.get(name)) for one, other in pairs]
    return mean(found), interval_of(found)


def with_tokens(pairs: Iterable[tuple[Row, Row]]) -> list[tuple[Row, Row]]:
    """Return the pairs in which the tokens of both are known."""
    return [(one, other) for one, other in pairs if has_tokens(one) and has_tokens(other)]


def share_of_tokens(pairs: Sequence[tuple[Row, Row]]) -> float | None:
    """Return what share of the second's tokens the first took; None where that cannot be said."""
    known = with_tokens(pairs)
    theirs = sum(number_of(row.get("tokens")) for _, row in known)
    return sum(number_of(row.get("tokens")) for row, _ in known) / theirs if theirs else None


def beside(series: Series, others: Sequence[Series]) -> Series | None:
    """Return the series of full history that played the same tasks; None where there is none."""
    if series.settings.get("memory") == BASELINE:
        return None
    alike = [each for each in others if each.settings.get("memory") == BASELINE and _is_alike(series, each)]
    return max(alike, key=lambda each: _shared(series, each), default=None)


def _is_alike(one: Series, other: Series) -> bool:
    return all(one.settings.get(name) == other.settings.get(name) for name in _ALIKE) and all(
        _habit(one, name) == _habit(other, name) for name in _HABITS
    )


def _habit(series: Series, name: str) -> object:
    reader = series.settings.get("reader")
    return reader.get(name) if isinstance(reader, dict) else None


def _shared(one: Series, other: Series) -> int:
    return sum(one.settings.get(name) == value for name, value in other.settings.items())


def _paired(series: Series, other: Series | None) -> Said:
    pairs = [] if other is None else pairs_of(series, other)
    if not pairs:
        return {}
    said: Said = {"against": BASELINE, "paired_tasks": len(pairs)}
    for name in ("sr", "ps", "tokens"):
        said[f"{name}_more"], said[f"{name}_more_interval"] = difference(pairs, name)
    said["tokens_of_full_history"] = share_of_tokens(pairs)
    return said

"""Rows as the arena's commands write them, by hand and at random, whole and broken."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

MEMORIES: Final = (
    "full-history",
    "mage",
    "mage-without-compress",
    "mage-without-maintain",
    "mage-without-revise",
    "bm25",
)
DOMAINS: Final = ("shopping", "travel", "search", "math", "physics")


def row(
    number: int, sr: float, domain: str = "shopping", memory: str = "mage", agent: str = "plan", **more: Any
) -> dict[str, Any]:
    """Return the row of a task."""
    settings = {"domain": domain, "memory": memory, "agent": agent, "seed": 0, "size": "full", "tasks": 2}
    if agent == "model":
        settings |= {"model": "m", "judge": "j", "mode": "tools", "temperature": 0.0}
    settings |= more.pop("settings", {})
    said = {"settings": settings, "number": number, "task": f"{domain}-0-{number}", "outcome": "finished"}
    return {**said, "sr": sr, "ps": sr / 2, **more}


def usage(prompt: int) -> dict[str, Any]:
    """Return the tokens of a row by kind of call."""
    return {
        "model": {"prompt": prompt, "completion": 7, "cached": 0, "calls": 3},
        "judge": {"prompt": 11, "completion": 1, "cached": 0, "calls": 1},
    }


_BROKEN: Final[st.SearchStrategy[Any]] = st.sampled_from(
    [None, "x", [], {}, True, -1, 10**400, 1e300, [[1, "a"]], [[2, 3], [1]]]
)


def any_rows() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return a strategy for rows of which some are failed, some partial and some nonsense."""
    fields = {
        name: st.one_of(st.floats(0, 1), st.integers(0, 5000), _BROKEN)
        for name in ("sr", "ps", "soft_ps", "answered", "tokens", "steps", "stopped_by_cap", "guessed")
    }
    more: dict[str, st.SearchStrategy[Any]] = {
        **fields,
        "tokens_by_call": st.one_of(_BROKEN, st.integers(0, 9).map(usage)),
        "context": st.one_of(
            _BROKEN, st.lists(st.lists(st.integers(0, 99), min_size=2, max_size=2), max_size=9)
        ),
        "outcome": st.sampled_from(["finished", "stopped", "failed"]),
        "origin": st.one_of(_BROKEN, st.just({"tokens": "counted"})),
        "task": st.text(max_size=5),
    }
    settings = st.fixed_dictionaries(
        {},
        optional={
            "domain": st.sampled_from([*DOMAINS, "<b>other</b>"]),
            "memory": st.sampled_from([*MEMORIES, "no & such"]),
            "agent": st.sampled_from(["plan", "model", "reader", "context-reader", "?"]),
            "policy": st.one_of(st.just({"high_water": 3}), _BROKEN),
            "judge": st.sampled_from(["j", True, False]),
            "mistakes": st.sampled_from([0.1, 0.2]),
            "data": st.sampled_from(["a", "b"]),
        },
    )
    one = st.fixed_dictionaries({"settings": settings, "number": st.integers(0, 4)}, optional=more)
    return st.lists(one, max_size=12)

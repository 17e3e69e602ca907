"""`mage diff`: what an agent is shown at one version, branch or session and not at another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import typer

from mage.cli.draw import one_line, standing_of
from mage.cli.naming import AtVersion
from mage.cli.output import AsJson, print_json, print_text, printable
from mage.cli.plain import Json, plain_step, plain_summary
from mage.cli.sessions import state_at
from mage.diff import Difference, Sides, compare_states
from mage.engine import Step, Summary, view

__all__ = ["plain_difference", "register", "told_difference"]

Item = TypeVar("Item")

_WIDTH = 100  # of a text; --json has it whole


def register(app: typer.Typer) -> None:
    """Add the command of this room."""
    app.command("diff")(diff)


def _side(words: str) -> Any:  # as typer has it
    return typer.Argument(parser=AtVersion.parse, metavar="SESSION[@VERSION]", help=words, show_default=False)


def diff(
    left: Annotated[AtVersion, _side("A session, at its head or at a version.")],
    right: Annotated[AtVersion, _side("What it is compared with.")],
    as_json: AsJson = False,
) -> None:
    """Tell what differs in C, R and H between two versions, branches or sessions.

    Exit status: 0 where an agent is shown the same, 1 where anything differs.
    """
    one, other = (view(state_at(side.session, side.version)) for side in (left, right))
    found = compare_states(one, other)
    if as_json:
        print_json(
            {"left": str(left), "right": str(right), "differ": found.differ, "parts": plain_difference(found)}
        )
    else:
        print_text(f"- {printable(str(left))}\n+ {printable(str(right))}\n")
        print_text("".join(told_difference(found)) if found.differ else "nothing differs in C, R and H\n")
    if found.differ:
        raise typer.Exit(1)


def told_difference(found: Difference) -> list[str]:
    """Return what differs in lines, each ended; none where nothing does."""
    return [
        *_part("task", found.task, _text),
        *_part("instructions", found.instructions, _text),
        *_part("C compressed", found.compressed, _summary),
        *_part("R raw", found.raw, _step),
        *_part("H boundary", found.boundary, lambda step: f"[Step {step}]"),
        *_part("H continuations", found.continuations, _step),
        *_part("H subgoals", found.subgoals, _summary),
        *_part("H lessons", found.lessons, _text),
    ]


def _part(name: str, sides: Sides[Item], told: Callable[[Item], str]) -> Sequence[str]:
    if not sides.differ:
        return ()
    same = f" ({sides.same:,} the same)" if sides.same else ""
    return (
        f"{name}{same}\n",
        *[f"  - {told(item)}\n" for item in sides.left],
        *[f"  + {told(item)}\n" for item in sides.right],
    )


def _text(text: str) -> str:
    return one_line(text, _WIDTH)


def _step(step: Step) -> str:
    return f"{step.id} {one_line(step.action, _WIDTH // 2)} → {one_line(step.observation, _WIDTH // 2)}"


def _summary(summary: Summary) -> str:
    first, last = summary.covers[0], summary.covers[-1]
    covers = f"{first}-{last}" if first != last else f"{first}"
    return f"[Step {summary.label}] {_text(summary.text)} (covers {covers}, {summary.kind}, {standing_of(summary)})"


def plain_difference(found: Difference) -> Json:
    """Return what differs as JSON values, part by part."""
    return {
        "task": _both(found.task, str),
        "instructions": _both(found.instructions, str),
        "compressed": _both(found.compressed, plain_summary),
        "raw": _both(found.raw, plain_step),
        "boundary": _both(found.boundary, int),
        "continuations": _both(found.continuations, plain_step),
        "subgoals": _both(found.subgoals, plain_summary),
        "lessons": _both(found.lessons, str),
    }


def _both(sides: Sides[Item], plain: Callable[[Item], Json]) -> Json:
    return {
        "left": [plain(item) for item in sides.left],
        "right": [plain(item) for item in sides.right],
        "same": sides.same,
    }

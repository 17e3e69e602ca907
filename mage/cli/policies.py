"""A policy on the command line: `--policy KEY=VALUE`, what is not named stays as it was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

import typer

from mage.agent import BadPolicy, Policy
from mage.cli.output import Refused

__all__ = ["Changes", "changed", "policy_changes"]

Changes: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="KEY=VALUE",
        help="A choice of the agent's, such as wait=false or max_revisions=1; repeatable.",
    ),
]


def policy_changes(given: Sequence[str] | None, **named: int | None) -> dict[str, object]:
    """Return what is to be changed in a policy: options `KEY=VALUE`, and options of their own that were given.

    Raises:
        Refused: there is no such choice, or it cannot be that; says which there are.
    """
    changes: dict[str, object] = {}
    for each in given or ():
        key, equals, value = each.partition("=")
        if not equals:
            raise Refused(f"--policy {each}: it is given as KEY=VALUE, such as max_revisions=1")
        changes[key.strip().replace("-", "_")] = _value(value.strip())
    changes |= {key: value for key, value in named.items() if value is not None}
    changed(None, changes)
    return changes


def _value(written: str) -> object:
    if written.lower() in ("none", "true", "false"):
        return {"none": None, "true": True, "false": False}[written.lower()]
    try:
        value: object = json.loads(written)
    except (ValueError, RecursionError):
        return written
    return value


def changed(policy: Policy | None, changes: Mapping[str, object]) -> Policy | None:
    """Return a policy with changes; None, the one that is in force, where there are none.

    Raises:
        Refused: as `policy_changes`.
    """
    if not changes:
        return None
    try:
        return Policy.of({**({} if policy is None else policy.document()), **changes})
    except BadPolicy as error:
        raise Refused(f"--policy: {error}") from None

"""What `mage rerun` changes in a run, as its options say it, and who answers then."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import final

import attrs
import typer

from mage.cli.answerers import Mode, live, offline
from mage.cli.environments import environment_named
from mage.effects import Environment, Judge, Model, Summarizer

__all__ = ["Change", "Given", "given_by"]


@final
@attrs.frozen
class Change:
    """What the options say.

    Attributes:
        policy: choices of the policy that are to be others.
        judge: the model that is asked about each summary; None for nobody else.
        model: the one that goes on where the record ends; None for none.
        environment: the environment that acts there.
        base_url: the server's address, if it was given.
        mode: how the model replies.
        is_offline: whether the demo's script goes on there.
    """

    policy: Mapping[str, object]
    judge: str | None
    model: str | None
    environment: str | None
    base_url: str | None
    mode: Mode
    is_offline: bool

    @property
    def is_none(self) -> bool:
        """Whether nothing is changed: the run is to be the same."""
        return not (self.policy or self.is_offline) and self.judge is self.model is self.environment is None

    def require_sound(self, into: str | None) -> None:
        """Do nothing if every option does something.

        Args:
            into: where the changed run is to be kept.

        Raises:
            typer.BadParameter: one does nothing, or names nobody.
        """
        for option, value in (("--into", into), ("--base-url", self.base_url)):
            if self.is_none and value is not None:
                raise typer.BadParameter("nothing is changed: --judge or --policy does", param_hint=option)
        for option, value in (("--judge", self.judge), ("--model", self.model)):
            if value is not None and not value.strip():
                raise typer.BadParameter("which model?", param_hint=option)
        if self.is_offline and self.model is not None:
            raise typer.BadParameter("an offline run asks no model", param_hint="--model")
        if self.base_url is not None and self.judge is self.model is None:
            raise typer.BadParameter(
                "no model is asked: --judge or --model names one", param_hint="--base-url"
            )
        if self.mode is not Mode.TOOLS and self.model is None:
            raise typer.BadParameter("no model decides: --model names one", param_hint="--mode")


@final
@attrs.frozen
class Given:
    """Who answers where the record does not, each None where nobody does; see `mage.agent.what_if`.

    Attributes:
        judge: about a summary.
        model: what to do next.
        summarizer: with a text.
        environment: with what came of an action.
        judged_anew: whether the judge is asked about each summary, whatever the record says of it.
    """

    judge: Judge | None
    model: Model | None
    summarizer: Summarizer | None
    environment: Environment | None
    judged_anew: bool


def given_by(stack: ExitStack, change: Change) -> Given:
    """Return who answers; nothing is sent yet.

    Args:
        stack: closes what they need.
        change: what the options say.

    Raises:
        Refused: somebody of them cannot be had.
    """
    place = "shop" if change.environment is None and change.is_offline else change.environment
    environment = None if place is None else environment_named(place)
    going_on = offline() if change.is_offline else None
    if change.model is not None:
        going_on = live(
            stack, change.model, judge_model=change.judge, base_url=change.base_url, mode=change.mode
        )
    judged = going_on if change.judge is None else live(stack, change.judge, base_url=change.base_url)
    return Given(
        None if judged is None else judged.judge,
        None if going_on is None else going_on.model,
        None if going_on is None else going_on.summarizer,
        environment,
        change.judge is not None,
    )

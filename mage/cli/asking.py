"""What `mage run` is asked to do, and with whom, as its options say it."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path
from typing import final
from urllib.parse import urlsplit, urlunsplit

import attrs
import typer

from mage.cli.answerers import Mode
from mage.cli.files import read_bytes
from mage.cli.output import Refused
from mage.engine.text import is_blank

__all__ = ["Asked", "asked_of", "task_of"]


@final
@attrs.frozen
class Asked:
    """Whom the user wants to be asked.

    Attributes:
        environment: the environment's name.
        model: the model's; None offline.
        judge_model: the judge's, if it is another.
        base_url: the server's address, if it was given.
        mode: how the model replies.
    """

    environment: str
    model: str | None
    judge_model: str | None
    base_url: str | None
    mode: Mode

    @property
    def options(self) -> list[str]:
        """The options that name them again, to be shown: a name and a password in an address are left out."""
        if self.model is None:
            return ["--offline"] + ["--environment", self.environment] * (self.environment != "shop")
        named = ["--environment", self.environment, "--model", self.model]
        shown = None if self.base_url is None else _without_userinfo(self.base_url)
        for option, value in (("--judge-model", self.judge_model), ("--base-url", shown)):
            named += [] if value is None else [option, value]
        return named + ["--mode", self.mode.value] * (self.mode is not Mode.TOOLS)


def _without_userinfo(address: str) -> str:
    """Return an address as it may be shown: what stands before its host may be a key."""
    parts = urlsplit(address)
    userinfo, mark, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"***@{host}")) if userinfo or mark else address


def asked_of(
    environment: str | None,
    model: str | None,
    judge_model: str | None,
    base_url: str | None,
    mode: Mode,
    *,
    is_offline: bool,
) -> Asked:
    """Return whom the options ask for.

    Raises:
        typer.BadParameter: they contradict each other, or leave out who is to be asked, or where.
    """
    if is_offline:
        for option, given in (("--model", model), ("--judge-model", judge_model), ("--base-url", base_url)):
            if given is not None:
                raise typer.BadParameter("an offline run asks no model", param_hint=option)
        return Asked("shop" if environment is None else environment, None, None, None, mode)
    if environment is None:
        raise typer.BadParameter(
            "where is the agent to act? --environment shop is one place", param_hint="--environment"
        )
    if not model:
        raise typer.BadParameter("which model? --offline needs none", param_hint="--model")
    return Asked(environment, model, judge_model, base_url, mode)


def task_of(given: str | None, file: Path | None) -> str | None:
    """Return the task that is given in words, or by a file; None where there is none.

    Raises:
        Refused: it is blank, or cannot be read.
        typer.BadParameter: it is given twice.
    """
    if given is not None and file is not None:
        raise typer.BadParameter("the task is given twice", param_hint="--task-file")
    if given is not None and given.startswith("@"):
        file = Path(given[1:])
    if file is not None:
        try:
            given = read_bytes(file).removeprefix(BOM_UTF8).decode().strip()
        except UnicodeDecodeError as problem:
            raise Refused(f"{file}: a task is UTF-8, but byte {problem.start} is not") from None
    if given is not None and is_blank(given):
        raise Refused(f"{'' if file is None else f'{file}: '}the task is blank")
    return given

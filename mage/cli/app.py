"""The application that the groups of commands register with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final, cast, final

import typer
from typer.core import TyperGroup

import mage
from mage.cli.output import printable

__all__ = ["app"]

_UsageError: Final = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
"""What every complaint about options and arguments is; typer has no name of its own for it."""


@final
class _Group(TyperGroup):
    """The command, which repeats nothing to a terminal that this would obey: an argument may have been pasted."""

    def invoke(self, ctx: Any) -> Any:
        with _escaping():
            return super().invoke(ctx)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _escaping():
            return super().make_context(*args, **kwargs)


@contextmanager
def _escaping() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        error.message = printable(error.message)
        raise


app = typer.Typer(
    name="mage",
    cls=_Group,
    help="The execution state of a long-running agent: an immutable two-layer tree of what it did.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"mage {mage.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that stand before any command."""

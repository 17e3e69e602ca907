"""The application that the groups of commands register with."""

from __future__ import annotations

from typing import Annotated

import typer

import mage

__all__ = ["app"]

app = typer.Typer(
    name="mage",
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

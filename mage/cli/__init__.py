"""The `mage` command: look at agents' sessions, change them, run agents, read other people's traces.

A module is loaded when one of its commands is called, so that no command waits for what another one needs.
`mage --help` shows the docstring of a command's function, which is read without loading the module.

Exit status: 0, 1 for a refusal (bad input, a broken invariant), 2 for a usage error.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from inspect import cleandoc, getdoc
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, cast, final

import typer
from typer.core import TyperGroup

import mage
from mage.cli.output import Refused, abandon_output, complain, speak_safely
from mage.render import printable
from mage.tokens import BadCounter, MissingTokenizer

__all__ = ["app", "main"]

COMMANDS: Final[dict[str, tuple[str, str, str]]] = {
    "demo": ("Run an agent", "live", "demo"),
    "run": ("Run an agent", "run", "run"),
    "rerun": ("Run an agent", "run", "rerun_session"),
    "prompts": ("Run an agent", "answerers", "prompts"),
    "mcp": ("Run an agent", "hosts", "mcp"),
    "hook": ("Run an agent", "hosts", "hook"),
    "sessions": ("Look at sessions", "show", "sessions"),
    "tree": ("Look at sessions", "show", "tree"),
    "show": ("Look at sessions", "show", "show"),
    "log": ("Look at sessions", "show", "log"),
    "diff": ("Look at sessions", "show", "diff"),
    "check": ("Look at sessions", "show", "check_session"),
    "fork": ("Change sessions", "change", "fork"),
    "revise": ("Change sessions", "change", "revise"),
    "rename": ("Change sessions", "change", "rename"),
    "rm": ("Change sessions", "change", "remove"),
    "redact": ("Change sessions", "change", "redact"),
    "export": ("Files", "files", "export"),
    "import": ("Files", "files", "import_session"),
    "replay": ("Files", "replay", "replay"),
    "doctor": ("Care for a store", "doctor", "doctor"),
    "gc": ("Care for a store", "doctor", "gc"),
}
"""For each command, in the order of `mage --help`: its group there, its module in `mage.cli`, and its function."""

_UsageError: Final = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
"""The type of every complaint about options and arguments, for which typer has no name of its own."""


def main() -> None:
    """Run the command; bad input or a full disk ends it with one line on standard error and status 1."""
    speak_safely()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except (Refused, BadCounter, MissingTokenizer) as refused:
        complain(str(refused))
        sys.exit(1)
    except BrokenPipeError:  # the reader has seen enough
        abandon_output()
        sys.exit(1)
    except OSError as problem:
        abandon_output()
        place = "standard output" if problem.filename is None else f"{problem.filename}"
        complain(f"{place}: {problem.strerror}")
        sys.exit(1)


# -- the commands, each loaded when it is called ----------------------------------------------------------


def command_named(name: str) -> Any:  # Any: a command of click's, of which typer has a copy of its own
    """Return a command; its module is loaded."""
    _, module, function = COMMANDS[name]
    found = getattr(import_module(f"mage.cli.{module}"), function)
    return _made(name, found, getdoc(found) or "")


def _listed(name: str) -> Any:
    """Return a command that can only be listed: its module is not loaded."""
    _, module, function = COMMANDS[name]
    return _made(name, _not_loaded, _docstrings(module)[function])


@cache
def _docstrings(module: str) -> dict[str, str]:
    """Return the docstrings of a module's functions, read from its source."""
    tree = ast.parse(Path(__file__).with_name(f"{module}.py").read_bytes())
    found = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    return {each.name: cleandoc(ast.get_docstring(each) or "") for each in found}


def _made(name: str, function: Callable[..., Any], docstring: str) -> Any:
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name, help=_flowing(docstring), rich_help_panel=COMMANDS[name][0])(function)
    return typer.main.get_command(alone)


def _flowing(docstring: str) -> str:
    """Return a docstring without line breaks in its paragraphs, so that a terminal breaks them at its own width."""
    return "\n\n".join(" ".join(part.split()) for part in docstring.split("\n\n"))


def _not_loaded() -> NoReturn:
    raise RuntimeError("a command that is only listed was called")


@final
class _Group(TyperGroup):
    """All commands. In a complaint that repeats arguments, characters that a terminal would obey are escaped."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _listed(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in COMMANDS:
            return args[0], command_named(args[0]), args[1:]
        self.commands = cast("Any", dict.fromkeys(COMMANDS))  # typer suggests the nearest of them
        return super().resolve_command(ctx, args)

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


def _version(value: bool) -> None:
    if value:
        typer.echo(f"mage {mage.__version__}")
        raise typer.Exit


def _overview(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Keep, show and change the execution state of long-running agents.

    A session is named STORE#NAME: work.db#monday is the session "monday" in the file work.db, and work.db#monday@12
    is its version 12. A store with one session needs no name, and MAGE_STORE=work.db no store. Every command but mcp
    and hook takes --json, and each -h for its own help.
    """


app = typer.Typer(
    name="mage",
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback(help=_flowing(getdoc(_overview) or ""))(_overview)

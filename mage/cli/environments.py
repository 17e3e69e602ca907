"""Where a run acts: the demo's shop, an environment that is installed under `mage.environments`, or `MODULE:FACTORY`.

It is other people's code: what it raises is said in one line, with the line of theirs that raised it.
"""

from __future__ import annotations

import sys
import sysconfig
import traceback
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, cast, final

import attrs
import typer

import mage
from mage.agent.restore import capabilities_of
from mage.cli.output import Refused
from mage.effects import BadEnvironment, BadTool, Capabilities, EffectError, Environment, Observed
from mage.engine import MageError
from mage.render import printable

GROUP: Final = "mage.environments"
"""The group of entry points. Each is called with the text behind the colon, or with nothing, for an `Environment`."""
SHOP: Final = "shop"
"""The name of the demo's shop: nothing that is installed can take it."""
_SHOP: Final = EntryPoint(SHOP, "mage.demo.shop:Shop", GROUP)


def complete_environment(incomplete: str) -> list[str]:
    """Return the names of environments that begin so, for the completion of a word in the shell."""
    try:
        names = {SHOP, *(point.name for point in entry_points(group=GROUP))}
    except Exception:  # whatever is installed here: a shell that completes a word shows no error
        names = {SHOP}
    return sorted(name for name in names if name.startswith(incomplete))


EnvironmentName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--environment",
        metavar="NAME[:ARGS]",
        autocompletion=complete_environment,
        help=f"Where the agent acts: shop, what is installed as {GROUP}, or MODULE:FACTORY[:ARGS].",
    ),
]


def require_shop(environment: str) -> None:
    """Refuse to play the demo's story in another environment than its shop, as a usage error."""
    if environment != SHOP:
        raise typer.BadParameter(
            f"the demo's story plays in {SHOP} alone, and this is {environment}: --script FILE plays replies of"
            " yours there, --model asks a model",
            param_hint="--offline",
        )


def environment_named(given: str) -> GuardedEnvironment:
    """Make the environment that `NAME`, `NAME:ARGUMENTS` or `MODULE:FACTORY[:ARGUMENTS]` names.

    Raises:
        Refused: there is none, or it cannot be made, or it is no environment; says which there are, or why.
    """
    name, _, rest = given.partition(":")
    known = {**{point.name: point for point in entry_points(group=GROUP)}, SHOP: _SHOP}
    if name in known:
        return _made(given, known[name], rest)
    factory, _, arguments = rest.partition(":")
    if not all(part.isidentifier() for part in [*name.split("."), *factory.split(".")]):
        raise Refused(
            f"{given}: there is no environment of this name; there are {', '.join(sorted(known))},"
            " and MODULE:FACTORY names one of your own"
        )
    return _made(given, EntryPoint(given, f"{name}:{factory}", GROUP), arguments)


def _made(given: str, point: EntryPoint, arguments: str) -> GuardedEnvironment:
    if "" not in sys.path:
        sys.path.append("")  # the working directory, where a module of one's own lies
    try:
        factory: Callable[..., Any] = point.load()  # Any: what it makes is looked at when it is guarded
        return GuardedEnvironment(factory(arguments) if arguments else factory())
    except (BadEnvironment, BadTool) as error:
        raise Refused(f"environment {given}: {error}") from None
    except (Exception, SystemExit) as error:  # of their code: its sys.exit() too is no success of ours
        raise Refused(f"environment {given}: {_said(error)}{_place(error)}") from None


# -- what it raises ------------------------------------------------------------------------------------


@final
@attrs.frozen
class EnvironmentRaised(MageError):
    """An environment has raised an error that is no `EffectError`: whether the action was performed is uncertain."""

    doing: str
    error: Exception | SystemExit

    def __str__(self) -> str:
        name, said = type(self.error).__name__, _said(self.error)
        told = f"the environment has raised {name} when asked to {self.doing}{said.removeprefix(name)}"
        return told + _place(self.error)


_DOING: Final = {
    "foresees": "say what an action would do",
    "take": "take a snapshot",
    "put_back": "go back",
    "restore": "go back",
}


@final
class GuardedEnvironment:
    """An `Environment` that raises `EnvironmentRaised` for whatever the one that it wraps raises.

    Raises:
        BadEnvironment, BadTool: what it wraps is no environment.
    """

    def __init__(self, environment: Environment) -> None:
        self.capabilities: Capabilities = capabilities_of(environment).around(
            lambda name, operation: _guarded(_DOING[name], operation)
        )
        self._reset = _guarded("begin", environment.reset)
        self._act = _guarded("act", environment.act)

    def reset(self) -> Observed | str:
        """See `Environment`."""
        return cast("Observed | str", self._reset())

    def act(self, action: str, /) -> Observed | str:
        """See `Environment`."""
        return cast("Observed | str", self._act(action))


def _guarded(doing: str, operation: Callable[..., Any]) -> Callable[..., object]:
    def guarded(*given: object) -> object:
        try:
            return operation(*given)
        except EffectError:
            raise
        except (Exception, SystemExit) as error:  # of their code
            raise EnvironmentRaised(doing, error) from None

    return guarded


_NOT_THEIRS: Final = (
    str(Path(mage.__file__).resolve().parent),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<",
)
"""How the names of files begin that are ours or a library's, or that are no files."""


def _said(error: BaseException) -> str:
    """Return the type of an error and its words, where it has any: they too come from the environment's code."""
    return f"{type(error).__name__}: {traceback.TracebackException.from_exception(error)}"


def _place(error: BaseException) -> str:
    """Return, behind a space, the innermost line of the environment's own code on the way to an error, if any."""
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    theirs = [f" ({file}:{line})" for file, line in places if not file.startswith(_NOT_THEIRS)]
    return theirs[-1] if theirs else ""


def traceback_of(raised: EnvironmentRaised) -> str:
    """Return the lines of the traceback of what an environment raised, as a terminal may show them."""
    lines = "".join(traceback.format_exception(raised.error)).splitlines()
    return "".join(f"{printable(line)}\n" for line in lines)

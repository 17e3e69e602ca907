"""Environments by name: what is installed under `mage.environments`, what comes with mage, or `module:factory`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import TracebackType
from typing import Any, Final, cast, final

from mage.agent.restore import capabilities_of
from mage.cli.culprits import line_of_theirs, told_error
from mage.cli.output import Refused
from mage.effects import BadEnvironment, BadTool, Capabilities, EffectError, Environment, Observed
from mage.engine import MageError

GROUP: Final = "mage.environments"
"""The group of entry points. Each is called with the text behind the colon, or with nothing, for an `Environment`."""
_THEIRS: Final = (Exception, SystemExit)
"""What is told of an environment's code: its `sys.exit()` too, which would end the command as if all were well."""
_OURS: Final = EntryPoint("shop", "mage.demo.shop:Shop", GROUP)


def environment_named(given: str) -> GuardedEnvironment:
    """Return the environment that `NAME`, `NAME:ARGUMENTS` or `MODULE:FACTORY[:ARGUMENTS]` names, made anew.

    Its exceptions are told from ours: they are raised as `EnvironmentRaised`.

    Raises:
        Refused: there is none, or it cannot be made, or it is no environment; says which there are, or why.
    """
    name, _, rest = given.partition(":")
    known = {_OURS.name: _OURS, **{point.name: point for point in entry_points(group=GROUP)}}
    if name in known:
        return _made(given, known[name], rest)
    factory, _, arguments = rest.partition(":")
    if not all(part.isidentifier() for part in [*name.split("."), *factory.split(".")]):
        raise Refused(
            f"{given}: there is no environment of this name; there are {', '.join(sorted(known))},"
            " and MODULE:FACTORY names one of your own"
        )
    return _made(given, EntryPoint(given, f"{name}:{factory}", GROUP), arguments)


def complete_environment(incomplete: str) -> list[str]:
    """Return the names of environments that begin so, for the completion of a word in the shell."""
    try:
        names = {_OURS.name, *(point.name for point in entry_points(group=GROUP))}
    except Exception:  # whatever is installed here: a shell that completes a word shows no error
        names = {_OURS.name}
    return sorted(name for name in names if name.startswith(incomplete))


def _made(given: str, point: EntryPoint, arguments: str) -> GuardedEnvironment:
    if "" not in sys.path:
        sys.path.append("")  # the working directory, where a module of one's own lies
    with _Theirs(f"environment {given}"):
        factory: Callable[..., Any] = _loaded(point)  # whatever they make; what it lacks is told below
        made: Environment = factory(arguments) if arguments else factory()
        try:
            return GuardedEnvironment(made)
        except (BadEnvironment, BadTool) as error:
            raise Refused(f"environment {given}: {error}") from None


def _loaded(point: EntryPoint) -> Callable[..., Any]:
    found: Any = import_module(point.module)
    for name in point.attr.split("."):
        found = getattr(found, name)
    return cast("Callable[..., Any]", found)


@final
class _Theirs:
    """Runs somebody else's code: whatever it raises is said in one line, for it is no fault of ours."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if isinstance(error, _THEIRS) and not isinstance(error, Refused):
            raise Refused(f"{self._what}: {told_error(error)}{_at(error)}") from None


def _at(error: BaseException) -> str:
    place = line_of_theirs(error)
    return "" if place is None else f" ({place})"


@final
class EnvironmentRaised(MageError):
    """An environment has raised something that is no `EffectError`. Whether the action was performed is uncertain.

    Attributes:
        doing: what it was asked.
        error: what it raised.
    """

    def __init__(self, doing: str, error: Exception | SystemExit) -> None:
        self.doing = doing
        self.error = error
        super().__init__(doing, error)

    def __str__(self) -> str:
        name, said = type(self.error).__name__, told_error(self.error)
        said = f"the environment has raised {name} when asked to {self.doing}{said.removeprefix(name)}"
        return said + _at(self.error)


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
        self._environment = environment
        self.capabilities: Capabilities = capabilities_of(environment).around(_guarded)

    def reset(self) -> Observed | str:
        """See `Environment`."""
        with _Raised("begin"):
            return self._environment.reset()

    def act(self, action: str, /) -> Observed | str:
        """See `Environment`."""
        with _Raised("act"):
            return self._environment.act(action)


def _guarded(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*given: object) -> object:
        with _Raised(_DOING[name]):
            return operation(*given)

    return guarded


@final
class _Raised:
    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if isinstance(error, _THEIRS) and not isinstance(error, EffectError):
            raise EnvironmentRaised(self._doing, error) from None

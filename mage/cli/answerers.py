"""Where a run acts, and what decides, judges and summarizes in it: as options say it, and as the run remembers it.

An environment is the demo's shop, one that is installed under `mage.environments`, or `MODULE:FACTORY`. It is other
people's code: what it raises is said in one line, with the line of theirs that raised it.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Final, TypeAlias, cast, final
from urllib.parse import urlsplit, urlunsplit

import attrs
import typer

import mage
from mage.agent.restore import capabilities_of
from mage.chat import Mode as PromptMode
from mage.cli.output import Refused
from mage.cli.script import BadScript, Played, read_script
from mage.demo import shop
from mage.effects import (
    AsyncJudge,
    BadEnvironment,
    BadTool,
    Capabilities,
    EffectError,
    Environment,
    Judge,
    Model,
    Observed,
    Summarizer,
)
from mage.engine import MageError
from mage.memory.outcomes import KINDS_OF_CALL, KindOfCall
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


class Mode(StrEnum):
    """How a model says what it does."""

    TOOLS = "tools"
    TEXT = "text"
    SCHEMA = "schema"


_PROMPT_MODES: Final[dict[Mode, PromptMode]] = {Mode.TOOLS: "tools", Mode.TEXT: "text", Mode.SCHEMA: "json"}
_HIDDEN: Final = "***"

EnvironmentName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--environment",
        metavar="NAME[:ARGS]",
        autocompletion=complete_environment,
        help=f"Where the agent acts: shop, what is installed as {GROUP}, or MODULE:FACTORY[:ARGS].",
    ),
]
ModelName: TypeAlias = Annotated[
    str | None, typer.Option("--model", metavar="M", help="Decides, and writes summaries.")
]
BaseUrl: TypeAlias = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="The server; else OPENAI_BASE_URL, else OpenAI's."),
]
ReplyMode: TypeAlias = Annotated[
    Mode | None, typer.Option("--mode", help="How the model says what it does; else by tools.")
]
ScriptFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--script",
        metavar="FILE",
        help='In place of a model, a reply a line: {"act": "look"}, {"act": {"TOOL": {"ARGUMENT": 1}}},'
        ' {"compress": "TEXT"}, {"revise": STEP, "lesson": "TEXT"}, {"look": STEP}, {"finish": "ANSWER"}; of the'
        ' judge {"judge": "passed"} or {"judge": "failed", "feedback": "TEXT"}; of the summarizer {"summary": "TEXT"}.',
    ),
]
IsOffline: TypeAlias = Annotated[
    bool, typer.Option("--offline", help="Without a model: --script plays, or the demo's story in its shop.")
]


# -- what is asked -------------------------------------------------------------------------------------


@final
@attrs.frozen
class RunSetup:
    """Where a run acts, and what answers in it: a model, a script, or with neither the demo's story.

    Attributes:
        judge_model: the model that judges, if it is another.
        script: the path of the file that is played.
        used: how many answers of each kind the run has that the script did not give.
    """

    environment: str
    model: str | None = None
    judge_model: str | None = None
    base_url: str | None = None
    mode: Mode = Mode.TOOLS
    script: str | None = None
    used: Mapping[str, int] = attrs.field(factory=dict)

    def without(self, answers: Mapping[KindOfCall, int]) -> RunSetup:
        """Return the same, with a script that gave none of so many answers."""
        used: dict[str, int] = {who: n for who, n in answers.items() if n and self.script is not None}
        return attrs.evolve(self, used=used)

    @property
    def document(self) -> dict[str, object]:
        """What a run remembers: no key, and an address without name and password."""
        mode = None if self.mode is Mode.TOOLS else self.mode.value
        said = {**attrs.asdict(self), "base_url": self._shown, "mode": mode}
        return {name: value for name, value in said.items() if value}

    @property
    def not_kept(self) -> list[str]:
        """The options that must be given again, as they may be shown: an address with a name or a password."""
        return [] if self._shown is None or self._shown == self.base_url else ["--base-url", self._shown]

    @property
    def _shown(self) -> str | None:
        return None if self.base_url is None else _without_userinfo(self.base_url)

    @classmethod
    def of(cls, document: Mapping[str, object] | None) -> RunSetup | None:
        """Return what a run remembers; None where this command has not run it."""
        said = dict(document or {})
        used = said.pop("used", {})
        if not isinstance(said.get("environment"), str) or not said.keys() <= _FIELDS:
            return None
        if not isinstance(used, dict) or any(type(count) is not int for count in used.values()):
            return None
        if not all(isinstance(text, str) for text in said.values()):
            return None
        texts = {name: str(text) for name, text in said.items()}
        mode = texts.pop("mode", Mode.TOOLS.value)
        return cls(**texts, mode=Mode(mode), used=used) if mode in [*Mode] else None


_FIELDS: Final = frozenset(field.name for field in attrs.fields(RunSetup))


def _without_userinfo(address: str) -> str:
    """Return an address as it may be shown and kept: what stands before its host may be a key."""
    parts = urlsplit(address)
    userinfo, mark, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{_HIDDEN}@{host}")) if userinfo or mark else address


@final
@attrs.frozen
class Options:
    """What the options of a command say, each None where it was not given."""

    environment: str | None
    model: str | None
    judge_model: str | None
    base_url: str | None
    mode: Mode | None
    script: str | None
    is_offline: bool

    def require_sound(self) -> None:
        """Refuse options that are empty, or contradict each other, as a usage error."""
        others = {"--environment": self.environment, "--script": self.script}
        for option, value in {**self._of_a_model, **others}.items():
            if value is not None and not value.strip():
                raise typer.BadParameter("it is empty", param_hint=option)
            if self.asks_no_model and option in self._of_a_model:
                raise typer.BadParameter("an offline run asks no model", param_hint=option)

    @property
    def asks_no_model(self) -> bool:
        """Whether the options say that no model is asked."""
        return self.is_offline or self.script is not None

    @property
    def is_demo(self) -> bool:
        """Whether the options ask for the demo's story."""
        return self.is_offline and self.script is None

    @property
    def _of_a_model(self) -> dict[str, str]:
        """The options that were given and mean nothing without a model."""
        every = {"--model": self.model, "--judge-model": self.judge_model, "--base-url": self.base_url}
        return {name: value for name, value in {**every, "--mode": self.mode}.items() if value is not None}

    def asked(self, before: RunSetup | None, *, is_new: bool) -> RunSetup:
        """Return what answers, and where: as the options say, and where they do not, as the run remembers it.

        Args:
            before: what the run remembers.
            is_new: whether the run has not begun.

        Raises:
            typer.BadParameter: neither says it.
            Refused: what the run remembers is not enough.
        """
        place = self.environment or (None if before is None else before.environment)
        if place is None and is_new and self.is_demo:
            place = SHOP
        if place is None:
            raise typer.BadParameter(
                f"where is the agent to act? --environment {SHOP} is one place, MODULE:FACTORY names one of yours",
                param_hint="--environment",
            )
        if self.asks_no_model:
            return self._asked_offline(place, before)
        if self.model is not None or (before is not None and before.model is not None):
            return self._asked_online(place, before)
        for option in self._of_a_model:
            raise typer.BadParameter("no model is asked: --model names one", param_hint=option)
        if before is None:
            raise typer.BadParameter(
                "which model? --script FILE and --offline need none", param_hint="--model"
            )
        return self._asked_offline(place, before)

    def _asked_offline(self, place: str, before: RunSetup | None) -> RunSetup:
        remembered = None if before is None else before.script
        script = remembered if self.script is None else os.path.abspath(self.script)
        if script is None:
            require_shop(place)
        used = before.used if before is not None and script == remembered else {}
        return RunSetup(place, script=script, used=used)

    def _asked_online(self, place: str, before: RunSetup | None) -> RunSetup:
        had = before if before is not None and before.model is not None else RunSetup(place)
        base_url = self.base_url or had.base_url
        if base_url is not None and base_url == had.base_url and f"{_HIDDEN}@" in base_url:
            raise Refused(
                f"--base-url: this run asks {base_url}, and what stands before the @ is never kept: give it again"
            )
        return RunSetup(
            place,
            self.model or had.model,
            self.judge_model or had.judge_model,
            base_url,
            self.mode or had.mode,
        )


def require_shop(environment: str) -> None:
    """Refuse to play the demo's story in another environment than its shop, as a usage error."""
    if environment != SHOP:
        raise typer.BadParameter(
            f"the demo's story plays in {SHOP} alone, and this is {environment}: --script FILE plays replies of"
            " yours there, --model asks a model",
            param_hint="--offline",
        )


# -- models, judges and summarizers --------------------------------------------------------------------


@final
@attrs.frozen
class Answerers:
    """What answers beside the environment; None for a judge or a summarizer that the run has not."""

    model: Model
    judge: Judge | None
    summarizer: Summarizer | None


def answerers_of(stack: ExitStack, asked: RunSetup, answers: Mapping[KindOfCall, int]) -> Answerers:
    """Return what answers in a run; nothing is sent yet.

    Args:
        stack: closes what they need.
        asked: what the options and the run say.
        answers: how many answers of each kind the run has: a script goes on behind those that it gave.

    Raises:
        Refused: as `model_at`; or a script cannot be read.
    """
    if asked.model is not None:
        return model_at(stack, asked.model, asked.judge_model, asked.base_url, asked.mode)
    if asked.script is None:
        return Answerers(shop.shopper, shop.judge, shop.summarize)
    try:
        script = read_script(asked.script)
    except BadScript as problem:
        raise Refused(str(problem)) from None
    file = Path(asked.script).name
    used = {who: answers.get(who, 0) - asked.used.get(who, 0) for who in KINDS_OF_CALL}
    return Answerers(
        Played(file, "model", script.decisions, used["model"]),
        Played(file, "judge", script.verdicts, used["judge"]) if script.verdicts else None,
        Played(file, "summarizer", script.summaries, used["summarizer"]) if script.summaries else None,
    )


def model_at(
    stack: ExitStack,
    model: str,
    judge_model: str | None = None,
    base_url: str | None = None,
    mode: Mode = Mode.TOOLS,
) -> Answerers:
    """Return models behind an address, else that of the environment variables, or OpenAI's; nothing is sent yet.

    Raises:
        Refused: there is no key or none that can be sent, no address or proxy that can be used, or no `openai` client.
    """
    with _models("--offline needs no model", base_url) as llm:
        client = stack.enter_context(llm.client(base_url=base_url))
        chat = llm.ChatModel(client, model, mode=_PROMPT_MODES[mode])
        return Answerers(chat, llm.ChatJudge(client, judge_model or model), llm.ChatSummarizer(client, model))


def awaited_judge_at(model: str) -> AsyncJudge:
    """Return a judge behind the address of the environment variables, or OpenAI's; nothing is sent yet.

    Raises:
        Refused: as `model_at`.
    """
    with _models("without --judge the client's own model judges") as llm:
        judge: AsyncJudge = llm.AsyncChatJudge(llm.async_client(), model)
        return judge


@contextmanager
def _models(otherwise: str, base_url: str | None = None) -> Iterator[ModuleType]:
    """Give `mage.llm`, and refuse in one line what is wrong with it, with a key, an address or a proxy."""
    _require_address("--base-url", base_url)
    _require_address("OPENAI_BASE_URL", os.environ.get("OPENAI_BASE_URL"))
    try:
        from mage import llm  # noqa: PLC0415  # an extra, and slow to load
    except ModuleNotFoundError as missing:
        raise Refused(str(missing)) from None
    try:
        yield llm
    except (llm.BadAddress, llm.BadProxy) as error:
        raise Refused(str(error)) from None
    except (llm.MissingKey, llm.BadKey) as error:
        raise Refused(f"{error}; {otherwise}") from None


def _require_address(where: str, given: str | None) -> None:
    if not given:
        return
    try:
        parts = urlsplit(given)
        names_host = given.isprintable() and bool((parts.hostname or "").encode("idna")) and parts.port != 0
        sound = names_host and parts.scheme in ("http", "https") and not (parts.query or parts.fragment)
    except ValueError:
        sound = False
    if not sound:
        raise Refused(
            f"{where}: an address begins with http:// or https://, names a host, and ends with its path"
        )


# -- environments --------------------------------------------------------------------------------------


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

"""The setup of a run: where it acts, where it is kept, and its options, which the run remembers.

A run acts in the demo's shop, in an environment that is installed under `mage.environments`, or in `MODULE:FACTORY`.
Such an environment is other people's code: an error of it is said in one line, with the line of its code that raised it.
"""

from __future__ import annotations

import json
import math
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, cast, final
from urllib.parse import urlsplit, urlunsplit

import attrs
import typer

import mage
from mage.agent import BadPolicy, Policy
from mage.agent.restore import capabilities_of
from mage.cli.naming import STORE_VARIABLE, InStore, StoreName, default_store
from mage.cli.output import Refused, exists
from mage.cli.sessions import is_made, is_there, named_in_store, only_session
from mage.effects import BadEnvironment, BadTool, Capabilities, EffectError, Environment, Observed
from mage.engine import MageError
from mage.memory.policy import KindOfCall
from mage.render import printable

# -- where a run acts ---------------------------------------------------------------------------------------


GROUP: Final = "mage.environments"
"""The group of entry points. Each is called with the text behind the colon, or without one, and makes an `Environment`."""
SHOP: Final = "shop"
"""The name of the demo's shop: no installed environment can take it."""
_SHOP: Final = EntryPoint(SHOP, "mage.demo.shop:Shop", GROUP)


def complete_environment(incomplete: str) -> list[str]:
    """Return the names of environments that complete a word in the shell."""
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
        help=f"Where the agent acts: shop, a name that is installed under {GROUP}, or MODULE:FACTORY[:ARGS].",
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
        Refused: there is no such environment, or it cannot be made, or is none; says which there are, or why.
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
        factory: Callable[..., Any] = point.load()  # Any: `GuardedEnvironment` checks its result
        return GuardedEnvironment(factory(arguments) if arguments else factory())
    except (BadEnvironment, BadTool) as error:
        raise Refused(f"environment {given}: {error}") from None
    except (Exception, SystemExit) as error:  # of the environment's code: its sys.exit() is a failure too
        raise Refused(f"environment {given}: {_said(error)}{_place(error)}") from None


# -- what it raises ------------------------------------------------------------------------------------


@final
@attrs.frozen
class EnvironmentRaised(MageError):
    """An environment has raised an error other than `EffectError`: whether the action was performed is uncertain."""

    doing: str
    error: Exception | SystemExit

    def __str__(self) -> str:
        name, said = type(self.error).__name__, _said(self.error)
        text = f"the environment has raised {name} when asked to {self.doing}{said.removeprefix(name)}"
        return text + _place(self.error)


_DOING: Final = {
    "foresees": "say what an action would do",
    "take": "take a snapshot",
    "put_back": "go back",
    "restore": "go back",
}


@final
class GuardedEnvironment:
    """An `Environment` that wraps another one, and raises `EnvironmentRaised` for each error of it.

    Raises:
        BadEnvironment, BadTool: the wrapped object is no environment.
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
        except (Exception, SystemExit) as error:  # of the environment's code
            raise EnvironmentRaised(doing, error) from None

    return guarded


_NOT_THEIRS: Final = (
    str(Path(mage.__file__).resolve().parent),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<",
)
"""How the names of files begin that belong to mage or a library, or that are no files."""


def _said(error: BaseException) -> str:
    """Return the type of an error and its words; code of the environment may be run for them."""
    return f"{type(error).__name__}: {traceback.TracebackException.from_exception(error)}"


def _place(error: BaseException) -> str:
    """Return, behind a space, the innermost line of the environment's own code on the way to an error, if any."""
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    theirs = [f" ({file}:{line})" for file, line in places if not file.startswith(_NOT_THEIRS)]
    return theirs[-1] if theirs else ""


def traceback_of(raised: EnvironmentRaised) -> str:
    """Return the lines of the traceback of an environment's error, as a terminal may show them."""
    lines = "".join(traceback.format_exception(raised.error)).splitlines()
    return "".join(f"{printable(line)}\n" for line in lines)


# -- where a run is kept ------------------------------------------------------------------------------------

_NAME: Final = "run"
_NEEDED: Final = {"openai": "openai", "postgres": "psycopg"}
"""The package that each extra brings."""


@final
@attrs.frozen
class Kept:
    """The session that keeps a run, None for none; its name; and whether it was there before."""

    place: InStore | None
    name: str
    is_there: bool

    def __str__(self) -> str:
        return self.name if self.place is None else str(self.place)


def where_kept(session: str | None, options: Options) -> Kept:
    """Return where to keep a run: in the session that is named, else in `MAGE_STORE`, else in a new file or nowhere.

    Raises:
        Refused: it cannot be kept there, or an extra is not installed; nothing is made before.
    """
    place = _place_of(session, is_offline=options.asks_no_model)
    wanted = ["openai"] * options.models.asks_server
    wanted += ["postgres"] * (place is not None and place.store.url.startswith("postgresql:"))
    missing = [extra for extra in wanted if find_spec(_NEEDED[extra]) is None]
    if missing:
        raise Refused(f"this run needs more: pip install 'mage-state[{','.join(missing)}]'")
    return Kept(None, _NAME, is_there=False) if place is None else Kept(place, place.name, is_there(place))


def _place_of(session: str | None, *, is_offline: bool) -> InStore | None:
    stem = f"mage-run-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    if session is not None:
        store, name = named_in_store(session, "--session")
        if name is None and is_made(store):
            return only_session(store, new=_NAME)
        return InStore(store, name or _NAME)
    if os.environ.get(STORE_VARIABLE):
        return InStore(default_store(), stem)
    if is_offline:
        return None
    number, name = 0, f"{stem}.db"
    while exists(Path(name)):
        number, name = number + 1, f"{stem}-{number + 1}.db"
    return InStore(StoreName(f"sqlite:///{name}", name), _NAME)


# -- the policy ---------------------------------------------------------------------------------------------


def policy_changes(given: Sequence[str] | None) -> dict[str, object]:
    """Return the changes of a policy that options `KEY=VALUE` say.

    Raises:
        Refused: there is no such choice, or it cannot have this value; says which there are.
    """
    changes: dict[str, object] = {}
    for each in given or ():
        key, equals, value = each.partition("=")
        if not equals:
            raise Refused(f"--policy {each}: it is given as KEY=VALUE, such as max_revisions=1")
        name = key.strip().replace("-", "_")
        changes[name] = _value(name, value.strip())
    changed(None, changes)
    return changes


def _value(name: str, written: str) -> object:
    field = attrs.fields_dict(Policy).get(name)
    if field is not None and repr(written) in str(
        field.type
    ):  # one of a few words, of which one may be "none"
        return written
    if written.lower() in ("none", "true", "false"):
        return {"none": None, "true": True, "false": False}[written.lower()]
    try:
        value: object = json.loads(written)
    except (ValueError, RecursionError):
        return written
    return value


def changed(policy: Policy | None, changes: Mapping[str, object]) -> Policy | None:
    """Return a policy with changes, or None where there are none; refuse a policy that cannot be."""
    if not changes:
        return None
    try:
        return Policy.of({**({} if policy is None else policy.document()), **changes})
    except BadPolicy as error:
        raise Refused(f"--policy: {error}") from None


# -- the options of run and rerun ---------------------------------------------------------------------------

BY_HAND: Final = "-"
"""The value of `--judge` where the user judges."""
_HIDDEN: Final = "***"
_OURS: Final = frozenset(("model", "messages", "tools", "response_format", "stream", "stream_options"))
"""The parameters of a call that mage sets itself."""


class Mode(StrEnum):
    """The form of a model's replies."""

    TOOLS = "tools"
    TEXT = "text"
    SCHEMA = "schema"


Changes: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="KEY=VALUE",
        help="A choice of the agent's, such as wait=false or max_revisions=1; repeatable.",
    ),
]
ModelName: TypeAlias = Annotated[
    str | None, typer.Option("--model", metavar="M", help="Decides, and writes summaries.")
]
JudgeName: TypeAlias = Annotated[
    str | None,
    typer.Option("--judge", metavar="M", help="Judges summaries, - for you; else the model itself."),
]
BaseUrl: TypeAlias = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="The server; else OPENAI_BASE_URL, else OpenAI's."),
]
ReplyMode: TypeAlias = Annotated[
    Mode | None, typer.Option("--mode", help="The form of the model's replies; else tools.")
]
PromptsFolder: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--prompts",
        metavar="DIR",
        help="A folder with prompts of yours, NAME.txt for each; see mage prompts.",
    ),
]
Temperature: TypeAlias = Annotated[
    float | None, typer.Option("--temperature", min=0, metavar="T", help="Of every call; else the server's.")
]
Seed: TypeAlias = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="Of every call, for servers that repeat a reply.")
]
MaxTokens: TypeAlias = Annotated[
    int | None, typer.Option("--max-tokens", min=1, metavar="N", help="The most tokens of one reply.")
]
Extra: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--extra",
        metavar="JSON",
        help='Further parameters of every call, such as {"max_completion_tokens": 4000}.',
    ),
]
ScriptFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--script",
        metavar="FILE",
        help='Replies in place of a model, one a line: {"act": "look"}, {"act": {"TOOL": {"ARGUMENT": 1}}},'
        ' {"note": "TEXT"}, {"compress": "TEXT"}, {"revise": STEP, "lesson": "TEXT"}, {"look": STEP}, {"finish": "ANSWER"}; of the'
        ' judge {"judge": "passed"} or {"judge": "failed", "feedback": "TEXT"}; of the summarizer {"summary": "TEXT"}.',
    ),
]
IsOffline: TypeAlias = Annotated[
    bool, typer.Option("--offline", help="Without a model: --script plays, or the demo's story in its shop.")
]
IsByHand: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--by-hand", help="You are the model: each prompt is shown here, and your reply is read from here."
    ),
]


def sampling_of(
    temperature: float | None, seed: int | None, max_tokens: int | None, extra: str | None
) -> dict[str, object]:
    """Return the options of sampling that were given, as `mage.llm.Sampling` names them.

    Raises:
        typer.BadParameter: `temperature` is no finite number, or `extra` is no JSON object of further parameters.
    """
    if temperature is not None and not math.isfinite(temperature):
        raise typer.BadParameter("it is no finite number", param_hint="--temperature")
    named = {"temperature": temperature, "seed": seed, "max_tokens": max_tokens}
    given: dict[str, object] = {name: value for name, value in named.items() if value is not None}
    if extra is None:
        return given
    try:
        further: object = json.loads(extra)
        json.dumps(further, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # no JSON, or none that a request can carry
        further = None
    if not isinstance(further, dict):
        raise typer.BadParameter(
            'it is no JSON object, such as {"max_completion_tokens": 4000}', param_hint="--extra"
        )
    for name in _OURS & further.keys():
        raise typer.BadParameter(f"{name} is not for you to set there", param_hint="--extra")
    return {**given, "extra": further}


# -- models ----------------------------------------------------------------------------------------------


@final
@attrs.frozen
class Models:
    """The models of a run, and how they are asked; None, or empty, where an option is not given.

    Attributes:
        model: decides, and writes summaries.
        judge: judges, if it is another; `BY_HAND` for the user.
        base_url: the server's address.
        mode: the form of the model's replies.
        prompts: the path of a folder with prompts that replace those of mage.
        sampling: see `mage.llm.Sampling`.
    """

    model: str | None = None
    judge: str | None = None
    base_url: str | None = None
    mode: Mode | None = None
    prompts: str | None = None
    sampling: Mapping[str, object] = attrs.field(factory=dict)

    @property
    def options(self) -> dict[str, str]:
        """The values that are given, by the names of their options."""
        given = {**self._given, **self.sampling}
        return {f"--{name.replace('_', '-')}": str(value) for name, value in given.items()}

    @property
    def _given(self) -> dict[str, Any]:  # Any: values of attributes
        return {name: getattr(self, name) for name in _NAMES if getattr(self, name) is not None}

    @property
    def asks_server(self) -> bool:
        """Whether a server is asked."""
        return self.model is not None or self.judge not in (None, BY_HAND)

    def over(self, before: Models) -> Models:
        """Return these values, and the earlier ones where none is given."""
        sampling = {**before.sampling, **self.sampling}
        return attrs.evolve(before, **{**self._given, "sampling": sampling})

    @property
    def kept(self) -> Models:
        """The same with an absolute path, to be read from any folder."""
        return self if self.prompts is None else attrs.evolve(self, prompts=os.path.abspath(self.prompts))

    @property
    def shown_url(self) -> str | None:
        """The address as it may be shown and kept: a name and a password before the host are hidden."""
        if self.base_url is None:
            return None
        parts = urlsplit(self.base_url)
        userinfo, mark, host = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{_HIDDEN}@{host}")) if userinfo or mark else self.base_url

    @property
    def document(self) -> dict[str, object]:
        """The models as a run remembers them: no key, and an address without name and password."""
        said = {**attrs.asdict(self), "base_url": self.shown_url, "mode": self.mode and self.mode.value}
        return {name: value for name, value in said.items() if value}

    @classmethod
    def of(cls, document: Mapping[str, object]) -> Models | None:
        """Return the models of a `document`; None where it is not one."""
        match {"sampling": {}, "mode": None, **document}:
            case {"sampling": dict(sampling), "mode": mode, **texts} if mode in (None, *Mode) and all(
                isinstance(text, str) for text in texts.values()
            ):
                known = cast("dict[str, Any]", texts)  # Any: texts, as was looked
                return cls(**known, mode=None if mode is None else Mode(str(mode)), sampling=sampling)
            case _:
                return None


_NAMES: Final = ("model", "judge", "base_url", "mode", "prompts")


# -- a run -----------------------------------------------------------------------------------------------


@final
@attrs.frozen
class RunSetup:
    """Where a run acts, and what answers in it: a model, the user, a script, or without these the demo's story.

    Attributes:
        environment: as `environment_named` takes it.
        is_by_hand: whether the user decides.
        script: the path of the file that is played.
        used: how many answers of each kind the run has that the script did not give.
        policy: the choices of the user, as `Policy.document` has them; the others follow from what answers.
    """

    environment: str
    models: Models = Models()
    is_by_hand: bool = False
    script: str | None = None
    used: Mapping[str, int] = attrs.field(factory=dict)
    policy: Mapping[str, object] = attrs.field(factory=dict)

    def without(self, answers: Mapping[KindOfCall, int]) -> RunSetup:
        """Return the same setup, whose script gave none of these numbers of answers."""
        used: dict[str, int] = {who: n for who, n in answers.items() if n and self.script is not None}
        return attrs.evolve(self, used=used)

    @property
    def document(self) -> dict[str, object]:
        """The setup as a run remembers it; see `Models.document`."""
        said = {"by_hand": self.is_by_hand, "script": self.script, "used": self.used, "policy": self.policy}
        own = {name: value for name, value in said.items() if value}
        return {"environment": self.environment, **self.models.document, **own}

    @property
    def not_kept(self) -> list[str]:
        """The options that must be given again, as they may be shown: an address with a name or a password."""
        shown = self.models.shown_url
        return [] if shown is None or shown == self.models.base_url else ["--base-url", shown]

    @classmethod
    def of(cls, document: Mapping[str, object] | None) -> RunSetup | None:
        """Return the setup of a `document`; None where it is not one, because another program began the run."""
        said = dict(document or {})
        models = Models.of({name: said.pop(name) for name in (*_NAMES, "sampling") if name in said})
        match {"by_hand": False, "script": None, "used": {}, "policy": {}, **said}:
            case {
                "environment": str(environment),
                "by_hand": bool(is_by_hand),
                "script": str() | None as script,
                "used": dict(used),
                "policy": dict(policy),
                **others,
            } if models is not None and not others and all(type(count) is int for count in used.values()):
                return cls(environment, models, is_by_hand, script, used, policy)
            case _:
                return None


@final
@attrs.frozen
class Options:
    """The options of a run; None, empty or False where one is not given."""

    environment: str | None
    models: Models
    script: str | None
    is_offline: bool
    is_by_hand: bool

    def require_said(self) -> None:
        """Refuse options that are empty, as a usage error."""
        others = {"--environment": self.environment, "--script": self.script}
        for option, value in {**self.models.options, **others}.items():
            if value is not None and not value.strip():
                raise typer.BadParameter("it is empty", param_hint=option)

    def require_sound(self) -> None:
        """Refuse options that are empty, or contradict each other, as a usage error."""
        self.require_said()
        for option in self.models.options:
            if self.asks_no_model:
                beside = "; --by-hand shows prompts without one" * (option == "--prompts")
                raise typer.BadParameter(f"an offline run asks no model{beside}", param_hint=option)
            if self.is_by_hand and option in ("--model", "--mode"):
                raise typer.BadParameter("you decide, by hand, and in words", param_hint=option)
        if self.is_by_hand and self.asks_no_model:
            raise typer.BadParameter("either you decide, or what is written already", param_hint="--by-hand")

    @property
    def asks_no_model(self) -> bool:
        """Whether the options say that neither a model nor the user is asked."""
        return self.is_offline or self.script is not None

    @property
    def is_demo(self) -> bool:
        """Whether the options ask for the demo's story."""
        return self.is_offline and self.script is None

    def asked(self, before: RunSetup | None, *, is_new: bool) -> RunSetup:
        """Return the setup that the options say, and where they do not, the run remembers.

        Args:
            before: the setup that the run remembers; None where this command has not run it.
            is_new: whether the run has not begun.

        Raises:
            typer.BadParameter: neither the options nor the run say where the agent acts, or what answers.
            Refused: the run remembers an address without its password.
        """
        had = before or RunSetup("")
        place = self.environment or had.environment or SHOP * (is_new and self.is_demo)
        if not place:
            raise typer.BadParameter(
                f"where is the agent to act? --environment {SHOP} is one place, MODULE:FACTORY names one of yours",
                param_hint="--environment",
            )
        if self.asks_no_model:
            return self._asked_offline(place, had)
        if self.is_by_hand or (had.is_by_hand and self.models.model is None):
            return RunSetup(place, self._asked_of(had.models), is_by_hand=True)
        if self.models.model is not None or had.models.model is not None:
            return RunSetup(place, self._asked_of(had.models))
        for option in self.models.options:
            raise typer.BadParameter(
                "no model is asked: --model names one, and with --by-hand you are it", param_hint=option
            )
        if before is None:
            raise typer.BadParameter(
                "which model? --by-hand, --script FILE and --offline need none", param_hint="--model"
            )
        return self._asked_offline(place, had)

    def _asked_offline(self, place: str, had: RunSetup) -> RunSetup:
        script = had.script if self.script is None else os.path.abspath(self.script)
        if script is None:
            require_shop(place)
        return RunSetup(place, script=script, used=had.used if script == had.script else {})

    def _asked_of(self, had: Models) -> Models:
        models = self.models.over(had)
        if (
            models.base_url is not None
            and models.base_url == had.base_url
            and f"{_HIDDEN}@" in models.base_url
        ):
            raise Refused(
                f"--base-url: this run asks {models.base_url}, and what stands before the @ is never kept: give it"
                " again"
            )
        return models.kept

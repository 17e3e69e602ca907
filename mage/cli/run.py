"""`mage run`: an agent in an environment, watched, kept, and resumed where it was interrupted."""

from __future__ import annotations

import json
import os
import shlex
import sys
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final, NoReturn, TypeAlias, final

import attrs
import typer

from mage.agent import (
    Agent,
    BadPolicy,
    BadRunLog,
    Outcome,
    Policy,
    RunDiverged,
    RunFailed,
    RunFinished,
    RunStopped,
    Totals,
    outcome_document,
    rerun,
)
from mage.agent.reruns import run_of
from mage.cli.answerers import InputEnded, ScriptEnded, answerers_of
from mage.cli.live import (
    BESIDE,
    Price,
    PricesFile,
    cost_document,
    read_prices,
    told_outcome,
    told_totals,
    view_for,
)
from mage.cli.naming import STORE_VARIABLE, InFile, InStore, StoreName, default_store, parse_reference
from mage.cli.output import AsJson, Refused, exists, print_json, read_bytes, say
from mage.cli.sessions import complete_session, is_made, message_of, only_session, opened
from mage.cli.setup import (
    BY_HAND,
    BaseUrl,
    EnvironmentName,
    EnvironmentRaised,
    Extra,
    IsByHand,
    IsOffline,
    JudgeName,
    MaxTokens,
    ModelName,
    Models,
    Options,
    PromptsFolder,
    ReplyMode,
    RunSetup,
    ScriptFile,
    Seed,
    Temperature,
    environment_named,
    sampling_of,
    traceback_of,
)
from mage.cli.show import print_tree
from mage.demo import shop
from mage.effects import BadEnvironment
from mage.engine.text import is_blank
from mage.memory.policy import KindOfCall
from mage.render import printable
from mage.session import OtherTask, Session
from mage.stores import Conflict, JournalStore, MemoryStore, NameTaken, UnknownJournal
from mage.tokens import MissingTokenizer

_INTERRUPTED: Final = 130
_NAME: Final = "run"
_NEEDED: Final = {"openai": "openai", "postgres": "psycopg"}
"""The package that each extra brings."""

Changes: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="KEY=VALUE",
        help="A choice of the agent's, such as wait=false or max_revisions=1; repeatable.",
    ),
]


def run(
    task: Annotated[
        str | None,
        typer.Argument(
            help="What is to be done; @FILE reads it from a file. A session that is there has one.",
            show_default=False,
        ),
    ] = None,
    task_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read the task from a file.", readable=False)
    ] = None,
    environment: EnvironmentName = None,
    model: ModelName = None,
    judge: JudgeName = None,
    base_url: BaseUrl = None,
    mode: ReplyMode = None,
    prompts: PromptsFolder = None,
    temperature: Temperature = None,
    seed: Seed = None,
    max_tokens: MaxTokens = None,
    extra: Extra = None,
    is_by_hand: IsByHand = False,
    script: ScriptFile = None,
    is_offline: IsOffline = False,
    session: Annotated[
        str | None,
        typer.Option(
            metavar="STORE#NAME",
            autocompletion=complete_session,
            help="Where the run is kept, and goes on if it was interrupted; else in MAGE_STORE, else in a new"
            " mage-run-*.db here.",
        ),
    ] = None,
    policy: Changes = None,
    max_steps: Annotated[int | None, typer.Option(min=0, metavar="N", help="Stop after N steps.")] = None,
    max_total_tokens: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Stop after N tokens of all calls.")
    ] = None,
    prices: PricesFile = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Begin a new run in the session as it stands.")
    ] = False,
    with_traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error of the environment comes from.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run an agent until its task is done; run its session again to go on.

    A session remembers task, environment, who is asked and how, and policy: to go on, --session is enough. The key comes
    from OPENAI_API_KEY and is never kept. Without --session and MAGE_STORE, an offline run is kept nowhere.
    Exit status: 0 finished, 1 stopped, failed or refused, 130 interrupted.
    """
    named = {"max_steps": max_steps, "max_total_tokens": max_total_tokens}
    changes = {**policy_changes(policy), **{key: value for key, value in named.items() if value is not None}}
    sampling = sampling_of(temperature, seed, max_tokens, extra)
    models = Models(model, judge, base_url, mode, prompts, sampling)
    options = Options(environment, models, script, is_offline, is_by_hand)
    options.require_sound()
    priced = read_prices(prices)
    text = _task_of(task, task_file)
    kept = _where_kept(session, is_offline=options.asks_no_model, asks_model=models.asks_server)
    found = _found(kept, anew=anew)
    if text is None and not kept.is_there:
        text = shop.TASK if options.is_demo else _no_task(kept)
    asked = options.asked(found.asked, is_new=found.is_new)
    with ExitStack() as stack:
        if as_json:  # whatever an environment prints, standard output is one object
            stack.enter_context(redirect_stdout(sys.stderr))
        if found.asked is None or found.is_anew or asked.script != found.asked.script:
            asked = asked.without(found.answers)  # a script that is new to the run begins at its first line
        asked = attrs.evolve(asked, policy={**found.chosen, **changes})
        place = environment_named(asked.environment)
        who = answerers_of(stack, asked, found.answers)
        agent = Agent(
            model=who.model,
            environment=place,
            judge=who.judge,
            summarizer=who.summarizer,
            policy=changed(Policy(), asked.policy) or Policy(),
        )
        store = stack.enter_context(MemoryStore() if kept.place is None else opened(kept.place, make=True))
        outcome = _ran(
            agent, store, kept, text, asked, anew=anew, quiet=as_json, with_traceback=with_traceback
        )
        if not as_json:
            _tell(outcome, store, kept, asked, priced)
    if as_json:
        where = None if kept.place is None else str(kept.place)
        print_json({**outcome_document(outcome), **cost_document(outcome.totals, priced), "session": where})
    if isinstance(outcome, RunStopped) and outcome.reason == "interrupted":
        leave_interrupted()
    if not isinstance(outcome, RunFinished):
        raise typer.Exit(1)


# -- what is asked of the user -------------------------------------------------------------------------


def _task_of(given: str | None, file: Path | None) -> str | None:
    """Return the task that is given in words, or by a file; refuse one that is blank, or given twice."""
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


def _no_task(kept: Kept) -> NoReturn:
    if kept.place is None:
        raise typer.BadParameter(
            "what is to be done? --offline alone plays the demo's story", param_hint="TASK"
        )
    raise typer.BadParameter(
        f"{kept} is not there to go on with; to begin it, say what is to be done", param_hint="TASK"
    )


def policy_changes(given: Sequence[str] | None) -> dict[str, object]:
    """Return what options `KEY=VALUE` change in a policy.

    Raises:
        Refused: there is no such choice, or it cannot be that; says which there are.
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
    ):  # one of a few words: "none" may be one of them
        return written
    if written.lower() in ("none", "true", "false"):
        return {"none": None, "true": True, "false": False}[written.lower()]
    try:
        value: object = json.loads(written)
    except (ValueError, RecursionError):
        return written
    return value


def changed(policy: Policy | None, changes: Mapping[str, object]) -> Policy | None:
    """Return a policy with changes, or None where there are none; refuse what no policy can be."""
    if not changes:
        return None
    try:
        return Policy.of({**({} if policy is None else policy.document()), **changes})
    except BadPolicy as error:
        raise Refused(f"--policy: {error}") from None


# -- where the run is kept, and what is there of it ----------------------------------------------------


@final
@attrs.frozen
class Kept:
    """The session that keeps a run, None for none; its name; and whether it was there before."""

    place: InStore | None
    name: str
    is_there: bool

    def __str__(self) -> str:
        return self.name if self.place is None else str(self.place)


def _where_kept(session: str | None, *, is_offline: bool, asks_model: bool) -> Kept:
    """Return where to keep a run: in the session that is named, else in a new file here, or nowhere.

    Raises:
        Refused: it cannot be kept there, or something is not installed; said before anything is made.
    """
    stem = f"mage-run-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    place: InStore | None = None
    if session is not None:
        place = _session_named(session)
    elif os.environ.get(STORE_VARIABLE):
        place = InStore(default_store(), stem)
    elif not is_offline:
        number, name = 0, f"{stem}.db"
        while exists(Path(name)):
            number, name = number + 1, f"{stem}-{number + 1}.db"
        place = InStore(StoreName(f"sqlite:///{name}", name), _NAME)
    wanted = ["openai"] * asks_model
    wanted += ["postgres"] * (place is not None and place.store.url.startswith("postgresql:"))
    missing = [extra for extra in wanted if find_spec(_NEEDED[extra]) is None]
    if missing:
        raise Refused(f"this run needs more: pip install 'mage-state[{','.join(missing)}]'")
    return Kept(None, _NAME, is_there=False) if place is None else Kept(place, place.name, is_there(place))


def _session_named(given: str) -> InStore:
    """Return the session that `--session` names: of a store alone the only one in it, or a new one."""
    store, name = _named_in_store(given, "--session")
    if name is not None:
        return InStore(store, name)
    return only_session(store, new=_NAME) if is_made(store) else InStore(store, _NAME)


def _named_in_store(given: str, option: str) -> tuple[StoreName, str | None]:
    """Return the store and the session that an option names; refuse a file and a version."""
    said = parse_reference(given)
    if isinstance(said.place, InFile):
        raise Refused(f"{given}: a run is kept in a store, not in a session file: {option} work.db#NAME")
    if said.version is not None:
        raise Refused(
            f"{given}: a run goes on at the end of a session: leave out @{said.version}, or mage fork the version first"
        )
    return said.place, said.name


def new_session(given: str, option: str) -> InStore:
    """Return the session that an option names; refuse a store alone, and a session that is there."""
    store, name = _named_in_store(given, option)
    if name is None:
        raise Refused(f"{given}: name the new session too: {option} {store}#NAME")
    session = InStore(store, name)
    if is_there(session):
        raise Refused(message_of(session, NameTaken(name)))
    return session


def is_there(place: InStore) -> bool:
    """Tell whether a session is there."""
    if place.store.url == "memory:" or not is_made(place.store):
        return False
    with opened(place) as store:
        try:
            store.head(place.name)
        except UnknownJournal:
            return False
        return True


@final
@attrs.frozen
class _Found:
    """What is there of a run.

    Attributes:
        asked: what answered when it was run last, and where; None where this command has not run it.
        policy: the one that it had; None where no agent has run the session.
        answers: how many it has of each kind.
        is_new: whether the session has nothing but its task.
        is_anew: whether a new run begins where there was one.
    """

    asked: RunSetup | None = None
    policy: Policy | None = None
    answers: Mapping[KindOfCall, int] = attrs.field(factory=dict)
    is_new: bool = True
    is_anew: bool = False

    @property
    def chosen(self) -> Mapping[str, object]:
        """What was chosen in the policy of the run: where another program began it, all that differs from the defaults."""
        if self.asked is not None:
            return self.asked.policy
        return {} if self.policy is None else self.policy.document()


def _found(kept: Kept, *, anew: bool) -> _Found:
    """Return what is there of a run; a new run asks what the earlier one asked, as far as its log can be read.

    Raises:
        Refused: it cannot be read.
    """
    if kept.place is None or not kept.is_there:
        return _Found()
    with opened(kept.place) as store:
        try:
            found = run_of(store, kept.name)
        except (BadRunLog, MissingTokenizer) as error:
            if anew:
                return _Found(is_new=False, is_anew=True)
            raise Refused(_unfollowed(kept, error)) from None
        if found is None:
            return _Found(is_new=store.head(kept.name).version <= 1)
    answers: Mapping[KindOfCall, int] = {} if anew else found.answers
    return _Found(RunSetup.of(found.remembered), found.last_policy, answers, is_new=False, is_anew=anew)


# -- running -------------------------------------------------------------------------------------------


def _ran(
    agent: Agent,
    store: JournalStore,
    kept: Kept,
    task: str | None,
    asked: RunSetup,
    *,
    anew: bool,
    quiet: bool,
    with_traceback: bool,
) -> Outcome:
    try:
        asks_user = asked.is_by_hand or asked.models.judge == BY_HAND
        with view_for(store, kept.name, quiet=quiet, by_hand=asks_user) as view:
            outcome = agent.run(
                store, kept.name, task=task, anew=anew, on_event=view, remember=asked.document
            )
    except Conflict:  # both began it, and the other was faster
        raise Refused(f"{kept}: {BESIDE}") from None
    except KeyboardInterrupt:
        return RunStopped("interrupted", "from the keyboard", _totals(store, kept.name))
    except (ScriptEnded, InputEnded) as ended:
        totals = _totals(store, kept.name)
        return RunStopped(
            "script_ended" if isinstance(ended, ScriptEnded) else "input_ended", str(ended), totals
        )
    except EnvironmentRaised as raised:
        if with_traceback:
            sys.stderr.write(traceback_of(raised))
        return RunFailed("environment", "raised", str(raised), _totals(store, kept.name))
    except BadEnvironment as bad:
        return RunFailed("environment", "bad", str(bad), _totals(store, kept.name))
    except OtherTask:
        raise Refused(
            f"{kept}: this session is for another task; leave the task out to go on with it, or name another session"
        ) from None
    except (BadRunLog, RunDiverged, MissingTokenizer) as error:
        raise Refused(_unfollowed(kept, error)) from None
    if isinstance(outcome, RunFailed) and (outcome.part, outcome.fault) == ("store", "conflict"):
        return attrs.evolve(outcome, detail=BESIDE)
    return outcome


def _totals(store: JournalStore, name: str) -> Totals:
    """Return what an interrupted run did and took, as its log says."""
    try:
        return rerun(store, name).totals
    except (BadRunLog, RunDiverged, UnknownJournal):  # interrupted before it began, else the next run says so
        return Totals()


def _unfollowed(kept: Kept, error: BadRunLog | RunDiverged | MissingTokenizer) -> str:
    return f"{kept}: {error}" + "; mage run --anew does" * (not isinstance(error, MissingTokenizer))


# -- telling -------------------------------------------------------------------------------------------


def _tell(
    outcome: Outcome, store: JournalStore, kept: Kept, asked: RunSetup, prices: Mapping[str, Price]
) -> None:
    try:
        with Session.open(store, kept.name, wait=False) as session:
            tree = session.tree
    except UnknownJournal:  # interrupted before there was one
        return
    say("\nThe tree, with what was left:", "italic")
    print_tree(tree)
    say(f"\n{told_outcome(outcome)}", "bold")
    say(told_totals(outcome.totals, prices))
    if kept.place is None:
        say("kept nowhere; --session work.db#NAME keeps a run")
        return
    named = printable(shlex.quote(str(kept.place)))
    made = "went on with" if kept.is_there else "made"
    say(f"{made} session {printable(str(kept.place))}: mage tree {named}, mage rerun {named}")
    if not isinstance(outcome, RunFinished):
        again = printable(shlex.join(["mage", "run", "--session", str(kept.place), *asked.not_kept]))
        say(f"go on with: {again}{_with(outcome)}")


def _with(outcome: Outcome) -> str:
    """Return what to say beside the session, so that the run does not end so again."""
    match outcome:
        case RunStopped("max_steps" | "max_total_tokens" as limit):
            return f" --policy {limit}=none"
        case RunStopped("script_ended"):
            return ", when the script has more lines, or with another --script"
        case RunFailed("model"):
            return ", or with another --model"
        case _:
            return ""


def leave_interrupted() -> NoReturn:
    """End the command with the status that Ctrl-C has."""
    raise typer.Exit(_INTERRUPTED)

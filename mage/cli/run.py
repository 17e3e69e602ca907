"""`mage run`: an agent in an environment, watched, kept, and resumed where it was interrupted."""

from __future__ import annotations

import json
import shlex
import sys
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
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
    remembered,
    rerun,
)
from mage.agent.reruns import run_of
from mage.cli.answerers import (
    BaseUrl,
    EnvironmentName,
    IsOffline,
    ModelName,
    Options,
    ReplyMode,
    RunSetup,
    ScriptFile,
    answerers_of,
)
from mage.cli.environments import EnvironmentRaised, environment_named, traceback_of
from mage.cli.files import read_bytes
from mage.cli.keeping import Kept, where_kept
from mage.cli.live import BESIDE, told_outcome, told_totals, view_for
from mage.cli.output import AsJson, Refused, print_json, say
from mage.cli.script import ScriptEnded
from mage.cli.sessions import complete_session, opened
from mage.cli.show import print_tree
from mage.demo import shop
from mage.effects import BadEnvironment
from mage.engine.text import is_blank
from mage.memory.outcomes import KindOfCall
from mage.render import printable
from mage.session import OtherTask, Session
from mage.stores import Conflict, JournalStore, MemoryStore, UnknownJournal
from mage.tokens import MissingTokenizer

_INTERRUPTED: Final = 130

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
    judge_model: Annotated[
        str | None, typer.Option(metavar="M", help="Judges summaries; else the same model.")
    ] = None,
    base_url: BaseUrl = None,
    mode: ReplyMode = None,
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
    max_tokens: Annotated[int | None, typer.Option(min=0, metavar="N", help="Stop after N tokens.")] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Begin a new run in the session as it stands.")
    ] = False,
    with_traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error of the environment comes from.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run an agent until its task is done; run its session again to go on.

    A session remembers task, environment, model or script, and policy: to go on, --session is enough. The key comes
    from OPENAI_API_KEY and is never kept. Without --session and MAGE_STORE, a run without a model is kept nowhere.
    Exit status: 0 finished, 1 stopped, failed or refused, 130 interrupted.
    """
    changes = policy_changes(policy, max_steps=max_steps, max_tokens=max_tokens)
    options = Options(environment, model, judge_model, base_url, mode, script, is_offline)
    options.require_sound()
    text = _task_of(task, task_file)
    kept = where_kept(session, is_offline=options.asks_no_model, asks_model=model is not None)
    found = _found(kept, anew=anew)
    if text is None and not kept.is_there:
        text = shop.TASK if options.is_demo else _no_task(kept)
    asked = options.asked(found.asked, is_new=found.is_new)
    with ExitStack() as stack:
        if as_json:  # whatever an environment prints, standard output is one object
            stack.enter_context(redirect_stdout(sys.stderr))
        asked, agent = _agent(stack, asked, found, changes)
        store = stack.enter_context(MemoryStore() if kept.place is None else opened(kept.place, make=True))
        outcome = _ran(
            agent, store, kept, text, asked, anew=anew, quiet=as_json, with_traceback=with_traceback
        )
        if not as_json:
            _tell(outcome, store, kept, asked)
    if as_json:
        _print(outcome, kept)
    _leave(outcome)


# -- what is asked of the user -------------------------------------------------------------------------


def _task_of(given: str | None, file: Path | None) -> str | None:
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


def _no_task(kept: Kept) -> NoReturn:
    if kept.place is None:
        raise typer.BadParameter(
            "what is to be done? --offline alone plays the demo's story", param_hint="TASK"
        )
    raise typer.BadParameter(
        f"{kept} is not there to go on with; to begin it, say what is to be done", param_hint="TASK"
    )


def policy_changes(given: Sequence[str] | None, **named: int | None) -> dict[str, object]:
    """Return what is to be changed in a policy: options `KEY=VALUE`, and options of their own that were given.

    Raises:
        Refused: there is no such choice, or it cannot be that; says which there are.
    """
    changes: dict[str, object] = {}
    for each in given or ():
        key, equals, value = each.partition("=")
        if not equals:
            raise Refused(f"--policy {each}: it is given as KEY=VALUE, such as max_revisions=1")
        changes[key.strip().replace("-", "_")] = _value(value.strip())
    changes |= {key: value for key, value in named.items() if value is not None}
    changed(None, changes)
    return changes


def _value(written: str) -> object:
    if written.lower() in ("none", "true", "false"):
        return {"none": None, "true": True, "false": False}[written.lower()]
    try:
        value: object = json.loads(written)
    except (ValueError, RecursionError):
        return written
    return value


def changed(policy: Policy | None, changes: Mapping[str, object]) -> Policy | None:
    """Return a policy with changes; None, the one that is in force, where there are none.

    Raises:
        Refused: as `policy_changes`.
    """
    if not changes:
        return None
    try:
        return Policy.of({**({} if policy is None else policy.document()), **changes})
    except BadPolicy as error:
        raise Refused(f"--policy: {error}") from None


# -- what is there, and the agent ----------------------------------------------------------------------


@final
@attrs.frozen
class _Found:
    """What is there of a run.

    Attributes:
        asked: who it asked, and where, when it was run last; None where no run of this command is there.
        policy: the one that it had; None likewise.
        answers: how many it has of each kind.
        is_new: whether nothing was done yet, by whomever.
        is_anew: whether a new run is begun where there was one.
    """

    asked: RunSetup | None = None
    policy: Policy | None = None
    answers: Mapping[KindOfCall, int] = attrs.field(factory=dict)
    is_new: bool = True
    is_anew: bool = False


def _found(kept: Kept, *, anew: bool) -> _Found:
    """Return what is there of a run. Cost: O(its journal).

    Where a new run is begun, that is who the earlier one asked, as far as its log can be read.

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
    return _Found(RunSetup.of(found.last_remembered), found.last_policy, answers, is_new=False, is_anew=anew)


def remembered_by(store: JournalStore, name: str) -> RunSetup | None:
    """Return who a run asked, and where, when this command ran it last; None where it has not.

    Raises:
        BadRunLog: its log cannot be read.
    """
    return RunSetup.of(remembered(store, name))


def _totals(store: JournalStore, name: str) -> Totals:
    """Return what an interrupted run did and took: its log says it."""
    try:
        return rerun(store, name).totals
    except (
        BadRunLog,
        RunDiverged,
        UnknownJournal,
    ):  # interrupted before it began; else it is told when it is run
        return Totals()


def _agent(
    stack: ExitStack, asked: RunSetup, found: _Found, changes: Mapping[str, object]
) -> tuple[RunSetup, Agent]:
    """Return the agent, and who it asks: a script that is new to a run begins at its first line."""
    environment = environment_named(asked.environment)
    if found.asked is None or found.is_anew or asked.script != found.asked.script:
        asked = asked.from_here(found.answers)
    who = answerers_of(stack, asked, found.answers)
    agent = Agent(
        model=who.model,
        environment=environment,
        judge=who.judge,
        summarizer=who.summarizer,
        policy=changed(found.policy, changes),
    )
    return asked, agent


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
        with view_for(store, kept.name, quiet=quiet) as view:
            outcome = agent.run(
                store, kept.name, task=task, anew=anew, on_event=view, remember=asked.document
            )
    except Conflict:  # both began it, and the other was faster
        raise Refused(f"{kept}: {BESIDE}") from None
    except KeyboardInterrupt:
        return RunStopped("interrupted", "from the keyboard", _totals(store, kept.name))
    except ScriptEnded as ended:
        return RunStopped("script_ended", str(ended), _totals(store, kept.name))
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
    match outcome:
        case RunFailed("store", "conflict"):
            return attrs.evolve(outcome, detail=BESIDE)
        case _:
            return outcome


def _unfollowed(kept: Kept, error: BadRunLog | RunDiverged | MissingTokenizer) -> str:
    """Return what is said where a run cannot go on."""
    if isinstance(error, MissingTokenizer):
        return f"{kept}: {error}"
    return f"{kept}: {error}; mage run --anew does"


# -- telling -------------------------------------------------------------------------------------------


def _print(outcome: Outcome, kept: Kept) -> None:
    print_json({**outcome_document(outcome), "session": None if kept.place is None else str(kept.place)})


def _tell(outcome: Outcome, store: JournalStore, kept: Kept, asked: RunSetup) -> None:
    try:
        with Session.open(store, kept.name, wait=False) as session:
            tree = session.tree
    except UnknownJournal:  # interrupted before there was one
        return
    say("\nThe tree, with what was left:", "italic")
    print_tree(tree)
    say(f"\n{told_outcome(outcome)}", "bold")
    say(told_totals(outcome.totals))
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
    """Return what is to be said beside the session, so that a run does not end so again."""
    match outcome:
        case RunStopped("max_steps" | "max_tokens" as limit):
            return f" --policy {limit}=none"
        case RunStopped("script_ended"):
            return ", when the script has more lines, or with another --script"
        case RunFailed("model"):
            return ", or with another --model"
        case _:
            return ""


def _leave(outcome: Outcome) -> None:
    """End the command with the status of how the run ended."""
    match outcome:
        case RunFinished():
            return
        case RunStopped("interrupted"):
            leave_interrupted()
        case _:
            raise typer.Exit(1)


def leave_interrupted() -> NoReturn:
    """End the command with the status that Ctrl-C has."""
    raise typer.Exit(_INTERRUPTED)

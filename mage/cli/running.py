"""`mage run`: an agent with a model in an environment, watched, kept, and resumed where it was interrupted."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import Annotated, Final, NoReturn

import attrs
import typer

from mage.agent import (
    Agent,
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
    shop,
)
from mage.agent.reruns import policy_of
from mage.cli.answerers import Mode, live, offline
from mage.cli.asking import Asked, asked_of, task_of
from mage.cli.culprits import told_traceback
from mage.cli.endings import BESIDE, explained, told_outcome, told_totals
from mage.cli.environments import GROUP, EnvironmentRaised, complete_environment, environment_named
from mage.cli.keeping import Kept, where_kept
from mage.cli.live import view_for
from mage.cli.output import AsJson, Refused, print_json, say
from mage.cli.policies import Changes, changed, policy_changes
from mage.cli.sessions import complete_session, opened
from mage.cli.show import print_tree
from mage.effects import BadEnvironment
from mage.render import printable
from mage.session import OtherTask, Session
from mage.stores import Conflict, JournalStore, MemoryStore, UnknownJournal
from mage.tokens import MissingTokenizer

_INTERRUPTED: Final = 130


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
    environment: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:ARGS]",
            autocompletion=complete_environment,
            help=f"Where the agent acts: shop, what is installed as {GROUP}, or MODULE:FACTORY[:ARGS].",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="M", help="Decides, and writes summaries.")] = None,
    judge_model: Annotated[
        str | None, typer.Option(metavar="M", help="Judges summaries; else the same model.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The server; else OPENAI_BASE_URL, else OpenAI's."),
    ] = None,
    mode: Annotated[Mode, typer.Option(help="How the model says what it does.")] = Mode.TOOLS,
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
    is_offline: Annotated[
        bool, typer.Option("--offline", help="Without a model: one from a script plays the demo's shop.")
    ] = False,
    with_traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error of the environment comes from.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run an agent until its task is done; run its session again to go on.

    The key comes from OPENAI_API_KEY and is never kept. Without --session and MAGE_STORE, --offline keeps
    nothing. Exit status: 0 finished, 1 stopped, failed or refused, 130 interrupted.
    """
    changes = policy_changes(policy, max_steps=max_steps, max_tokens=max_tokens)
    asked = asked_of(environment, model, judge_model, base_url, mode, is_offline=is_offline)
    text = task_of(task, task_file)
    kept = where_kept(session, is_offline=is_offline)
    if text is None and not kept.is_there:
        text = shop.TASK if is_offline else _no_task(kept)
    with ExitStack() as stack:
        if as_json:  # whatever an environment prints, standard output is one object
            stack.enter_context(redirect_stdout(sys.stderr))
        agent = _agent(stack, asked)
        store = stack.enter_context(MemoryStore() if kept.place is None else opened(kept.place, make=True))
        if changes:
            agent = attrs.evolve(agent, policy=changed(_policy_before(store, kept), changes))
        outcome = _ran(agent, store, kept, text, anew=anew, quiet=as_json, with_traceback=with_traceback)
        if not as_json:
            _tell(outcome, store, kept, asked)
    if as_json:
        _print(outcome, kept)
    _leave(outcome)


def _no_task(kept: Kept) -> NoReturn:
    raise typer.BadParameter(f"what is to be done? {kept} is not there to go on with", param_hint="TASK")


def _agent(stack: ExitStack, asked: Asked) -> Agent:
    environment = environment_named(asked.environment)
    if asked.model is None:
        answerers = offline()
    else:
        answerers = live(
            stack, asked.model, judge_model=asked.judge_model, base_url=asked.base_url, mode=asked.mode
        )
    return Agent(
        model=answerers.model,
        environment=environment,
        judge=answerers.judge,
        summarizer=answerers.summarizer,
    )


def _leave(outcome: Outcome) -> None:
    """End the command with the status of how the run ended."""
    if isinstance(outcome, RunStopped) and outcome.reason == "interrupted":
        leave_interrupted()
    if not isinstance(outcome, RunFinished):
        raise typer.Exit(1)


def leave_interrupted() -> NoReturn:
    """End the command with the status that Ctrl-C has."""
    raise typer.Exit(_INTERRUPTED)


# -- running -------------------------------------------------------------------------------------------


def _ran(
    agent: Agent,
    store: JournalStore,
    kept: Kept,
    task: str | None,
    *,
    anew: bool,
    quiet: bool,
    with_traceback: bool,
) -> Outcome:
    try:
        with view_for(store, kept.name, quiet=quiet) as view:
            return explained(agent.run(store, kept.name, task=task, anew=anew, on_event=view))
    except Conflict:  # both began it, and the other was faster
        raise Refused(f"{kept}: {BESIDE}") from None
    except KeyboardInterrupt:
        return RunStopped("interrupted", "from the keyboard", _totals(store, kept.name))
    except EnvironmentRaised as raised:
        if with_traceback:
            sys.stderr.write(told_traceback(raised.error))
        return RunFailed("environment", "raised", str(raised), _totals(store, kept.name))
    except BadEnvironment as bad:
        return RunFailed("environment", "bad", str(bad), _totals(store, kept.name))
    except OtherTask:
        raise Refused(
            f"{kept}: this session is for another task; leave the task out to go on with it, or name another session"
        ) from None
    except (BadRunLog, RunDiverged) as error:
        raise Refused(f"{kept}: {error}; mage run --anew begins a new run there") from None
    except MissingTokenizer as error:
        raise Refused(f"{kept}: {error}") from None


def _totals(store: JournalStore, name: str) -> Totals:
    """Return what an interrupted run did and took: its log says it."""
    try:
        return rerun(store, name).totals
    except (BadRunLog, UnknownJournal):  # it was interrupted before it began
        return Totals()


def _policy_before(store: JournalStore, kept: Kept) -> Policy | None:
    try:
        return policy_of(store, kept.name)
    except BadRunLog as error:
        raise Refused(f"{kept}: {error}") from None


# -- telling -------------------------------------------------------------------------------------------


def _print(outcome: Outcome, kept: Kept) -> None:
    print_json({**outcome_document(outcome), "session": None if kept.place is None else str(kept.place)})


def _tell(outcome: Outcome, store: JournalStore, kept: Kept, asked: Asked) -> None:
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
    named = shlex.quote(str(kept.place))
    made = "went on with" if kept.is_there else "made"
    say(
        f"{made} session {printable(str(kept.place))}: mage tree {printable(named)}, mage rerun {printable(named)}"
    )
    if not isinstance(outcome, RunFinished):
        again = shlex.join(["mage", "run", "--session", str(kept.place), *asked.options])
        say(f"go on with: {printable(again)}")
